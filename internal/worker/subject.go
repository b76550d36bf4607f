package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"github.com/compat-app/compat/internal/job"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/comment/post"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
)

const (
	waitingTitle   = "Waiting for CI"
	waitingSummary = "compat waits for the workflow runs of this commit, and judges the artifacts that they upload.\n"
	judgingTitle   = "Judging the artifacts"
	judgingSummary = "The artifacts are here and are being judged.\n"

	// emptyFor is how long a list of artifacts that is empty after CI has ended may only be late:
	// upload and list are different systems.
	emptyFor = 5 * time.Minute

	// emptyAfterFailure is the same for a run that failed: it seldom uploads anything, and its
	// author waits for the reason.
	emptyAfterFailure = time.Minute

	// slowPoll is a safety net: an event wakes a waiting job long before, unless GitHub lost it.
	slowPoll = 10 * time.Minute
	fastPoll = 30 * time.Second
)

// subject is what a check run is about: the head of a pull request, of a merge group, or the commit
// of a release.
type subject struct {
	sha  string
	name string // for people
	base base   // its Ref has the configuration
	find func(ctx context.Context, c *config.Repository) (*artifact.Found, error)
	// what the base has; nil: everything is new
	compare func(ctx context.Context, c *config.Repository, like *artifact.Found) (*artifact.Found, error)
	// false: there is a newer head; nil: there never is
	current func(ctx context.Context) (bool, error)
	// its head is in another repository
	fork bool
	// id of that repository; 0 where it is gone
	origin int64
	// of the pull request; 0: there is no conversation
	number  int
	release bool
	advice  func(*analyzer.Report) string // what is said beside a report, Markdown; nil: nothing
	settle  time.Duration                 // the list of artifacts must have stood still for so long
	accept  func(ctx context.Context) ([]accepted, error)
}

// judge brings the check run of a subject to where it should be. t.state is loaded and about s.sha.
func (t *task) judge(ctx context.Context, s subject) (outcome, error) {
	st := t.state
	if err := t.ask(ctx, t.job.ForceID); err != nil {
		return done, err
	}
	if s.sha != t.job.SHA {
		t.Log = t.Log.With("head", s.sha)
	}
	t.giveUp = func(ctx context.Context, reason string) error {
		if out, err := t.posted(ctx, s.sha); err != nil || out {
			return err
		}
		return t.conclude(
			ctx,
			s,
			verdict{
				ext: t.external(s.sha, "failed", t.job.ID),
				check: comment.Render(
					comment.Input{
						Problem: comment.Failed(strings.TrimRight(reason, ".")),
						SHA:     s.sha,
					},
				),
			},
		)
	}
	var run post.Run
	if st.Owed {
		var err error
		if run, err = t.start(ctx, s, waitingTitle, waitingSummary); err != nil {
			return done, err
		}
	}
	if t.lease.Doomed {
		if out, err := t.posted(ctx, s.sha); err != nil {
			return done, err
		} else if !out { // judging didn't end it where the verdict is out: go on from there
			return done, &unfit{fmt.Sprintf("Judging it has ended the service %d times.", t.lease.Losses)}
		}
	}
	if early, err := t.early(ctx, s); err != nil {
		return done, err
	} else if early {
		st.Deadline = t.Now().Add(t.Config.Wait)
		return later(min(slowPoll, t.Config.Wait), "No workflow run of this commit is over."), t.save(ctx)
	}
	set, problems, err := t.configured(ctx, s.base.Ref)
	if err != nil {
		return done, err
	}
	if len(problems) > 0 {
		return done, t.invalid(ctx, s, run, set, problems)
	}
	found, err := s.find(ctx, set.repository)
	if err != nil {
		return done, err
	}
	if found.State != artifact.Ready {
		if !st.Owed {
			return done, nil // its verdict stands until something comes
		}
		return t.wait(ctx, s, run, found, set)
	}
	if s.settle > 0 {
		if st.Found != found.Key {
			st.Found, st.FoundAt = found.Key, t.Now()
		}
		if left := s.settle - t.Now().Sub(st.FoundAt); left > 0 && st.Owed {
			return later(min(left, 3*time.Second), "the list of assets may still grow"), t.save(ctx)
		}
	}
	accepted, err := s.accepts(ctx)
	if err != nil {
		return done, err
	}
	ext := t.external(s.sha, "found", found.Key, set.digest, acceptDigest(accepted))
	by, err := t.overruling(ctx, s, t.own.Conclusion)
	if err != nil {
		return done, err
	}
	if ext+overruled(by) == st.Said && !st.Owed {
		return done, nil
	}
	if !st.Owed {
		// What it says next it may have said before, and a run that is concluded is never written
		// again: the turn tells them apart.
		st.Owed = true
		st.Turn++
		ext = t.external(s.sha, "found", found.Key, set.digest, acceptDigest(accepted))
		if run, err = t.start(ctx, s, judgingTitle, judgingSummary); err != nil {
			return done, err
		}
	}
	gaps, late, err := t.gaps(ctx, s, set, found)
	if err != nil {
		return done, err
	}
	if late > 0 && st.Gap.IsZero() {
		st.Gap = t.Now()
	}
	if left := min(late, min(runsLag, t.Config.Wait)-t.Now().Sub(st.Gap)); late > 0 && left > 0 {
		st.Polls++
		return later(
				min(left, time.Second<<min(st.Polls, 4)),
				fmt.Sprintf("the workflow %s %s, but may yet", gaps[0].Workflow, gaps[0].Why),
			), t.save(
				ctx,
			)
	}
	if yields, err := t.yields(ctx, s); err != nil || yields {
		return done, err
	}
	return t.verdict(ctx, s, run, ext, found, set, accepted, gaps)
}

