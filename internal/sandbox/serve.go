package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/spool"
)

// Serve is the child's side: it gives up the rights that an analysis does not need, reads a
// request, analyses the files that the parent placed, and writes the report. It returns an
// error if the parent has ended or sends a request that cannot be read.
func Serve(ctx context.Context, in io.Reader, out io.Writer, a *analyzer.Analyzer) error {
	return serve(ctx, in, out, a, confine)
}

// serve is Serve with the function that gives up the rights.
func serve(
	ctx context.Context,
	in io.Reader,
	out io.Writer,
	a *analyzer.Analyzer,
	confine func() Layers,
) error {
	from := json.NewDecoder(in)
	r, layers, err := begin(from, confine)
	if err != nil {
		return err
	}
	if r.Probe {
		return json.NewEncoder(out).Encode(&reply{Layers: &layers})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &parent{
		out:     json.NewEncoder(out),
		waiting: map[int]chan *solution{},
		known:   map[subject]func() (*solution, error){},
	}
	go func() { // ends with the parent or this process
		for {
			s := &solution{}
			if err := from.Decode(s); err != nil {
				cancel(fmt.Errorf("sandbox: the parent has ended: %w", err))
				return
			}
			p.solve(s)
		}
	}()

	next := 0
	opened := func(list []input) ([]analyzer.Input, error) {
		var inputs []analyzer.Input
		for _, f := range list {
			in, err := f.open(next)
			if err != nil {
				return nil, err
			}
			next++
			inputs = append(inputs, *in)
		}
		return inputs, nil
	}
	o := r.Options
	o.Scratch = spool.In(".")
	inputs, err := opened(r.Inputs)
	if err != nil {
		return err
	}
	if o.Base, err = opened(r.Base); err != nil {
		return err
	}
	if len(r.Earlier) != len(o.Earlier) {
		return errors.New("sandbox: the number of earlier builds differs from that in the options")
	}
	for i := range o.Earlier {
		if o.Earlier[i].Inputs, err = opened(r.Earlier[i]); err != nil {
			return err
		}
	}
	switch {
	case r.Reads:
		o.Source = reader{p}
	case r.Source:
		o.Source = p
	}
	if r.Impact != nil {
		found, err := r.Impact.answer(ctx, a, inputs, o)
		return p.end(ctx, &reply{Impact: found}, err)
	}
	if r.Environments != nil {
		report, err := r.Environments.check(ctx, a, p, inputs, o)
		return p.end(ctx, &reply{Report: report}, err)
	}
	report, judged, err := Judge(ctx, a, inputs, o, r.Diagnoses)
	return p.end(ctx, &reply{Report: report, Diagnoses: judged}, err)
}

// open opens the artifact with a number.
func (f input) open(number int) (*analyzer.Input, error) {
	file, err := os.Open(filepath.Join("..", artifacts, strconv.Itoa(number)))
	if err != nil {
		return nil, fmt.Errorf("sandbox: open an artifact: %w", err)
	}
	return &analyzer.Input{
		Name: f.Name, Content: file, Size: f.Size, SHA256: f.SHA256, Stored: f.Stored,
	}, nil
}

// check checks the environments, whose wheels are inputs. p has other wheels.
func (e *environments) check(
	ctx context.Context,
	a *analyzer.Analyzer,
	p *parent,
	inputs []analyzer.Input,
	o analyzer.Options,
) (*analyzer.Report, error) {
	var lists [2][]*analyzer.Environment
	for i, list := range [][]environment{e.Heads, e.Bases} {
		for n, sent := range list {
			opened, ok := sent.open(inputs)
			if !ok {
				return nil, errors.New("sandbox: a wheel is not open")
			}
			if sent.Others {
				opened.Other = func(ctx context.Context, name, version string) (*analyzer.Input, error) {
					return p.wheel(ctx, n+1, name, version)
				}
			}
			lists[i] = append(lists[i], opened)
		}
	}
	return a.CheckEnvironments(ctx, lists[0], lists[1], o)
}

// answer answers a request about the impact of inputs.
func (r *impactRequest) answer(
	ctx context.Context,
	a *analyzer.Analyzer,
	inputs []analyzer.Input,
	o analyzer.Options,
) (*impactReply, error) {
	if r.Uses {
		uses, err := impact.ReadUses(ctx, inputs, o)
		return &impactReply{Uses: uses}, err
	}
	if r.New < 0 || r.Old < 0 || r.New+r.Old > len(inputs) {
		return nil, errors.New("sandbox: an artifact is not open")
	}
	b := &impact.Build{
		New: inputs[:r.New], Old: inputs[r.New : r.New+r.Old], Dependents: inputs[r.New+r.Old:],
		Source: o.Source, Analyzer: a, Options: o,
	}
	answers, err := b.Judge(ctx)
	return &impactReply{Answers: answers}, err
}

// end writes the last reply: that an analysis has a result, or that its options are invalid.
func (p *parent) end(ctx context.Context, r *reply, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return p.say(&reply{Unusable: err.Error()})
	}
	return p.say(r)
}

