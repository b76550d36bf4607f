package queue

import (
	"context"
	"time"
)

// Park keeps jobs of an installation from being claimed before until, for instance while its rate
// limit lasts. Of two calls the later end counts; an end that has passed (the zero time too) ends
// the pause. Running jobs go on.
func (q *Queue) Park(ctx context.Context, installation int64, until time.Time) error {
	// As a length of time: the worker's clock and the server's may differ.
	_, err := q.run(ctx, "park", installation, time.Until(until).Milliseconds())
	return err
}

// DropInstallation forgets every job of an installation: waiting, delayed, dead, and running, whose
// leases are lost.
func (q *Queue) DropInstallation(ctx context.Context, id int64) error {
	_, err := q.run(ctx, "drop_installation", id)
	return err
}
