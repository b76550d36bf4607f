// Package sandbox analyses artifacts in a confined process, so that an artifact can neither exhaust
// the service nor reach its secrets.
//
// Two threats. An artifact that is made to be expensive: the readers are bounded (analyzer/unpack,
// analyzer/elfobj), but half a million names or two hundred megabytes of symbols are allowed. And
// an artifact that exploits an error in a reader: the service holds the private key of the App,
// tokens, and the jobs of all installations.
//
// The process is this program with a hidden command. It gets the artifacts as open files and the
// answers of the package index through a pipe, and an empty folder for temporary files. Before it
// reads anything it gives up all other rights (see Layers): on Linux it has an empty environment,
// no_new_privs, a seccomp allow list without sockets, exec, fork and ptrace, Landlock rules for its
// folder alone, and where the kernel allows them its own user, network and process namespaces. Its
// memory and time are limited twice: by limits that it sets on itself, and by the parent, which
// watches both and kills it.
//
//	runner := &sandbox.Runner{Command: []string{os.Args[0], "analyze"}, Scratch: dir}
//	report, _, err := runner.Check(ctx, inputs, options, nil, nil)
//
// In the child: sandbox.Serve(ctx, os.Stdin, os.Stdout, analyzer.New(rules.All())).
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
	// defaultTime is ten times the time of the largest allowed artifacts.
	defaultTime = 10 * time.Minute

	// look is the interval between two checks of a child's memory. It can grow by some hundred
	// megabytes in between; a check takes 20 us.
	look = 50 * time.Millisecond

	// heavy is the memory from which on a job counts as risky; ordinary artifacts need far less.
	heavy = 512 << 20

	maxReply  = 256 << 20 // bytes of a child's output: its questions and a report
	maxStderr = 8 << 10   // bytes of its error output that are kept
	questions = 16        // answered at once for one child
)

// Runner starts a process for each analysis. It is safe for concurrent use.
type Runner struct {
	// arguments of this program that make it call Serve; the first is its name
	Command []string
	// folder for temporary files, below which each analysis gets a folder of its own; "" the system's
	Scratch string
	// bytes that one analysis may hold; 0: a third of what this machine or container has, 512 MiB
	// to 4 GiB
	Memory int64
	Time   time.Duration // limit of one analysis; 0: 10 minutes

	// set when a start with namespaces was refused: later starts do not try again
	noNamespaces atomic.Bool
}

// Failure says why an analysis ended without a report.
type Failure struct {
	Reason string // a clause for users, without a period
	Limit  bool   // a limit was exceeded, and would be again
	Detail string // error output of the process, for the log
}

func (f *Failure) Error() string { return "sandbox: " + f.Reason }

// failure is a failure of this machine.
func failure(err error) *Failure {
	return &Failure{Reason: "the analysis process could not be started", Detail: err.Error()}
}

// Judge checks artifacts and compares the diagnoses of logs with them. It returns the diagnoses in
// the given order, with their Analysis.
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
	matcher := logmatch.New(diagnoses)
	report, err := analyzer.New(append(slices.Clone(a.Rules()), matcher.Rule())).
		Check(ctx, inputs, o)
	if err != nil {
		return nil, nil, err
	}
	return report, matcher.Diagnoses(report), nil
}

// Check is Judge in a confined process. The Content of every input, also of Base and Earlier, must
// be an *os.File; Scratch of the options is not used. risky, if it is not nil, is called once when
// the analysis takes much memory. Errors are *Failure, those of the analyzer about invalid options,
// or those of ctx.
func (r *Runner) Check(
	ctx context.Context,
	inputs []analyzer.Input,
	o analyzer.Options,
	diagnoses []buildlog.Diagnosis,
	risky func(),
) (*analyzer.Report, []buildlog.Diagnosis, error) {
	return r.check(ctx, inputs, o, risky, func(q *request) { q.Diagnoses = diagnoses })
}

// CheckEnvironments is analyzer.CheckEnvironments in a confined process. The Content of every wheel
// must be an *os.File. Otherwise it is as Check.
func (r *Runner) CheckEnvironments(
	ctx context.Context,
	heads, bases []*analyzer.Environment,
	o analyzer.Options,
) (*analyzer.Report, error) {
	var inputs []analyzer.Input
	sent := &environments{}
	for _, e := range heads {
		sent.Heads = append(sent.Heads, newEnvironment(e, &inputs))
	}
	for _, e := range bases {
		sent.Bases = append(sent.Bases, newEnvironment(e, &inputs))
	}
	report, _, err := r.check(ctx, inputs, o, nil, func(q *request) { q.Environments = sent })
	return report, err
}

