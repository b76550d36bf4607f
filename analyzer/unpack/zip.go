package unpack

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// zip walks the members of a zip in the order of its directory.
func (w *walker) zip(pkg *Package, r io.ReaderAt, size int64, depth int) error {
	entries, err := readDirectory(r, size, w.budget.entries)
	if errors.Is(err, errEntries) {
		w.problem(
			pkg.Path,
			"it was not read: the archives have more than the limit of %d entries together",
			w.budget.limits.Entries,
		)
	} else if err != nil {
		w.problem(pkg.Path, "%v", err)
	} else if len(entries) == 0 {
		w.problem(pkg.Path, "the archive contains no files")
	}
	w.budget.entries -= len(entries)
	pkg.Entries = len(entries)
	if n := markOverlaps(entries); n > 0 {
		w.problem(pkg.Path, "%d entries overlap other entries; they were not read", n)
	}
	last := lastOfName(pkg, entries)
	for i := range entries {
		e := &entries[i]
		if i, ok := last[path.Clean(e.name)]; !e.directory() && ok && i != e.index {
			continue // not the last entry with this name
		}
		shown, odd := member(e.name)
		if odd == "" && w.o.List != nil {
			w.o.List(pkg, listed(shown, e))
		}
		// Links and devices are never followed. Installers write the target of a link as the
		// content of a file, which is not an object.
		if t := e.mode & modeType; t != 0 && t != modeRegular {
			continue
		}
		if odd == "" && e.directory() {
			continue
		}
		if odd == "" {
			odd = e.broken
		}
		if odd != "" {
			w.problem(pkg.Path+"/"+shown, "%s", odd)
			continue
		}
		if e.overlapping {
			continue
		}
		m := &entry{
			path:   shown,
			size:   e.size,
			packed: max(e.packed, 1),
			taken:  new(int64),
			alone:  true,
			crc:    e.crc,
		}
		m.open = func(in *inflater) (io.Reader, error) { return openZip(e, m, r, size, in) }
		m.verify = func(size int64, crc uint32) error {
			switch {
			case size != e.size:
				return &memberError{
					text: fmt.Sprintf(
						"the file is damaged: the central directory declares %d bytes, but it has %d",
						e.size,
						size,
					),
				}
			case crc != e.crc:
				return &memberError{
					text: fmt.Sprintf(
						"the file is damaged: its CRC-32 is %08x, but the directory has %08x",
						crc,
						e.crc,
					),
				}
			}
			return nil
		}
		if err := w.member(pkg, m, depth); err != nil {
			return err
		}
	}
	return nil
}

// openZip returns the data of an entry, which follows its local header.
func openZip(e *zipEntry, m *entry, r io.ReaderAt, size int64, in *inflater) (io.Reader, error) {
	if e.flags&flagEncrypted != 0 {
		return nil, &memberError{text: "it is encrypted"}
	}
	if e.method != methodStore && e.method != methodDeflate {
		return nil, &memberError{
			text: fmt.Sprintf(
				"it is compressed with method %d; compat supports stored (0) and deflated (8)",
				e.method,
			),
		}
	}
	var fixed [localSize]byte
	if e.offset > size-localSize {
		return nil, &memberError{
			text: fmt.Sprintf(
				"the file is truncated or damaged: its declared offset is %d of %d bytes",
				e.offset,
				size,
			),
		}
	}
	if _, err := r.ReadAt(fixed[:], e.offset); err != nil {
		return nil, err
	}
	if string(fixed[:4]) != sigLocal {
		return nil, &memberError{
			text: fmt.Sprintf("the file is damaged: no local header at %d", e.offset),
		}
	}
	names := int64(binary.LittleEndian.Uint16(fixed[26:]))
	at := e.offset + localSize + names + int64(binary.LittleEndian.Uint16(fixed[28:]))
	if at > size || e.packed > size-at {
		return nil, &memberError{
			text: fmt.Sprintf(
				"the file is truncated or damaged: its %d bytes at %d end after the archive (%d)",
				e.packed,
				at,
				size,
			),
		}
	}
	if names != int64(len(e.name)) || !sameName(r, e) {
		return nil, &memberError{
			text: "its name in the local header differs from the one in the central directory, which " +
				"different tools interpret differently",
			always: true,
		}
	}
	data := io.NewSectionReader(r, at, e.packed)
	if e.method == methodStore {
		m.stored, m.taken = io.NewSectionReader(r, at, e.packed), nil
		return data, nil
	}
	m.deflated = data
	return in.inflate(counted{data, m.taken}), nil
}

// listed returns the path for List.
func listed(shown string, e *zipEntry) string {
	if e.directory() {
		return shown + "/"
	}
	return shown
}

// directory reports whether an entry only creates a folder. Its data is ignored, as by
// installers.
func (e *zipEntry) directory() bool { return strings.HasSuffix(e.name, "/") }

func sameName(r io.ReaderAt, e *zipEntry) bool {
	name := make([]byte, len(e.name))
	_, err := r.ReadAt(name, e.offset+localSize)
	return err == nil && string(name) == e.name
}

// markOverlaps marks entries whose bytes overlap the next entry: this is how a small file can
// inflate to any size (D. Fifield, "A better zip bomb", 2019). Of several entries with the same
// bytes, the last one remains usable.
func markOverlaps(entries []zipEntry) int {
	order := make([]int32, 0, len(entries))
	for i := range entries {
		if entries[i].broken == "" {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(
		order,
		func(a, b int32) int { return cmp.Compare(entries[a].offset, entries[b].offset) },
	)
	n := 0
	for i := 0; i+1 < len(order); i++ {
		e, next := &entries[order[i]], &entries[order[i+1]]
		// The local name and extra field are ignored: this is the minimum size of the entry.
		if gap := next.offset - e.offset; gap < localSize || e.packed > gap-localSize {
			e.overlapping = true
			n++
		}
	}
	return n
}

// lastOfName returns the index of the last entry for each cleaned name, which is the valid one,
// and lists duplicate names.
func lastOfName(pkg *Package, entries []zipEntry) map[string]int32 {
	last := make(map[string]int32, len(entries))
	again := map[string]bool{}
	for i := range entries {
		if entries[i].directory() {
			continue
		}
		name := path.Clean(entries[i].name)
		if _, ok := last[name]; ok && !again[name] {
			again[name] = true
			if len(pkg.Duplicates) < maxDuplicates {
				pkg.Duplicates = append(pkg.Duplicates, shorten(Safe(name)))
			}
		}
		last[name] = entries[i].index
	}
	return last
}
