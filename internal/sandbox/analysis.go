// Package sandbox analyses artifacts in a confined process, so that an artifact can neither exhaust
// the service nor reach its secrets.
//
// Two threats. An artifact that is made to be expensive: the readers are bounded (analyzer/unpack,
// analyzer/elfobj), but half a million names or two hundred megabytes of symbols are allowed. And
// an artifact that exploits an error in a reader: the service holds the private key of the App,
// tokens, and the jobs of all installations.
//
// The process is this program with a hidden command. It gets the artifacts in a folder of its own,
// the answers of the package index through a pipe, and an empty folder for temporary files. Before
// it reads anything it gives up all other rights (see Layers): on Linux it has an empty
// environment, no_new_privs, a seccomp allow list without sockets, exec, fork and ptrace, Landlock
// rules for its folder alone, and where the kernel allows them its own user, network and IPC
// namespaces. Its memory and time are limited twice: by limits that it sets on itself, and by the
// parent, which watches both and kills it.
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
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/analyzer/logmatch"
)

const (
	// defaultTime is ten times the time of the largest allowed artifacts.
	defaultTime = 10 * time.Minute

	// look is the interval between two checks of a child's memory and threads. The memory can grow by
	// some hundred megabytes in between; a check takes 25 us.
	look = 50 * time.Millisecond

	// maxThreads limits the threads of a child. The Go runtime needs some for each processor, and one
	// for each call that blocks.
	maxThreads = 1000

	// heavy is the memory from which on a job counts as risky; ordinary artifacts need far less.
	heavy = 512 << 20

	maxReply  = 256 << 20 // bytes of a child's output: its questions and a report
	maxStderr = 8 << 10   // bytes of its error output that are kept
	questions = 16        // answered at once for one child

	// maxObjects limits the objects and lists in a child's output, and maxQuestions its questions.
	// Decoded, an empty object takes some hundred bytes. A report of 10 MiB has about 100,000.
	maxObjects   = 1 << 20
	maxQuestions = 200_000
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
	// Spare keeps a process ready for the next analysis, so that it need not wait for its start.
	// Close ends it.
	Spare bool

	// set when a start with namespaces was refused: later starts do not try again
	noNamespaces atomic.Bool

	spares spares
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
	return logmatch.Check(ctx, a.Rules(), inputs, o, diagnoses)
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
	answer, err := r.check(ctx, inputs, o, risky, func(q *request) { q.Diagnoses = diagnoses })
	if err != nil {
		return nil, nil, err
	}
	return answer.Report, answer.Diagnoses, nil
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
	var others []other
	for _, e := range heads {
		h := newEnvironment(e, &inputs)
		h.Others = e.Other != nil
		sent.Heads, others = append(sent.Heads, h), append(others, e.Other)
	}
	for _, e := range bases {
		sent.Bases = append(sent.Bases, newEnvironment(e, &inputs))
	}
	answer, err := r.check(ctx, inputs, o, nil, func(q *request) {
		q.Environments, q.others = sent, others
	})
	if err != nil {
		return nil, err
	}
	return answer.Report, nil
}

// ReadUses is impact.ReadUses in a confined process. The Content of every input must be an
// *os.File. Errors are as of Check.
func (r *Runner) ReadUses(ctx context.Context, inputs []analyzer.Input) ([]impact.Uses, error) {
	answer, err := r.check(ctx, inputs, analyzer.Options{}, nil, func(q *request) {
		q.Impact = &impactRequest{Uses: true}
	})
	if err != nil {
		return nil, err
	}
	return answer.Impact.Uses, nil
}

// JudgeBuild is impact.Build.Judge in a confined process; the Analyzer of the build is not used.
// The Content of every input must be an *os.File. Errors are as of Check.
func (r *Runner) JudgeBuild(ctx context.Context, b *impact.Build) ([]impact.Answer, error) {
	o := b.Options
	o.Source = b.Source
	answer, err := r.check(ctx, slices.Concat(b.New, b.Old, b.Dependents), o, nil, func(q *request) {
		q.Impact = &impactRequest{New: len(b.New), Old: len(b.Old)}
	})
	if err != nil {
		return nil, err
	}
	for _, a := range answer.Impact.Answers {
		if a.Dependent < 0 || a.Dependent >= len(b.Dependents) {
			return nil, &Failure{Reason: "the analysis process returned an invalid answer"}
		}
	}
	return answer.Impact.Answers, nil
}

// check sends a request, which add may change. For a probe the process only reports its layers,
// as a *probed error.
func (r *Runner) check(
	ctx context.Context,
	inputs []analyzer.Input,
	o analyzer.Options,
	risky func(),
	add func(*request),
) (*reply, error) {
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
		return nil, err
	}
	add(first)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTime)
	defer cancel()

	c, err := r.take()
	if err != nil {
		return nil, failure(err)
	}
	defer r.prepare()
	defer os.RemoveAll(c.dir)
	c.risky = risky
	in := filepath.Join(c.dir, artifacts)
	if err := place(files, in, 0); err != nil {
		c.discard()
		return nil, failure(err)
	}
	watched := make(chan *Failure, 1)
	stop := make(chan struct{})
	go func() { watched <- c.watch(ctx, stop, memory) }()
	answer, talkErr := talk(ctx, c.to, c.from, first, &answerer{
		source: o.Source, others: first.others, dir: in, next: len(files),
	})
	close(stop)
	exceeded := <-watched
	c.noting.Wait()
	c.to.Close()
	if talkErr != nil {
		c.kill() // its output is invalid or has ended
	}
	waitErr := c.cmd.Wait()
	switch {
	case answer != nil && answer.Layers != nil && first.Probe:
		return nil, &probed{*answer.Layers}
	case answer != nil && answer.answers(first):
		return answer, nil
	case answer != nil && answer.Unusable != "":
		return nil, errors.New(answer.Unusable)
	case exceeded != nil:
		return nil, exceeded
	case errors.Is(context.Cause(ctx), errTime):
		return nil, &Failure{
			Reason: fmt.Sprintf("the analysis takes longer than %s", limit),
			Limit:  true,
		}
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, c.died(waitErr, talkErr, memory)
}

