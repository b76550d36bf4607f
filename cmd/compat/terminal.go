package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/compat-app/compat/internal/mdsafe"
	"github.com/mattn/go-isatty"
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
	maxLine       = 76                     // characters; a terminal has 80
)

// progress shows the current step of a check on a terminal, in one line that is erased at the end.
// The zero value shows nothing.
type progress struct {
	out  io.Writer
	mu   sync.Mutex
	text string
	done chan struct{}
	over sync.WaitGroup
}

// startProgress shows progress on a terminal, but not with --quiet and not in CI.
func startProgress(env environment, quiet bool) *progress {
	ci, _ := env.Getenv("CI")
	if quiet || ci != "" || !terminal(env.Err) || !colored(env, env.Err) {
		return &progress{}
	}
	p := &progress{out: env.Err, done: make(chan struct{})}
	p.over.Add(1)
	go p.show()
	return p
}

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
				fmt.Fprint(p.out, "\r\x1b[K")
			}
			return
		case <-wait.C:
			wait.Reset(progressTick)
		}
		p.mu.Lock()
		text := p.text
		p.mu.Unlock()
		if text != shown {
			fmt.Fprint(p.out, "\r\x1b[K"+line(text))
			shown = text
		}
	}
}

// line truncates a text to one line of a terminal. It keeps the end, where paths differ.
func line(text string) string {
	r := []rune(mdsafe.Visible(text))
	if len(r) > maxLine {
		r = append([]rune("…"), r[len(r)-maxLine:]...)
	}
	return string(r)
}

// stop erases the line. Call it before anything else is written.
func (p *progress) stop() {
	if p.done != nil {
		close(p.done)
		p.over.Wait()
		p.done = nil
	}
}
