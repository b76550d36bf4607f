package apply

import (
	"cmp"
	"path"
	"slices"
)

// Bundled returns the wheel that a bundler made of another one. Members that the bundler did not
// change keep their compressed bytes, times and permissions, the others get the time of the newest
// of these, and RECORD is written again: the same libraries give the same bytes. Both artifacts
// must stay readable as long as the Result is used. The error is ErrRefused or that of the content.
func Bundled(old, made Artifact) (*Result, error) {
	z, err := open(old)
	if err != nil {
		return nil, err
	}
	by, err := open(made)
	if err != nil {
		return nil, err
	}
	z.info = by.info
	newest := slices.MaxFunc(z.members, func(a, b *member) int {
		return a.Modified.Compare(b.Modified)
	})
	z.members = slices.DeleteFunc(z.members, func(m *member) bool {
		return by.byName[m.Name] == nil && !m.folder()
	})
	var added []*member
	for _, m := range by.members {
		was := z.byName[m.Name]
		if m.folder() || was != nil && was.CRC32 == m.CRC32 &&
			was.UncompressedSize64 == m.UncompressedSize64 {
			continue
		}
		if m.new, err = m.bytes(); err != nil {
			return nil, err
		}
		if was != nil {
			was.new, was.changed = m.new, true
			continue
		}
		m.ModifiedTime, m.ModifiedDate = newest.ModifiedTime, newest.ModifiedDate // as stored
		m.Extra, m.changed, m.added = nil, true, true
		added = append(added, m)
	}
	slices.SortFunc(added, func(a, b *member) int { return cmp.Compare(a.Name, b.Name) })
	z.members = append(z.members, added...)
	z.byName = map[string]*member{}
	for _, m := range z.members {
		z.byName[m.Name] = m
	}
	if err := z.record(true); err != nil {
		return nil, err
	}
	return z.result(path.Base(made.Path))
}
