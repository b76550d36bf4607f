package sandbox

import "sync"

// spares is the process that waits for the next analysis. It is confined, has no artifact and no
// request, and is used once.
type spares struct {
	mu       sync.Mutex
	ready    *child // nil: none
	starting bool
	closed   bool
	all      sync.WaitGroup // starts
}

// take returns the process that waits, or a new one.
func (r *Runner) take() (*child, error) {
	s := &r.spares
	s.mu.Lock()
	c := s.ready
	s.ready = nil
	s.mu.Unlock()
	switch {
	case c == nil:
	case c.alive():
		return c, nil
	default:
		c.discard()
	}
	return r.start()
}

// prepare starts the process for the next analysis, in the background. Where that fails, the next
// analysis starts its own and reports why.
func (r *Runner) prepare() {
	s := &r.spares
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.Spare || s.closed || s.starting || s.ready != nil {
		return
	}
	s.starting = true
	s.all.Go(func() {
		c, err := r.start()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.starting = false
		switch {
		case err != nil:
		case s.closed:
			c.discard()
		default:
			s.ready = c
		}
	})
}

// Close ends the process that waits. Analyses may still run, and start processes of their own.
func (r *Runner) Close() {
	s := &r.spares
	s.mu.Lock()
	s.closed = true
	c := s.ready
	s.ready = nil
	s.mu.Unlock()
	if c != nil {
		c.discard()
	}
	s.all.Wait()
}
