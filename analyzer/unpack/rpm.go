package unpack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// An rpm is a lead, a signature, a header, and a compressed cpio (rpm's
// docs/manual/format_v4.md). Of the header only the architecture and the required capabilities are
// read.
const (
	rpmMagic       = "\xed\xab\xee\xdb"
	rpmLead        = 96
	rpmHeaderMagic = "\x8e\xad\xe8\x01"
	rpmArch        = 1022
	rpmRequireName = 1049
	rpmString      = 6
	rpmStringArray = 8
	maxRPMHeader   = 64 << 20 // the kernel's debug packages have headers of 20 MB
	maxRPMEntries  = 64 << 10 // the limit of rpm, hdrchkTags
	maxRequires    = 20_000
	maxRPMArch     = 64
)

// rpm walks the cpio of an rpm.
func (w *walker) rpm(pkg *Package, r io.ReaderAt, size int64, depth int) error {
	end, err := readRPMHeader(r, size, rpmLead, nil)
	if err != nil {
		w.problem(pkg.Path, "the file is truncated or damaged: its signature %v", err)
		return nil
	}
	end += -end & 7 // only the signature is padded
	end, err = readRPMHeader(r, size, end, pkg)
	if err != nil {
		w.problem(pkg.Path, "the file is truncated or damaged: its header %v", err)
		return nil
	}
	if end >= size {
		w.problem(pkg.Path, "the file is truncated or damaged: it has no payload")
		return nil
	}
	stream, done, err := w.decompress(io.NewSectionReader(r, end, size-end))
	if err != nil {
		return w.fileError(pkg.Path, err)
	}
	defer done()
	return w.cpio(pkg, stream, depth)
}

// readRPMHeader returns the end of the header at an offset, and sets what it says of the package,
// which is nil for the signature.
func readRPMHeader(r io.ReaderAt, size, at int64, pkg *Package) (end int64, err error) {
	fixed := make([]byte, 16)
	if at > size-16 {
		return 0, fmt.Errorf("starts at offset %d, but the file has %d bytes", at, size)
	}
	if _, err := r.ReadAt(fixed, at); err != nil && err != io.EOF {
		return 0, err
	}
	if string(fixed[:4]) != rpmHeaderMagic {
		return 0, fmt.Errorf("has a wrong magic number")
	}
	entries, store := int64(binary.BigEndian.Uint32(fixed[8:])), int64(
		binary.BigEndian.Uint32(fixed[12:]),
	)
	if entries > maxRPMEntries || store > maxRPMHeader {
		return 0, fmt.Errorf(
			"has %d entries and %d bytes, more than the limits of %d and %d",
			entries,
			store,
			maxRPMEntries,
			maxRPMHeader,
		)
	}
	end = at + 16 + 16*entries + store
	if end > size {
		return 0, fmt.Errorf("ends at offset %d, but the file has %d bytes", end, size)
	}
	if pkg == nil {
		return end, nil
	}
	index := make([]byte, 16*entries)
	if _, err := r.ReadAt(index, at+16); err != nil && err != io.EOF {
		return 0, err
	}
	for ; len(index) > 0; index = index[16:] {
		tag, kind := binary.BigEndian.Uint32(index), binary.BigEndian.Uint32(index[4:])
		offset, count := int64(binary.BigEndian.Uint32(index[8:])), int64(
			binary.BigEndian.Uint32(index[12:]),
		)
		isArch := tag == rpmArch && kind == rpmString
		if !isArch && (tag != rpmRequireName || kind != rpmStringArray) || offset > store {
			continue
		}
		b := make([]byte, min(store-offset, 4<<20))
		if _, err := r.ReadAt(b, at+16+16*entries+offset); err != nil && err != io.EOF {
			return 0, err
		}
		if isArch {
			arch, _, _ := bytes.Cut(b[:min(len(b), maxRPMArch)], []byte{0})
			pkg.Arch = string(arch)
			continue
		}
		for ; count > 0 && len(pkg.Requires) < maxRequires; count-- {
			name, rest, ok := bytes.Cut(b, []byte{0})
			if !ok {
				break
			}
			pkg.Requires, b = append(pkg.Requires, string(name)), rest
		}
	}
	return end, nil
}