// posted says whether the check run of the verdict that an earlier try was posting is concluded. It
// then stands, whatever becomes of the job.
func (t *task) posted(ctx context.Context, sha string) (bool, error) {
	if t.state.Intent == "" {
		return false, nil
	}
	return t.poster.Concluded(ctx, sha, t.state.Intent)
}

func (s subject) accepts(ctx context.Context) ([]accepted, error) {
	if s.accept == nil {
		return nil, nil
	}
	return s.accept(ctx)
}

// external makes the external id of a verdict: the subject, the commit, and a digest of everything
// that the verdict rests on. The webhook reads the subject from it.
func (t *task) external(sha string, inputs ...string) string {
	if t.state.Turn > 0 {
		inputs = append(inputs, strconv.Itoa(t.state.Turn))
	}
	sum := sha256.Sum256([]byte(strings.Join(append(inputs, t.state.ForceID), "\x00")))
	return job.External(t.job.Key, sha, hex.EncodeToString(sum[:12]))
}

// start makes sure that a check run is open. What it will be about is noted first, so that a crash
// leaves no run behind that nobody knows. A run that was noted with its id is not looked for again.
func (t *task) start(ctx context.Context, s subject, title, summary string) (post.Run, error) {
	st := t.state
	if id := st.Runs[s.sha]; id != 0 {
		return post.Run{ID: id}, nil
	}
	fresh := st.opened(s.sha) && s.number != 0 && !t.forgot()
	if err := t.save(ctx); err != nil {
		return post.Run{}, err
	}
	if fresh { // not where another pull request has opened one
		peers, err := t.peers(ctx, s.sha, false)
		if err != nil {
			return post.Run{}, err
		}
		fresh = len(peers) == 0
	}
	ext := st.Intent
	if ext == "" || ext == st.Said {
		ext = job.External(t.job.Key, s.sha, "")
	}
	run, err := t.poster.Start(ctx, s.sha, ext, "", title, summary, fresh)
	if err != nil || !run.Alone {
		return run, err
	}
	if st.Runs == nil {
		st.Runs = map[string]int64{}
	}
	st.Runs[s.sha] = run.ID
	return run, t.save(ctx)
}

