package reportpage

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/compat-app/compat/analyzer"
)

// blobs contains one report and counts its reads.
type blobs struct {
	data  []byte
	reads atomic.Int64
}

func (b *blobs) Get(_ context.Context, key string) ([]byte, error) {
	if key != "report/"+id {
		return nil, nil
	}
	b.reads.Add(1)
	return b.data, nil
}

var id = strings.Repeat("ab", 16)

// large returns a report with n findings.
func large(t *testing.T, n int) []byte {
	r := analyzer.NewReport("test")
	r.Verdict = analyzer.Incompatible
	for i := range n {
		r.Findings = append(r.Findings, analyzer.Finding{
			Rule: "undefined-symbol", Severity: analyzer.Error, New: true,
			Object: fmt.Sprintf("lib%d.so", i), Symbol: fmt.Sprint("symbol", i),
			Message: strings.Repeat("long ", 40),
		})
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Many clients of a large report need one rendering, and little memory each.
func TestManyReaders(t *testing.T) {
	store := &blobs{data: large(t, 3000)}
	h, err := New(store, t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	first, err := http.Get(server.URL + "/reports/" + id)
	if err != nil || first.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", first, err)
	}
	first.Body.Close()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	open := make(chan *http.Response, 60)
	for range 60 { // each only reads the header
		all.Go(func() {
			r, err := http.Get(server.URL + "/reports/" + id)
			if err != nil || r.StatusCode != http.StatusOK {
				t.Errorf("%v %v", r, err)
				return
			}
			open <- r
		})
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("60 slow readers take %d MiB", grown>>20)
	}
	for range len(open) {
		r := <-open
		r.Body.Close()
	}
	if n := store.reads.Load(); n != 1 {
		t.Errorf("the report was read %d times", n)
	}
}

func TestAddresses(t *testing.T) {
	h, err := New(&blobs{data: large(t, 1)}, t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/reports/" + id:                       http.StatusOK,
		"/reports/" + strings.ToUpper(id):      http.StatusNotFound,
		"/reports/" + id + ".part":             http.StatusNotFound,
		"/reports/" + strings.Repeat("cd", 16): http.StatusNotFound,
		"/reports/../pages/" + id:              http.StatusNotFound,
		"/reports/style.css":                   http.StatusOK,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}
