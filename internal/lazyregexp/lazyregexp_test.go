package lazyregexp

import (
	"regexp"
	"strings"
	"sync"
	"testing"
)

func TestSameAsRegexp(t *testing.T) {
	const text = `(?P<lib>lib[a-z]+)\.so(\.[0-9]+)?`
	lazy, eager := &Regexp{text: text}, regexp.MustCompile(text)
	for _, s := range []string{"", "libm.so.6", "a libc.so b libdl.so.2", "nothing"} {
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() { lazy.MatchString(s) })
		}
		wait.Wait()
		if got, want := strings.Join(lazy.FindStringSubmatch(s), "|"), strings.Join(eager.FindStringSubmatch(s), "|"); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
		if got, want := lazy.ReplaceAllString(s, "$lib"), eager.ReplaceAllString(s, "$lib"); got != want {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
	}
}

// TestTellsInTests holds that an expression that can't be compiled fails the tests of its package.
func TestTellsInTests(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an expression that can't be compiled was taken")
		}
	}()
	New(`(`)
}
