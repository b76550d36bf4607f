package post

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strings"
	"testing"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/github"
)

// A thread that the App resolved is opened again when its suggestion comes back, but not one that
// a person resolved. A person with the App's login without "[bot]" is a person.
func TestThreadsOpenAgain(t *testing.T) {
	const print = "0123456789abcdef01234567"
	for _, c := range []struct{ name, kind, resolvedBy, want string }{
		{"by us", "Bot", "compat", "unresolveReviewThread"},
		{"by a person", "Bot", "maintainer", ""},
		{"a person's thread", "User", "compat", "review"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var did []string
			srv := httptest.NewServer(
				http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					w.Header().Set("Content-Type", "application/json")
					switch {
					case strings.HasSuffix(r.URL.Path, "/access_tokens"):
						w.WriteHeader(http.StatusCreated)
						fmt.Fprint(w, `{"token":"t","expires_at":"2999-01-01T00:00:00Z"}`)
					case strings.HasSuffix(r.URL.Path, "/reviews"):
						did = append(did, "review")
						fmt.Fprint(w, `{"id":1}`)
					case strings.Contains(string(body), "unresolveReviewThread"):
						did = append(did, "unresolveReviewThread")
						fmt.Fprint(w, `{"data":{}}`)
					default:
						fmt.Fprintf(
							w,
							`{"data":{"repository":{"pullRequest":{"reviewThreads":{"pageInfo":{"hasNextPage":false},"nodes":[{"id":"T","isResolved":true,"resolvedBy":{"login":%q},`+
								`"comments":{"nodes":[{"id":"C","body":"<!-- compat:thread %s -->\nx","author":{"__typename":%q,"login":"compat"}}]}}]}}}}}`,
							c.resolvedBy,
							print,
							c.kind,
						)
					}
				}),
			)
			defer srv.Close()
			p := &Poster{
				Client: client(t, srv.URL),
				Owner:  "acme",
				Repo:   "widget",
				Bot:    "compat[bot]",
				AppID:  1,
			}
			if err := p.Conversation(1, false).Review(context.Background(), "abc",
				[]comment.ReviewComment{{Path: "a", Line: 1, Body: "x", Fingerprint: print}}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(did, " "); got != c.want {
				t.Errorf("did %q, want %q", got, c.want)
			}
		})
	}
}

func client(t *testing.T, at string) *github.Client {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	api, err := neturl.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	app, err := github.New(
		github.Options{
			AppID: 1,
			API:   api,
			Key:   key,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	c, err := app.Installation(1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
