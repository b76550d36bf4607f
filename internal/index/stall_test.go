package index

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/compat-app/compat/analyzer/packages"
)

// silent responds with 200 and then sends nothing until the request is canceled.
type silent struct{ header string }

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	go func() {
		io.WriteString(w, s.header)
		<-r.Context().Done()
		w.CloseWithError(r.Context().Err())
	}()
	return &http.Response{
		StatusCode: http.StatusOK,
		Status:     "200 OK",
		Header:     http.Header{"Content-Type": {"text/html"}},
		Body:       body,
		Request:    r,
	}, nil
}

// A server that stops sending is given up after a minute without a byte, three times, and the
// error says so.
func TestStall(t *testing.T) {
	for _, start := range []string{"", "<!DOCTYPE html><html>"} {
		synctest.Test(t, func(t *testing.T) {
			i, err := New(
				Options{
					URL:     "https://packages.invalid/simple",
					Client:  &http.Client{Transport: silent{start}},
					TempDir: t.TempDir(),
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err = i.Versions(t.Context(), "demo", packages.Target{})
			if !errors.Is(err, packages.ErrUnavailable) ||
				!strings.Contains(err.Error(), "package index packages.invalid") ||
				!strings.Contains(err.Error(), "no data for 1m0s (3 attempts)") {
				t.Error(err)
			}
			if d := time.Since(began); d < 3*stall || d > 3*stall+time.Minute {
				t.Errorf("given up after %s", d)
			}
			began = time.Now()
			if _, err = i.Versions(t.Context(), "other", packages.Target{}); !errors.Is(err, packages.ErrUnavailable) ||
				time.Since(began) > stall+time.Second {
				t.Errorf("the next package: given up after %s: %v", time.Since(began), err)
			}
			synctest.Wait()
		})
	}
}
