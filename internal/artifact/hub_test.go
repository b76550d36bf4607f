package artifact

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/github"
)

var testKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// IDs of the base repository and of a fork
const (
	home = 100
	fork = 200
)

// hub is a fake GitHub with the repository octo/widget, whose artifacts are on a second host.
type hub struct {
	t            *testing.T
	api, storage *httptest.Server

	mu     sync.Mutex
	runs   []run
	assets []art
	jobs   []any // of each run
	down   int   // number of artifact downloads to answer with 502
	gone   int   // number of calls to answer with 404
	limit  bool
	fetch  map[int64]int // number of downloads of each artifact
	cut    map[int64]int // number of downloads of each artifact to cut off
}

type run struct {
	id                        int64
	path, event, status, over string // over is the conclusion
	sha, branch               string
	head                      int64 // repository ID
	arts                      []art
}

type art struct {
	id          int64
	name        string
	data        []byte
	digest      string // "" = correct, "-" = none
	size        int64  // 0 = correct
	expired     bool
	state       string
	origin, sha any // in the record of the artifact; nil = those of the run
	status      int // of the download; 0 = 200
}

func newHub(t *testing.T) *hub {
	h := &hub{t: t, fetch: map[int64]int{}, cut: map[int64]int{}}
	h.api = httptest.NewServer(http.HandlerFunc(h.serve))
	h.storage = httptest.NewServer(http.HandlerFunc(h.deliver))
	t.Cleanup(h.api.Close)
	t.Cleanup(h.storage.Close)
	return h
}

func (h *hub) client() *github.Client {
	h.t.Helper()
	root, err := url.Parse(h.api.URL)
	if err != nil {
		h.t.Fatal(err)
	}
	app, err := github.New(
		github.Options{
			AppID:   1,
			Key:     testKey(),
			API:     root,
			Backoff: func(int) time.Duration { return time.Millisecond },
		},
	)
	if err != nil {
		h.t.Fatal(err)
	}
	c, err := app.Installation(5)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func fetcher(t *testing.T, o Options) *Fetcher {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

type j = map[string]any

func (h *hub) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	say := func(code int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(v)
	}
	if strings.HasSuffix(r.URL.Path, "/access_tokens") {
		say(201, j{"token": "ghs_x", "expires_at": time.Now().Add(time.Hour).Format(time.RFC3339)})
		return
	}
	if h.gone > 0 {
		h.gone--
		say(404, j{"message": "Not Found"})
		return
	}
	if h.limit {
		w.Header().Set("Retry-After", "9")
		say(429, j{})
		return
	}
	q := r.URL.Query()
	path := strings.TrimPrefix(r.URL.Path, "/repos/octo/widget/")
	var id int64
	workflow := ""
	if n, _ := fmt.Sscanf(path, "actions/workflows/%d", &id); n == 1 {
		workflow, path = h.workflows()[id-1], "actions/runs"
	}
	switch n, _ := fmt.Sscanf(path, "actions/runs/%d", &id); {
	case path == "actions/runs":
		list := []any{}
		for _, x := range slices.Backward(h.runs) {
			if (workflow == "" || workflow == x.path) && (q.Get("head_sha") == "" || q.Get("head_sha") == x.sha) &&
				(q.Get("branch") == "" || q.Get("branch") == x.branch) &&
				(q.Get("event") == "" || q.Get("event") == x.event) &&
				(q.Get("status") == "" || q.Get("status") == x.over) {
				list = append(list, runJSON(x))
			}
		}
		h.page(w, say, q, "workflow_runs", list)
	case path == "actions/workflows":
		list := []any{}
		for i, p := range h.workflows() {
			list = append(list, j{"id": i + 1, "path": p})
		}
		h.page(w, say, q, "workflows", list)
	case path == "pulls":
		say(200, []any{})
	case n == 1 && strings.HasSuffix(path, "/artifacts"):
		list := []any{}
		for _, x := range h.runs {
			for _, a := range x.arts {
				if x.id == id {
					list = append(list, artJSON(x, a))
				}
			}
		}
		h.page(w, say, q, "artifacts", list)
	case n == 1 && strings.HasSuffix(path, "/jobs"):
		h.page(w, say, q, "jobs", h.jobs)
	case n == 1:
		for _, x := range h.runs {
			if x.id == id {
				say(200, runJSON(x))
				return
			}
		}
		say(404, j{})
	case strings.HasPrefix(path, "releases/") && strings.HasSuffix(path, "/assets"):
		list := []any{}
		for _, a := range h.assets {
			list = append(
				list,
				j{
					"id":     a.id,
					"name":   a.name,
					"state":  a.state,
					"size":   a.length(),
					"digest": a.sum(),
				},
			)
		}
		h.page(w, say, q, "", list)
	default:
		if h.down > 0 {
			h.down--
			say(502, j{})
			return
		}
		file := strings.TrimSuffix(
			strings.TrimPrefix(strings.TrimPrefix(path, "actions/artifacts/"), "releases/assets/"),
			"/zip",
		)
		if strings.HasPrefix(path, "releases/") &&
			r.Header.Get("Accept") != "application/octet-stream" {
			h.t.Errorf("asset requested with Accept %q", r.Header.Get("Accept"))
		}
		id, _ := strconv.ParseInt(file, 10, 64)
		if a := h.find(id); a == nil || a.status != 0 {
			code := 404
			if a != nil {
				code = a.status
			}
			say(code, j{"message": "no"})
			return
		}
		http.Redirect(w, r, h.storage.URL+"/"+file+"?sig=s3cret", http.StatusFound)
	}
}

// workflows returns the paths of all workflows; the ID of each is its place, from 1.
func (h *hub) workflows() (paths []string) {
	for _, r := range h.runs {
		paths = append(paths, r.path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func (h *hub) find(id int64) *art {
	for i := range h.runs {
		for k := range h.runs[i].arts {
			if h.runs[i].arts[k].id == id {
				return &h.runs[i].arts[k]
			}
		}
	}
	for i := range h.assets {
		if h.assets[i].id == id {
			return &h.assets[i]
		}
	}
	return nil
}

func (h *hub) deliver(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		h.t.Error("storage host got a token")
	}
	id, _ := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, "/"), 10, 64)
	h.mu.Lock()
	a := h.find(id)
	h.fetch[id]++
	broken := h.cut[id] > 0
	h.cut[id]--
	h.mu.Unlock()
	if broken {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.data)))
		w.Write(a.data[:len(a.data)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.data))
}

