package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/internal/spool"
)

// Serve is the child's side: it reads a request, analyses the files that were left open for it, and
// writes the report. It returns an error when the parent is gone or says what can't be read.
func Serve(ctx context.Context, in io.Reader, out io.Writer, a *analyzer.Analyzer) error {
	from := json.NewDecoder(in)
	var r request
	if err := from.Decode(&r); err != nil {
		return fmt.Errorf("analysis: read the request: %w", err)
	}
	if err := confine(r.Memory, r.Time); err != nil {
		return fmt.Errorf("analysis: set limits: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &parent{
		out:     json.NewEncoder(out),
		waiting: map[int]chan *solution{},
		known:   map[subject]func() (*solution, error){},
	}
	go func() { // ends with the parent, or with this process
		for {
			s := &solution{}
			if err := from.Decode(s); err != nil {
				cancel(fmt.Errorf("analysis: the parent is gone: %w", err))
				return
			}
			p.solve(s)
		}
	}()

	var inputs []analyzer.Input
	for i, f := range r.Inputs {
		file := os.NewFile(uintptr(firstFile+i), "artifact")
		if file == nil {
			return errors.New("analysis: an artifact is not open")
		}
		defer file.Close()
		inputs = append(inputs, analyzer.Input{Name: f.Name, Content: file, Size: f.Size})
	}
	o := r.Options
	o.Scratch = spool.In(r.Scratch)
	switch {
	case r.Reads:
		o.Source = reader{p}
	case r.Source:
		o.Source = p
	}
	report, judged, err := Judge(ctx, a, inputs, o, r.Diagnoses)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return p.say(&reply{Unusable: err.Error()})
	}
	return p.say(&reply{Report: report, Diagnoses: judged})
}

// parent is the package index as the child sees it.
type parent struct {
	mu      sync.Mutex
	out     *json.Encoder
	last    int                    // number of the last question
	waiting map[int]chan *solution // who waits for which answer
	// each question is asked once, so that a release is one value
	known map[subject]func() (*solution, error)
}

// reader is a parent whose index is a packages.Reader.
type reader struct{ *parent }

var (
	_ packages.Source = (*parent)(nil)
	_ packages.Reader = reader{}
)

// Read implements packages.Reader.
func (p reader) Read(
	ctx context.Context,
	r *packages.Release,
	on packages.On,
	worth func(path string) int64,
) (*packages.Release, error) {
	q := question{
		subject: subject{Name: r.Name, Version: r.Version, On: on},
		Worth:   map[string]int64{},
	}
	for _, l := range r.Libraries {
		if w := worth(l.Path); l.Unread && w > 0 {
			q.Worth[l.Path] = w
		}
	}
	if len(q.Worth) == 0 {
		return r, nil
	}
	s, err := p.put(ctx, q)
	if err != nil {
		return nil, err
	}
	if s.Release == nil {
		return nil, fmt.Errorf("%s==%s: %w", r.Name, r.Version, packages.ErrUnavailable)
	}
	read := map[string]packages.Library{}
	for _, l := range s.Release.Libraries {
		if !l.Unread {
			read[l.Path] = l
		}
	}
	out := *r
	out.Libraries = slices.Clone(r.Libraries)
	for i, l := range out.Libraries {
		if now, ok := read[l.Path]; ok && l.Unread {
			out.Libraries[i] = now
		}
	}
	return &out, nil
}

// Versions implements packages.Source.
func (p *parent) Versions(ctx context.Context, name string) ([]string, error) {
	s, err := p.ask(ctx, subject{Name: name})
	if err != nil {
		return nil, err
	}
	return s.Versions, nil
}

// Release implements packages.Source.
func (p *parent) Release(
	ctx context.Context,
	name, version string,
	on packages.On,
) (*packages.Release, error) {
	s, err := p.ask(ctx, subject{Name: name, Version: version, On: on})
	if err != nil {
		return nil, err
	}
	if s.Release == nil {
		return nil, fmt.Errorf("%s==%s: %w", name, version, packages.ErrUnavailable)
	}
	return s.Release, nil
}

func (p *parent) ask(ctx context.Context, about subject) (*solution, error) {
	p.mu.Lock()
	known := p.known[about]
	if known == nil {
		known = sync.OnceValues(
			func() (*solution, error) { return p.put(ctx, question{subject: about}) },
		)
		p.known[about] = known
	}
	p.mu.Unlock()
	return known()
}

// put asks the parent and waits for its answer.
func (p *parent) put(ctx context.Context, q question) (*solution, error) {
	answered := make(chan *solution, 1)
	p.mu.Lock()
	p.last++
	q.ID = p.last
	p.waiting[q.ID] = answered
	err := p.out.Encode(&reply{Question: &q})
	p.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("the parent is gone: %w", packages.ErrUnavailable)
	}
	select {
	case s := <-answered:
		return s, s.err()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *parent) solve(s *solution) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if waits := p.waiting[s.ID]; waits != nil {
		delete(p.waiting, s.ID)
		waits <- s
	}
}

func (p *parent) say(r *reply) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Encode(r)
}
