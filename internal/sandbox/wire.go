package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/analyzer/packages"
)

// request is the first line that a child reads; the others are answers. The artifacts are files
// that are named by their number, in the order of Inputs, Base and Earlier.
type request struct {
	Diagnoses []buildlog.Diagnosis // of logs, to be compared with the artifacts
	Inputs    []input
	Base      []input   // of Options.Base; nil: none
	Earlier   [][]input // of each of Options.Earlier
	// Environments are checked instead of the inputs by themselves, which are their wheels.
	Environments *environments `json:",omitempty"`
	// Impact asks for the packages that the inputs break, and not for a report.
	Impact  *impactRequest   `json:",omitempty"`
	Options analyzer.Options // the fields that are plain data
	// the child sends questions about packages to the parent; false: it uses the built-in history
	Source bool
	Reads  bool          // the source is a packages.Reader
	Probe  bool          // report the layers and end
	Memory int64         // bytes
	Time   time.Duration // wall clock time

	others []other // the Other of each of Environments.Heads
}

type input struct {
	Name   string
	Size   int64
	SHA256 string `json:",omitempty"`
	Stored bool   `json:",omitempty"` // see analyzer.Input
}

// impactRequest asks what the inputs use, or what becomes of dependents with them.
type impactRequest struct {
	Uses bool
	// New and Old are how many inputs are those of impact.Build; the others are Dependents.
	New, Old int
}

// impactReply answers an impactRequest.
type impactReply struct {
	Uses    []impact.Uses
	Answers []impact.Answer
}

// environments are the arguments of analyzer.CheckEnvironments; Bases is nil if there is no base.
type environments struct{ Heads, Bases []environment }

// other is analyzer.Environment.Other; nil if there is none.
type other = func(ctx context.Context, name, version string) (*analyzer.Input, error)

// environment is an analyzer.Environment whose wheels are numbers of inputs.
type environment struct {
	analyzer.Environment
	Wheels []int
	Others bool `json:",omitempty"` // the parent has its Other
}

// newEnvironment adds the wheels of an environment to inputs, except those that are there already.
func newEnvironment(e *analyzer.Environment, inputs *[]analyzer.Input) environment {
	out := environment{Environment: *e}
	out.Environment.Wheels = nil
	for _, w := range e.Wheels {
		at := slices.IndexFunc(*inputs, func(i analyzer.Input) bool {
			return i.Name == w.Name && i.Content == w.Content
		})
		if at < 0 {
			at = len(*inputs)
			*inputs = append(*inputs, w)
		}
		out.Wheels = append(out.Wheels, at)
	}
	return out
}

// open returns the environment with its wheels, or false if a number is not that of an input.
func (e *environment) open(inputs []analyzer.Input) (*analyzer.Environment, bool) {
	out := e.Environment
	out.Wheels = nil
	for _, n := range e.Wheels {
		if n < 0 || n >= len(inputs) {
			return nil, false
		}
		out.Wheels = append(out.Wheels, inputs[n])
	}
	return &out, true
}

// reply is a line that a child writes: questions, and last a report or an error in the options.
type reply struct {
	Diagnoses []buildlog.Diagnosis `json:",omitempty"`
	Question  *question            `json:",omitempty"`
	Report    *analyzer.Report     `json:",omitempty"`
	Impact    *impactReply         `json:",omitempty"`
	Unusable  string               `json:",omitempty"`
	Layers    *Layers              `json:",omitempty"` // answer to Probe
}

// answers reports whether a reply is the result that a request asks for.
func (r *reply) answers(q *request) bool {
	if q.Impact != nil {
		return r.Impact != nil
	}
	return r.Report != nil && len(r.Diagnoses) == len(q.Diagnoses)
}

// question requests the versions of a package; with a Version that release; with Worth that release
// with some of its libraries read.
type question struct {
	ID int
	subject
	Worth map[string]int64 `json:",omitempty"` // by path: how many bytes may be read for a library
	// Top requests the Python sources of this package or module of the release.
	Top string `json:",omitempty"`
	// Files are those of them to read if there are many; see packages.Texts.
	Files []string `json:",omitempty"`
	// Head requests the wheel of the release, from the Other of this one of Environments.Heads. It
	// counts from 1.
	Head int `json:",omitempty"`
}

// subject is the package of a question.
type subject struct {
	Name    string
	Version string
	On      packages.Target
}

