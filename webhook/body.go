package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// maxBody is GitHub's limit for a payload (docs: webhook-events-and-payloads, payload cap).
	maxBody = 25 << 20

	// bodyChunk is more than nearly all payloads have. Larger ones are kept in chunks of it, made as
	// the bytes arrive: a length that is only announced costs nothing.
	bodyChunk = 64 << 10

	// maxUnverified bounds the bytes of all bodies that are not verified yet. Beyond it the body that
	// began first is given up: GitHub's arrive within a fraction of a second, so that one is a
	// stranger's, or GitHub delivers it again.
	maxUnverified = 96 << 20

	// bodyTime is how long a body may take; GitHub waits ten seconds for the answer.
	bodyTime = 8 * time.Second
)

var errBusy = errors.New("too many large request bodies are in progress")

// bodies reads the bodies of requests that are not verified yet.
type bodies struct {
	chunks sync.Pool // of *[]byte, bodyChunk long

	mu      sync.Mutex
	held    int64   // bytes
	reading []*body // the one that began first is the first
}

func newBodies() *bodies {
	return &bodies{chunks: sync.Pool{New: func() any {
		chunk := make([]byte, bodyChunk)
		return &chunk
	}}}
}

// body is what has arrived of a request's body.
type body struct {
	all    *bodies
	chunks []*[]byte
	size   int
	stop   func()
	given  bool // up, for others
}

// read reads a body of up to maxBody, which is good until close is called. Errors: errBusy,
// *http.MaxBytesError, and those of the connection.
func (b *bodies) read(w http.ResponseWriter, r *http.Request) (*body, error) {
	// A recorder of a test has no deadlines.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime))
	in := http.MaxBytesReader(w, r.Body, maxBody)
	one := &body{all: b, stop: func() { _ = control.SetReadDeadline(time.Now()) }}
	b.mu.Lock()
	b.reading = append(b.reading, one)
	b.mu.Unlock()
	for {
		if one.size == len(one.chunks)*bodyChunk && !b.grow(one) {
			return one, errBusy
		}
		n, err := in.Read((*one.chunks[len(one.chunks)-1])[one.size%bodyChunk:])
		one.size += n
		switch {
		case errors.Is(err, io.EOF):
			return one, nil
		case err != nil && b.gaveUp(one):
			return one, errBusy
		case err != nil:
			return one, err
		}
	}
}

// grow gives a body another chunk, at the cost of the one that began first where there are too
// many.
func (b *bodies) grow(one *body) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one.given {
		return false
	}
	b.held += bodyChunk
	for _, other := range b.reading {
		if b.held <= maxUnverified {
			break
		}
		if other != one && !other.given && len(other.chunks) > 1 {
			b.held -= int64(len(other.chunks)) * bodyChunk
			other.given = true
			other.stop()
		}
	}
	chunk, _ := b.chunks.Get().(*[]byte)
	one.chunks = append(one.chunks, chunk)
	return true
}

func (b *bodies) gaveUp(one *body) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return one.given
}

// close gives the memory of a body back.
func (one *body) close() {
	b := one.all
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.reading {
		if other == one {
			b.reading = append(b.reading[:i], b.reading[i+1:]...)
			break
		}
	}
	if !one.given {
		b.held -= int64(len(one.chunks)) * bodyChunk
	}
	for _, chunk := range one.chunks {
		b.chunks.Put(chunk)
	}
	one.chunks = nil
}

// parts are the bytes of a body, chunk by chunk.
func (one *body) parts() (parts [][]byte) {
	left := one.size
	for _, chunk := range one.chunks {
		n := min(left, bodyChunk)
		parts = append(parts, (*chunk)[:n])
		left -= n
	}
	return parts
}

// bytes is the whole body, which is copied where it has several chunks.
func (one *body) bytes() []byte {
	parts := one.parts()
	if len(parts) == 1 {
		return parts[0]
	}
	return bytes.Join(parts, nil)
}

// mac is the HMAC-SHA256 of a body.
func (one *body) mac(secret []byte) []byte {
	h := hmac.New(sha256.New, secret)
	for _, part := range one.parts() {
		h.Write(part)
	}
	return h.Sum(nil)
}
