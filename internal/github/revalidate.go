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
	memoryBytes = 32 << 20 // answers of all installations together
	// a pull request has 30 KiB, a page of workflow runs may have megabytes: those are read anew
	memoryEntry = 512 << 10
)

// memory keeps JSON answers with their ETag, the least recently used go first. Each is asked for
// again, with If-None-Match: a 304 brings no news and doesn't count against the rate limit
// (docs.github.com: best practices for using the REST API). Installations don't share entries,
// since what one may see another may not.
type memory struct {
	mu    sync.Mutex
	bytes int
	order *list.List // of *kept, the newest first
	at    map[string]*list.Element
}

type kept struct {
	key    string
	tag    string
	header http.Header
	body   []byte
}

func newMemory() *memory { return &memory{order: list.New(), at: map[string]*list.Element{}} }

// immutable are addresses whose answer never changes: a blob, or the tree of a commit, by its hash.
var immutable = lazyregexp.New(`/git/(blobs|trees)/([0-9a-f]{40}|[0-9a-f]{64})$`)

// conditional makes a GET that was answered before ask for news only; nil: it wasn't, or it isn't
// one to be kept. now is the answer where there can be no news.
func (m *memory) conditional(
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

// answer is what was kept, as an answer of now.
func (k *kept) answer(now *http.Response) *http.Response {
	fresh := *now
	fresh.StatusCode, fresh.Status = http.StatusOK, "200 OK"
	fresh.Header = k.header.Clone()
	for name := range fresh.Header {
		if told(name) {
			delete(fresh.Header, name)
		}
	}
	for name, v := range now.Header {
		if told(name) {
			fresh.Header[name] = v
		}
	}
	fresh.Body, fresh.ContentLength = io.NopCloser(bytes.NewReader(k.body)), int64(len(k.body))
	return &fresh
}

// told are the headers that are about the moment and not about the answer.
func told(name string) bool {
	return strings.HasPrefix(name, "X-Ratelimit-") || name == "Date"
}

// settle gives the answer that the caller sees: the one that was kept for a 304, and one that is
// worth it is kept.
func (m *memory) settle(key string, k *kept, resp *http.Response) (*http.Response, error) {
	tag := resp.Header.Get("ETag")
	switch {
	case key == "":
		return resp, nil
	case k != nil && resp.StatusCode == http.StatusNotModified:
		drain(resp)
		return k.answer(resp), nil
	case resp.StatusCode != http.StatusOK || tag == "" || !strings.Contains(resp.Header.Get("Content-Type"), "json"):
		return resp, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, memoryEntry+1))
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	if len(body) > memoryEntry {
		resp.Body = bounded{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
		return resp, nil
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	m.keep(&kept{key: key, tag: tag, header: resp.Header.Clone(), body: body})
	return resp, nil
}

func (m *memory) keep(k *kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.at[k.key]; e != nil {
		m.remove(e)
	}
	m.at[k.key] = m.order.PushFront(k)
	m.bytes += len(k.body)
	for m.bytes > memoryBytes {
		m.remove(m.order.Back())
	}
}

func (m *memory) remove(e *list.Element) {
	k := m.order.Remove(e).(*kept)
	delete(m.at, k.key)
	m.bytes -= len(k.body)
}
