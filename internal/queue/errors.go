package queue

import "errors"

// Errors that callers distinguish. Any other error means that the store does not respond: the
// call may be repeated, Claim after a pause.
var (
	ErrLost = errors.New(
		"the lease is lost: it ran out or the job was dropped; stop, and post nothing more for it",
	)
	ErrNotFound = errors.New("there is no job of that key")
	ErrState    = errors.New("the job waits or runs already")
	ErrTooLarge = errors.New("too large for the queue")
	ErrLocked   = errors.New("the journal is in use by another process")
	ErrReadOnly = errors.New("the queue was opened read-only")
	ErrClosed   = errors.New("the queue is closed")
)
