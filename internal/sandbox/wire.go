package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/packages"
)

// request is the first line that a child reads; those after it are answers. The files lie open from
// firstFile on, in the order of Inputs.
type request struct {
	Diagnoses []buildlog.Diagnosis // of logs, to be held against what is seen
	Inputs    []input
	Options   analyzer.Options // what is plain data of them
	// questions about packages go to the parent; false: the embedded history answers
	Source  bool
	Reads   bool // the source is a packages.Reader
	Scratch string
	Memory  int64         // bytes
	Time    time.Duration // of the clock
}

// firstFile follows standard input, output and error.
const firstFile = 3

type input struct {
	Name string
	Size int64
}

// reply is a line that a child writes: questions, and at last a report or what is wrong with the
// options.
type reply struct {
	Diagnoses []buildlog.Diagnosis `json:",omitempty"`
	Question  *question            `json:",omitempty"`
	Report    *analyzer.Report     `json:",omitempty"`
	Unusable  string               `json:",omitempty"`
}

// question asks for the versions of a package, with a Version for that release, and with Worth for
// that release with some of its libraries read.
type question struct {
	ID int
	subject
	Worth map[string]int64 `json:",omitempty"` // by path, what reading an unread library is worth in bytes
}

// subject is what a question is about.
type subject struct {
	Name    string
	Version string
	On      packages.On
}

// solution answers a question.
type solution struct {
	ID       int
	Versions []string          `json:",omitempty"`
	Release  *packages.Release `json:",omitempty"`
	Error    string            `json:",omitempty"`
	Unknown  bool              `json:",omitempty"` // the error wraps packages.ErrUnknown; else packages.ErrUnavailable
}

// answerer is what a question is put to.
type answerer = packages.Source

func newRequest(
	inputs []analyzer.Input,
	o analyzer.Options,
	scratch string,
	memory int64,
	limit time.Duration,
) (*request, []*os.File, error) {
	files, err := contents(inputs)
	if err != nil {
		return nil, nil, err
	}
	_, reads := o.Source.(packages.Reader)
	r := &request{
		Options: o,
		Source:  o.Source != nil,
		Reads:   reads,
		Scratch: scratch,
		Memory:  memory,
		Time:    limit,
	}
	for _, i := range inputs {
		r.Inputs = append(r.Inputs, input{i.Name, i.Size})
	}
	return r, files, nil
}

// answer puts a child's question to the source.
func answer(ctx context.Context, source answerer, q *question) (s *solution) {
	s = &solution{ID: q.ID}
	defer func() {
		// what an index sends is anybody's: it takes down nothing but its own answer
		if r := recover(); r != nil {
			s = &solution{
				ID: q.ID,
				Error: fmt.Sprintf(
					"compat itself failed while it read what the index has of %s: %v",
					q.Name,
					r,
				),
			}
		}
	}()
	if source == nil {
		s.Error = "no package index was configured"
		return s
	}
	var err error
	if q.Version == "" {
		s.Versions, err = source.Versions(ctx, q.Name)
	} else {
		s.Release, err = source.Release(ctx, q.Name, q.Version, q.On)
	}
	if r, ok := source.(packages.Reader); ok && err == nil && len(q.Worth) > 0 {
		s.Release, err = r.Read(
			ctx,
			s.Release,
			q.On,
			func(path string) int64 { return q.Worth[path] },
		)
	}
	if err != nil {
		s.Error, s.Unknown = err.Error(), errors.Is(err, packages.ErrUnknown)
	}
	return s
}

// err is the error of a solution as the source had it; nil: there was none.
func (s *solution) err() error {
	switch {
	case s.Error == "":
		return nil
	case s.Unknown:
		return &told{s.Error, packages.ErrUnknown}
	}
	return &told{s.Error, packages.ErrUnavailable}
}

// told is an error of the parent's: its text, and which of the two kinds it was.
type told struct {
	text string
	kind error
}

func (t *told) Error() string { return t.text }
func (t *told) Unwrap() error { return t.kind }
