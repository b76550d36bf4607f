package gpu

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// .hip_fatbin is a sequence of bundles, each aligned to a page (clang, "ClangOffloadBundler"):
//
//	plain       "__CLANG_OFFLOAD_BUNDLE__", count u64, then for each entry: offset u64, size u64, length u64, name
//	compressed  "CCOB", version u16, method u16 (0 zlib, 1 zstd), [version 2: total u32, version 3: total u64], raw size
//	            u32 (version 3: u64), hash u64, then a compressed plain bundle; total includes the header
//
// An entry's name is KIND-TRIPLE-TARGET, such as hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+. Entries
// named host-x86_64-… are for the host program.
const (
	bundleMagic = "__CLANG_OFFLOAD_BUNDLE__"
	ccobMagic   = "CCOB"

	methodZlib = 0
	methodZstd = 1

	maxBundleEntries = 1024     // all ROCm targets with their variants are fewer than 100
	maxEntryName     = 256      // names such as the above are shorter than 60 bytes
	maxBundles       = 16 << 10 // one for each source file with kernels
	// clang compresses with long distance matching, whose window is 128 MiB. The decoder reserves
	// that much memory but uses only what the table at the start needs. Larger windows are an
	// error.
	maxWindow = 128 << 20
)

// hip reads .hip_fatbin. It reuses one decompressor of each kind for all bundles of an object.
type hip struct {
	found   *found
	zstd    *zstd.Decoder
	zlib    io.ReadCloser
	bundles int
}

func (h *hip) close() {
	if h.zstd != nil {
		h.zstd.Close()
	}
}

func (h *hip) read(r *io.SectionReader) error {
	pos := int64(0)
	for {
		var err error
		pos, err = nextMagic(r, pos, func(b []byte) bool {
			return string(b[:4]) == ccobMagic || string(b) == bundleMagic[:8]
		})
		if err != nil || pos < 0 {
			return err
		}
		if h.bundles++; h.bundles > maxBundles {
			return damaged("more than %d bundles", maxBundles)
		}
		rest := io.NewSectionReader(r, pos, r.Size()-pos)
		var first [4]byte
		if err := readAt(rest, first[:], 0); err != nil {
			return err
		}
		var size int64
		if string(first[:]) == ccobMagic {
			size, err = h.compressed(rest)
		} else {
			size, err = h.plain(bufio.NewReader(rest), uint64(rest.Size()))
		}
		if err != nil {
			return fmt.Errorf("the bundle at byte %d: %w", pos, err)
		}
		pos = (pos + size + 7) &^ 7
	}
}

// plain reads the table of an uncompressed bundle and returns the size of the bundle. An entry that
// does not end within the first limit bytes is an error.
func (h *hip) plain(r *bufio.Reader, limit uint64) (int64, error) {
	var head [len(bundleMagic) + 8]byte
	if err := readFull(r, head[:]); err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(head[:], []byte(bundleMagic)) {
		return 0, damaged("it does not start with %s", bundleMagic)
	}
	n := binary.LittleEndian.Uint64(head[len(bundleMagic):])
	if n > maxBundleEntries {
		return 0, damaged("%d entries are more than %d", n, maxBundleEntries)
	}
	end := uint64(len(head))
	for i := range n {
		var e [24]byte
		if err := readFull(r, e[:]); err != nil {
			return 0, err
		}
		off, size, length := binary.LittleEndian.Uint64(e[0:]), binary.LittleEndian.Uint64(
			e[8:],
		), binary.LittleEndian.Uint64(e[16:])
		if length > maxEntryName {
			return 0, damaged("the name of entry %d has %d bytes, more than %d", i, length, maxEntryName)
		}
		if size > limit || off > limit-size {
			return 0, damaged("entry %d claims %d bytes at %d of %d", i, size, off, limit)
		}
		name := make([]byte, length)
		if err := readFull(r, name); err != nil {
			return 0, err
		}
		end = max(end, off+size)
		if t := target(string(name)); t != "" && size > 0 {
			h.found.rocm[t] = true
		}
	}
	return int64(end), nil
}

// compressed reads the table of a compressed bundle and returns the compressed size; in version 1,
// whose header lacks the size, it returns the length of the magic, so that the search continues
// behind it.
func (h *hip) compressed(r *io.SectionReader) (int64, error) {
	var b [32]byte
	if err := readAt(r, b[:20], 0); err != nil {
		return 0, err
	}
	version, method := binary.LittleEndian.Uint16(b[4:]), binary.LittleEndian.Uint16(b[6:])
	var head int64
	var raw uint64
	total := uint64(r.Size())
	switch version {
	case 1:
		head, raw = 20, uint64(binary.LittleEndian.Uint32(b[8:]))
	case 2:
		head, total, raw = 24, uint64(binary.LittleEndian.Uint32(b[8:])), uint64(
			binary.LittleEndian.Uint32(b[12:]),
		)
	case 3:
		if err := readAt(r, b[:], 0); err != nil {
			return 0, err
		}
		head, total, raw = 32, binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
	default:
		return 0, damaged("compressed with version %d of the format; 1 to 3 are known", version)
	}
	if total < uint64(head) || total > uint64(r.Size()) {
		return 0, damaged("it claims %d bytes, and the section has %d left", total, r.Size())
	}
	body := io.NewSectionReader(r, head, int64(total)-head)
	d, err := h.decompress(method, bufio.NewReader(body))
	if err != nil {
		return 0, err
	}
	if _, err := h.plain(bufio.NewReader(d), raw); err != nil {
		return 0, err
	}
	if version == 1 {
		return int64(len(ccobMagic)), nil
	}
	return int64(total), nil
}

func (h *hip) decompress(method uint16, r io.Reader) (d io.Reader, err error) {
	switch {
	case method == methodZlib && h.zlib == nil:
		h.zlib, err = zlib.NewReader(r)
		d = h.zlib
	case method == methodZlib:
		err = h.zlib.(zlib.Resetter).Reset(r, nil)
		d = h.zlib
	case method == methodZstd && h.zstd == nil:
		h.zstd, err = zstd.NewReader(
			r,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow),
		)
		d = h.zstd
	case method == methodZstd:
		err = h.zstd.Reset(r)
		d = h.zstd
	default:
		return nil, damaged("compressed with method %d; zlib (0) and zstd (1) are known", method)
	}
	if err != nil {
		return nil, decompression(err)
	}
	return d, nil
}

func readFull(r io.Reader, b []byte) error {
	if _, err := io.ReadFull(r, b); err != nil {
		return decompression(err)
	}
	return nil
}

// decompression wraps an error of reading the table in ErrDamaged.
func decompression(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("it ends within its table")
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// target returns the processor in an entry's name, without features (":xnack+"); "" for the host
// entry.
func target(name string) string {
	if i := strings.Index(name, "-gfx"); i >= 0 {
		t, _, _ := strings.Cut(name[i+1:], ":")
		for _, c := range t {
			if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", c) {
				return ""
			}
		}
		return t
	}
	if strings.HasSuffix(name, "-amdgcnspirv") {
		return "amdgcnspirv"
	}
	return ""
}
