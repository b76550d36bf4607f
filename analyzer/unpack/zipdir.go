package unpack

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
)

// archive/zip is not used for the directory: it needs 300 bytes per entry before a limit can
// apply, compares only 16 bits of the number of entries, and rejects the whole archive if one
// entry is wrong. Format: PKWARE APPNOTE 6.3.10, sections 4.3 to 4.5. If readers differ, this
// one follows Python's zipfile, which installs wheels.

const (
	eocdSize, eocd64Size, locatorSize      = 22, 56, 20
	headerSize, localSize                  = 46, 30
	sigEOCD, sigEOCD64, sigLocator         = "PK\x05\x06", "PK\x06\x06", "PK\x06\x07"
	sigHeader, sigLocal                    = "PK\x01\x02", "PK\x03\x04"
	flagEncrypted                          = 1
	methodStore, methodDeflate             = 0, 8
	modeType, modeRegular, modeDirectory   = 0xf000, 0x8000, 0x4000
	modeExecutable                         = 0o111
	creatorUnix, creatorDarwin, extraZip64 = 3, 19, 1
)

// zipEntry is an entry of a central directory. Sizes and offset are not validated, except that
// they are not negative.
type zipEntry struct {
	name          string // as stored
	packed, size  int64
	offset        int64 // of the local header, from the start of the file
	crc           uint32
	method, flags uint16
	mode          uint16 // Unix mode, 0 if the creator was not Unix
	broken        string // why the entry cannot be used, or ""
	overlapping   bool   // another entry contains the same bytes
	index         int32
}

// zipEnd is the content of the end record.
type zipEnd struct {
	entries      uint64
	wide         bool // entries has 64 bits instead of 16
	size, offset uint64
	// start of the directory in the file; difference to the offsets that the directory contains
	directory, base int64
}

// readEnd reads the last end record in the file, and determines the start of the directory.
func readEnd(r io.ReaderAt, size int64) (*zipEnd, error) {
	tail := make([]byte, min(size, eocdSize+math.MaxUint16+locatorSize+eocd64Size))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return nil, err
	}
	at := -1
	if len(tail) >= eocdSize {
		at = bytes.LastIndex(tail[:len(tail)-eocdSize+len(sigEOCD)], []byte(sigEOCD))
	}
	if at < 0 {
		return nil, errors.New("it is not a ZIP archive, or its end is missing")
	}
	b := tail[at:]
	le := binary.LittleEndian
	e := &zipEnd{
		entries: uint64(le.Uint16(b[10:])),
		size:    uint64(le.Uint32(b[12:])),
		offset:  uint64(le.Uint32(b[16:])),
	}
	end := size - int64(len(tail)) + int64(at) // end of the directory
	if at >= locatorSize && string(tail[at-locatorSize:at-locatorSize+4]) == sigLocator {
		wide, where, err := readEnd64(r, tail[at-locatorSize:at], end)
		switch {
		case err == nil:
			e, end = wide, where
		case e.entries == math.MaxUint16 || e.size == math.MaxUint32 || e.offset == math.MaxUint32:
			return nil, err
		}
	}
	if e.size > uint64(end) || e.offset > uint64(end) || e.size+e.offset > uint64(end) {
		return nil, fmt.Errorf(
			"its central directory (%d bytes at offset %d) is outside the file",
			e.size,
			e.offset,
		)
	}
	e.directory = end - int64(e.size)
	e.base = e.directory - int64(e.offset) // larger than 0 if other data precedes the archive
	return e, nil
}

// readEnd64 reads the zip64 end record of a locator. Like Python, it first looks just before
// the locator.
func readEnd64(r io.ReaderAt, locator []byte, end int64) (*zipEnd, int64, error) {
	le := binary.LittleEndian
	b := make([]byte, eocd64Size)
	for _, off := range []uint64{uint64(end - locatorSize - eocd64Size), le.Uint64(locator[8:])} {
		if off > uint64(end) {
			continue
		}
		if _, err := r.ReadAt(b, int64(off)); err != nil || string(b[:4]) != sigEOCD64 {
			continue
		}
		return &zipEnd{
			entries: le.Uint64(b[32:]),
			size:    le.Uint64(b[40:]),
			offset:  le.Uint64(b[48:]),
			wide:    true,
		}, int64(off), nil
	}
	return nil, 0, errors.New(
		"its zip64 end of central directory record is not at the offset of the locator",
	)
}

