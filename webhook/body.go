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
	// maxBody is GitHub's payload limit in bytes (docs: webhook-events-and-payloads, payload
	// cap).
	maxBody = 25 << 20

	// bodyChunk is larger than nearly all payloads. Longer bodies are stored in several chunks,
	// which are allocated as bytes arrive, so a large Content-Length alone costs little memory.
	bodyChunk = 64 << 10

	// maxUnverified limits the total bytes of bodies of any size whose signature has not been
	// verified. Above the limit the oldest body is dropped: bodies from GitHub arrive within a
	// fraction of a second, and GitHub redelivers if needed.
	maxUnverified = 96 << 20

	// bodyTime is the time limit for reading a body; GitHub waits ten seconds for the response.
	bodyTime = 8 * time.Second
)

var errBusy = errors.New("too many request bodies are in progress")

// bodies reads request bodies whose signature has not been verified yet.
type bodies struct {
	chunks sync.Pool // *[]byte of length bodyChunk

	mu      sync.Mutex
	held    int64   // bytes
	reading []*body // oldest first
}

func newBodies() *bodies {
	return &bodies{chunks: sync.Pool{New: func() any {
		chunk := make([]byte, bodyChunk)
		return &chunk
	}}}
}

// body is the part of a request body received so far.
type body struct {
	all     *bodies
	chunks  []*[]byte
	size    int
	stop    func()
	dropped bool // to free memory for other bodies
}

// read reads a body of at most maxBody bytes. The body is valid until close is called. Errors are
// errBusy, *http.MaxBytesError and those of the connection.
func (b *bodies) read(w http.ResponseWriter, r *http.Request) (*body, error) {
	// The ResponseRecorder of tests does not support deadlines.
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
		case err != nil && b.wasDropped(one):
			return one, errBusy
		case err != nil:
			return one, err
		}
	}
}

// grow adds a chunk to a body and drops the oldest other bodies above maxUnverified. It returns
// false if this body was dropped itself.
func (b *bodies) grow(one *body) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one.dropped {
		return false
	}
	b.held += bodyChunk
	for _, other := range b.reading {
		if b.held <= maxUnverified {
			break
		}
		if other != one && !other.dropped && len(other.chunks) > 0 {
			b.held -= int64(len(other.chunks)) * bodyChunk
			other.dropped = true
			other.stop()
		}
	}
	chunk, _ := b.chunks.Get().(*[]byte)
	one.chunks = append(one.chunks, chunk)
	return true
}

func (b *bodies) wasDropped(one *body) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return one.dropped
}

// close releases the memory of a body.
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
	if !one.dropped {
		b.held -= int64(len(one.chunks)) * bodyChunk
	}
	for _, chunk := range one.chunks {
		b.chunks.Put(chunk)
	}
	one.chunks = nil
}

// parts returns the bytes of a body as a list of chunks.
func (one *body) parts() (parts [][]byte) {
	left := one.size
	for _, chunk := range one.chunks {
		n := min(left, bodyChunk)
		parts = append(parts, (*chunk)[:n])
		left -= n
	}
	return parts
}

// bytes returns the whole body. It copies if there are several chunks.
func (one *body) bytes() []byte {
	parts := one.parts()
	if len(parts) == 1 {
		return parts[0]
	}
	return bytes.Join(parts, nil)
}

// mac returns the HMAC-SHA256 of a body.
func (one *body) mac(secret []byte) []byte {
	h := hmac.New(sha256.New, secret)
	for _, part := range one.parts() {
		h.Write(part)
	}
	return h.Sum(nil)
}
