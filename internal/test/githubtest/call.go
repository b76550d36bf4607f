package githubtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Call is a request of the App.
type Call struct {
	At           time.Time
	Took         time.Duration
	Method       string
	Path         string // below the REST root, with the query
	Op           string // GitHub's operation ID, "graphql", or "" if there is no such operation
	Installation int64  // of the token; 0 = the App's own
	Repo         string // "owner/name" in the path; "" = none
	Status       int    // 0 = the connection was closed
	Body         string
}

// Writes reports whether the call changes something.
func (c *Call) Writes() bool {
	return c.Method != "GET" && c.Op != "apps/create-installation-access-token"
}

func (c *Call) String() string { return fmt.Sprintf("%s %s: %d", c.Method, c.Path, c.Status) }

// maxBody is larger than any request of compat.
const maxBody = 8 << 20

type request struct {
	*http.Request
	call *Call
	op   *operation
	body object // nil = none
	inst *Installation
	repo *Repo
}

func (r *request) number(name string) int64 {
	n, _ := strconv.ParseInt(r.PathValue(name), 10, 64)
	return n
}

func (r *request) query(name string) string { return r.URL.Query().Get(name) }

// failure is a response with status 400 or more.
type failure struct {
	status int
	text   string
}

func (f *failure) Error() string { return f.text }

func fail(status int, format string, args ...any) error {
	return &failure{status, fmt.Sprintf(format, args...)}
}

func notFound() error { return fail(http.StatusNotFound, "Not Found") }

// answer is the result of a handler that does not return JSON with status 200.
type answer struct {
	status int
	body   any // JSON; []byte is sent unchanged
	header http.Header
}

func created(body any) *answer { return &answer{status: http.StatusCreated, body: body} }

func (s *Server) serveAPI(w http.ResponseWriter, hr *http.Request) {
	if webPath(hr.URL.Path) {
		s.serveWeb(w, hr)
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, maxBody))
	if err != nil {
		return // closed during the request: nothing happened
	}
	s.mu.Lock()
	path := s.below(hr)
	op := match(hr, path)
	r := &request{
		Request: hr,
		op:      op,
		call:    &Call{At: time.Now(), Method: hr.Method, Path: path, Body: string(raw)},
	}
	if hr.URL.RawQuery != "" {
		r.call.Path += "?" + hr.URL.RawQuery
	}
	s.calls = append(s.calls, r.call)
	var f *Fault
	var out *answer
	if op == nil {
		s.violate(
			"%s %s: compat uses no such operation of GitHub (or this fake lacks it)",
			hr.Method,
			path,
		)
		out = refuse(notFound())
	} else {
		r.call.Op = op.id
		out, f = s.admit(r, raw)
	}
	s.mu.Unlock()

	if f != nil && f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-hr.Context().Done():
		}
	}
	if f != nil && f.Do != nil {
		f.Do()
	}
	status := 0
	if f == nil || !f.Cut {
		status = write(w, hr, out)
	}
	s.mu.Lock()
	r.call.Status, r.call.Took = status, time.Since(r.call.At)
	s.mu.Unlock()
	if status == 0 {
		panic(http.ErrAbortHandler) // closes the connection
	}
}

// below returns the path below the REST root in its usual form: /repositories/ID, which GitHub
// uses in Link headers, becomes /repos/OWNER/NAME.
func (s *Server) below(r *http.Request) string {
	path := r.URL.EscapedPath()
	if s.prefix != "" {
		if path == "/api/graphql" {
			return "/graphql"
		}
		rest, ok := strings.CutPrefix(path, s.prefix)
		if !ok || rest == "/graphql" {
			s.violate("%s %s: outside of the REST root %s", r.Method, path, s.URL())
			return "/outside" + path
		}
		path = rest
	}
	if rest, ok := strings.CutPrefix(path, "/repositories/"); ok {
		id, tail, _ := strings.Cut(rest, "/")
		n, _ := strconv.ParseInt(id, 10, 64)
		if repo := s.repos[n]; repo != nil {
			path = strings.TrimSuffix("/repos/"+repo.FullName()+"/"+tail, "/")
		}
	}
	return path
}

// admit runs before every operation: it checks authentication, permissions, rate limits, faults
// and GitHub's validation.
func (s *Server) admit(r *request, raw []byte) (*answer, *Fault) {
	if err := s.authenticate(r); err != nil {
		return refuse(err), nil
	}
	if out := s.limited(r); out != nil {
		return out, nil
	}
	f := s.due(r.call)
	if f != nil && !f.After && f.refuses() {
		return s.faulty(r, f), f
	}
	out := s.perform(r, raw)
	if f != nil && f.refuses() {
		return s.faulty(r, f), f
	}
	return out, f
}

func (s *Server) perform(r *request, raw []byte) *answer {
	if r.PathValue("owner") != "" && r.repo == nil {
		return refuse(notFound())
	}
	if s.validate != nil && r.op.id != "graphql" {
		if err := s.validate(r.Request, raw); err != nil {
			s.violate("%s %s: %v", r.Method, r.call.Path, err)
			return refuse(fail(http.StatusUnprocessableEntity, "Invalid request.\n\n%v", err))
		}
	}
	if t := bytes.TrimSpace(raw); len(t) > 0 && string(t) != "null" {
		if err := json.Unmarshal(t, &r.body); err != nil {
			s.violate("%s %s: the body is no JSON object: %v", r.Method, r.call.Path, err)
			return refuse(fail(http.StatusBadRequest, "Problems parsing JSON"))
		}
	}
	body, err := r.op.do(s, r)
	if err != nil {
		return refuse(err)
	}
	if a, ok := body.(*answer); ok {
		return a
	}
	return &answer{status: http.StatusOK, body: body}
}

func refuse(err error) *answer {
	f := &failure{http.StatusInternalServerError, err.Error()}
	errors.As(err, &f)
	return &answer{
		status: f.status,
		body: object{
			"message":           f.text,
			"documentation_url": "https://docs.github.com/rest",
			"status":            strconv.Itoa(f.status),
		},
	}
}

// violation rejects a request that the App should not have sent.
func (s *Server) violation(r *request, format string, args ...any) error {
	why := fmt.Sprintf(format, args...)
	s.violate("%s %s: %s", r.Method, r.call.Path, why)
	return fail(http.StatusUnprocessableEntity, "Validation Failed: %s", why)
}

func write(w http.ResponseWriter, r *http.Request, a *answer) int {
	h := w.Header()
	h.Set("X-RateLimit-Limit", "5000")
	h.Set("X-RateLimit-Remaining", "4900")
	h.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10))
	h.Set("X-GitHub-Request-Id", random(8))
	h.Set("Content-Type", "application/json; charset=utf-8")
	for k, v := range a.header {
		h[k] = v
	}
	body, ok := a.body.([]byte)
	if !ok && a.body != nil {
		body = encode(a.body)
	}
	if r.Method == http.MethodGet && a.status == http.StatusOK {
		sum := sha256.Sum256(body)
		tag := `"` + hex.EncodeToString(sum[:]) + `"`
		h.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return http.StatusNotModified
		}
	}
	if len(body) == 0 {
		h.Del("Content-Type")
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(body) // fails only if the client closed the connection
	return a.status
}
