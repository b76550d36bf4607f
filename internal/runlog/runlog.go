// Package runlog reads the logs of a workflow run's failed jobs and finds error messages of
// linkers, loaders and runtimes.
//
// Logs are untrusted: at most maxLogs jobs and maxLogBytes of each are read, as a stream, and
// only the results of buildlog are kept.
package runlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/worker"
)

const (
	// maxLogs limits the logs that are read for one head, because the jobs of a matrix usually
	// fail alike.
	maxLogs = 6

	// maxLogBytes limits the bytes of one log. It is not stored.
	maxLogBytes = 256 << 20
)

// Failed reports whether a workflow run failed or timed out.
func Failed(r artifact.Run) bool {
	return r.Status == "completed" && (r.Conclusion == "failure" || r.Conclusion == "timed_out")
}

// Read returns the results for the failed jobs of workflow runs; nil if no run failed. Logs that
// cannot be read are listed. An error is temporary, such as a rate limit or a lost lease.
func Read(
	ctx context.Context,
	a *worker.Attempt,
	r *repository.Repository,
	runs []artifact.Run,
) (*comment.Logs, error) {
	var out *comment.Logs
	seen := map[string]int{} // message -> index in out.Lines
	for _, run := range runs {
		if !Failed(run) {
			continue
		}
		if out == nil {
			out = &comment.Logs{}
		}
		jobs, err := r.Client.Jobs(ctx, r.Owner, r.Name, run.ID)
		if errors.Is(err, github.ErrTooMany) {
			err = nil // some logs are enough
		}
		if err := curable(ctx, a, err); err != nil {
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
			if err := readLog(ctx, a, r, j, out, seen); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// readLog adds the results for one job's log. seen contains the messages that are in out already.
func readLog(
	ctx context.Context,
	a *worker.Attempt,
	r *repository.Repository,
	j *github.Job,
	out *comment.Logs,
	seen map[string]int,
) error {
	sink := logSink{log: a.Log}
	sink.begin()
	err := r.Client.JobLog(ctx, r.Owner, r.Name, j.ID, &sink)
	result, readErr := sink.end()
	listed := comment.LogJob{Name: j.Name, URL: j.URL, Limit: result.Limit}
	switch {
	case errors.As(readErr, new(*worker.Failure)): // a panic
		return readErr
	case errors.Is(err, errLogEnough):
		if sink.left == 0 {
			listed.Limit = fmt.Sprintf("only the first %d MiB of its log were read", maxLogBytes>>20)
		}
	case gone(err):
		listed.Gone = true
	case err != nil:
		if err := curable(ctx, a, err); err != nil {
			return err
		}
		listed.Limit = "its log cannot be downloaded:  " + github.Classify(err).Reason
	case readErr != nil:
		return worker.Internal(fmt.Errorf("runlog: %w", readErr))
	}
	a.Log.Debug(
		"log read",
		"job",
		j.ID,
		"lines",
		result.Lines,
		"diagnoses",
		len(result.Diagnoses),
		"gone",
		listed.Gone,
	)
	out.Jobs = append(out.Jobs, listed)
	if listed.Gone {
		return nil
	}
	for _, d := range result.Diagnoses {
		key := strings.Join(
			[]string{d.Class, d.Symbol, d.Version, path.Base(d.Library), path.Base(d.Object)},
			"\x00",
		)
		if i, ok := seen[key]; ok && out.Lines[i].Job != j.Name {
			out.Lines[i].Also++
			continue
		} else if !ok {
			seen[key] = len(out.Lines)
		}
		out.Lines = append(
			out.Lines,
			comment.LogLine{Diagnosis: d, Job: j.Name, URL: lineURL(j, &result, &d)},
		)
	}
	return nil
}

func curable(ctx context.Context, a *worker.Attempt, err error) error {
	return repository.Curable(ctx, a, err, "the log of a failed job cannot be read")
}

// gone reports whether GitHub has no log: it has expired (410), or the job never ran (404).
func gone(err error) bool {
	var e *github.DownloadError
	return errors.As(err, &e) &&
		(errors.Is(e.Err, github.ErrExpired) || errors.Is(e.Err, github.ErrRefused) &&
			e.Status == http.StatusNotFound) ||
		repository.NotFound(err)
}

// lineURL returns the address of a diagnosis' line: that of the job with "#step:N:L", where L
// counts from the first line of step N. If the step is not known it is the address of the job.
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
			// a step without a name is shown with the first line of its script
			s.Title == step.Name {
			head = i
		}
	}
	if head < 0 {
		return j.URL
	}
	s := r.Sections[head]
	return j.URL + "#step:" + strconv.Itoa(step.Number) + ":" + strconv.Itoa(
		d.Line-s.Line+1-(d.Place.Ends-s.Ends),
	)
}

// stepAt returns the step that ran at a time; of several in one second the one that failed, or
// else the last.
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

// errLogEnough ends the download of a log when no more is needed.
var errLogEnough = errors.New("the limit of the log was reached")

// logSink parses a log while it is downloaded, without storing it. If the download restarts, the
// parser does too. Call begin first; end waits for the goroutine.
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
			if e := worker.Recovered(s.log, recover()); e != nil {
				s.err = e
				from.CloseWithError(errLogEnough)
			}
		}()
		s.result, s.err = buildlog.Read(from)
		from.CloseWithError(errLogEnough) // the parser may have stopped at a limit
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

// Seek implements github.Rewinder. Truncate resets the sink.
func (s *logSink) Seek(offset int64, whence int) (int64, error) { return offset, nil }

// Truncate implements github.Rewinder. It restarts the parser.
func (s *logSink) Truncate(int64) error {
	_, _ = s.end() // the previous result is not used
	s.begin()
	return nil
}

// Diagnoses returns the diagnoses of logs, which the analysis compares with the artifacts.
func Diagnoses(logs *comment.Logs) []buildlog.Diagnosis {
	if logs == nil {
		return nil
	}
	var out []buildlog.Diagnosis
	for _, l := range logs.Lines {
		out = append(out, l.Diagnosis)
	}
	return out
}

// Compared replaces the diagnoses of logs by those that the analysis has compared with the
// artifacts.
func Compared(logs *comment.Logs, compared []buildlog.Diagnosis) {
	for i, d := range compared {
		d.Place = logs.Lines[i].Diagnosis.Place // the analysis does not keep it
		logs.Lines[i].Diagnosis = d
	}
}
