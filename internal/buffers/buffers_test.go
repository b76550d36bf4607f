package buffers

import (
	"sync"
	"testing"
)

// TestLent checks that a buffer has the requested length, and that none is lent twice at once.
func TestLent(t *testing.T) {
	var wait sync.WaitGroup
	for mark := range byte(8) {
		wait.Go(func() {
			for n := range 100 {
				size := n * n * 20
				b := Get(size)
				if len(b.Bytes) != size {
					t.Errorf("%d bytes, want %d", len(b.Bytes), size)
				}
				for i := range b.Bytes {
					b.Bytes[i] = mark
				}
				for _, got := range b.Bytes {
					if got != mark {
						t.Errorf("two uses share a buffer: %d, want %d", got, mark)
						break
					}
				}
				b.Free()
			}
		})
	}
	wait.Wait()
}
