package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// Outcome is how a job ends when nothing failed: it is done, or the subject has to be looked at
// again later. The zero value is Done.
type Outcome struct {
	after  time.Duration // > 0: look again then, or when an event comes
	reason string        // why; for the log and for `compat queue ls`
}

// Done ends a job.
var Done = Outcome{}

// Later has a job run again after a while, or when an event of its subject comes.
func Later(after time.Duration, reason string) Outcome {
	return Outcome{after: max(after, 100*time.Millisecond), reason: reason}
}

// Why the context of a job ended before its work did.
var (
	errSuperseded = errors.New("a newer job of the subject has come")
	errLost       = errors.New("the lease is lost")
	errShutdown   = errors.New("the service stops")
	errTooLong    = errors.New("the job took longer than any job should")
)

// Class says what becomes of a job that failed.
type Class int

// The classes.
const (
	// TryAgain: another attempt may succeed.
	TryAgain Class = iota
	// RateLimited: the job goes on after Failure.After; no attempt is counted.
	RateLimited
	// GiveUp: no later attempt can succeed.
	GiveUp
	// DropInstallation: the App was uninstalled or suspended; all jobs of the installation are
	// dropped.
	DropInstallation
)

// Failure is a handler's error that says what becomes of the job. An error without a Failure is
// TryAgain.
type Failure struct {
	Class  Class
	After  time.Duration // of RateLimited
	Park   bool          // of RateLimited: the limit holds for the whole installation
	Reason string        // for the author of the change, with a full stop
	Err    error         // for the log
}

func (f *Failure) Error() string {
	if f.Err == nil {
		return f.Reason
	}
	return f.Err.Error()
}

func (f *Failure) Unwrap() error { return f.Err }

// Permanent is an error that no later attempt can avoid.
func Permanent(reason string) error { return &Failure{Class: GiveUp, Reason: reason} }

// Internal is an error of the service itself: a panic, or a store that doesn't answer. Another
// attempt may succeed.
func Internal(err error) error {
	return &Failure{Class: TryAgain, Reason: "compat itself failed; its log has the error.", Err: err}
}

// failureOf is what an error means for its job.
func failureOf(err error) *Failure {
	f := (*Failure)(nil)
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Reason: err.Error(), Err: err}
}

// Recovered makes an error of what recover returned, with the place of the panic in the log; nil
// for nil. What the panic was about appears nowhere but in the log.
func Recovered(log *slog.Logger, r any) error {
	if r == nil {
		return nil
	}
	log.Error("panic", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
	return Internal(errors.New("worker: panic; the log has its place"))
}