// errEntries means that the directory has more entries than the remaining limit.
var errEntries = errors.New("too many entries")

// readDirectory reads the entries. If there are more than limit, it returns errEntries and
// none. Any other error is the reason why some entries may be missing; the returned entries are
// usable.
func readDirectory(r io.ReaderAt, size int64, limit int) (entries []zipEntry, err error) {
	end, err := readEnd(r, size)
	if err != nil {
		return nil, fmt.Errorf("the file is truncated or damaged: %w", err)
	}
	if end.size > maxDirectory {
		return nil, fmt.Errorf(
			"its central directory has %s, more than the limit of %s",
			human(int64(end.size)),
			human(maxDirectory),
		)
	}
	rd := bufio.NewReaderSize(
		io.NewSectionReader(r, end.directory, int64(end.size)), int(min(end.size, 64<<10)))
	var fixed [headerSize]byte
	for {
		if _, err := io.ReadFull(rd, fixed[:]); err == io.EOF {
			break
		} else if err != nil {
			return entries, fmt.Errorf("the central directory is damaged: it ends inside entry %d",
				len(entries)+1)
		}
		if string(fixed[:4]) != sigHeader {
			return entries, fmt.Errorf(
				"the central directory is damaged: entry %d has no signature",
				len(entries)+1,
			)
		}
		if len(entries) >= limit {
			return nil, errEntries
		}
		e, err := readHeader(fixed[:], rd, end.base)
		if err != nil {
			return entries, fmt.Errorf(
				"the central directory is damaged: it ends inside entry %d",
				len(entries)+1,
			)
		}
		e.index = int32(len(entries))
		entries = append(entries, e)
	}
	if n := uint64(len(entries)); end.entries != n &&
		(end.wide || end.entries != n&math.MaxUint16) {
		return entries, fmt.Errorf(
			"the central directory is damaged: it declares %d entries and has %d",
			end.entries,
			n,
		)
	}
	return entries, nil
}

// readHeader reads the variable part of an entry.
func readHeader(fixed []byte, rd *bufio.Reader, base int64) (zipEntry, error) {
	le := binary.LittleEndian
	packed, size, offset := uint64(le.Uint32(fixed[20:])), uint64(
		le.Uint32(fixed[24:]),
	), uint64(le.Uint32(fixed[42:]))
	e := zipEntry{
		flags:  le.Uint16(fixed[8:]),
		method: le.Uint16(fixed[10:]),
		crc:    le.Uint32(fixed[16:]),
	}
	if creator := fixed[5]; creator == creatorUnix || creator == creatorDarwin {
		e.mode = le.Uint16(fixed[40:])
	}
	name := make([]byte, le.Uint16(fixed[28:]))
	extra := make([]byte, le.Uint16(fixed[30:]))
	if _, err := io.ReadFull(rd, name); err != nil {
		return e, err
	}
	if _, err := io.ReadFull(rd, extra); err != nil {
		return e, err
	}
	if _, err := rd.Discard(int(le.Uint16(fixed[32:]))); err != nil {
		return e, err
	}
	e.name = string(name)
	if !zip64Extra(extra, &size, &packed, &offset) {
		e.broken = "its zip64 sizes are missing"
	}
	if size > math.MaxInt64 || packed > math.MaxInt64 || offset > uint64(math.MaxInt64-base) {
		e.broken = fmt.Sprintf(
			"its sizes are impossible (%d bytes, %d compressed, at %d)",
			size,
			packed,
			offset,
		)
	}
	if e.broken == "" {
		e.size, e.packed, e.offset = int64(size), int64(packed), int64(offset)+base
	}
	return e, nil
}

