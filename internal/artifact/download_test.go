package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/github"
)

func head(t *testing.T, f *Fetcher, c *github.Client) *Found {
	t.Helper()
	found, err := f.Head(
		t.Context(),
		c,
		Head{Owner: "octo", Repo: "widget", SHA: "head", HeadRepoID: home},
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDownload(t *testing.T) {
	h := newHub(t)
	evil, other := blob(12, "../../etc/passwd"), blob(21, "wheels")
	other.data = []byte("other wheels")
	h.runs = []run{
		done(1, "wheels.yml", "push", blob(11, "wheels"), evil),
		done(2, "more.yml", "push", other, blob(22, "x.ZIP")),
	}
	h.cut[11] = 2
	dir := t.TempDir()
	f, c := fetcher(t, Options{Dir: dir}), h.client()
	set, err := f.Download(t.Context(), c, head(t, f, c))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"../../etc/passwd.zip",
		"wheels.yml/wheels.zip",
		"more.yml/wheels.zip",
		"x.ZIP",
	}
	for i, file := range set.Files {
		if file.Name != want[i] || filepath.Dir(file.Path) != f.cache.dir ||
			int64(len(read(t, file.Path))) != file.Size ||
			!strings.HasSuffix(file.Path, "-"+file.SHA256) {
			t.Errorf("%+v, want name %s", file, want[i])
		}
	}
	if len(set.Files) != 4 || len(set.Problems) != 0 {
		t.Errorf("%d files, problems %v", len(set.Files), set.Problems)
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
	set.Close()
	// An unchanged artifact is not downloaded again, even by another process.
	f = fetcher(t, Options{Dir: dir})
	if err := f.Clean(); err != nil {
		t.Fatal(err)
	}
	set, err = f.Download(t.Context(), c, head(t, f, c))
	if err != nil || len(set.Files) != 4 || set.Kept != 4 || h.fetch[12] != 1 || h.fetch[11] != 3 {
		t.Errorf("%v, downloads %v", err, h.fetch)
	}
	set.Close()
	if _, parts := left(t, f); len(parts) != 0 {
		t.Errorf("left behind: %v", parts)
	}
	if err := (*Set)(nil).Close(); err != nil {
		t.Error(err)
	}
}

// Cached bytes are used only for the artifact that they were downloaded for. An artifact that
// claims the digest of another is downloaded and refused if its bytes differ, also after a
// restart.
func TestDigestsAreVerified(t *testing.T) {
	h := newHub(t)
	first := blob(11, "good")
	sum := sha256.Sum256(first.data)
	claims := "sha256:" + hex.EncodeToString(sum[:])
	dir := t.TempDir()
	for i, arts := range [][]art{{first}, {{id: 12, name: "other", data: []byte("other"),
		digest: claims}}} {
		h.runs = []run{done(int64(i+1), "wheels.yml", "push", arts...)}
		f, c := fetcher(t, Options{Dir: dir}), h.client()
		set, err := f.Download(t.Context(), c, head(t, f, c))
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 && (len(set.Files) > 0 || len(set.Problems) != 1 ||
			!strings.Contains(set.Problems[0].Reason, "digest") || h.fetch[12] == 0) {
			t.Errorf("files %v, problems %v, downloads %v", set.Files, set.Problems, h.fetch)
		}
		set.Close()
	}
}

// Permanent failures are reported, and the other items are downloaded.
func TestDownloadProblems(t *testing.T) {
	h := newHub(t)
	wrong := art{
		id:     12,
		name:   "digest",
		data:   []byte("bytes"),
		digest: "sha256:" + strings.Repeat("ab", 32),
	}
	short := art{id: 13, name: "short", data: []byte("half"), size: 8, digest: wrong.digest}
	h.runs = []run{done(
		1,
		"wheels.yml",
		"push",
		blob(11, "good"),
		wrong,
		short,
		art{
			id:      14,
			name:    "old",
			expired: true,
		},
		art{id: 15, name: "older", status: 410},
		art{id: 16, name: "lost", status: 404},
		art{id: 17, name: "locked", status: 403},
		art{
			id:   18,
			name: "huge",
			size: 101 << 10,
		},
		art{id: 19, name: "liar", data: make([]byte, 102<<10), size: 5, digest: "-"},
		blob(20, "without a digest"),
	)}
	h.runs[0].arts[9].digest = "-"
	f, c := fetcher(t, Options{MaxItem: 100 << 10}), h.client()
	found := head(t, f, c)
	found.Problems = []Problem{{"list", "first"}}
	set, err := f.Download(t.Context(), c, found)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	got := map[string]string{}
	for _, p := range set.Problems {
		got[p.Name] = p.Reason
		if strings.Contains(p.Reason, "s3cret") || strings.Contains(p.Reason, "github:") {
			t.Errorf("%s: %s", p.Name, p.Reason)
		}
	}
	for name, says := range map[string]string{"list": "first", "digest": "one that GitHub reports: " +
		"expected sha256:abab", "short": "truncated: each download ended after 4 of 8 bytes",
		"old": "expired", "older": "expired", "lost": "404", "locked": "403",
		"huge": "too large: 101 KiB, the limit is 100 KiB", "liar": "too large: 102 KiB, the limit is " +
			"100 KiB"} {
		if !strings.Contains(got[name], says) {
			t.Errorf("%s: %q, want %q", name, got[name], says)
		}
	}
	if len(got) != 9 || len(set.Files) != 2 || set.Files[0].Name != "good.zip" ||
		set.Files[1].Name != "without a digest.zip" ||
		h.fetch[14] != 0 ||
		h.fetch[18] != 0 {
		t.Errorf("problems %v, files %v", got, set.Files)
	}
	if cached, parts := left(t, f); len(cached) != 2 || len(parts) != 0 {
		t.Errorf("left: %v, %v", cached, parts)
	}
}

// The total is computed from the sizes that GitHub reports, so it always covers the same items.
func TestDownloadTotal(t *testing.T) {
	h := newHub(t)
	var arts []art
	for i, name := range []string{"a", "b", "c", "d"} {
		arts = append(arts, art{id: int64(11 + i), name: name, data: bytes.Repeat([]byte(name), 1000)})
	}
	arts[3].data = []byte("small")
	h.runs = []run{done(1, "wheels.yml", "push", arts...)}
	f, c := fetcher(t, Options{MaxTotal: 2500}), h.client()
	for range 2 {
		set, err := f.Download(t.Context(), c, head(t, f, c))
		if err != nil || len(set.Files) != 3 || len(set.Problems) != 1 ||
			set.Problems[0].Name != "c" ||
			!strings.Contains(set.Problems[0].Reason, "limit of 2.4 KiB") {
			t.Fatalf("%+v, %v", set, err)
		}
		set.Close()
	}
}

// A temporary failure is an error; completed downloads stay cached, but no file is in use.
func TestDownloadTransient(t *testing.T) {
	h := newHub(t)
	h.runs = []run{done(1, "wheels.yml", "push", blob(11, "a"), blob(12, "b"))}
	f, c := fetcher(t, Options{}), h.client()
	found := head(t, f, c)
	h.down = 1000
	if set, err := f.Download(t.Context(), c, found); set != nil ||
		github.Classify(err).Kind != github.Retry {
		t.Errorf("502: %v, %v", set, err)
	}
	h.down = 0
	set, err := f.Download(t.Context(), c, found)
	if err != nil || len(set.Files) != 2 {
		t.Fatal(err)
	}
	set.Close()
	h.limit = true
	found.Items = append(found.Items, Item{ID: 13, Name: "c", url: found.Items[0].url + "?"})
	if set, err := f.Download(t.Context(), c, found); set != nil ||
		github.Classify(err).Kind != github.After {
		t.Errorf("limited: %v, %v", set, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Download(ctx, c, found); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if _, parts := left(t, f); len(parts) != 0 || len(f.cache.used) != 0 || len(f.cache.busy) != 0 {
		t.Errorf("left: %v, held %v, busy %v", parts, f.cache.used, f.cache.busy)
	}
}

// Workers that want the same artifact at the same time download it once.
func TestDownloadTogether(t *testing.T) {
	h := newHub(t)
	h.runs = []run{done(1, "wheels.yml", "push", blob(11, "a"), blob(12, "b"))}
	f, c := fetcher(t, Options{MaxCache: 1}), h.client()
	found := head(t, f, c)
	sets := make([]*Set, 16)
	var wait sync.WaitGroup
	for i := range sets {
		wait.Go(func() {
			var err error
			if sets[i], err = f.Download(t.Context(), c, found); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if h.fetch[11] != 1 || h.fetch[12] != 1 {
		t.Errorf("downloads %v", h.fetch)
	}
	for i, s := range sets { // files in use are kept, though the cache is too small
		if read(t, s.Files[0].Path) == "" {
			t.Error("an empty file")
		}
		s.Close()
		if cached, _ := left(t, f); i < len(sets)-1 && len(cached) != 2 ||
			i == len(sets)-1 && len(cached) != 0 {
			t.Errorf("after %d closes: %v", i+1, cached)
		}
	}
}

func TestCacheIsBoundedAndDistrusted(t *testing.T) {
	h := newHub(t)
	h.runs = []run{done(1, "wheels.yml", "push", blob(11, "a"), blob(12, "b"), blob(13, "c"))}
	dir := t.TempDir()
	f, c := fetcher(t, Options{Dir: dir, MaxCache: 15000}), h.client() // each has 6,000 bytes
	found := head(t, f, c)
	one := func(i int) *Set {
		set, err := f.Download(t.Context(), c, &Found{Items: found.Items[i : i+1]})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	for i := range 3 {
		set := one(i)
		old := time.Now().Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(set.Files[0].Path, old, old); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			one(0).Close() // used again, so now the most recent
		}
		set.Close()
	}
	for i, want := range []int{1, 2, 2} { // 12 was the oldest; when it was downloaded again, 13 was
		one(i).Close()
		if h.fetch[int64(11+i)] != want {
			t.Errorf("item %d: %d downloads, want %d", i, h.fetch[int64(11+i)], want)
		}
		if i == 2 { // make room for the rest of the test
			f.cache.max = 1 << 20
		}
	}
	// A crash leaves a partial download and a damaged file.
	part := filepath.Join(f.cache.part, "part-1")
	if err := os.WriteFile(part, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	set := one(0)
	path := set.Files[0].Path
	set.Close()
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	f = fetcher(t, Options{Dir: dir})
	if err := f.Clean(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(part); !os.IsNotExist(err) {
		t.Errorf("the part is still there: %v", err)
	}
	before := h.fetch[11]
	set = one(0)
	if h.fetch[11] != before+1 || read(t, set.Files[0].Path) != string(h.runs[0].arts[0].data) {
		t.Error("a damaged file was handed out")
	}
	set.Close()
}

func TestReleaseDownload(t *testing.T) {
	h := newHub(t)
	a := blob(31, "widget.whl")
	a.state = "uploaded"
	cut := art{id: 32, name: "cut.whl", data: []byte("x"), size: 9, digest: "-", state: "uploaded"}
	h.assets = []art{a, cut}
	f, c := fetcher(t, Options{}), h.client()
	found, err := f.Release(t.Context(), c, "octo", "widget", 7)
	if err != nil {
		t.Fatal(err)
	}
	set, err := f.Download(t.Context(), c, found)
	if err != nil || len(set.Files) != 1 || set.Files[0].Name != "widget.whl" ||
		len(set.Problems) != 1 ||
		!strings.Contains(set.Problems[0].Reason, "truncated") {
		t.Fatalf("%+v, %v", set, err)
	}
	set.Close()
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB",
		2 << 30: "2 GiB", 1610612736: "1.5 GiB"} {
		if got := bytesOf(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
