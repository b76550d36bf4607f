package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// Outcome is the result of a job without error: it is done, or has to run again. The zero value is
// Done.
type Outcome struct {
	large  bool          // run again by a worker of the large pool
	after  time.Duration // > 0: run again after this time, or when an event comes
	reason string        // the reason, for the log and `compat queue ls`
}

// Done ends a job.
var Done = Outcome{}

// Large gives a job to the workers of the large pool.
var Large = Outcome{large: true}

// Later runs a job again after a while, or when an event of its subject comes.
func Later(after time.Duration, reason string) Outcome {
	return Outcome{after: max(after, 100*time.Millisecond), reason: reason}
}

// Reasons why the context of a job ended early.
var (
	errSuperseded = errors.New("a newer job of the subject has come")
	errLost       = errors.New("the lease is lost")
	errShutdown   = errors.New("the service stops")
	errTooLong    = errors.New("the job took longer than any job should")
)

// Class decides what happens to a failed job.
type Class int

// Classes of failures.
const (
	// TryAgain means that another attempt may succeed.
	TryAgain Class = iota
	// RateLimited means that the job continues after Failure.After. No attempt is counted.
	RateLimited
	// GiveUp means that no attempt can succeed.
	GiveUp
	// DropInstallation means that the App was uninstalled or suspended. All jobs of the
	// installation are removed.
	DropInstallation
)

// Failure is an error of a handler with a class. Other errors have the class TryAgain.
type Failure struct {
	Class  Class
	After  time.Duration // with RateLimited
	Park   bool          // with RateLimited: the limit applies to the whole installation
	Reason string        // for the PR author, with a period
	Err    error         // for the log
}

func (f *Failure) Error() string {
	if f.Err == nil {
		return f.Reason
	}
	return f.Err.Error()
}

func (f *Failure) Unwrap() error { return f.Err }

// Permanent returns an error of class GiveUp.
func Permanent(reason string) error { return &Failure{Class: GiveUp, Reason: reason} }

// Internal returns the error for a failure of the service itself: a panic, or a store that does
// not respond. Another attempt may succeed.
func Internal(err error) error {
	return &Failure{Class: TryAgain, Reason: "compat itself failed; its log has the error.", Err: err}
}

// failureOf returns err as a *Failure.
func failureOf(err error) *Failure {
	f := (*Failure)(nil)
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Reason: err.Error(), Err: err}
}

// Recovered converts the result of recover to an error; nil for nil. The value and the stack are
// logged and not in the error.
func Recovered(log *slog.Logger, r any) error {
	if r == nil {
		return nil
	}
	log.Error("panic", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
	return Internal(errors.New("worker: panic; the log has its place"))
}
