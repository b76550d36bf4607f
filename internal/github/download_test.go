package github

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const zipPath = "repos/o/r/actions/artifacts/1/zip"

var content = bytes.Repeat([]byte("0123456789abcdef"), 40_000) // 640 kB

func sumOf(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

// redirecting is a hub whose artifact is on the storage host, served by deliver.
func redirecting(t *testing.T, deliver http.HandlerFunc) *hub {
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", h.storage.URL+"/blob/1?sig=s3cret")
		w.WriteHeader(http.StatusFound)
	}
	h.deliver = deliver
	return h
}

func whole(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// half announces the whole content, sends half of it and breaks the connection.
func half(w http.ResponseWriter, from int) {
	w.Header().Set("Content-Length", strconv.Itoa(len(content)-from))
	if from > 0 {
		w.Header().
			Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
		w.WriteHeader(206)
	}
	rest := content[from:]
	w.Write(rest[:len(rest)/2])
	w.(http.Flusher).Flush()
	cut()
}

func file(t *testing.T) *os.File {
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func written(t *testing.T, f *os.File) []byte {
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDownload(t *testing.T) {
	h := redirecting(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("Accept-Encoding %q", r.Header.Get("Accept-Encoding"))
		}
		whole(w, r)
	})
	f := file(t)
	size, sum, err := h.client().
		Download(t.Context(), zipPath, f, DownloadOptions{Max: int64(len(content)), Digest: "sha256:" +
			strings.ToUpper(sumOf(content)), Size: int64(len(content))})
	if err != nil || size != int64(len(content)) || sum != sumOf(content) ||
		!bytes.Equal(written(t, f), content) {
		t.Errorf("%d %s %v", size, sum, err)
	}
	if h.count("storage /blob/1") != 1 || h.count("GET /"+zipPath) != 1 {
		t.Errorf("calls %v", h.calls)
	}
}

// An asset may come from the API itself, and a redirect of a renamed repository is followed with
// the token.
func TestDownloadWithoutStorage(t *testing.T) {
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "application/octet-stream" {
			t.Errorf("Accept %q", r.Header.Get("Accept"))
		}
		if strings.HasPrefix(r.URL.Path, "/repos/") {
			http.Redirect(w, r, h.api.URL+"/repositories/1/releases/assets/1", http.StatusMovedPermanently)
			return
		}
		whole(w, r)
	}
	var b bytes.Buffer
	_, sum, err := h.client().
		Download(t.Context(), h.api.URL+"/repos/o/r/releases/assets/1", &b,
			DownloadOptions{Accept: "application/octet-stream"})
	if err != nil || sum != sumOf(content) || !bytes.Equal(b.Bytes(), content) {
		t.Errorf("%v", err)
	}
}

func TestDownloadSurvivesBreaks(t *testing.T) {
	for name, x := range map[string]struct {
		digest bool
		etag   string
		range_ bool // the storage supports ranges
		wantN  int  // requests to the storage for two failures
		ranges int  // requests with a Range header
	}{
		"continued by digest":    {true, "", true, 3, 2},
		"continued by ETag":      {false, `"v1"`, true, 3, 2},
		"weak ETag: from start":  {false, `W/"v1"`, true, 3, 0},
		"nothing: from start":    {false, "", true, 3, 0},
		"storage can't continue": {true, "", false, 3, 2},
	} {
		t.Run(name, func(t *testing.T) {
			n, ranges := 0, 0
			h := redirecting(t, func(w http.ResponseWriter, r *http.Request) {
				n++
				if x.etag != "" {
					w.Header().Set("ETag", x.etag)
				}
				from := 0
				if s, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok {
					ranges++
					if got := r.Header.Get("If-Range"); got != x.etag {
						t.Errorf("If-Range %q", got)
					}
					if x.range_ {
						from, _ = strconv.Atoi(strings.TrimSuffix(s, "-"))
					} else {
						r.Header.Del("Range")
					}
				}
				if n <= 2 {
					half(w, from)
				}
				whole(w, r)
			})
			o := DownloadOptions{Max: int64(len(content))}
			if x.digest {
				o.Digest = "sha256:" + sumOf(content)
			}
			f := file(t)
			size, sum, err := h.client().Download(t.Context(), zipPath, f, o)
			if err != nil || size != int64(len(content)) || sum != sumOf(content) ||
				!bytes.Equal(written(t, f), content) {
				t.Errorf("%d %s %v", size, sum, err)
			}
			if n != x.wantN || ranges != x.ranges {
				t.Errorf("%d requests, %d with Range; want %d, %d", n, ranges, x.wantN, x.ranges)
			}
		})
	}
}

