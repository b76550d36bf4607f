package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// Streams that are not terminals get no terminal output.
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
	if colored(env, env.Out) || out.Len() > 0 {
		t.Errorf("%q is written", out.String())
	}
}

// Color rules of the environment for streams that are not terminals.
func TestColourRules(t *testing.T) {
	for _, c := range []struct {
		set  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"FORCE_COLOR": "1"}, true},
		{map[string]string{"FORCE_COLOR": "0"}, false},
		{map[string]string{"CLICOLOR_FORCE": "1", "TERM": "dumb"}, true},
		{map[string]string{"FORCE_COLOR": "1", "NO_COLOR": "1"}, false},
		{map[string]string{"CLICOLOR": "1"}, false},
	} {
		env := environment{Getenv: func(name string) (string, bool) {
			value, ok := c.set[name]
			return value, ok
		}}
		if got := colored(env, &bytes.Buffer{}); got != c.want {
			t.Errorf("%v: %v", c.set, got)
		}
	}
}

func TestLineOfATerminal(t *testing.T) {
	long := "reading " + strings.Repeat("d/", 60) + "evil\x1b[2J.so"
	if got := line(long, 60); len([]rune(got)) != 59 {
		t.Errorf("%d characters in 60 columns: %q", len([]rune(got)), got)
	}
	if got := line(long, 0); strings.Contains(got, "\x1b") || !strings.HasSuffix(got, ".so") ||
		len([]rune(got)) != maxLine+1 {
		t.Errorf("%q", got)
	}
}

// All that is typed is read, and the message is written once.
func TestTypedInput(t *testing.T) {
	var said strings.Builder
	text := strings.Repeat("a line\n", 1000)
	in := &typed{ctx: t.Context(), in: iotest.OneByteReader(strings.NewReader(text)), err: &said}
	got, err := io.ReadAll(in)
	if string(got) != text || err != nil || strings.Count(said.String(), "\n") != 1 {
		t.Errorf("read %d bytes, %v; said %q", len(got), err, said.String())
	}
}