// begin confines this process, reads the request, and sets its limits.
func begin(from *json.Decoder, confine func() Layers) (*request, Layers, error) {
	base := dataSize()
	layers := confine()
	go warm()
	var r request
	if err := from.Decode(&r); err != nil {
		return nil, layers, fmt.Errorf("sandbox: read the request: %w", err)
	}
	debug.SetMemoryLimit(min(r.Memory/10*8, debug.SetMemoryLimit(-1))) // -1 changes nothing
	if err := limit(r.Memory, r.Time, base); err != nil {
		return nil, layers, fmt.Errorf("sandbox: set limits: %w", err)
	}
	layers.Rlimits = true
	return &r, layers, nil
}

// warm decodes the tables that most analyses use, while the process waits for its request. They
// take longer than the analysis of a small wheel.
func warm() {
	p, err := platform.Lookup("manylinux_2_17", "x86_64")
	if err != nil {
		return
	}
	for _, l := range p.Libraries() {
		l.Has("malloc", "GLIBC_2.2.5")
	}
}

// parent is the package index of the child; it sends the questions to the parent process.
type parent struct {
	mu      sync.Mutex
	out     *json.Encoder
	last    int                    // number of the last question
	waiting map[int]chan *solution // receivers of the answers, by question
	// each question is sent once, so that a release is a single value
	known map[subject]func() (*solution, error)
}

// reader is a parent whose index is a packages.Reader.
type reader struct{ *parent }

var (
	_ packages.Source = (*parent)(nil)
	_ packages.Reader = reader{}
	_ packages.Texts  = reader{}
)

// Read implements packages.Reader.
func (p reader) Read(
	ctx context.Context,
	r *packages.Release,
	on packages.Target,
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

// Texts implements packages.Texts.
func (p reader) Texts(
	ctx context.Context,
	r *packages.Release,
	on packages.Target,
	top string,
	files []string,
) (packages.Sources, error) {
	about := subject{Name: r.Name, Version: r.Version, On: on}
	s, err := p.put(ctx, question{subject: about, Top: top, Files: files})
	if err != nil {
		return packages.Sources{}, err
	}
	return s.Sources, nil
}

// Versions implements packages.Source.
func (p *parent) Versions(
	ctx context.Context,
	name string,
	on packages.Target,
) ([]string, error) {
	s, err := p.ask(ctx, subject{Name: name, On: on})
	if err != nil {
		return nil, err
	}
	return s.Versions, nil
}

// Release implements packages.Source.
func (p *parent) Release(
	ctx context.Context,
	name, version string,
	on packages.Target,
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

// wheel requests the wheel of a release from the Other of a head, whose number counts from 1. It
// returns nil if none can be read.
func (p *parent) wheel(
	ctx context.Context,
	head int,
	name, version string,
) (*analyzer.Input, error) {
	s, err := p.put(ctx, question{subject: subject{Name: name, Version: version}, Head: head})
	if err != nil || s.Wheel == nil {
		return nil, err
	}
	return s.Wheel.open(s.Wheel.Place)
}

func (p *parent) ask(ctx context.Context, about subject) (*solution, error) {
	p.mu.Lock()
	known := p.known[about]
	if known == nil {
		known = sync.OnceValues(func() (*solution, error) { return p.put(ctx, question{subject: about}) })
		p.known[about] = known
	}
	p.mu.Unlock()
	return known()
}

// put sends a question to the parent and waits for the answer.
func (p *parent) put(ctx context.Context, q question) (*solution, error) {
	answered := make(chan *solution, 1)
	p.mu.Lock()
	p.last++
	q.ID = p.last
	p.waiting[q.ID] = answered
	err := p.out.Encode(&reply{Question: &q})
	p.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("the service has ended: %w", packages.ErrUnavailable)
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
