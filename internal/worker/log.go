package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/comment/post"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
)

const (
	// maxLogs is how many failed jobs' logs are read for one head: the jobs of a matrix fail alike.
	maxLogs = 6

	// maxLogBytes is how much of one job's log is read. It is read as it comes and not kept.
	maxLogBytes = 256 << 20
)

// failed says that a workflow run ended because something in it went wrong.
func failed(r artifact.Run) bool {
	return r.Status == "completed" && (r.Conclusion == "failure" || r.Conclusion == "timed_out")
}

// logs says what the logs of the failed jobs of some workflow runs show; nil where no run failed. A
// log that can't be had is told as such. Its error is a limit, a lost lease or the like, which
// another try cures.
func (t *task) logs(ctx context.Context, runs []artifact.Run) (*comment.Logs, error) {
	var out *comment.Logs
	said := map[string]int{} // a failure -> its index in out.Lines
	for _, r := range runs {
		if !failed(r) {
			continue
		}
		if out == nil {
			out = &comment.Logs{}
		}
		jobs, err := t.client.Jobs(ctx, t.repo.Owner, t.repo.Name, r.ID)
		if err := t.curable(ctx, err); err != nil {
			return nil, err
		}
		for i := range jobs {
			j := &jobs[i]
			switch {
			case !j.Failed():
				continue
			case len(out.Jobs) == maxLogs:
				out.More++
				continue
			}
			if err := t.readLog(ctx, j, out, said); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// readLog adds what one job's log says.
func (t *task) readLog(
	ctx context.Context,
	j *github.Job,
	out *comment.Logs,
	said map[string]int,
) error {
	sink := logSink{log: t.Log}
	sink.begin()
	err := t.client.JobLog(ctx, t.repo.Owner, t.repo.Name, j.ID, &sink)
	result, readErr := sink.end()
	seen := comment.LogJob{Name: j.Name, URL: j.URL, Limit: result.Limit}
	own := (*ownFault)(nil)
	switch {
	case errors.As(readErr, &own):
		return readErr
	case errors.Is(err, errLogEnough):
		if sink.left == 0 {
			seen.Limit = fmt.Sprintf("only the first %d MiB of its log were read", maxLogBytes>>20)
		}
	case gone(err):
		seen.Gone = true
	case err != nil:
		if err := t.curable(ctx, err); err != nil {
			return err
		}
		seen.Limit = "its log can't be had: " + github.Classify(err).Reason
	case readErr != nil:
		return &ownFault{fmt.Errorf("worker: %w", readErr)}
	}
	t.Log.Debug(
		"log read",
		"job",
		j.ID,
		"lines",
		result.Lines,
		"diagnoses",
		len(result.Diagnoses),
		"gone",
		seen.Gone,
	)
	out.Jobs = append(out.Jobs, seen)
	if seen.Gone {
		return nil
	}
	for _, d := range result.Diagnoses {
		key := strings.Join(
			[]string{d.Class, d.Symbol, d.Version, lastPart(d.Library), lastPart(d.Object)},
			"\x00",
		)
		if i, ok := said[key]; ok && out.Lines[i].Job != j.Name {
			out.Lines[i].Also++
			continue
		} else if !ok {
			said[key] = len(out.Lines)
		}
		out.Lines = append(
			out.Lines,
			comment.LogLine{Diagnosis: d, Job: j.Name, URL: lineURL(j, &result, &d)},
		)
	}
	return nil
}

// unbuilt concludes a subject without artifacts, with what the logs of its failed jobs say.
func (t *task) unbuilt(
	ctx context.Context,
	s subject,
	run post.Run,
	set configuration,
	what string,
	found *artifact.Found,
	p *comment.Problem,
) error {
	logs, err := t.logs(ctx, found.Runs)
	if err != nil {
		return err
	}
	check := comment.Render(comment.Input{Problem: p, Logs: logs, SHA: s.sha, Release: s.release})
	set.speaks(&check)
	return t.conclude(ctx, s, verdict{run: run, ext: t.external(s.sha, what), check: check})
}

// headLogs are the logs of a pull request's newest head; nil where no run of it has failed.
func (t *task) headLogs(ctx context.Context, number int) (*comment.Logs, error) {
	pr, _, err := t.client.PullRequests.Get(ctx, t.repo.Owner, t.repo.Name, number)
	if err != nil {
		return nil, fmt.Errorf("worker: read #%d: %w", number, err)
	}
	set, problems, err := t.configured(ctx, pr.GetBase().GetRef())
	if err != nil || len(problems) > 0 { // the check run tells what is wrong in the configuration
		return nil, err
	}
	found, err := t.Fetcher.Head(
		ctx,
		t.client,
		headOf(t.repo, pr, set.repository.Workflows),
		set.repository.Artifacts,
	)
	if err != nil {
		return nil, err
	}
	return t.logs(ctx, found.Runs)
}

// curable passes on an error that another try may cure. What GitHub refuses, and what has been
// tried to the last, is no reason not to conclude.
func (t *task) curable(ctx context.Context, err error) error {
	switch kind := github.Classify(err).Kind; {
	case err == nil:
		return nil
	case ctx.Err() != nil, kind == github.After, kind == github.Retry && !t.lease.Last:
		return fmt.Errorf("worker: read the log of a failed job: %w", err)
	}
	t.Log.Warn("the log of a failed job can't be had", "error", err)
	return nil
}

// gone: GitHub keeps logs for a while (410), and none of a job that never ran (404).
func gone(err error) bool {
	var e *github.DownloadError
	return errors.As(err, &e) &&
		(errors.Is(e.Err, github.ErrExpired) || errors.Is(e.Err, github.ErrRefused) && e.Status == http.StatusNotFound) ||
		notFound(err)
}

// lineURL is the address of a diagnosis' line: "#step:N:L" behind the job's, L counted from the
// first line of the step. Where the step can't be told it is the job's.
func lineURL(j *github.Job, r *buildlog.Result, d *buildlog.Diagnosis) string {
	step := stepAt(j.Steps, d.Place.Time)
	if step == nil {
		return j.URL
	}
	head := -1
	for i, s := range r.Sections {
		if s.Line > d.Line || s.Time.Before(step.Started) {
			continue
		}
		if head < 0 ||
			// a step without a name of its own is called as its script begins
			s.Title == step.Name {
			head = i
		}
	}
	if head < 0 {
		return j.URL
	}
	s := r.Sections[head]
	return j.URL + "#step:" + strconv.Itoa(
		step.Number,
	) + ":" + strconv.Itoa(
		d.Line-s.Line+1-(d.Place.Ends-s.Ends),
	)
}

// stepAt is the step that ran at a time; of several in one second the one that failed, else the
// last.
func stepAt(steps []github.Step, at time.Time) *github.Step {
	if at.IsZero() {
		return nil
	}
	var out *github.Step
	for i := range steps {
		s := &steps[i]
		if s.Started.IsZero() || at.Before(s.Started) ||
			!s.Completed.IsZero() && !at.Before(s.Completed.Add(time.Second)) {
			continue
		}
		if out == nil || out.Conclusion != "failure" || s.Conclusion == "failure" {
			out = s
		}
	}
	return out
}

// errLogEnough ends the download of a log of which no more is wanted.
var errLogEnough = errors.New("enough of the log was read")

// logSink feeds a download to buildlog as it comes, and keeps nothing of it. A download that starts
// over is read anew. The zero value is begun with begin, and end waits for its one goroutine.
type logSink struct {
	log    *slog.Logger
	pipe   *io.PipeWriter
	done   chan struct{}
	result buildlog.Result
	err    error
	left   int
}

func (s *logSink) begin() {
	from, to := io.Pipe()
	s.pipe, s.done, s.left = to, make(chan struct{}), maxLogBytes
	go func() {
		defer close(s.done)
		defer func() {
			if e := recovered(s.log, recover()); e != nil {
				s.err = e
				from.CloseWithError(errLogEnough)
			}
		}()
		s.result, s.err = buildlog.Read(from)
		from.CloseWithError(errLogEnough) // it may have stopped at a bound
	}()
}

func (s *logSink) end() (buildlog.Result, error) {
	s.pipe.Close()
	<-s.done
	return s.result, s.err
}

// Write implements github.Rewinder.
func (s *logSink) Write(p []byte) (int, error) {
	n, err := s.pipe.Write(p[:min(len(p), s.left)])
	if s.left -= n; err == nil && n < len(p) {
		err = errLogEnough
	}
	return n, err
}

// Seek implements github.Rewinder; Truncate does the work.
func (s *logSink) Seek(offset int64, whence int) (int64, error) { return offset, nil }

// Truncate implements github.Rewinder: the download starts over.
func (s *logSink) Truncate(int64) error {
	_, _ = s.end() // what was read is read again
	s.begin()
	return nil
}

// diagnoses are what logs say, for the analysis to look at.
func diagnoses(logs *comment.Logs) []buildlog.Diagnosis {
	if logs == nil {
		return nil
	}
	var out []buildlog.Diagnosis
	for _, l := range logs.Lines {
		out = append(out, l.Diagnosis)
	}
	return out
}

// held puts diagnoses back that an analysis has looked at.
func held(logs *comment.Logs, judged []buildlog.Diagnosis) {
	for i, d := range judged {
		d.Place = logs.Lines[i].Diagnosis.Place // the analysis knows nothing of it
		logs.Lines[i].Diagnosis = d
	}
}
