package subject

import (
	"context"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

// gather records that the job's subject has this commit as its head, or is closed, and reads its
// stored verdict.
func (c *check) gather(ctx context.Context, sha string, open bool) (err error) {
	if c.own, err = c.Store.Standing(ctx, c.attempt.Job.Key); err != nil {
		return err
	}
	moved := c.own.Conclusion != "" &&
		(c.own.SHA != sha || c.own.Base != "" && c.own.Base != c.state.Base.Ref)
	if moved {
		c.own = store.Standing{SHA: c.own.SHA}
	}
	if c.own.Unannounced || moved || c.own.Closed == open && c.own.SHA != "" {
		c.own.Closed = !open
		if err := c.stand(ctx, c.own); err != nil {
			return err
		}
	}
	if !open {
		return nil
	}
	return c.Store.Join(ctx, c.repo.ID, sha, c.attempt.Job.Key)
}

// peers lists the other subjects that have or had this commit as their head.
func (c *check) peers(ctx context.Context, sha string) ([]string, error) {
	return c.Store.Peers(ctx, c.repo.ID, sha, c.attempt.Job.Key)
}

// stand stores the verdict on the job's subject, and enqueues jobs for its peers if it may change
// their check.
func (c *check) stand(ctx context.Context, now store.Standing) error {
	now.Unannounced = true
	if err := c.Store.PutStanding(ctx, c.attempt.Job.Key, now); err != nil {
		return err
	}
	peers, err := c.peers(ctx, now.SHA)
	if err != nil {
		return err
	}
	for _, key := range peers {
		b, err := job.Subject(key)
		if err != nil {
			return worker.Permanent(err.Error())
		}
		if err := worker.Follow(ctx, c.Store.Queue, c.attempt.Job, b, "", ""); err != nil {
			return err
		}
	}
	now.Unannounced = false
	c.own = now
	return c.Store.PutStanding(ctx, c.attempt.Job.Key, now)
}

// stricter returns the verdict of a peer that blocks a commit if the given one does not; nil if
// there is none.
func (c *check) stricter(
	ctx context.Context, sha string, own store.Standing,
) (*comment.Peer, error) {
	own.SHA = sha
	return c.Store.Stricter(ctx, c.repo.ID, c.attempt.Job.Key, own)
}

// checkedFor returns the verdict of a peer on the artifacts of a commit, which is shown in place of
// the one on a subject from a fork without artifacts; nil if there is none. Anybody can open a pull
// request with a commit of somebody else.
func (c *check) checkedFor(
	ctx context.Context,
	sha string,
	own store.Standing,
) (*comment.Peer, error) {
	own.SHA = sha
	return c.Store.Checked(ctx, c.repo.ID, c.attempt.Job.Key, own)
}

// overruled returns what a stricter peer adds to the external ID of a verdict; "" = none is
// stricter.
func overruled(by *comment.Peer) string {
	if by == nil {
		return ""
	}
	return "+" + by.Name
}

// replaced returns what a peer adds to the external ID of a verdict that its own one replaces.
func replaced(by *comment.Peer) string {
	if by == nil {
		return ""
	}
	return "~" + by.Name
}
