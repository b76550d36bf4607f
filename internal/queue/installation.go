package queue

import (
	"context"
	"time"
)

// Park prevents jobs of an installation from being claimed before until, for example during its
// rate limit. Of several calls the latest until applies, but one in the past (or zero) ends the
// pause. Running jobs are not affected.
func (q *Queue) Park(ctx context.Context, installation int64, until time.Time) error {
	// A duration, because the clocks of worker and server may differ.
	p, err := q.plan(ctx)
	if err != nil {
		return err
	}
	part := of(p.parts, installation)
	_, err = q.run(ctx, part, "park", installation, time.Until(until).Milliseconds())
	return err
}

// DropInstallation removes all jobs of an installation. Leases of running jobs are lost.
func (q *Queue) DropInstallation(ctx context.Context, id int64) error {
	p, err := q.plan(ctx)
	if err != nil {
		return err
	}
	for _, part := range p.every(id) {
		if _, err := q.run(ctx, part, "drop_installation", id); err != nil {
			return err
		}
	}
	return nil
}
