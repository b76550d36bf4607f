package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// maxBody is GitHub's limit for a payload (docs: webhook-events-and-payloads, payload cap).
	maxBody = 25 << 20

	// usualBody is more than nearly all payloads have.
	usualBody = 64 << 10

	// largeBodies is how many bodies over usualBody are read at once. Who sends one is known only
	// when all of it is here, so this times maxBody is what strangers can make the service hold;
	// GitHub sends a larger one once in a while.
	largeBodies = 4

	// largeWait is how long one more waits for its turn; then GitHub is told to come again, and the
	// sweeper asks for it.
	largeWait = 4 * time.Second
)

var errBusy = errors.New("too many large bodies arrive at once")

// bodies reads requests' bodies.
type bodies struct {
	usual sync.Pool     // of *bytes.Buffer, up to usualBody
	large chan struct{} // holds one for each larger body that is being read
}

func newBodies() *bodies {
	return &bodies{
		usual: sync.Pool{New: func() any { return &bytes.Buffer{} }},
		large: make(chan struct{}, largeBodies),
	}
}

// read returns a body of up to maxBody, which is good until done is called; nothing may refer to it
// afterwards. Errors: errBusy, *http.MaxBytesError, and those of the connection.
func (b *bodies) read(
	w http.ResponseWriter,
	r *http.Request,
) (body []byte, done func(), err error) {
	in := http.MaxBytesReader(w, r.Body, maxBody)
	buffer, _ := b.usual.Get().(*bytes.Buffer)
	put := func() {
		buffer.Reset()
		b.usual.Put(buffer)
	}
	n, err := buffer.ReadFrom(io.LimitReader(in, usualBody-bytes.MinRead))
	if err != nil || n < usualBody-bytes.MinRead {
		return buffer.Bytes(), put, err
	}
	defer put()
	if err := b.enter(r.Context()); err != nil {
		return nil, func() {}, err
	}
	whole := &bytes.Buffer{}
	whole.Grow(int(max(r.ContentLength, 2*usualBody)) + bytes.MinRead)
	whole.Write(buffer.Bytes())
	_, err = whole.ReadFrom(in)
	return whole.Bytes(), func() { <-b.large }, err
}

func (b *bodies) enter(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, largeWait)
	defer cancel()
	select {
	case b.large <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errBusy
	}
}