// forgot says that nothing is known of a subject though this isn't its first event: the queue may
// have lost its memory, and a run be open on the head.
func (t *task) forgot() bool {
	return t.state.blank && t.job.Trigger != "pull_request.opened" &&
		t.job.Trigger != "pull_request.synchronize"
}

// early says that a head has just been pushed and no workflow run of it is over: there is nothing
// to look for until an event says so.
func (t *task) early(ctx context.Context, s subject) (bool, error) {
	if t.job.Trigger != "pull_request.synchronize" || t.job.ForceID != "" || !t.state.Owed ||
		!t.state.Deadline.IsZero() {
		return false, nil
	}
	ran, err := t.Queue.Get(ctx, t.ranKey(s.sha))
	if err != nil {
		return false, &ownFault{fmt.Errorf("worker: read whether %.12s has run: %w", s.sha, err)}
	}
	return ran == nil, nil
}

// wait looks again later, or concludes when the deadline has passed.
func (t *task) wait(
	ctx context.Context,
	s subject,
	run post.Run,
	found *artifact.Found,
	set configuration,
) (outcome, error) {
	st, now := t.state, t.Now()
	if st.Deadline.IsZero() {
		st.Deadline = now.Add(t.Config.Wait)
	}
	empty := found.State == artifact.Empty
	if !empty {
		st.Empty = time.Time{}
	} else if st.Empty.IsZero() {
		st.Empty = now
	}
	late, patience := !now.Before(st.Deadline), emptyFor
	if slices.ContainsFunc(found.Runs, failed) {
		patience = emptyAfterFailure
	}
	switch {
	case empty && s.release && late:
		return done, t.problem(ctx, s, run, set, "nothing", comment.NothingToCheck())
	case empty && (late || !s.release && now.Sub(st.Empty) >= patience):
		return done, t.unbuilt(
			ctx,
			s,
			run,
			set,
			"empty",
			found,
			comment.NoArtifacts(set.repository.Artifacts),
		)
	case late:
		return done, t.unbuilt(
			ctx,
			s,
			run,
			set,
			"deadline",
			found,
			comment.Deadline(t.Config.Wait, strings.TrimRight(found.Reason, ".")),
		)
	}
	st.Polls++
	return later(
			min(t.poll(empty || s.settle > 0), st.Deadline.Sub(now)),
			found.Reason,
		), t.save(
			ctx,
		)
}

// poll is the pause before the next look. Soon after a run has ended GitHub's lists lag behind;
// otherwise an event will come.
func (t *task) poll(soon bool) time.Duration {
	if !soon && !strings.HasPrefix(t.job.Trigger, "workflow_run.") {
		return slowPoll
	}
	n := t.state.Polls - 1
	if !soon && n > 8 { // minutes after the run: it isn't the lists
		return slowPoll
	}
	return min(time.Second<<min(n, 5), fastPoll)
}

func (t *task) problem(
	ctx context.Context,
	s subject,
	run post.Run,
	set configuration,
	what string,
	p *comment.Problem,
) error {
	check := comment.Render(comment.Input{Problem: p, SHA: s.sha, Release: s.release})
	set.speaks(&check)
	return t.conclude(ctx, s, verdict{run: run, ext: t.external(s.sha, what), check: check})
}

// invalid concludes with what is wrong in the configuration, at its lines where the head has the
// file.
func (t *task) invalid(
	ctx context.Context,
	s subject,
	run post.Run,
	set configuration,
	problems []config.Problem,
) error {
	ext := t.external(s.sha, "config", set.digest)
	if ext == t.state.Said && !t.state.Owed {
		return nil
	}
	lines := 0
	if set.own {
		var err error
		if lines, err = t.lines(ctx, s.sha, config.Path); err != nil {
			return err
		}
	}
	var errs []comment.ConfigError
	for _, p := range problems {
		errs = append(errs, comment.ConfigError{Line: p.Line, Key: p.Key, Message: p.Message})
	}
	check := comment.Render(
		comment.Input{Problem: comment.ConfigInvalid(set.where, errs, lines), SHA: s.sha},
	)
	return t.conclude(ctx, s, verdict{run: run, ext: ext, check: check})
}