// Parts of two versions are detected by the digest, and the file is downloaded again.
func TestDownloadPiecesThatDontFit(t *testing.T) {
	n := 0
	h := redirecting(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
			w.Write(bytes.Repeat([]byte("?"), len(content)/2))
			w.(http.Flusher).Flush()
			cut()
		}
		whole(w, r)
	})
	f := file(t)
	_, sum, err := h.client().
		Download(t.Context(), zipPath, f, DownloadOptions{Digest: "sha256:" + sumOf(content)})
	if err != nil || sum != sumOf(content) || !bytes.Equal(written(t, f), content) || n != 3 {
		t.Errorf("%v after %d requests", err, n)
	}
}

func TestDownloadFailsPermanently(t *testing.T) {
	size := int64(len(content))
	for name, x := range map[string]struct {
		deliver http.HandlerFunc
		o       DownloadOptions
		want    error
		says    string
		n       int // requests to the storage
	}{
		"digest": {whole, DownloadOptions{Digest: "sha256:" + sumOf(nil), Size: size}, ErrDigest,
			"got sha256:" + sumOf(content) + ", want sha256:" + sumOf(nil), 1},
		"half, in good order, by digest": {func(w http.ResponseWriter, r *http.Request) {
			w.Write(content[:size/2])
		},
			DownloadOptions{Digest: "sha256:" + sumOf(content), Size: size}, ErrTruncated,
			"320000 bytes of 640000", shortTries},
		"half, in good order, by size": {func(w http.ResponseWriter, r *http.Request) {
			w.Write(content[:size/2])
		}, DownloadOptions{Size: size}, ErrTruncated, "", shortTries},
		"always cut at the same place": {func(w http.ResponseWriter, r *http.Request) {
			half(w, 0)
		}, DownloadOptions{}, ErrTruncated, "320000 bytes of 640000", downloadTries},
		"too large, announced": {whole, DownloadOptions{Max: size - 1}, ErrTooLarge, "limit of 639999",
			1},
		"too large, in chunks": {func(w http.ResponseWriter, r *http.Request) {
			for range 10 {
				w.Write(content)
				w.(http.Flusher).Flush()
			}
		}, DownloadOptions{Max: size * 2}, ErrTooLarge, "", 1},
		"gone": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(410)
		}, DownloadOptions{}, ErrExpired, "expired", 1},
		"never there": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(404)
		}, DownloadOptions{}, ErrRefused, "404", downloadTries},
		"never allowed": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(403)
		}, DownloadOptions{}, ErrRefused, "403", downloadTries},
		"a bad request": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(400)
		}, DownloadOptions{}, ErrRefused, "400", 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := redirecting(t, x.deliver)
			_, _, err := h.client().Download(t.Context(), zipPath, file(t), x.o)
			var e *DownloadError
			if !errors.Is(err, x.want) || !errors.As(err, &e) ||
				!strings.Contains(err.Error(), x.says) {
				t.Fatalf("%v, want %v", err, x.want)
			}
			if f := Classify(err); f.Kind == Retry || f.Kind == "" {
				t.Errorf("%+v", f)
			}
			if n := h.count("storage /blob/1"); n != x.n {
				t.Errorf("%d requests, want %d", n, x.n)
			}
		})
	}
}

// Errors of the API itself instead of a redirect.
func TestDownloadAPIAnswers(t *testing.T) {
	for _, x := range []struct {
		code int
		want ErrorKind
		n    int
	}{{410, Gone, 1}, {404, Missing, downloadTries}, {403, Forbidden, 1}, {500, Retry, downloadTries},
		{429, After, 1}, {422, Invalid, 1}} {
		h := newHub(t)
		h.handle = func(w http.ResponseWriter, r *http.Request) {
			answer(w, x.code, map[string]any{"message": "no"})
		}
		_, _, err := h.client().Download(t.Context(), zipPath, &bytes.Buffer{}, DownloadOptions{})
		if f := Classify(err); f.Kind != x.want || f.Unsure || h.count("GET /"+zipPath) != x.n {
			t.Errorf("%d: %+v of %v after %d calls", x.code, f, err, len(h.calls))
		}
	}
}

// Two responses are 404, and the token is revoked in between.
func TestDownloadWithExpiredLink(t *testing.T) {
	n := 0
	h := redirecting(t, whole)
	there := h.handle
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		if n++; n <= 2 {
			h.revoke()
			answer(w, 404, map[string]any{"message": "Not Found"})
			return
		}
		there(w, r)
	}
	if _, sum, err := h.client().Download(t.Context(), zipPath, &bytes.Buffer{},
		DownloadOptions{}); err != nil ||
		sum != sumOf(content) ||
		h.issued != 3 {
		t.Errorf("%v, %d tokens", err, h.issued)
	}
}

