package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// block is how much one range request fetches: the zip directory of most wheels, and METADATA beside it.
const block = 512 << 10

// ranged reads a remote file in blocks, each fetched once. It is an io.ReaderAt for one goroutine.
type ranged struct {
	ctx     context.Context
	address string
	size    int64
	blocks  map[int64][]byte
}

// openRanged asks for the first byte, which also tells the size.
func openRanged(ctx context.Context, address string) (*ranged, error) {
	resp, err := request(ctx, address, "0-0")
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	_, total, _ := strings.Cut(resp.Header.Get("Content-Range"), "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%s: Content-Range %q has no size", address, resp.Header.Get("Content-Range"))
	}
	return &ranged{ctx: ctx, address: address, size: size, blocks: map[int64][]byte{}}, nil
}

func (r *ranged) ReadAt(p []byte, offset int64) (int, error) {
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
