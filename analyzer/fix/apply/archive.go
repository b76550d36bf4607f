package apply

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/inflate"
)

// Limits of a wheel that is changed. The directory of a larger one has fields of 64 bits.
const (
	maxMembers = 1<<16 - 2
	maxSize    = 1<<32 - 1
	maxMember  = 2 << 30 // of a changed member, inflated
)

// archive is a wheel and its changed members.
type archive struct {
	content io.ReaderAt
	reader  *zip.Reader
	members []*member
	byName  map[string]*member // by the name in the wheel as it was
	info    string             // the dist-info folder
	largest uint64             // Options.Largest
	store   bool               // Options.Store
}

// member is a file or folder of the wheel.
type member struct {
	*zip.File
	name string // the new one
	new  []byte // its new content if changed
	changed,
	added bool
}

// open reads the directory of a wheel.
func open(w Artifact) (*archive, error) {
	if w.Size > maxSize {
		return nil, refuse("it is larger than 4 GiB")
	}
	r, err := zip.NewReader(w.Content, w.Size)
	if err != nil {
		return nil, refuse("%v", err)
	}
	inflater := inflate.NewReader() // members are read one after the other
	r.RegisterDecompressor(zip.Deflate, func(packed io.Reader) io.ReadCloser {
		inflater.Reset(packed)
		return io.NopCloser(inflater)
	})
	if len(r.File) > maxMembers {
		return nil, refuse("it has %d members", len(r.File))
	}
	z := &archive{content: w.Content, reader: r, byName: map[string]*member{}}
	infos := map[string]bool{}
	var packed uint64
	for _, f := range r.File {
		packed += f.CompressedSize64
		switch {
		case !safe(f.Name):
			return nil, refuse("the name of a member leads out of the folder")
		case z.byName[f.Name] != nil:
			return nil, refuse("%s is in it twice", f.Name)
		case f.Flags&encrypted != 0:
			return nil, refuse("%s is encrypted", f.Name)
		case packed > uint64(w.Size):
			return nil, refuse("its members overlap")
		}
		if dir, _, ok := strings.Cut(f.Name, "/"); ok && strings.HasSuffix(dir, ".dist-info") {
			infos[dir] = true
			z.info = dir
		}
		m := &member{File: f, name: f.Name}
		z.members, z.byName[f.Name] = append(z.members, m), m
	}
	if len(infos) != 1 {
		return nil, refuse("it has %d dist-info folders", len(infos))
	}
	return z, nil
}

const encrypted = 1 // a flag of a member

// safe reports whether a name is that of a file in the folder into which the wheel is extracted.
func safe(name string) bool {
	whole := strings.TrimSuffix(name, "/")
	clean := path.Clean(whole)
	return name != "" && !strings.ContainsAny(name, "\\\x00") && clean == whole &&
		!path.IsAbs(name) && clean != ".." && !strings.HasPrefix(clean, "../")
}

// folder reports whether a member is a folder.
func (m *member) folder() bool { return strings.HasSuffix(m.name, "/") }

// bytes returns the content of a member.
func (m *member) bytes() ([]byte, error) {
	if m.changed {
		return m.new, nil
	}
	if m.UncompressedSize64 > maxMember {
		return nil, refuse("%s has %d bytes", m.name, m.UncompressedSize64)
	}
	r, err := m.Open()
	if err != nil {
		return nil, refuse("%s: %v", m.name, err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxMember+1))
	if err != nil || len(b) > maxMember {
		return nil, refuse("%s cannot be read: %v", m.name, err)
	}
	return b, nil
}

// change changes the content of a member.
func (z *archive) change(name string, edit func(old []byte) ([]byte, error)) error {
	m := z.byName[name]
	if m == nil {
		return refuse("it has no member %s", name)
	}
	if z.largest > 0 && m.UncompressedSize64 > z.largest {
		return fmt.Errorf("%s %w", name, ErrLarge)
	}
	old, err := m.bytes()
	if err != nil {
		return err
	}
	edited, err := edit(old)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, name, err)
	}
	if !bytes.Equal(edited, old) {
		m.new, m.changed = edited, true
	}
	return nil
}

// rename gives a member another name in the same folder.
func (z *archive) rename(from, to string) error {
	m := z.byName[from]
	taken := slices.ContainsFunc(z.members, func(o *member) bool {
		return to == o.Name || to == o.name
	})
	if m == nil || taken || !safe(to) || path.Dir(from) != path.Dir(to) {
		return refuse("%s cannot get the name %s", from, to)
	}
	m.name = to
	return nil
}

// Result is an artifact with fixes.
type Result struct {
	File string // base name
	// Names of members with other content or another name, and of new ones, sorted; nil for a single
	// file.
	Changed []string
	Size    int64
	parts   []part
}

// part is a range of the result: bytes, or a range of the original content.
type part struct {
	at     int64 // in the result
	length int64
	bytes  []byte
	from   io.ReaderAt
	offset int64 // in from
}

// Reader returns a reader of the whole file.
func (r *Result) Reader() io.Reader { return io.NewSectionReader(r, 0, r.Size) }

// ReadAt reads the file.
func (r *Result) ReadAt(b []byte, off int64) (n int, err error) {
	i, found := slices.BinarySearchFunc(r.parts, off, func(p part, off int64) int {
		return cmp.Compare(p.at, off)
	})
	if !found {
		i--
	}
	for ; n < len(b); i++ {
		if i < 0 || i >= len(r.parts) || off >= r.Size {
			return n, io.EOF
		}
		p := r.parts[i]
		skip := off - p.at
		want := min(int64(len(b)-n), p.length-skip)
		if p.from == nil {
			copy(b[n:], p.bytes[skip:skip+want])
		} else if m, err := p.from.ReadAt(b[n:n+int(want)], p.offset+skip); m < int(want) {
			return n + m, err
		}
		n, off = n+int(want), off+want
	}
	return n, nil
}