// solution answers a question.
type solution struct {
	ID       int
	Versions []string          `json:",omitempty"`
	Release  *packages.Release `json:",omitempty"`
	packages.Sources
	Wheel *placed `json:",omitempty"` // nil if none can be read
	Error string  `json:",omitempty"`
	// the error wraps packages.ErrUnknown; else packages.ErrUnavailable
	Unknown bool `json:",omitempty"`
}

// placed is an artifact that the parent placed while the child runs, and the number of its file.
type placed struct {
	input
	Place int
}

// answerer answers the questions of a child.
type answerer struct {
	source packages.Source // nil if there is none
	others []other

	mu   sync.Mutex // of what follows, and for calls of others
	dir  string     // folder of the artifacts
	next int        // number of the next file
	more int        // wheels that were placed
}

// maxOthers limits the wheels that a child may request.
const maxOthers = 100

func newRequest(
	inputs []analyzer.Input,
	o analyzer.Options,
	memory int64,
	limit time.Duration,
) (*request, []*os.File, error) {
	all := slices.Concat(inputs, o.Base)
	for _, e := range o.Earlier {
		all = append(all, e.Inputs...)
	}
	files, err := contents(all)
	if err != nil {
		return nil, nil, err
	}
	_, reads := o.Source.(packages.Reader)
	r := &request{
		Options: o,
		Source:  o.Source != nil,
		Reads:   reads,
		Memory:  memory,
		Time:    limit,
	}
	r.Inputs, r.Base = described(inputs), described(o.Base)
	for _, e := range o.Earlier {
		r.Earlier = append(r.Earlier, described(e.Inputs))
	}
	return r, files, nil
}

// described lists inputs without their content; nil for nil.
func described(inputs []analyzer.Input) []input {
	var out []input
	for _, i := range inputs {
		out = append(out, input{i.Name, i.Size, i.SHA256, i.Stored})
	}
	return out
}

func (a *answerer) answer(ctx context.Context, q *question) (s *solution) {
	s = &solution{ID: q.ID}
	defer func() {
		// A panic over the data of an index only fails this question.
		if r := recover(); r != nil {
			s = &solution{
				ID:    q.ID,
				Error: fmt.Sprintf("reading %s from the package index failed: %v", q.Name, r),
			}
		}
	}()
	var err error
	switch {
	case q.Head != 0:
		s.Wheel, err = a.wheel(ctx, q)
	case a.source == nil:
		s.Error = "no package index was configured"
		return s
	case q.Top != "":
		s.Sources, err = a.texts(ctx, q)
	case q.Version == "":
		s.Versions, err = a.source.Versions(ctx, q.Name, q.On)
	default:
		s.Release, err = a.source.Release(ctx, q.Name, q.Version, q.On)
	}
	if r, ok := a.source.(packages.Reader); ok && err == nil && len(q.Worth) > 0 {
		s.Release, err = r.Read(ctx, s.Release, q.On, func(path string) int64 { return q.Worth[path] })
	}
	if err != nil {
		s.Error, s.Unknown = err.Error(), errors.Is(err, packages.ErrUnknown)
	}
	return s
}

// texts returns the Python sources of a release.
func (a *answerer) texts(ctx context.Context, q *question) (packages.Sources, error) {
	source, ok := a.source.(packages.Texts)
	if !ok {
		return packages.Sources{}, fmt.Errorf("the sources of %s are %w", q.Name, packages.ErrUnknown)
	}
	r := &packages.Release{Name: q.Name, Version: q.Version}
	return source.Texts(ctx, r, q.On, q.Top, q.Files)
}

// wheel places another wheel for the child; nil if there is none.
func (a *answerer) wheel(ctx context.Context, q *question) (*placed, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q.Head < 0 || q.Head > len(a.others) || a.others[q.Head-1] == nil || a.more == maxOthers {
		return nil, nil
	}
	a.more++
	in, err := a.others[q.Head-1](ctx, q.Name, q.Version)
	if in == nil || err != nil {
		return nil, err
	}
	list := []analyzer.Input{*in}
	files, err := contents(list)
	if err != nil {
		return nil, err
	}
	at := a.next
	a.next++
	return &placed{described(list)[0], at}, place(files, a.dir, at)
}

// err returns the error of the source; nil if there was none.
func (s *solution) err() error {
	switch {
	case s.Error == "":
		return nil
	case s.Unknown:
		return &sourceError{s.Error, packages.ErrUnknown}
	}
	return &sourceError{s.Error, packages.ErrUnavailable}
}

// sourceError is an error of the source: its text and one of two kinds.
type sourceError struct {
	text string
	kind error
}

func (t *sourceError) Error() string { return t.text }
func (t *sourceError) Unwrap() error { return t.kind }