// zip64Extra replaces the values with all bits set by those of the zip64 extra field, in their
// fixed order (4.5.3).
func zip64Extra(extra []byte, values ...*uint64) bool {
	var wide []byte
	le := binary.LittleEndian
	for len(extra) >= 4 {
		tag, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if n > len(extra)-4 {
			break
		}
		if tag == extraZip64 {
			wide = extra[4 : 4+n]
			break
		}
		extra = extra[4+n:]
	}
	for _, v := range values {
		if *v != math.MaxUint32 {
			continue
		}
		if len(wide) < 8 {
			return false
		}
		*v = le.Uint64(wide)
		wide = wide[8:]
	}
	return true
}

// Member is a file of a zip as described in the directory. Nothing in it is validated.
type Member struct {
	Path   string // cleaned, safe to display
	Size   int64  // inflated
	Packed int64  // compressed
	Offset int64  // offset of its local header
	// Executable means that it is installed as a program.
	Executable bool

	Name          string // as stored
	CRC           uint32
	Method, Flags uint16
}

// Directory lists the members of a zip that Walk would read, in the order of the directory,
// without reading their content. It is for files that are slow to read, where each read is
// planned. If there are more than limit entries, it returns an error.
func Directory(r io.ReaderAt, size int64, limit int) ([]Member, error) {
	entries, err := readDirectory(r, size, limit)
	if err != nil {
		return nil, err
	}
	markOverlaps(entries)
	last := lastOfName(&Package{}, entries)
	var out []Member
	for i := range entries {
		e := &entries[i]
		shown, odd := member(e.name)
		if t := e.mode & modeType; odd != "" || e.broken != "" || e.overlapping || e.directory() ||
			t != 0 && t != modeRegular {
			continue
		}
		if n, ok := last[path.Clean(e.name)]; ok && n != e.index {
			continue
		}
		out = append(
			out,
			Member{
				Path:       shown,
				Size:       e.size,
				Packed:     e.packed,
				Offset:     e.offset,
				Executable: e.mode&modeExecutable != 0,
				Name:       e.name,
				CRC:        e.crc,
				Method:     e.method,
				Flags:      e.flags,
			},
		)
	}
	return out, nil
}

// LocalHeader returns a local header of a member, which has its name and nothing else.
func LocalHeader(m Member) []byte {
	b := make([]byte, localSize, localSize+len(m.Name))
	copy(b, sigLocal)
	binary.LittleEndian.PutUint16(b[6:], m.Flags)
	binary.LittleEndian.PutUint16(b[8:], m.Method)
	binary.LittleEndian.PutUint16(b[26:], uint16(len(m.Name)))
	return append(b, m.Name...)
}

// Sparse returns the central directory of a zip that contains only some members of another one.
// The file consists of their bytes, each with its local header and lengths[i] bytes long,
// followed by this directory. Walk can read it.
func Sparse(members []Member, lengths []int64) []byte {
	// distance to the members, so that finding the end of the directory reads no member
	const apart = eocdSize + math.MaxUint16 + locatorSize + eocd64Size
	b := make([]byte, apart)
	at := int64(0)
	for i, m := range members {
		h := make([]byte, headerSize)
		copy(h, sigHeader)
		le := binary.LittleEndian
		le.PutUint16(h[8:], m.Flags)
		le.PutUint16(h[10:], m.Method)
		le.PutUint32(h[16:], m.CRC)
		extra := le.AppendUint16(nil, extraZip64)
		extra = le.AppendUint16(extra, 24)
		for _, n := range []int64{m.Size, m.Packed, at} {
			extra = le.AppendUint64(extra, uint64(n))
		}
		// Packed size, size and offset are in the extra field.
		for _, field := range []int{20, 24, 42} {
			le.PutUint32(h[field:], math.MaxUint32)
		}
		le.PutUint16(h[28:], uint16(len(m.Name)))
		le.PutUint16(h[30:], uint16(len(extra)))
		b = append(append(append(b, h...), m.Name...), extra...)
		at += lengths[i]
	}
	end := make([]byte, eocdSize)
	copy(end, sigEOCD)
	binary.LittleEndian.PutUint16(end[8:], uint16(len(members)))
	binary.LittleEndian.PutUint16(end[10:], uint16(len(members)))
	binary.LittleEndian.PutUint32(end[12:], uint32(len(b)-apart))
	binary.LittleEndian.PutUint32(end[16:], uint32(at+apart))
	return append(b, end...)
}
