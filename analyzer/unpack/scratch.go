package unpack

import "bytes"

// memory is the Scratch of Options without one.
type memory struct {
	buf bytes.Buffer
	rd  *bytes.Reader // set with the first read
}

func newMemory(size int64) *memory {
	m := &memory{}
	// A declared size is believed up to 1 MiB; beyond that the buffer grows as content comes.
	m.buf.Grow(int(min(max(size, 0), 1<<20)))
	return m
}

func (m *memory) Write(p []byte) (int, error) { return m.buf.Write(p) }

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	if m.rd == nil {
		m.rd = bytes.NewReader(m.buf.Bytes())
	}
	return m.rd.ReadAt(p, off)
}

func (m *memory) Close() error {
	*m = memory{}
	return nil
}
