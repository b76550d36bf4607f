package gpu

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A fat binary section is a sequence of containers with padding between them, little endian:
//
//	container  magic u32, version u16, header size u16, size u64 of the entries
//	entry      kind u16 (1 PTX, 2 machine code), u16, header size u32, payload size u64, …
//	           architecture u32 at 28, … flags u64 at 40 (bit 20: sm_90a, bit 21: sm_100f), …
//
// The payload may be compressed, the headers are not. The format is not documented; this
// description agrees with cuobjdump on the objects of torch, torchvision, bitsandbytes and warp,
// and with fatbinary of CUDA 13 for the flags.
const (
	cudaMagic      = 0xba55ed50
	cudaHeader     = 16
	cudaEntry      = 64 // the header size that nvcc writes
	cudaEntryKnown = 48 // up to the flags

	kindPTX  = 1
	kindCode = 2

	flagArch   = 1 << 20 // sm_90a: for this architecture only
	flagFamily = 1 << 21 // sm_100f: for this family only

	// libtorch_cuda.so, the largest known object, has about 10,000 containers with 10 entries.
	maxEntries = 1 << 20
	// Compute capabilities are major*10+minor; 12.1 is 121.
	maxArch = 9999
)

func (f *found) readCUDA(r *io.SectionReader) error {
	left := maxEntries
	pos := int64(0)
	for {
		var err error
		if pos, err = nextMagic(r, pos, func(b []byte) bool {
			return binary.LittleEndian.Uint32(b) == cudaMagic
		}); err != nil ||
			pos < 0 {
			return err
		}
		var h [cudaHeader]byte
		if err := readAt(r, h[:], pos); err != nil {
			return err
		}
		head, size := int64(binary.LittleEndian.Uint16(h[6:])), binary.LittleEndian.Uint64(h[8:])
		if room := r.Size() - pos - head; head < cudaHeader || room < 0 || size > uint64(room) {
			return damaged(
				"the container at byte %d claims %d bytes after a header of %d, and the section has %d",
				pos,
				size,
				head,
				r.Size(),
			)
		}
		end := pos + head + int64(size)
		if err := f.readContainer(r, pos+head, end, &left); err != nil {
			return err
		}
		pos = (end + 7) &^ 7
	}
}

func (f *found) readContainer(r *io.SectionReader, pos, end int64, left *int) error {
	for pos+cudaEntry <= end {
		if *left--; *left < 0 {
			return damaged("more than %d entries", maxEntries)
		}
		var h [cudaEntryKnown]byte
		if err := readAt(r, h[:], pos); err != nil {
			return err
		}
		kind, head, size := binary.LittleEndian.Uint16(h[0:]), int64(
			binary.LittleEndian.Uint32(h[4:]),
		), binary.LittleEndian.Uint64(h[8:])
		if room := end - pos - head; head < cudaEntryKnown || room < 0 || size > uint64(room) {
			return damaged(
				"the entry at byte %d claims %d bytes after a header of %d, and its container ends at %d",
				pos,
				size,
				head,
				end,
			)
		}
		arch := binary.LittleEndian.Uint32(h[28:])
		if arch > maxArch && (kind == kindPTX || kind == kindCode) {
			return damaged("the entry at byte %d is for architecture %d", pos, arch)
		}
		name := fmt.Sprintf("sm_%d", arch)
		switch flags := binary.LittleEndian.Uint64(h[40:]); {
		case flags&flagArch != 0:
			name += "a"
		case flags&flagFamily != 0:
			name += "f"
		}
		switch kind {
		case kindPTX:
			f.ptx[name] = true
		case kindCode:
			f.cuda[name] = true
		}
		pos += head + int64(size)
	}
	return nil
}

// nextMagic returns the first multiple of 8 at or after pos for which match, called with 8 bytes,
// returns true; -1 if there is none.
func nextMagic(r *io.SectionReader, pos int64, match func([]byte) bool) (int64, error) {
	chunk := make([]byte, min(64<<10, max(r.Size()-pos, 0))&^7)
	for pos+8 <= r.Size() && len(chunk) > 0 {
		b := chunk[:min(int64(len(chunk)), (r.Size()-pos)&^7)]
		if err := readAt(r, b, pos); err != nil {
			return 0, err
		}
		for i := 0; i < len(b); i += 8 {
			if match(b[i : i+8]) {
				return pos + int64(i), nil
			}
		}
		pos += int64(len(b))
	}
	return -1, nil
}
