package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// terminal reports whether a stream is a terminal.
func terminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// colored reports whether text on a stream may have colors. In this order: NO_COLOR disables them
// (no-color.org), FORCE_COLOR and CLICOLOR_FORCE enable them, CLICOLOR=0 and TERM=dumb disable
// them, and otherwise a terminal has them.
func colored(env environment, w io.Writer) bool {
	get := func(name string) string {
		value, _ := env.Getenv(name)
		return value
	}
	on := func(name string) bool { return get(name) != "" && get(name) != "0" }
	switch {
	case get("NO_COLOR") != "":
		return false
	case on("FORCE_COLOR"), on("CLICOLOR_FORCE"):
		return true
	case get("CLICOLOR") == "0", get("TERM") == "dumb":
		return false
	}
	return terminal(w)
}

// typed is the standard input of a command if that is a terminal. Before it reads, it says so, and
// it ends with the context: otherwise a command without its file seems to hang.
type typed struct {
	ctx  context.Context
	in   io.Reader
	err  io.Writer
	said bool
}

func (t *typed) Read(p []byte) (int, error) {
	if !t.said {
		t.said = true
		fmt.Fprintln(t.err, "compat: reading standard input; end it with Ctrl-D, or stop with Ctrl-C")
	}
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() { // it ends with the process if nothing is typed
		b := make([]byte, len(p))
		n, err := t.in.Read(b)
		done <- read{b[:n], err}
	}()
	select {
	case r := <-done:
		return copy(p, r.data), r.err
	case <-t.ctx.Done():
		return 0, t.ctx.Err()
	}
}

// columns returns the width of a terminal in columns; 0 for other streams and if it is unknown.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	return terminalColumns(f)
}

const (
	progressDelay = time.Second            // most checks end before it
	progressTick  = 200 * time.Millisecond // between two updates
	maxLine       = 76                     // characters, if the width is not known
)

// progress shows the current step of a check on a terminal, in one line that is erased at the end.
// The zero value shows nothing.
type progress struct {
	out   io.Writer
	mu    sync.Mutex
	text  string
	done  chan struct{}
	over  sync.WaitGroup
	since time.Time
	size  int64        // of the files that are read; 0 = unknown
	total int64        // bytes to read, of some files twice
	read  atomic.Int64 // so far
}

// measured is a file of which the bytes that are read are counted.
type measured struct {
	*os.File
	read *atomic.Int64
}

func (c measured) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.File.ReadAt(b, off)
	c.read.Add(int64(n))
	return n, err
}

// of makes the progress show how much was read of files, if it is shown at all.
func (p *progress) of(list []analyzer.Input) {
	for i := range list {
		if f, ok := list[i].Content.(*os.File); ok && p.done != nil {
			list[i].Content = measured{f, &p.read}
			p.size, p.total = p.size+list[i].Size, p.total+list[i].Size
			if list[i].SHA256 == "" { // its digest is computed first
				p.total += list[i].Size
			}
		}
	}
}

// leastShown are the bytes from which it is worth to know how much was read.
const leastShown = 8 << 20

// amount returns how much was read until now, and how fast; "" if that is not known or all was.
func (p *progress) amount(now time.Time) string {
	read := p.read.Load()
	if p.size < leastShown || read == 0 || read >= p.total {
		return ""
	}
	const mb = 1e6
	part, size := float64(read)/float64(p.total), float64(p.size)/mb
	return fmt.Sprintf(" %.0f of %.0f MB, %.0f%%, %.0f MB/s", part*size, size, 100*part,
		part*size/max(now.Sub(p.since).Seconds(), 0.1))
}

// startProgress shows progress on a terminal, but not with --quiet and not in CI.
func startProgress(env environment, quiet bool) *progress {
	ci, _ := env.Getenv("CI")
	if quiet || ci != "" || !terminal(env.Err) || !colored(env, env.Err) {
		return &progress{}
	}
	p := &progress{out: env.Err, done: make(chan struct{}), since: time.Now()}
	p.over.Add(1)
	go p.show()
	return p
}

// logStream returns the stream for log records. On a terminal they erase the line of a progress,
// which has no line end, instead of following it.
func logStream(env environment) io.Writer {
	if terminal(env.Err) && colored(env, env.Err) {
		return erasing{env.Err}
	}
	return env.Err
}

// erasing erases the current line before each write.
type erasing struct{ io.Writer }

func (e erasing) Write(b []byte) (int, error) {
	if _, err := e.Writer.Write(append([]byte(eraseLine), b...)); err != nil {
		return 0, err
	}
	return len(b), nil
}

const eraseLine = "\r\x1b[K"

// set replaces the current step.
func (p *progress) set(text string) {
	p.mu.Lock()
	p.text = text
	p.mu.Unlock()
}

func (p *progress) show() {
	defer p.over.Done()
	wait := time.NewTimer(progressDelay)
	defer wait.Stop()
	shown := ""
	for {
		select {
		case <-p.done:
			if shown != "" {
				fmt.Fprint(p.out, eraseLine)
			}
			return
		case <-wait.C:
			wait.Reset(progressTick)
		}
		p.mu.Lock()
		text := p.text
		p.mu.Unlock()
		if text = line(text, p.amount(time.Now()), columns(p.out)); text != shown {
			fmt.Fprint(p.out, eraseLine+text)
			shown = text
		}
	}
}

// line truncates a text to one line of a terminal with a number of columns; 0 = unknown. A longer
// one would not be erased. It keeps the end, where paths differ, and an amount after it.
func line(text, amount string, columns int) string {
	r := []rune(mdsafe.Visible(text))
	limit := maxLine
	if columns > 0 {
		limit = columns - 2
	}
	if limit -= len(amount); limit < 1 {
		limit, amount = limit+len(amount), ""
	}
	if limit = max(limit, 1); len(r) > limit {
		r = append([]rune("…"), r[len(r)-limit:]...)
	}
	return string(r) + amount
}

// stop erases the line. Call it before anything else is written.
func (p *progress) stop() {
	if p.done != nil {
		close(p.done)
		p.over.Wait()
		p.done = nil
	}
}
