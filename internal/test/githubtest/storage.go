package githubtest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// linkLife is how long GitHub's links to stored bytes are good for.
const linkLife = time.Minute

// link is an address on the storage host: whoever has it may read the bytes, for a minute.
type link struct {
	blob    *Blob
	kind    string
	expires time.Time
}

func (s *Server) redirect(b *Blob, kind string) *answer {
	name := random(16)
	life := linkLife
	if b.Stale > 0 {
		b.Stale--
		life = -time.Second
	}
	s.links[name] = &link{blob: b, kind: kind, expires: time.Now().Add(life)}
	return &answer{
		status: http.StatusFound,
		header: http.Header{"Location": {s.storage.url + "/blobs/" + name + "?sig=" + random(8)}},
	}
}

// steps is in how many pieces a slow answer is sent.
const steps = 20

func (s *Server) serveStorage(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/blobs/")
	s.mu.Lock()
	if r.Header.Get("Authorization") != "" {
		s.violate("%s: the storage host was sent an Authorization header", r.URL.Path)
	}
	l := s.links[name]
	if l == nil || time.Now().After(l.expires) {
		s.mu.Unlock()
		http.Error(
			w,
			"AuthenticationFailed: the link is unknown or has expired",
			http.StatusForbidden,
		)
		return
	}
	b := l.blob
	b.Downloads++
	data, cut, slow := b.Data, b.Cuts > 0, b.Slow
	if b.Half {
		data = data[:len(data)/2]
	}
	if cut {
		b.Cuts--
	}
	s.mu.Unlock()

	w.Header().Set("Content-Type", l.kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if cut {
		_, _ = w.Write(data[:len(data)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	if slow == 0 {
		_, _ = w.Write(data) // whoever went away is not told
		return
	}
	for i := range steps {
		_, _ = w.Write(data[len(data)*i/steps : len(data)*(i+1)/steps])
		w.(http.Flusher).Flush()
		select {
		case <-time.After(slow / steps):
		case <-r.Context().Done():
			return
		}
	}
}
