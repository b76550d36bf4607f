package reportpage

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/report"
	"github.com/compat-app/compat/internal/store"
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
	cause := analyzer.Cause{ID: "all", Title: "all of them", Severity: analyzer.Error, New: true}
	for i := range n {
		r.Findings = append(r.Findings, analyzer.Finding{
			Rule: "undefined-symbol", Severity: analyzer.Error, New: true,
			Object: fmt.Sprintf("lib%d.so", i), Symbol: fmt.Sprint("symbol", i),
			Message: fmt.Sprintf("lib%d.so needs symbol%d%s", i, i, strings.Repeat(" long", 40)),
		})
		cause.Findings = append(cause.Findings, i)
	}
	r.Causes = []analyzer.Cause{cause}
	return stored(t, r, report.NewView(r))
}

func stored(t *testing.T, r *analyzer.Report, v *report.View) []byte {
	t.Helper()
	data, err := store.EncodeReport(r, v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Many clients of a large report need one rendering, and little memory each.
func TestManyReaders(t *testing.T) {
	reports := &blobs{data: large(t, 3000)}
	h, err := New(reports, t.TempDir(), nil, slog.New(slog.DiscardHandler))
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
	if n := reports.reads.Load(); n != 1 {
		t.Errorf("the report was read %d times", n)
	}
}

func TestAddresses(t *testing.T) {
	rules := []report.Rule{{ID: "undefined-symbol", Title: "no library has a symbol"}}
	h, err := New(&blobs{data: large(t, 1)}, t.TempDir(), rules, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/reports/" + id:                                     http.StatusOK,
		"/reports/" + strings.ToUpper(id):                    http.StatusNotFound,
		"/reports/" + id + ".part":                           http.StatusNotFound,
		"/reports/" + strings.Repeat("cd", 16):               http.StatusNotFound,
		"/reports/../pages/" + id:                            http.StatusNotFound,
		"/reports/" + id + "/":                               http.StatusNotFound,
		"/reports/" + id + ".exe":                            http.StatusNotFound,
		"/reports/" + id + ".json.part":                      http.StatusNotFound,
		"/reports/" + strings.Repeat("cd", 16) + "/findings": http.StatusNotFound,
		"/reports/" + strings.Repeat("cd", 16) + ".json":     http.StatusNotFound,
		"/reports/":                    http.StatusNotFound,
		"/other":                       http.StatusNotFound,
		"/":                            http.StatusOK,
		"/reports/" + id + "/findings": http.StatusOK,
		"/reports/" + id + ".json":     http.StatusOK,
		"/reports/" + id + ".sarif":    http.StatusOK,
		"/reports/" + id + ".md":       http.StatusOK,
		"/reports/style.css":           http.StatusOK,
		"/rules/":                      http.StatusOK,
		"/rules/undefined-symbol":      http.StatusOK,
		"/rules/undefined-symbol/":     http.StatusNotFound,
		"/rules/other":                 http.StatusNotFound,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
		if body := w.Body.String(); w.Code == http.StatusNotFound &&
			(!strings.Contains(body, "<!doctype html>") || !strings.Contains(body, "GitHub")) {
			t.Errorf("%s: the page does not say what to do: %s", path, body)
		}
		if w.Header().Get("Content-Security-Policy") == "" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", path, w.Header())
		}
	}
}

func get(t *testing.T, h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A report with 100,000 findings can be stored, its page has less than 300 KB, and neither the page
// nor a search decodes all findings.
func TestLargeReport(t *testing.T) {
	data := large(t, 100_000)
	if len(data) > queue.MaxBlob {
		t.Errorf("%d bytes are too large to be stored", len(data))
	}
	h, err := New(&blobs{data: data}, t.TempDir(), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	w := get(t, h, "/reports/"+id)
	t.Logf("the page took %s and has %d bytes", time.Since(start), w.Body.Len())
	if w.Code != http.StatusOK || w.Body.Len() > 300_000 {
		t.Errorf("%d, %d bytes", w.Code, w.Body.Len())
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start = time.Now()
	found := get(t, h, "/reports/"+id+"/findings?q=SYMBOL99999")
	runtime.ReadMemStats(&after)
	t.Logf("a search took %s and %d objects", time.Since(start), after.Mallocs-before.Mallocs)
	if !strings.Contains(found.Body.String(), "1 of 100,000 findings") ||
		after.Mallocs-before.Mallocs > 50_000 {
		t.Errorf("a search of %d objects: %s", after.Mallocs-before.Mallocs, found.Body)
	}
	if !strings.Contains(w.Body.String(), id+`/findings">Search all 100,000 findings</a>`) {
		t.Error("the page does not link the search")
	}
	packed := get(t, h, "/reports/"+id, "Accept-Encoding", "gzip")
	if packed.Header().Get("Content-Encoding") != "gzip" || packed.Body.Len() > w.Body.Len()/4 {
		t.Errorf("%q, %d bytes", packed.Header().Get("Content-Encoding"), packed.Body.Len())
	}
	same := get(t, h, "/reports/"+id, "If-None-Match", w.Header().Get("Etag"))
	if same.Code != http.StatusNotModified || same.Body.Len() > 0 {
		t.Errorf("unchanged: %d, %d bytes", same.Code, same.Body.Len())
	}
}

func TestSearchInFindings(t *testing.T) {
	h, err := New(&blobs{data: large(t, 10_000)}, t.TempDir(), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][]string{
		"":                    {"10,000 of 10,000 findings, page 1 of 100", "findings?page=2", "lib0.so"},
		"?page=100":           {"page 100 of 100", "findings?page=99", "lib9999.so"},
		"?page=-1":            {"page 1 of 100"},
		"?page=5000":          {"page 100 of 100"},
		"?q=LIB7777.so":       {"1 of 10,000 findings", `value="LIB7777.so"`, "lib7777.so"},
		"?q=symbol12+error":   {"111 of 10,000 findings, page 1 of 2", "findings?page=2&amp;q=symbol12+error"},
		"?q=absent":           {"0 of 10,000 findings"},
		"?q=%3Cscript%3E%22x": {`value="&lt;script&gt;&#34;x"`},
	} {
		w := get(t, h, "/reports/"+id+"/findings"+query)
		for _, s := range want {
			if !strings.Contains(w.Body.String(), s) {
				t.Errorf("%s: no %q", query, s)
			}
		}
		if w.Code != http.StatusOK || w.Body.Len() > 300_000 || strings.Contains(w.Body.String(), "<script") {
			t.Errorf("%s: %d, %d bytes", query, w.Code, w.Body.Len())
		}
	}
}

// Downloads are files that a browser does not show.
func TestDownloads(t *testing.T) {
	h, err := New(&blobs{data: large(t, 3)}, t.TempDir(), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for end, want := range map[string]string{
		".json": `"schema": "compat/report/v1"`, ".sarif": `"version": "2.1.0"`, ".md": "incompatible",
	} {
		w := get(t, h, "/reports/"+id+end)
		if !strings.Contains(w.Body.String(), want) ||
			w.Header().Get("Content-Disposition") != `attachment; filename="compat`+end+`"` {
			t.Errorf("%s: %v\n%s", end, w.Header(), w.Body)
		}
	}
}

// The page of a check without a report shows its text and the errors in the logs of its build,
// without the HTML and the addresses that they may contain.
func TestProblemPage(t *testing.T) {
	r := analyzer.NewReport("1.0")
	r.Notes = []string{"The build failed: undefined reference to `dlopen'"}
	v := report.NewView(r)
	v.Problem = "No run uploaded an [artifact](https://github.com/octo/widget).\n\n" +
		"```\n-ldl\n```\n<script>alert(1)</script>\n[x](javascript:alert(1))\n"
	v.Header = report.Header{Repository: "octo/widget", RepositoryURL: "https://github.com/octo/widget"}
	v.Build = report.Build{
		Failures: []report.Failure{{
			Cause: analyzer.Cause{ID: "failure-1", Title: "undefined reference to `dlopen' <b>",
				Severity: analyzer.Error, Action: "To be fixed in the build.",
				Evidence: []analyzer.Evidence{{Library: "libdl.so.2", Symbols: []string{"dlopen"}, MoreSymbols: 2,
					Objects: []string{"libcufile.so"}}},
				Fixes: []analyzer.CauseFix{{Fix: fix.Fix{Title: fix.Titled("Link libdl"), Command: "-ldl <i>"}}}},
			Job: "build", MoreJobs: 1, MoreLines: 3, Analysis: "Compared with the artifacts: confirmed.",
			Lines: []report.Link{{Text: "line 7", URL: "https://github.com/octo/widget/runs/1"},
				{Text: "line 9", URL: "javascript:alert(1)"}},
		}},
		Notes: []report.Link{{Text: "other", URL: "https://github.com/octo/widget/runs/2", More: "failed"}},
	}
	data := stored(t, r, v)
	h, err := New(&blobs{data: data}, t.TempDir(), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	page := get(t, h, "/reports/"+id).Body.String()
	for _, want := range []string{
		"<p class=\"lead\">The build failed: undefined reference to `dlopen&#39;</p>",
		`<p>No run uploaded an <a href="https://github.com/octo/widget">artifact</a>.</p>`,
		`<dt>Repository</dt><dd><a href="https://github.com/octo/widget">octo/widget</a></dd>`,
		"<h2>The failed build</h2>", `<a id="failure-1" class="anchor"`,
		"undefined reference to `dlopen&#39; &lt;b&gt;</h3>", "<p>To be fixed in the build.</p>",
		`<td><code>libdl.so.2</code></td><td><code>dlopen</code> +2</td><td><code>libcufile.so</code></td>`,
		`<p>In the log of <code>build</code> and 1 more job: ` +
			`<a href="https://github.com/octo/widget/runs/1">line 7</a>, line 9 and 3 more lines</p>`,
		"<p>Compared with the artifacts: confirmed.</p>", "Link libdl", `<code>-ldl &lt;i&gt;</code></pre>`,
		`<li><a href="https://github.com/octo/widget/runs/2">other</a>: failed</li>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	for _, not := range []string{"<script>alert", "javascript:", "###", "0 findings", "JSON"} {
		if strings.Contains(page, not) {
			t.Errorf("it contains %q", not)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}
