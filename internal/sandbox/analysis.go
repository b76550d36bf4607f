// Package sandbox judges artifacts in a process of its own, so that what an artifact costs or
// breaks is the loss of that one analysis and not of the service.
//
// The threat is an artifact made to cost much: its reader is bounded (analyzer/unpack,
// analyzer/elfobj), but half a million names, or two hundred megabytes of symbols, are allowed and
// multiply. In one process two of those end every job under way, and the webhook with them.
//
// The process is this program again, with a hidden command. It gets the artifacts as open files,
// its questions to the package index are answered by the parent through a pipe, and it gets nothing
// else: no environment, no secret, no socket, no path. It is the leader of a process group, dies
// with its parent, and is the first that a system short of memory ends. What it may use is bounded
// twice: by limits that it sets on itself before it reads the first byte, and by its parent, who
// looks at its memory and its time and kills it.
//
//	runner := &analysis.Runner{Command: []string{os.Args[0], "analyze"}, Scratch: dir}
//	report, _, err := runner.Check(ctx, inputs, options, nil, nil)
//
// In the child: analysis.Serve(ctx, os.Stdin, os.Stdout, analyzer.New(rules.All())).
package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/logmatch"
)

const (
	// defaultTime is ten times what the largest artifacts that are allowed take.
	defaultTime = 10 * time.Minute

	// look is how often a child's memory is looked at: at most some hundred megabytes come in
	// between, and a look costs 20 us.
	look = 50 * time.Millisecond

	// heavy is what ordinary artifacts stay far below; from there on the job is at risk.
	heavy = 512 << 20

	maxReply  = 256 << 20 // bytes that a child may say: its questions and a report
	maxStderr = 8 << 10   // bytes of its last words that are kept
	questions = 16        // of one child that are answered at a time
)

// Runner starts a process for each analysis. It is safe for concurrent use.
type Runner struct {
	// arguments of this program that make it call Serve; the first is its name
	Command []string
	Scratch string // folder for inflated content; "" the system's
	// bytes that one analysis may hold; 0: a third of what this machine or container has, 512 MiB
	// to 4 GiB
	Memory int64
	Time   time.Duration // that one may take; 0: 10 minutes
}

// Failure says why an analysis ended without a report.
type Failure struct {
	Reason string // a clause that a user can read, without a period
	Limit  bool   // it went over a limit, and would again
	Detail string // last words of the process, for the log
}

func (f *Failure) Error() string { return "analysis: " + f.Reason }

// failure is one of this machine's.
func failure(err error) *Failure {
	return &Failure{Reason: "no process could be started to judge it", Detail: err.Error()}
}

// Judge has artifacts judged, and holds what logs say against what is seen of them: the diagnoses
// come back with their Analysis, in the order given.
func Judge(
	ctx context.Context,
	a *analyzer.Analyzer,
	inputs []analyzer.Input,
	o analyzer.Options,
	diagnoses []buildlog.Diagnosis,
) (*analyzer.Report, []buildlog.Diagnosis, error) {
	if len(diagnoses) == 0 {
		report, err := a.Check(ctx, inputs, o)
		return report, nil, err
	}
	witness := logmatch.New(diagnoses)
	report, err := analyzer.New(append(slices.Clone(a.Rules()), witness.Rule())).
		Check(ctx, inputs, o)
	if err != nil {
		return nil, nil, err
	}
	return report, witness.Judge(report), nil
}

// Check is Judge in another process. Every input's Content must be an *os.File; Scratch and Base of
// the options are not used. risky, where it is not nil, is called once when the analysis begins to
// take much memory. Errors are *Failure, what the analyzer says of unusable options, or those of
// ctx.
func (r *Runner) Check(
	ctx context.Context,
	inputs []analyzer.Input,
	o analyzer.Options,
	diagnoses []buildlog.Diagnosis,
	risky func(),
) (*analyzer.Report, []buildlog.Diagnosis, error) {
	memory := r.Memory
	if memory == 0 {
		memory = share(available())
	}
	limit := r.Time
	if limit == 0 {
		limit = defaultTime
	}
	first, files, err := newRequest(inputs, o, r.Scratch, memory, limit)
	if err != nil {
		return nil, nil, err
	}
	first.Diagnoses = diagnoses
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTime)
	defer cancel()

	c := &child{last: &stderr{}, risky: risky}
	c.cmd = exec.Command(self(), r.Command[1:]...)
	c.cmd.Args[0] = r.Command[0]
	c.cmd.Env = []string{"GOTRACEBACK=single", fmt.Sprintf("GOMEMLIMIT=%d", memory/10*8)}
	c.cmd.ExtraFiles, c.cmd.Stderr = files, c.last
	c.cmd.SysProcAttr = apart()
	c.cmd.WaitDelay = 5 * time.Second // a grandchild could hold stderr, but there is none
	to, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, nil, failure(err)
	}
	from, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, nil, failure(err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, nil, failure(err)
	}
	watched := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(watched)
		c.watch(ctx, stop, memory)
	}()
	answer, talkErr := talk(ctx, to, from, first, o.Source)
	close(stop)
	<-watched
	c.noting.Wait()
	to.Close()
	if talkErr != nil {
		c.kill() // it said what it shouldn't, or nothing more
	}
	waitErr := c.cmd.Wait()
	switch {
	case answer != nil && answer.Report != nil && len(answer.Diagnoses) == len(diagnoses):
		return answer.Report, answer.Diagnoses, nil
	case answer != nil && answer.Unusable != "":
		return nil, nil, errors.New(answer.Unusable)
	case c.over.Load():
		return nil, nil, &Failure{
			Reason: fmt.Sprintf("judging it takes more than %s of memory", size(memory)),
			Limit:  true,
		}
	case errors.Is(context.Cause(ctx), errTime):
		return nil, nil, &Failure{
			Reason: fmt.Sprintf("judging it takes longer than %s", limit),
			Limit:  true,
		}
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	}
	return nil, nil, c.died(waitErr, talkErr, memory)
}

