package githubtest_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
)

// Downloads fail as configured.
func TestBadDownloads(t *testing.T) {
	w := start(t, "")
	a := githubtest.NewArtifact("wheels", make([]byte, 1000))
	w.PullRun(w.pull, a)
	get := func() (int, error) {
		link, _, err := w.client.Actions.DownloadArtifact(w.ctx, "acme", "widget", a.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.Get(link.String())
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return len(b), err
	}
	w.Do(func() { a.Cuts = 1 })
	if n, err := get(); !errors.Is(err, io.ErrUnexpectedEOF) || n == 1000 {
		t.Errorf("cut: %d bytes, %v", n, err)
	}
	w.Do(func() { a.Half = true })
	if n, err := get(); n != 500 || err != nil {
		t.Errorf("half: %d bytes, %v", n, err)
	}
	w.Do(func() { a.Half, a.Slow = false, 200*time.Millisecond })
	begin := time.Now()
	if n, err := get(); n != 1000 || err != nil || time.Since(begin) < 150*time.Millisecond {
		t.Errorf("slow: %d bytes after %v, %v", n, time.Since(begin), err)
	}
	if a.Downloads != 3 {
		t.Errorf("%d downloads", a.Downloads)
	}
	res, err := http.Get(w.StorageURL() + "/blobs/guessed")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("a guessed link answers %d", res.StatusCode)
	}
	w.clean(t)
}
