package unpack

import "bytes"

// memory is the Scratch if Options.Scratch is nil.
type memory struct {
	buf bytes.Buffer
	rd  *bytes.Reader // set by the first read after a write
}

func newMemory(size int64) *memory {
	m := &memory{}
	// The declared size is trusted up to 1 MiB; then the buffer grows with the content.
	m.buf.Grow(int(min(max(size, 0), 1<<20)))
	return m
}

func (m *memory) Write(p []byte) (int, error) {
	m.rd = nil
	return m.buf.Write(p)
}

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