func (h *hub) page(
	w http.ResponseWriter,
	say func(int, any),
	q url.Values,
	field string,
	list []any,
) {
	per, _ := strconv.Atoi(q.Get("per_page"))
	n, _ := strconv.Atoi(q.Get("page"))
	lo, hi := min((n-1)*per, len(list)), min(n*per, len(list))
	if hi < len(list) {
		w.Header().Set("Link", fmt.Sprintf(`<%s/x?page=%d>; rel="next"`, h.api.URL, n+1))
	}
	if field == "" {
		say(200, list[lo:hi])
		return
	}
	say(200, j{field: list[lo:hi]})
}

func runJSON(x run) j {
	var over any
	if x.over != "" {
		over = x.over
	}
	out := j{
		"id":              x.id,
		"run_attempt":     1,
		"name":            strings.TrimSuffix(fileName(x.path), ".yml"),
		"path":            x.path,
		"event":           x.event,
		"status":          x.status,
		"conclusion":      over,
		"head_sha":        x.sha,
		"head_branch":     x.branch,
		"repository":      j{"id": home, "full_name": "octo/widget"},
		"head_repository": nil,
	}
	if x.head != 0 {
		out["head_repository"] = j{
			"id":        x.head,
			"full_name": map[int64]string{home: "octo/widget", fork: "someone/widget"}[x.head],
		}
	}
	return out
}

func artJSON(x run, a art) j {
	origin, sha := any(x.head), any(x.sha)
	if a.origin != nil {
		origin = a.origin
	}
	if a.sha != nil {
		sha = a.sha
	}
	return j{
		"id":            a.id,
		"name":          a.name,
		"size_in_bytes": a.length(),
		"digest":        a.sum(),
		"expired":       a.expired,
		"workflow_run":  j{"id": x.id, "head_sha": sha, "head_repository_id": origin},
	}
}

func (a art) length() int64 {
	if a.size != 0 {
		return a.size
	}
	return int64(len(a.data))
}

func (a art) sum() any {
	switch a.digest {
	case "-":
		return nil
	case "":
		s := sha256.Sum256(a.data)
		return "sha256:" + hex.EncodeToString(s[:])
	}
	return a.digest
}

// done is a successful run for the head commit.
func done(id int64, file, event string, arts ...art) run {
	return run{
		id:     id,
		path:   ".github/workflows/" + file,
		event:  event,
		status: "completed",
		over:   "success",
		sha:    "head",
		branch: "fix",
		head:   home,
		arts:   arts,
	}
}

func blob(id int64, name string) art {
	return art{id: id, name: name, data: bytes.Repeat([]byte(name+" "), 3000)}
}

func names(f *Found) string {
	var out []string
	for _, i := range f.Items {
		out = append(out, fmt.Sprintf("%s/%d", i.Name, i.ID))
	}
	return strings.Join(out, " ")
}

// left lists the files in the Fetcher's directories.
func left(t *testing.T, f *Fetcher) (cached, parts []string) {
	t.Helper()
	list := func(dir string) (out []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
	return list(f.cache.dir), list(f.cache.part)
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
