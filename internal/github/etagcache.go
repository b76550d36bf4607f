package github

import (
	"bytes"
	"container/list"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/compat-app/compat/internal/lazyregexp"
)

const (
	etagCacheBytes = 32 << 20 // bodies of all installations
	// a pull request has 30 KiB; a page of workflow runs may have megabytes and is not cached
	etagEntryBytes = 512 << 10
)

// etagCache caches JSON responses with their ETag and evicts the least recently used. Each is
// revalidated with If-None-Match, since a 304 does not count against the rate limit
// (docs.github.com: best practices for using the REST API). Installations do not share entries,
// because they may have different access.
type etagCache struct {
	mu    sync.Mutex
	bytes int
	order *list.List // *kept, most recent first
	at    map[string]*list.Element
}

type kept struct {
	key    string
	tag    string
	header http.Header
	body   []byte
}

func newETagCache() *etagCache {
	return &etagCache{order: list.New(),
		at: map[string]*list.Element{}}
}

// immutable matches addresses whose response never changes: blobs and trees by hash.
var immutable = lazyregexp.New(`/git/(blobs|trees)/([0-9a-f]{40}|[0-9a-f]{64})$`)

// conditional adds If-None-Match to a cached GET. k is the entry, or nil; key is "" if the
// request is not cacheable. now is the response for an immutable address, which needs no request.
func (m *etagCache) conditional(
	installation int64,
	q *http.Request,
) (key string, k *kept, now *http.Response) {
	if q.Method != http.MethodGet || q.Header.Get("Range") != "" ||
		q.Header.Get("If-None-Match") != "" ||
		!strings.Contains(q.Header.Get("Accept"), "json") {
		return "", nil, nil
	}
	key = fmt.Sprintf("%d %s %s", installation, q.Header.Get("Accept"), q.URL)
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.at[key]
	if e == nil {
		return key, nil, nil
	}
	m.order.MoveToFront(e)
	k = e.Value.(*kept)
	if immutable.MatchString(q.URL.Path) {
		return key, k, k.answer(
			&http.Response{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: q},
		)
	}
	q.Header.Set("If-None-Match", k.tag)
	return key, k, nil
}

// answer returns the cached answer with the rate limit headers of the new one.
func (k *kept) answer(now *http.Response) *http.Response {
	fresh := *now
	fresh.StatusCode, fresh.Status = http.StatusOK, "200 OK"
	fresh.Header = k.header.Clone()
	for name := range fresh.Header {
		if volatile(name) {
			delete(fresh.Header, name)
		}
	}
	for name, v := range now.Header {
		if volatile(name) {
			fresh.Header[name] = v
		}
	}
	fresh.Body, fresh.ContentLength = io.NopCloser(bytes.NewReader(k.body)), int64(len(k.body))
	return &fresh
}

// volatile reports whether a header describes the moment and not the content.
func volatile(name string) bool {
	return strings.HasPrefix(name, "X-Ratelimit-") || name == "Date"
}

// settle returns the answer that the caller sees: for a 304 the cached one. It caches a new answer
// that has an ETag.
func (m *etagCache) settle(key string, k *kept, resp *http.Response) (*http.Response, error) {
	tag := resp.Header.Get("ETag")
	switch {
	case key == "":
		return resp, nil
	case k != nil && resp.StatusCode == http.StatusNotModified:
		drain(resp)
		return k.answer(resp), nil
	case resp.StatusCode != http.StatusOK || tag == "" ||
		!strings.Contains(resp.Header.Get("Content-Type"), "json"):
		return resp, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, etagEntryBytes+1))
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	if len(body) > etagEntryBytes {
		resp.Body = bounded{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
		return resp, nil
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	m.keep(&kept{key: key, tag: tag, header: resp.Header.Clone(), body: body})
	return resp, nil
}

func (m *etagCache) keep(k *kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.at[k.key]; e != nil {
		m.remove(e)
	}
	m.at[k.key] = m.order.PushFront(k)
	m.bytes += len(k.body)
	for m.bytes > etagCacheBytes {
		m.remove(m.order.Back())
	}
}

func (m *etagCache) remove(e *list.Element) {
	k := m.order.Remove(e).(*kept)
	delete(m.at, k.key)
	m.bytes -= len(k.body)
}
