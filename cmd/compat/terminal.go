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

// terminal tells whether a stream is one that a person looks at.
func terminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// coloured tells whether text on a stream may carry colours: on a terminal, unless NO_COLOR is set
// (no-color.org) or the terminal can't.
func coloured(env environment, w io.Writer) bool {
	no, _ := env.Getenv("NO_COLOR")
	term, _ := env.Getenv("TERM")
	return no == "" && term != "dumb" && terminal(w)
}

const (
	patience = time.Second            // before anything is shown: most checks are done by then
	beat     = 200 * time.Millisecond // between two looks at what goes on
	maxLine  = 76                     // of a terminal's 80 columns
)

// progress shows on a terminal what goes on, in one line that is wiped in the end. The zero value
// shows nothing.
type progress struct {
	out  io.Writer
	mu   sync.Mutex
	text string
	done chan struct{}
	over sync.WaitGroup
}

// watch begins to show progress where a person waits: not with --quiet, and not in CI.
func watch(env environment, quiet bool) *progress {
	ci, _ := env.Getenv("CI")
	if quiet || ci != "" || !coloured(env, env.Err) {
		return &progress{}
	}
	p := &progress{out: env.Err, done: make(chan struct{})}
	p.over.Add(1)
	go p.show()
	return p
}

// say tells what goes on now.
func (p *progress) say(text string) {
	p.mu.Lock()
	p.text = text
	p.mu.Unlock()
}

func (p *progress) show() {
	defer p.over.Done()
	wait := time.NewTimer(patience)
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
			wait.Reset(beat)
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

// line is a text in one line of a terminal: its end where it is too long, for that is where names
// differ.
func line(text string) string {
	r := []rune(mdsafe.Visible(text))
	if len(r) > maxLine {
		r = append([]rune("…"), r[len(r)-maxLine:]...)
	}
	return string(r)
}

// stop wipes the line. It must be called before anything else is written.
func (p *progress) stop() {
	if p.done != nil {
		close(p.done)
		p.over.Wait()
		p.done = nil
	}
}
