package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
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
	if got := line(long, "", 60); len([]rune(got)) != 59 {
		t.Errorf("%d characters in 60 columns: %q", len([]rune(got)), got)
	}
	if got := line(long, "", 0); strings.Contains(got, "\x1b") || !strings.HasSuffix(got, ".so") ||
		len([]rune(got)) != maxLine+1 {
		t.Errorf("%q", got)
	}
}

func TestAmountOfALine(t *testing.T) {
	p := &progress{size: 200e6, total: 400e6, since: time.Unix(100, 0)}
	if got := p.amount(time.Unix(101, 0)); got != "" {
		t.Error("before the first byte:", got)
	}
	p.read.Store(100e6)
	amount := p.amount(time.Unix(102, 0))
	if amount != " 50 of 200 MB, 25%, 25 MB/s" {
		t.Errorf("%q", amount)
	}
	for _, columns := range []int{40, 60, 100, 200} {
		got := line("reading "+strings.Repeat("d/", 60)+"x.so", amount, columns)
		if len([]rune(got)) != min(columns-1, 132+len(amount)) || !strings.HasSuffix(got, "x.so"+amount) {
			t.Errorf("%d columns: %q", columns, got)
		}
	}
	if got := line("reading a.so", amount, 20); strings.Contains(got, "MB") {
		t.Errorf("%q", got)
	}
	p.read.Store(400e6) // what is read again is not counted
	if got := p.amount(time.Unix(103, 0)); got != "" {
		t.Error("after the last byte:", got)
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

// A log record does not follow the progress in the same line.
func TestErasing(t *testing.T) {
	var b bytes.Buffer
	n, err := erasing{&b}.Write([]byte("level=WARN\n"))
	if n != 11 || err != nil || b.String() != "\r\x1b[Klevel=WARN\n" {
		t.Errorf("%d, %v: %q", n, err, b.String())
	}
	if got := logStream(environment{Err: &b}); got != io.Writer(&b) {
		t.Errorf("not a terminal: %T", got)
	}
}
