package pinned

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/compat-app/compat/analyzer/packages/lockfile"
)

// decodedAtOnce limits the bytes of lock files that this process decodes at the same time. A
// hostile file allocates about twelve times its size (lockfile.TestBounds), and every worker of the
// service may have one. So they take turns if they are large; ordinary files have some hundred KB.
const decodedAtOnce = 16 << 20

var decoding = semaphore.NewWeighted(decodedAtOnce)

// decode is lockfile.Read within the limit of this process.
func decode(file string, data []byte) (*lockfile.Lock, error) {
	n := min(int64(len(data)), decodedAtOnce)
	// It waits for decoders only, and these end.
	if err := decoding.Acquire(context.Background(), n); err != nil {
		return nil, err
	}
	defer decoding.Release(n)
	return lockfile.Read(file, data)
}