func (r *Result) add(b []byte) {
	r.parts = append(r.parts, part{at: r.Size, length: int64(len(b)), bytes: b})
	r.Size += int64(len(b))
}

// result writes the archive.
func (z *archive) result(file string) (*Result, error) {
	r := &Result{File: file}
	var directory []byte
	for _, m := range z.members {
		h, packed, err := m.header(z.store)
		if err != nil {
			return nil, err
		}
		at := r.Size
		r.add(local(h))
		if packed != nil {
			r.add(packed)
		} else if h.CompressedSize64 > 0 {
			offset, err := m.DataOffset()
			if err != nil {
				return nil, refuse("%s: %v", m.name, err)
			}
			n := int64(h.CompressedSize64)
			r.parts = append(r.parts, part{at: r.Size, length: n, from: z.content, offset: offset})
			r.Size += n
		}
		directory = append(directory, central(h, at)...)
		if m.changed || m.added || m.name != m.Name {
			r.Changed = append(r.Changed, m.name)
		}
	}
	slices.Sort(r.Changed)
	at := r.Size
	r.add(directory)
	comment := z.reader.Comment
	le := binary.LittleEndian
	end := le.AppendUint32(nil, 0x06054b50)
	for _, v := range []int{0, 0, len(z.members), len(z.members)} {
		end = le.AppendUint16(end, uint16(v))
	}
	end = le.AppendUint32(end, uint32(len(directory)))
	end = le.AppendUint32(end, uint32(at))
	end = le.AppendUint16(end, uint16(len(comment)))
	r.add(append(end, comment...))
	if r.Size > maxSize {
		return nil, refuse("it would be larger than 4 GiB")
	}
	return r, nil
}

// header returns the header of a member in the result, and its bytes in the archive if they are
// new, which are not compressed if store is set.
func (m *member) header(store bool) (h zip.FileHeader, packed []byte, _ error) {
	h = m.FileHeader
	h.Name = m.name
	const described = 8 // the sizes come after the bytes
	h.Flags &^= described
	if !m.changed {
		return h, nil, nil
	}
	h.CRC32, h.UncompressedSize64 = crc32.ChecksumIEEE(m.new), uint64(len(m.new))
	packed = m.new
	if store {
		h.Method = zip.Store
	}
	if h.Method != zip.Store {
		h.Method = zip.Deflate
		var b bytes.Buffer
		w, err := flate.NewWriter(&b, flate.DefaultCompression)
		if err != nil {
			return h, nil, err
		}
		if _, err := w.Write(m.new); err != nil {
			return h, nil, err
		}
		if err := w.Close(); err != nil {
			return h, nil, err
		}
		packed = b.Bytes()
	}
	h.CompressedSize64 = uint64(len(packed))
	if packed == nil {
		packed = []byte{}
	}
	return h, packed, nil
}

const (
	localSignature   = 0x04034b50
	centralSignature = 0x02014b50
	needs20          = 20 // the version of the format with deflate and folders
)

// common are the fields that both headers of a member have.
func common(h zip.FileHeader) []byte {
	le := binary.LittleEndian
	b := le.AppendUint16(nil, max(h.ReaderVersion&0xff, needs20))
	//lint:ignore SA1019 the fields are written as they were stored
	stamp := []uint16{h.ModifiedTime, h.ModifiedDate} //nolint:staticcheck
	for _, v := range append([]uint16{h.Flags, h.Method}, stamp...) {
		b = le.AppendUint16(b, v)
	}
	for _, v := range []uint32{h.CRC32, uint32(h.CompressedSize64), uint32(h.UncompressedSize64)} {
		b = le.AppendUint32(b, v)
	}
	return le.AppendUint16(b, uint16(len(h.Name)))
}

// local returns the header in front of a member. Extra fields are only in the directory.
func local(h zip.FileHeader) []byte {
	le := binary.LittleEndian
	b := append(le.AppendUint32(nil, localSignature), common(h)...)
	b = le.AppendUint16(b, 0)
	return append(b, h.Name...)
}

// central returns the entry of a member in the directory.
func central(h zip.FileHeader, at int64) []byte {
	le := binary.LittleEndian
	extra := withoutZip64(h.Extra)
	b := le.AppendUint32(nil, centralSignature)
	b = append(le.AppendUint16(b, h.CreatorVersion), common(h)...)
	for _, v := range []int{len(extra), len(h.Comment), 0, 0} {
		b = le.AppendUint16(b, uint16(v))
	}
	b = le.AppendUint32(b, h.ExternalAttrs)
	b = le.AppendUint32(b, uint32(at))
	return append(append(append(b, h.Name...), extra...), h.Comment...)
}

// withoutZip64 returns extra fields without the sizes of 64 bits, which fit into 32.
func withoutZip64(extra []byte) (out []byte) {
	const zip64 = 1
	le := binary.LittleEndian
	for len(extra) >= 4 {
		n := min(4+int(le.Uint16(extra[2:])), len(extra))
		if le.Uint16(extra) != zip64 {
			out = append(out, extra[:n]...)
		}
		extra = extra[n:]
	}
	return out
}
