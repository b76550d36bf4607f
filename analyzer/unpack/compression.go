package unpack

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/mikelolasagasti/xz"
)

// compression is the compression format of a stream.
type compression int

const (
	plain compression = iota
	packedGzip
	packedBzip2
	packedZstd
	packedXZ
	packedLZMA // recognized, but not supported
)

const (
	// Zstd --long=27, the maximum that the zstd program accepts by default.
	maxZstdWindow = 128 << 20
	maxXZWindow   = 64 << 20 // xz -9
)

// compressionOf returns the format of data that starts with head.
func compressionOf(head []byte) compression {
	starts := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	switch {
	case starts("\x1f\x8b"):
		return packedGzip
	case starts("BZh") && len(head) > 3 && head[3] >= '1' && head[3] <= '9' &&
		(len(head) < 10 || string(head[4:10]) == "1AY&SY" ||
			string(head[4:10]) == "\x17\x72\x45\x38\x50\x90"):
		return packedBzip2
	case starts("\x28\xb5\x2f\xfd"),
		// a skippable frame
		len(head) > 3 && head[0]&0xf0 == 0x50 && starts(string(head[:1])+"\x2a\x4d\x18"):
		return packedZstd
	case starts("\xfd7zXZ\x00"):
		return packedXZ
	case starts("\x5d\x00\x00"):
		return packedLZMA
	}
	return plain
}

// decompress returns the content of a compressed or plain stream. All inflated bytes count
// against the limits, whether read or skipped.
func (w *walker) decompress(packed *io.SectionReader) (io.Reader, func(), error) {
	head := make([]byte, 10)
	n, err := packed.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	m := &meter{limits: w.budget.limits, left: &w.budget.bytes, packed: new(int64), whole: true}
	in := bufio.NewReaderSize(counted{packed, m.packed}, 64<<10)
	nothing := func() {}
	switch compressionOf(head[:n]) {
	case packedGzip:
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", err)
		}
		return metered{z, m}, nothing, nil
	case packedBzip2:
		return metered{bzip2.NewReader(in), m}, nothing, nil
	case packedZstd:
		z, err := zstd.NewReader(
			in,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxZstdWindow),
		)
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w", err)
		}
		return metered{z, m}, z.Close, nil
	case packedXZ:
		z, err := xz.NewReader(in, maxXZWindow)
		if err != nil {
			return nil, nil, fmt.Errorf("xz: %w", err)
		}
		return metered{z, m}, nothing, nil
	case packedLZMA:
		return nil, nil, &memberError{
			text: "it is in the old LZMA format (.lzma), which compat does not read",
		}
	}
	return packed, nothing, nil
}
