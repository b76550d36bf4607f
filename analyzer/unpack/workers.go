package unpack

import (
	"errors"
	"io"
	"sync"

	"github.com/compat-app/compat/internal/inflate"
)

// concurrentBytes is the size of the smallest file that another worker reads: for a smaller one,
// starting and waiting for it costs more than the work.
const concurrentBytes = 64 << 10

// inflater contains the buffers that a worker reuses.
type inflater struct {
	buf   []byte
	head  [skimHead]byte
	flate *inflate.Reader
	end   *inflate.Reader // see ending; nil if it was not needed
}

// inflaters are reused, because they are most of the memory that a walk of a small file allocates.
var inflaters = sync.Pool{New: func() any {
	return &inflater{buf: make([]byte, copyBufferBytes), flate: inflate.NewReader()}
}}

func newInflater() *inflater { return inflaters.Get().(*inflater) }

// release makes an inflater available to other walks. A nil one is ignored.
func (in *inflater) release() {
	if in != nil {
		in.flate.Reset(nil) // keep no input
		in.end = nil        // rarely needed
		inflaters.Put(in)
	}
}

// inflate returns a reader for a deflated stream. It is valid until the next call.
func (in *inflater) inflate(r io.Reader) io.Reader {
	in.flate.Reset(r)
	return in.flate
}

// ending returns the reader for the ends of members.
func (in *inflater) ending() *inflate.Reader {
	if in.end == nil {
		in.end = inflate.NewReader()
	}
	return in.end
}

// outcome is the result of reading one file.
type outcome struct {
	path     string // path in a problem
	problem  string // a sentence; "" if there is none
	err      error  // of reading it
	file     *File  // to visit; nil if it is not wanted or cannot be read
	content  Scratch
	missed   bool  // Prepare read data that had been skipped
	inflated int64 // not yet counted against the limit of the whole walk
}

// line runs jobs on several workers and returns their outcomes in the order of their start.
type line struct {
	workers int
	idle    chan *inflater
	waiting []chan outcome // the oldest first
}

func (l *line) start(workers int) {
	l.workers = workers
	if workers > 1 {
		l.idle = make(chan *inflater, workers)
		for range workers {
			l.idle <- nil // created when it is needed
		}
	}
}

// run starts a job for size bytes. If enough are running, it first handles the outcome of the
// oldest.
func (l *line) run(w *walker, size int64, job func(*inflater) outcome) error {
	if l.workers <= 1 || w.o.Prepare == nil {
		return w.handle(job(w.own))
	}
	if size < concurrentBytes {
		if len(l.waiting) == 0 {
			return w.handle(job(w.own))
		}
		l.put(job(w.own))
		return l.limit(w)
	}
	in := <-l.idle
	if in == nil {
		in = newInflater()
	}
	done := make(chan outcome, 1)
	l.waiting = append(l.waiting, done)
	go func() {
		out := job(in)
		l.idle <- in
		done <- out
	}()
	return l.limit(w)
}

// limit handles the oldest outcomes until few enough are waiting.
func (l *line) limit(w *walker) error {
	for len(l.waiting) > 4*l.workers {
		if err := l.next(w); err != nil {
			return err
		}
	}
	return nil
}

// put appends an outcome that is complete.
func (l *line) put(out outcome) {
	done := make(chan outcome, 1)
	done <- out
	l.waiting = append(l.waiting, done)
}

func (l *line) next(w *walker) error {
	out := <-l.waiting[0]
	l.waiting = l.waiting[1:]
	return w.handle(out)
}

// flush waits for all running jobs and handles their outcomes.
func (l *line) flush(w *walker) error {
	for len(l.waiting) > 0 {
		if err := l.next(w); err != nil {
			return err
		}
	}
	return nil
}

// drop waits for all running jobs and ignores their outcomes.
func (l *line) drop() {
	for _, done := range l.waiting {
		if out := <-done; out.content != nil {
			out.content.Close()
		}
	}
	l.waiting = nil
}

// release makes the inflaters available to other walks. No job runs any more.
func (l *line) release() {
	for range cap(l.idle) {
		(<-l.idle).release()
	}
}

// handle handles the outcome of a file, in order.
func (w *walker) handle(out outcome) error {
	if out.content != nil {
		defer out.content.Close()
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	w.budget.bytes -= out.inflated
	if out.err == nil && w.budget.bytes < 0 {
		out.err = w.budget.limits.inAll()
	}
	switch {
	case out.err != nil:
		end := w.ends(out.path, out.err)
		if end == nil || errors.Is(end, errStop) {
			w.addProblem(Problem{Path: out.path, Reason: Safe(reason(out.err))})
		}
		return end
	case out.problem != "":
		w.addProblem(Problem{Path: out.path, Reason: Safe(out.problem)})
		return nil
	case out.file != nil:
		return w.visit(out.file)
	}
	return nil
}