var errTime = errors.New("the analysis takes too long")

// child is a process that analyses.
type child struct {
	cmd   *exec.Cmd
	last  *stderr
	risky func()
	over  atomic.Bool // killed, as it held too much memory

	noting sync.WaitGroup // risky
}

// watch kills the child when ctx ends or it holds too much memory.
func (c *child) watch(ctx context.Context, stop <-chan struct{}, memory int64) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			c.kill()
			return
		case <-tick.C:
		}
		held := resident(c.cmd.Process.Pid)
		if held > heavy && c.risky != nil {
			c.noting.Go(
				c.risky,
			) // it may take a while, and the memory has to be looked at meanwhile
			c.risky = nil
		}
		if held > memory {
			c.over.Store(true)
			c.kill()
			return
		}
	}
}

// died explains the end of a process that nobody here has killed.
func (c *child) died(waitErr, talkErr error, memory int64) error {
	words := c.last.String()
	f := &Failure{
		Reason: "the process that judged it ended before it was done",
		Detail: fmt.Sprintf("%v, %v: %s", waitErr, talkErr, words),
	}
	switch {
	case strings.Contains(words, "out of memory"),
		strings.Contains(words, "cannot allocate memory"),
		strings.Contains(words, "failed to allocate"):
		f.Reason, f.Limit = fmt.Sprintf(
			"judging it takes more than %s of memory",
			size(memory),
		), true
	case strings.Contains(words, "stack exceeds"):
		f.Reason, f.Limit = "it is nested too deeply to be judged", true
	case killed(waitErr):
		f.Reason = "the system ended the process that judged it, most likely for want of memory"
	}
	return f
}

// talk sends the request, answers the child's questions, and returns its last word.
func talk(
	ctx context.Context,
	to io.Writer,
	from io.Reader,
	first *request,
	source answerer,
) (*reply, error) {
	out := json.NewEncoder(to)
	if err := out.Encode(first); err != nil {
		return nil, err
	}
	var answering sync.WaitGroup
	defer answering.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var writing sync.Mutex
	room := make(chan struct{}, questions)
	in := json.NewDecoder(io.LimitReader(from, maxReply))
	for {
		var r reply
		if err := in.Decode(&r); err != nil {
			return nil, err
		}
		if r.Question == nil {
			return &r, nil
		}
		room <- struct{}{}
		answering.Go(func() {
			defer func() { <-room }()
			a := answer(ctx, source, r.Question)
			writing.Lock()
			defer writing.Unlock()
			_ = out.Encode(a) // when it is gone, the reading says so
		})
	}
}

// stderr keeps the beginning of what is written.
type stderr struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *stderr) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	// What a crash says first is why; what comes last is where.
	if room := maxStderr - t.b.Len(); room < len(p) {
		p = p[:max(room, 0)]
	}
	t.b.Write(p)
	return n, nil
}

func (t *stderr) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(t.b.String(), "")
}

// share is what one analysis may hold of what there is: two run at once, and the service has its
// part too.
func share(available int64) int64 { return min(max(available/3, 512<<20), 4<<30) }

func size(n int64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// contents are the files behind inputs.
func contents(inputs []analyzer.Input) ([]*os.File, error) {
	var files []*os.File
	for _, i := range inputs {
		f, ok := i.Content.(*os.File)
		if !ok {
			return nil, fmt.Errorf("analysis: %q is no open file", i.Name)
		}
		files = append(files, f)
	}
	return files, nil
}