// check sends a request, which add may change. For a probe the process only reports its layers,
// as a *probed error.
func (r *Runner) check(
	ctx context.Context,
	inputs []analyzer.Input,
	o analyzer.Options,
	risky func(),
	add func(*request),
) (*analyzer.Report, []buildlog.Diagnosis, error) {
	memory := r.Memory
	if memory == 0 {
		memory = share(available())
	}
	limit := r.Time
	if limit == 0 {
		limit = defaultTime
	}
	first, files, err := newRequest(inputs, o, memory, limit)
	if err != nil {
		return nil, nil, err
	}
	add(first)
	dir, err := os.MkdirTemp(r.Scratch, Folder+"*")
	if err != nil {
		return nil, nil, failure(err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTime)
	defer cancel()

	c := &child{last: &stderr{}, risky: risky}
	to, from, err := r.start(c, dir, files)
	if err != nil {
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
		c.kill() // its output is invalid or has ended
	}
	waitErr := c.cmd.Wait()
	switch {
	case answer != nil && answer.Layers != nil && first.Probe:
		return nil, nil, &probed{*answer.Layers}
	case answer != nil && answer.Report != nil && len(answer.Diagnoses) == len(first.Diagnoses):
		return answer.Report, answer.Diagnoses, nil
	case answer != nil && answer.Unusable != "":
		return nil, nil, errors.New(answer.Unusable)
	case c.over.Load():
		return nil, nil, &Failure{
			Reason: fmt.Sprintf("the analysis needs more than %s of memory", size(memory)),
			Limit:  true,
		}
	case errors.Is(context.Cause(ctx), errTime):
		return nil, nil, &Failure{
			Reason: fmt.Sprintf("the analysis takes longer than %s", limit),
			Limit:  true,
		}
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	}
	return nil, nil, c.died(waitErr, talkErr, memory)
}

var errTime = errors.New("the analysis takes too long")

// Folder is the prefix of the directories of analyses in Runner.Scratch. Directories left by a
// crash can be removed while no service runs.
const Folder = "analysis-"

// start starts the process with dir as its working directory, in namespaces of its own if the
// kernel allows that.
func (r *Runner) start(
	c *child,
	dir string,
	files []*os.File,
) (to io.WriteCloser, from io.ReadCloser, err error) {
	if err := closeOnExec(); err != nil {
		return nil, nil, err
	}
	for _, namespaces := range []bool{true, false} {
		if namespaces && r.noNamespaces.Load() {
			continue
		}
		c.cmd = exec.Command(self(), r.Command[1:]...)
		c.cmd.Args[0] = r.Command[0]
		c.cmd.Env, c.cmd.Dir = []string{}, dir
		c.cmd.ExtraFiles, c.cmd.Stderr = files, c.last
		c.cmd.SysProcAttr = processAttributes(namespaces)
		c.cmd.WaitDelay = 5 * time.Second // another process could hold stderr, but there is none
		if to, err = c.cmd.StdinPipe(); err != nil {
			return nil, nil, err
		}
		if from, err = c.cmd.StdoutPipe(); err != nil {
			return nil, nil, err
		}
		if err = c.cmd.Start(); err == nil {
			return to, from, nil
		}
		if !namespaces || !noNamespaces(err) {
			break
		}
		r.noNamespaces.Store(true)
	}
	return nil, nil, err
}

// child is the process of an analysis.
type child struct {
	cmd   *exec.Cmd
	last  *stderr
	risky func()
	over  atomic.Bool // killed because of its memory

	noting sync.WaitGroup // risky
}

// watch kills the child when ctx ends or when it has too much memory.
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
			) // in the background: the memory must be watched meanwhile
			c.risky = nil
		}
		if held > memory {
			c.over.Store(true)
			c.kill()
			return
		}
	}
}

// died explains the end of a process that watch did not kill.
func (c *child) died(waitErr, talkErr error, memory int64) error {
	words := c.last.String()
	f := &Failure{
		Reason: "the analysis process ended unexpectedly",
		Detail: fmt.Sprintf("%v, %v: %s", waitErr, talkErr, words),
	}
	switch {
	case strings.Contains(words, "out of memory"),
		strings.Contains(words, "cannot allocate memory"),
		strings.Contains(words, "failed to allocate"):
		f.Reason, f.Limit = fmt.Sprintf(
			"the analysis needs more than %s of memory",
			size(memory),
		), true
	case strings.Contains(words, "stack exceeds"):
		f.Reason, f.Limit = "its data is nested too deeply", true
	case killed(waitErr):
		f.Reason = "the system killed the analysis process, probably because of a lack of memory"
	}
	return f
}

// talk sends the request, answers the child's questions, and returns its last reply.
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
			_ = out.Encode(a) // if the child has ended, reading fails
		})
	}
}

// stderr keeps the first maxStderr bytes written.
type stderr struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *stderr) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	// The reason of a crash comes first.
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

// share returns the memory limit of one analysis: two run at once, and the service needs some.
func share(available int64) int64 { return min(max(available/3, 512<<20), 4<<30) }

func size(n int64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// contents returns the files of inputs.
func contents(inputs []analyzer.Input) ([]*os.File, error) {
	var files []*os.File
	for _, i := range inputs {
		f, ok := i.Content.(*os.File)
		if !ok {
			return nil, fmt.Errorf("sandbox: %q is not an open file", i.Name)
		}
		files = append(files, f)
	}
	return files, nil
}