var errTime = errors.New("the analysis takes too long")

// Folder is the prefix of the directories of analyses in Runner.Scratch. Directories left by a
// crash can be removed while no service runs.
const Folder = "analysis-"

// Directories below the one of an analysis.
const (
	artifacts = "in"  // its artifacts, which it may read
	temporary = "tmp" // its working directory, for temporary files
)

// start starts a process, in namespaces of its own if the kernel allows that.
func (r *Runner) start() (c *child, err error) {
	if err := closeOnExec(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(r.Scratch, Folder+"*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	for _, d := range []string{artifacts, temporary} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			return nil, err
		}
	}
	for _, namespaces := range []bool{true, false} {
		if namespaces && r.noNamespaces.Load() {
			continue
		}
		c = &child{dir: dir, last: &stderr{}}
		c.cmd = exec.Command(self(), r.Command[1:]...)
		c.cmd.Args[0] = r.Command[0]
		c.cmd.Env, c.cmd.Dir = []string{}, filepath.Join(dir, temporary)
		c.cmd.Stderr = c.last
		c.cmd.SysProcAttr = processAttributes(namespaces)
		c.cmd.WaitDelay = 5 * time.Second // another process could hold stderr, but there is none
		if c.to, err = c.cmd.StdinPipe(); err != nil {
			return nil, err
		}
		if c.from, err = c.cmd.StdoutPipe(); err != nil {
			return nil, err
		}
		if err = c.cmd.Start(); err == nil {
			return c, nil
		}
		if !namespaces || !noNamespaces(err) {
			break
		}
		r.noNamespaces.Store(true)
	}
	return nil, err
}

// place puts files into a directory, whose names are numbers from first on: as links, which cost
// nothing, or as copies on another file system.
func place(files []*os.File, dir string, first int) error {
	for i, f := range files {
		to := filepath.Join(dir, strconv.Itoa(first+i))
		if os.Link(f.Name(), to) == nil && same(f, to) {
			continue
		}
		_ = os.Remove(to) // another file has the name now
		info, err := f.Stat()
		if err != nil {
			return err
		}
		copied, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(copied, io.NewSectionReader(f, 0, info.Size()))
		if err = errors.Join(err, copied.Close()); err != nil {
			return err
		}
	}
	return nil
}

// same reports whether a path is that of an open file.
func same(f *os.File, path string) bool {
	is, err := f.Stat()
	if err != nil {
		return false
	}
	linked, err := os.Lstat(path)
	return err == nil && os.SameFile(is, linked)
}

// child is the process of an analysis.
type child struct {
	cmd   *exec.Cmd
	dir   string
	to    io.WriteCloser
	from  io.ReadCloser
	last  *stderr
	risky func()

	noting sync.WaitGroup // risky
}

// discard ends a process that is not needed.
func (c *child) discard() {
	c.to.Close()
	c.kill()
	_ = c.cmd.Wait()
	os.RemoveAll(c.dir)
}

// watch kills the child when ctx ends, or when it has too much memory or too many threads, which it
// returns.
func (c *child) watch(ctx context.Context, stop <-chan struct{}, memory int64) *Failure {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			c.kill()
			return nil
		case <-tick.C:
		}
		held := resident(c.cmd.Process.Pid)
		if held > heavy && c.risky != nil {
			c.noting.Go(c.risky) // in the background: the memory must be watched meanwhile
			c.risky = nil
		}
		if held > memory {
			c.kill()
			return &Failure{
				Reason: fmt.Sprintf("the analysis needs more than %s of memory", size(memory)),
				Limit:  true,
			}
		}
		if threads(c.cmd.Process.Pid) > maxThreads {
			c.kill()
			return &Failure{
				Reason: fmt.Sprintf("the analysis has more than %d threads", maxThreads),
			}
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
		f.Reason, f.Limit = fmt.Sprintf("the analysis needs more than %s of memory", size(memory)), true
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
	by *answerer,
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
	in := json.NewDecoder(&countedObjects{io.LimitReader(from, maxReply), maxObjects})
	for asked := 0; ; asked++ {
		if asked > maxQuestions {
			return nil, errObjects
		}
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
			a := by.answer(ctx, r.Question)
			writing.Lock()
			defer writing.Unlock()
			_ = out.Encode(a) // if the child has ended, reading fails
		})
	}
}

var errObjects = errors.New("the analysis returns more than the service reads")

// countedObjects is JSON with a limit of objects and lists. Brackets in strings count too.
type countedObjects struct {
	io.Reader
	left int
}

func (c *countedObjects) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.left -= bytes.Count(p[:n], []byte("{")) + bytes.Count(p[:n], []byte("["))
	if c.left < 0 {
		return 0, errObjects
	}
	return n, err
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
