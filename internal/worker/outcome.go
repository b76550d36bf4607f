package worker

import (
	"errors"
	"time"
)

// outcome is how a job ends when nothing failed: it is done, or it has to be looked at again later.
// The zero value is done.
type outcome struct {
	after  time.Duration // > 0: look again then, or when an event comes
	reason string        // why; for the log and for `compat queue ls`
}

var done = outcome{}

func later(after time.Duration, reason string) outcome {
	return outcome{after: max(after, 100*time.Millisecond), reason: reason}
}

// Why the context of a job ended before its work did.
var (
	errSuperseded = errors.New("a newer job of the subject has come")
	errLost       = errors.New("the lease is lost")
	errShutdown   = errors.New("the service stops")
	errTooLong    = errors.New("the job took longer than any job should")
)

// unfit is an error that no later try will mend.
type unfit struct{ reason string }

func (e *unfit) Error() string { return e.reason }

// ownFault is an error of this service's own: a panic, a store that doesn't answer. Another try may
// work.
type ownFault struct{ error }

func (e *ownFault) Unwrap() error { return e.error }
