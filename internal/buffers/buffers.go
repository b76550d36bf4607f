// Package buffers lends memory for what is read and thrown away, so that reading thousands of
// tables makes no garbage.
//
//	b := buffers.Get(n)
//	defer b.Free()
//	io.ReadFull(r, b.Bytes)
//
// A buffer has the bytes of its last use. Whoever frees it must not keep a part of it.
package buffers

import "sync"

const (
	least = 64 << 10 // what most tables need
	most  = 4 << 20  // larger buffers are not kept for others
)

// Buffer is borrowed memory.
type Buffer struct{ Bytes []byte }

var free = sync.Pool{New: func() any { return new(Buffer) }}

// Get returns a buffer with n bytes.
func Get(n int) *Buffer {
	b := free.Get().(*Buffer)
	if cap(b.Bytes) < n {
		b.Bytes = make([]byte, max(n, least))
	}
	b.Bytes = b.Bytes[:n]
	return b
}

// Free ends the use of b.
func (b *Buffer) Free() {
	if cap(b.Bytes) > most {
		b.Bytes = nil
	}
	free.Put(b)
}
