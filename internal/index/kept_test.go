package index

import (
	"net/url"
	"testing"
	"time"
)

// Facts of a wheel whose content may change are kept for an hour.
func TestFactsAreCached(t *testing.T) {
	place, err := url.Parse("https://index.example.com/a-1.0-py3-none-any.whl")
	if err != nil {
		t.Fatal(err)
	}
	for digest, want := range map[string]time.Duration{"": time.Hour, "00ff": 30 * 24 * time.Hour} {
		key, kept := factsKey(file{url: place, sha256: digest})
		if kept != want || key == "" {
			t.Errorf("digest %q: %q is kept for %s, want %s", digest, key, kept, want)
		}
	}
}
