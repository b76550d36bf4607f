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
	// reconcileSoon is when the first look of all is made: after a loss of the queue's memory soon,
	// but not while a service that has just come up takes in what GitHub has for it.
	reconcileSoon = 10 * time.Minute

	// reconcileWindow is how long ago a pull request may have changed: older ones wait for nobody,
	// and those that were there before the App was installed are checked at their next push.
	reconcileWindow = 14 * 24 * time.Hour

	// reconcileMost bounds the heads of one installation that GitHub is asked about in one look: a
	// tenth of its hourly budget.
	reconcileMost = 500
)

// reconciledKey is where the time of the last look at all heads is kept.
const reconciledKey = "sweeper/reconciled"

// heads looks at the open pull requests, waiting merge groups and newest releases of every
// installation, and gives each a job whose head has no concluded check, or one of ours that is
// stuck, though the queue has no job that will see to it: its memory was lost, or an event was and
// nothing asks for it any more.
//
// It is made once in the time that a check may wait for its artifacts (COMPAT_WAIT), whoever leads;
// a head that was lost is concluded after twice that.
func (s *Sweeper) heads(ctx context.Context, term *queue.Term) (time.Duration, error) {
	every := s.Wait
	note, err := s.Store.Queue.Get(ctx, reconciledKey)
	if err != nil {
		return 0, err
	}
	last, err := time.Parse(time.RFC3339Nano, string(note))
	if err != nil { // there was none: this is the first
		last = s.Store.Now().Add(min(reconcileSoon, every/4) - every)
	}
	if left := last.Add(every).Sub(s.Store.Now()); left > 0 {
		_ = sleep.For(ctx, min(left, every))
		if ctx.Err() != nil {
			// the time of the last look was there or not, and now the service ends
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
		// What goes wrong in one installation (a limit, no permission) is no reason to leave the
		// others alone.
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

func (s *Sweeper) installation(
	ctx context.Context,
	i github.Installed,
	term *queue.Term,
) error {
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

// survey is one look at an installation.
type survey struct {
	*Sweeper
	account int64 // id of the installation
	client  *github.Client
	term    *queue.Term
	since   time.Time
	asked   int // heads that GitHub was asked about
}

// lost is a subject of which the queue may know nothing.
type lost struct {
	body job.Body
	sha  string // "": any verdict of the subject's counts
}

// pulls looks at the open pull requests of a repository.
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

// consider gives a subject a job that the queue does not know of and of which GitHub has no
// verdict.
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

// attended reports whether a subject's head needs no look: a job is about it, or its verdict is
// kept. sha "": a verdict on any head.
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

// revive gives a subject a job. Hardly anybody waits for it: whoever did has pushed again, or given
// up.
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