func TestDownloadIsATransientFailure(t *testing.T) {
	n := 0
	h := redirecting(t, func(w http.ResponseWriter, r *http.Request) {
		n++ // a few more bytes each time, and no way to resume
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		w.Write(content[:n*1000])
		w.(http.Flusher).Flush()
		cut()
	})
	_, _, err := h.client().Download(t.Context(), zipPath, file(t), DownloadOptions{})
	if f := Classify(err); f.Kind != Retry || f.Unsure || n != downloadTries ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%+v of %v", f, err)
	}
	h.storage.Close()
	_, _, err = h.client().Download(t.Context(), zipPath, file(t), DownloadOptions{})
	if f := Classify(err); f.Kind != Retry || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%+v of %v", f, err)
	}
}

func TestDownloadStalls(t *testing.T) {
	n := 0
	h := redirecting(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			w.Write(content[:5])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		whole(w, r)
	})
	a := h.app(nil)
	a.api.idle = 100 * time.Millisecond
	c, _ := a.Installation(5)
	if _, sum, err := c.Download(t.Context(), zipPath, file(t), DownloadOptions{}); err != nil ||
		sum != sumOf(content) {
		t.Error(err)
	}
}

// A destination that cannot be restarted and one that fails to write have their own errors, not
// those of the network.
func TestDownloadDestinations(t *testing.T) {
	n := 0
	h := redirecting(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			half(w, 0)
		}
		whole(w, r)
	})
	if _, _, err := h.client().Download(t.Context(), zipPath, struct{ io.Writer }{io.Discard},
		DownloadOptions{}); err == nil ||
		!strings.Contains(err.Error(), "can't be rewound") ||
		n != 1 {
		t.Errorf("%v after %d requests", err, n)
	}
	full := errors.New("no space left on device")
	if _, _, err := h.client().Download(t.Context(), zipPath, failing{full},
		DownloadOptions{}); !errors.Is(
		err,
		full,
	) ||
		n != 2 {
		t.Errorf("%v after %d requests", err, n)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// Redirects after the first are followed without credentials, and never back to the API with the
// token.
func TestDownloadRedirects(t *testing.T) {
	var third *httptest.Server
	h := redirecting(
		t,
		func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, third.URL+"/x", http.StatusFound)
		},
	)
	third = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Referer") != "" {
			t.Errorf("headers %v", r.Header)
		}
		whole(w, r)
	}))
	defer third.Close()
	if _, sum, err := h.client().Download(t.Context(), zipPath, &bytes.Buffer{},
		DownloadOptions{}); err != nil ||
		sum != sumOf(content) {
		t.Error(err)
	}
	h.deliver = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, h.api.URL+"/repos/o/secret", http.StatusFound)
	}
	if _, _, err := h.client().Download(t.Context(), zipPath, &bytes.Buffer{},
		DownloadOptions{}); !errors.Is(
		err,
		ErrRefused,
	) {
		t.Errorf("back to the API: %v", err)
	}
	h.deliver = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/blob/1", http.StatusFound)
	}
	if _, _, err := h.client().Download(t.Context(), zipPath, &bytes.Buffer{},
		DownloadOptions{}); err == nil ||
		!strings.Contains(err.Error(), "redirects") {
		t.Errorf("a loop: %v", err)
	}
	if _, _, err := h.client().Download(t.Context(), third.URL+"/x", &bytes.Buffer{},
		DownloadOptions{}); err == nil {
		t.Error("an address outside of the API: no error")
	}
}

func TestStorageHosts(t *testing.T) {
	at := func(root string) roots {
		u, _ := url.Parse(root)
		r, err := newRoots(u)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	public := at("https://api.github.com")
	own := at("https://ghe.example/api/v3/")
	plain := at("http://127.0.0.1:8080")
	for _, x := range []struct {
		r    roots
		to   string
		want bool
	}{
		{public, "https://productionresultssa0.blob.core.windows.net/a?sig=x", true},
		{public, "https://objects.githubusercontent.com/a", true},
		{public, "https://release-assets.githubusercontent.com/a", true},
		{public, "http://objects.githubusercontent.com/a", false},
		{public, "https://evil.example/a", false},
		{public, "https://githubusercontent.com.evil.example/a", false},
		{public, "https://evilgithubusercontent.com/a", false},
		{public, "http://127.0.0.1/a", false},
		{public, "https://u:p@objects.githubusercontent.com/a", false},
		{own, "https://storage.example/a", true},
		{own, "http://storage.example/a", false},
		{own, "http://127.0.0.2:99/a", true},
		{own, "http://[::1]/a", true},
		{own, "file:///etc/passwd", false},
		{plain, "http://storage.example/a", true},
		{plain, "gopher://storage.example/a", false},
	} {
		u, err := url.Parse(x.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.r.allowed(u); got != x.want {
			t.Errorf("from %s to %s: %t", x.r.rest, x.to, got)
		}
	}
}
