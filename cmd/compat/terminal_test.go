package main

import (
	"bytes"
	"strings"
	"testing"
)

// Nothing of a terminal gets into a stream that is none.
func TestNoTerminal(t *testing.T) {
	var out bytes.Buffer
	env := environment{
		Getenv: func(string) (string, bool) { return "", false },
		Out:    &out,
		Err:    &out,
	}
	p := startProgress(env, false)
	p.set("reading")
	p.stop()
	if coloured(env, env.Out) || out.Len() > 0 {
		t.Errorf("%q is written", out.String())
	}
}

func TestLineOfATerminal(t *testing.T) {
	long := "reading " + strings.Repeat("d/", 60) + "evil\x1b[2J.so"
	if got := line(long); strings.Contains(got, "\x1b") || !strings.HasSuffix(got, ".so") ||
		len([]rune(got)) != maxLine+1 {
		t.Errorf("%q", got)
	}
}
