package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/klauspost/compress/flate"
)

// block is the size of one range request: enough for the zip directory of most wheels and
// METADATA. A wheel up to atOnce is fetched with one request.
const (
	block  = 512 << 10
	atOnce = 32 << 20
)

// ranged reads a remote file in blocks, each fetched once. It is an io.ReaderAt for one goroutine.
type ranged struct {
	all     []byte // the file, where it was fetched whole
	ctx     context.Context
	address string
	size    int64
	blocks  map[int64][]byte
}

// openRanged requests the first byte, which also returns the size.
func openRanged(ctx context.Context, address string) (*ranged, error) {
	resp, err := request(ctx, address, "0-0")
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	_, total, _ := strings.Cut(resp.Header.Get("Content-Range"), "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		return nil, fmt.Errorf(
			"%s: Content-Range %q has no size",
			address,
			resp.Header.Get("Content-Range"),
		)
	}
	return &ranged{ctx: ctx, address: address, size: size, blocks: map[int64][]byte{}}, nil
}

// whole fetches the file.
func (r *ranged) whole() error {
	data, err := get(r.ctx, r.address, "")
	if err == nil && int64(len(data)) != r.size {
		err = fmt.Errorf("%s: %d bytes of %d", r.address, len(data), r.size)
	}
	r.all = data
	return err
}

// inflate writes a member to an unnamed temporary file: the largest libraries have more than a
// gigabyte. It fetches the bytes with one range request.
func (r *ranged) inflate(f *zip.File) (*os.File, error) {
	offset, err := f.DataOffset()
	if err != nil {
		return nil, err
	}
	var packed io.Reader
	if r.all != nil {
		packed = io.NewSectionReader(r, offset, int64(f.CompressedSize64))
	} else {
		resp, err := request(r.ctx, r.address, fmt.Sprintf("%d-%d", offset,
			offset+int64(f.CompressedSize64)-1))
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		packed = resp.Body
	}
	if f.Method == zip.Deflate {
		packed = flate.NewReader(packed)
	}
	spool, err := os.CreateTemp("", "historygen-*")
	if err != nil {
		return nil, err
	}
	os.Remove(spool.Name())
	sum := crc32.NewIEEE()
	n, err := io.Copy(io.MultiWriter(spool, sum), io.LimitReader(packed, int64(f.UncompressedSize64)))
	if err == nil && (uint64(n) != f.UncompressedSize64 || sum.Sum32() != f.CRC32) {
		err = errors.New("is not what the directory says")
	}
	if err != nil {
		spool.Close()
		return nil, err
	}
	return spool, nil
}

func (r *ranged) ReadAt(p []byte, offset int64) (int, error) {
	if r.all != nil {
		return bytes.NewReader(r.all).ReadAt(p, offset)
	}
	n := 0
	for n < len(p) && offset < r.size {
		start := offset / block * block
		data := r.blocks[start]
		if data == nil {
			var err error
			end := min(start+block, r.size) - 1
			if data, err = get(r.ctx, r.address, fmt.Sprintf("%d-%d", start, end)); err != nil {
				return n, err
			}
			if int64(len(data)) != end-start+1 {
				return n, fmt.Errorf("%s: %d bytes of range %d-%d", r.address, len(data), start, end)
			}
			r.blocks[start] = data
		}
		c := copy(p[n:], data[offset-start:])
		n, offset = n+c, offset+int64(c)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
