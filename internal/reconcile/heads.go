package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/sleep"
	"github.com/compat-app/compat/internal/store"
)

const (
	// reconcileSoon is the time until the first search ever: soon after the queue has lost its
	// data, but not while a service that has just started handles its backlog.
	reconcileSoon = 10 * time.Minute

	// reconcileWindow is how recently a pull request must have been updated. Nobody waits for
	// older ones, and those from before the installation of the App are checked at their next
	// push.
	reconcileWindow = 14 * 24 * time.Hour

	// reconcileMost limits the heads of one installation that are looked up on GitHub in one
	// search: a tenth of the hourly rate limit.
	reconcileMost = 500
)

// reconciledKey is the key of the time of the last search.
const reconciledKey = "sweeper/reconciled"

// heads searches the open pull requests, merge groups and newest releases of all installations
// for heads that have no completed check run, or one of compat that is stuck, and no job in the
// queue. This happens when the queue has lost its data, or an event was lost and cannot be
// redelivered. It creates a job for each.
//
// It runs once per COMPAT_WAIT (the time that a check may wait for its artifacts), so a lost head
// is concluded after at most twice that time.
func (s *Sweeper) heads(ctx context.Context, term *queue.Term) (time.Duration, error) {
	every := s.Wait
	note, err := s.Store.Queue.Get(ctx, reconciledKey)
	if err != nil {
		return 0, err
	}
	last, err := time.Parse(time.RFC3339Nano, string(note))
	if err != nil { // none: this is the first search
		last = s.Store.Now().Add(min(reconcileSoon, every/2) - every)
	}
	if left := last.Add(every).Sub(s.Store.Now()); left > 0 {
		_ = sleep.For(ctx, min(left, every))
		if ctx.Err() != nil {
			// the service stops, so the error does not matter
			return 0, nil //nolint:nilerr
		}
	}
	installations, err := s.App.Installations(ctx)
	if err != nil {
		return 0, err
	}
	for _, i := range installations {
		if err := term.Check(ctx); err != nil {
			return 0, err
		}
		// An error in one installation (a rate limit, no permission) must not affect the others.
		if err := s.installation(ctx, i, term); err != nil && ctx.Err() == nil {
			s.Log.Info(
				"the heads of an installation could not be looked at; the next look will",
				"installation",
				i.ID,
				"error",
				err,
			)
		}
	}
	return 0, s.Store.Queue.Put(
		ctx,
		reconciledKey,
		[]byte(s.Store.Now().UTC().Format(time.RFC3339Nano)),
		store.TTL,
	)
}

func (s *Sweeper) installation(ctx context.Context, i github.Installed, term *queue.Term) error {
	client, err := s.App.Installation(i.ID)
	if err != nil {
		return err
	}
	repos, err := client.ListRepositories(ctx)
	if err != nil {
		return err
	}
	since := s.Store.Now().Add(-reconcileWindow)
	if i.Since.After(since) {
		since = i.Since
	}
	v := &survey{Sweeper: s, account: i.ID, client: client, term: term, since: since}
	for _, r := range repos {
		if r.Open {
			if err := v.pulls(ctx, r.Repository); err != nil {
				return err
			}
		}
	}
	return v.pushed(ctx, repos)
}

// survey is one search in an installation.
type survey struct {
	*Sweeper
	account int64 // ID of the installation
	client  *github.Client
	term    *queue.Term
	since   time.Time
	asked   int // number of heads looked up on GitHub
}

// lost is a subject that may be missing from the queue.
type lost struct {
	body job.Body
	sha  string // "" = a verdict on any commit of the subject is enough
}

// pulls searches the open pull requests of a repository.
func (s *survey) pulls(ctx context.Context, r github.Repository) error {
	pulls, err := s.client.OpenPulls(ctx, r.Owner, r.Name, s.since)
	if err != nil {
		return err
	}
	for _, p := range pulls {
		sha := p.GetHead().GetSHA()
		err := s.consider(
			ctx,
			r,
			lost{&job.Pull{Repository: r.ID, Number: p.GetNumber()}, sha},
			func() (bool, error) {
				return s.client.Concluded(ctx, r.Owner, r.Name, sha, s.App.ID())
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// consider creates a job for a subject without a job in the queue and without a verdict on
// GitHub.
func (s *survey) consider(
	ctx context.Context,
	r github.Repository,
	l lost,
	concluded func() (bool, error),
) error {
	if known, err := s.attended(ctx, l.body.Key(), l.sha); err != nil || known {
		return err
	}
	if s.asked++; s.asked > reconcileMost {
		return fmt.Errorf("reconcile: more than %d heads are not known", reconcileMost)
	}
	if known, err := concluded(); err != nil || known {
		return err
	}
	if err := s.term.Check(ctx); err != nil {
		return err
	}
	return s.revive(ctx, l)
}

// attended reports whether there is a job for a subject, or a stored verdict. If sha is "" a
// verdict on any head counts.
func (s *Sweeper) attended(ctx context.Context, key, sha string) (bool, error) {
	e, err := s.Store.Queue.Show(ctx, key)
	if err == nil && e.State != queue.Dead {
		return true, nil
	}
	if err != nil && !errors.Is(err, queue.ErrNotFound) {
		return false, err
	}
	return s.Store.HasVerdict(ctx, key, sha)
}

// revive creates a job for a subject, with low priority: people who were waiting have pushed
// again or given up.
func (s *survey) revive(ctx context.Context, l lost) error {
	j, err := job.New(l.body, job.Origin{
		Installation: s.account,
		SHA:          l.sha,
		Trigger:      "sweeper",
		Priority:     queue.Background,
		Received:     s.Store.Now().UTC(),
	})
	if err != nil {
		return fmt.Errorf("reconcile: write a job: %w", err)
	}
	if _, err := s.Store.Queue.Enqueue(ctx, "", j); err != nil {
		return err
	}
	s.metrics.revived.Inc()
	s.Log.Info(
		"an open head has no concluded check and no job; it gets one",
		"job",
		j.Key,
		"installation",
		s.account,
		"repository",
		j.Repository,
		"sha",
		j.SHA,
	)
	return nil
}
