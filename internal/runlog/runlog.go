// Package runlog reads the logs of a workflow run's failed jobs, for the lines in which a linker,
// loader or runtime says why.
//
// A log is the work of strangers: no more than maxLogs jobs and maxLogBytes of each are read, as
// they arrive, and nothing of a log is kept but what buildlog finds in it.
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
	// maxLogs is how many failed jobs' logs are read for one head: the jobs of a matrix fail alike.
	maxLogs = 6

	// maxLogBytes is how much of one job's log is read. It is read as it comes and not kept.
	maxLogBytes = 256 << 20
)

// Failed reports whether a workflow run ended because something in it went wrong.
func Failed(r artifact.Run) bool {
	return r.Status == "completed" && (r.Conclusion == "failure" || r.Conclusion == "timed_out")
}

// Read returns what the logs of the failed jobs of some workflow runs show; nil where no run
// failed. A log that can't be read is listed as such. An error is a limit, a lost lease or the
// like, which another attempt cures.
func Read(
	ctx context.Context,
	a *worker.Attempt,
	r *repository.Repository,
	runs []artifact.Run,
) (*comment.Logs, error) {
	var out *comment.Logs
	seen := map[string]int{} // a failure -> its index in out.Lines
	for _, run := range runs {
		if !Failed(run) {
			continue
		}
		if out == nil {
			out = &comment.Logs{}
		}
		jobs, err := r.Client.Jobs(ctx, r.Owner, r.Name, run.ID)
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

// readLog adds what one job's log shows. seen has the failures that out lists already.
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

// gone: GitHub keeps logs for a while (410), and none of a job that never ran (404).
func gone(err error) bool {
	var e *github.DownloadError
	return errors.As(err, &e) &&
		(errors.Is(e.Err, github.ErrExpired) || errors.Is(e.Err, github.ErrRefused) &&
			e.Status == http.StatusNotFound) ||
		repository.NotFound(err)
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

// errLogEnough ends the download of a log of which no more is needed.
var errLogEnough = errors.New("the limit of the log was reached")

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
			if e := worker.Recovered(s.log, recover()); e != nil {
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

// Diagnoses are what logs show, for the analysis to compare with the artifacts.
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

// Compared puts back the diagnoses that an analysis has compared with the artifacts.
func Compared(logs *comment.Logs, compared []buildlog.Diagnosis) {
	for i, d := range compared {
		d.Place = logs.Lines[i].Diagnosis.Place // the analysis knows nothing of it
		logs.Lines[i].Diagnosis = d
	}
}
