package subject

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/comment/post"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/runlog"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

const (
	waitingTitle    = "Waiting for CI"
	waitingSummary  = "compat checks the artifacts of this commit when its workflow runs have ended.\n"
	checkingTitle   = "Checking the artifacts"
	checkingSummary = "The artifacts of this commit are being checked.\n"

	// emptyFor is how long an empty list of artifacts may be late after the runs have completed,
	// because upload and list are different systems.
	emptyFor = 5 * time.Minute

	// emptyAfterFailure is the same for a failed run, which rarely uploads anything, and whose
	// author waits for the reason.
	emptyAfterFailure = time.Minute

	// slowPoll is used as a fallback for lost events, which normally wake a waiting job earlier.
	slowPoll = 10 * time.Minute
	fastPoll = 30 * time.Second
)

// subject is what a check run is about: the head of a pull request or merge group, or the commit
// of a release.
type subject struct {
	sha  string
	name string // display name
	base base   // Ref is the branch with the configuration
	find func(ctx context.Context, conf *config.Repository) (*artifact.Found, error)
	// finds the artifacts of the base; nil = every finding is new
	compare comparison
	// reports whether this is still the newest head with this base; nil = always. passes says
	// whether the verdict to be posted allows the merge
	current func(ctx context.Context, passes bool) (bool, error)
	// branch of the head; "" = not known
	branch string
	// the head is in another repository
	fork bool
	// ID of that repository; 0 = deleted
	origin int64
	// of the pull request; 0 = there is no conversation
	number  int
	release bool
	draft   bool                          // of a release
	tag     string                        // of the release
	before  func() string                 // returns the tag of the release that compare found
	advice  func(*analyzer.Report) string // additional Markdown for a report; nil = none
	settle  time.Duration                 // how long the list of artifacts must be unchanged
	accept  func(ctx context.Context) ([]store.Accepted, error)
}

// posted reports whether the check run of the verdict that an earlier attempt was posting is
// concluded. In this case it is final.
func (c *check) posted(ctx context.Context, sha string) (bool, error) {
	if c.state.Intent == "" {
		return false, nil
	}
	return c.repo.Poster.Concluded(ctx, sha, c.state.Intent)
}

func (s subject) accepts(ctx context.Context) ([]store.Accepted, error) {
	if s.accept == nil {
		return nil, nil
	}
	return s.accept(ctx)
}

// external returns the external ID of a verdict: the subject, the commit, and a digest of
// everything that the verdict depends on. The webhook reads the subject from it.
func (c *check) external(sha string, inputs ...string) string {
	if c.state.Turn > 0 {
		inputs = append(inputs, strconv.Itoa(c.state.Turn))
	}
	inputs = append(inputs, c.state.ForceID, c.state.Base.Ref)
	sum := sha256.Sum256([]byte(strings.Join(inputs, "\x00")))
	return job.External(c.attempt.Job.Key, sha, hex.EncodeToString(sum[:12]))
}

// start opens a check run if there is none. The intent is saved first, so that a crash leaves no
// unknown run. A run with a saved ID is not looked up.
func (c *check) start(ctx context.Context, s subject, title, summary string) (post.Run, error) {
	st := c.state
	if id := st.Runs[s.sha]; id != 0 {
		return post.Run{ID: id}, nil
	}
	fresh := st.opened(s.sha) && s.number != 0 && !c.forgotten()
	if err := c.save(ctx); err != nil {
		return post.Run{}, err
	}
	if fresh { // not if another pull request has opened one
		peers, err := c.peers(ctx, s.sha)
		if err != nil {
			return post.Run{}, err
		}
		fresh = len(peers) == 0
	}
	ext := st.Intent
	if ext == "" || ext == st.Concluded {
		ext = job.External(c.attempt.Job.Key, s.sha, "")
	}
	run, err := c.repo.Poster.Start(ctx, s.sha, ext, "", title, summary, fresh)
	if err != nil || !run.Alone {
		return run, err
	}
	if st.Runs == nil {
		st.Runs = map[string]int64{}
	}
	st.Runs[s.sha] = run.ID
	return run, c.save(ctx)
}

// forgotten reports whether there is no state although this is not the first event: the queue may
// have lost its data, and a run may be open.
func (c *check) forgotten() bool {
	return c.state.blank && c.attempt.Job.Trigger != "pull_request.opened" &&
		c.attempt.Job.Trigger != "pull_request.synchronize"
}

// early reports whether the head was just pushed and no workflow run has completed, so that there
// can be no artifacts before another event.
func (c *check) early(ctx context.Context, s subject) (bool, error) {
	if c.attempt.Job.Trigger != "pull_request.synchronize" || c.attempt.Job.ForceID != "" ||
		!c.state.Pending ||
		!c.state.Deadline.IsZero() {
		return false, nil
	}
	ran, err := c.Store.HasRan(ctx, c.repo.ID, s.sha)
	return !ran, err
}

// wait snoozes the job, or concludes when the deadline has passed.
func (r *round) wait(ctx context.Context) (worker.Outcome, error) {
	st, now, s, found := r.state, r.now(), r.subject, r.found
	if st.Deadline.IsZero() {
		st.Deadline = now.Add(r.Config.Wait)
	}
	empty := found.State == artifact.Empty
	if !empty {
		st.Empty = time.Time{}
	} else if st.Empty.IsZero() {
		st.Empty = now
	}
	late, patience := !now.Before(st.Deadline), emptyFor
	if slices.ContainsFunc(found.Runs, runlog.Failed) {
		patience = emptyAfterFailure
	}
	switch {
	case empty && s.release && late:
		return worker.Done, r.problem(ctx, s, r.run, r.set, "nothing", comment.NothingToCheck())
	case empty && (late || !s.release && now.Sub(st.Empty) >= patience):
		return worker.Done, r.unbuilt(ctx, "empty", comment.NoArtifacts(r.set.Artifacts))
	case late:
		return worker.Done, r.unbuilt(ctx, "deadline",
			comment.Deadline(r.Config.Wait, strings.TrimRight(found.Reason, ".")))
	}
	st.Polls++
	return worker.Later(
		min(r.poll(empty || s.settle > 0), st.Deadline.Sub(now)),
		found.Reason,
	), r.save(ctx)
}

// poll returns the pause before the next attempt. It is short after a run has completed, because
// GitHub's lists may lag; otherwise an event will wake the job.
func (c *check) poll(soon bool) time.Duration {
	if !soon && !strings.HasPrefix(c.attempt.Job.Trigger, "workflow_run.") {
		return slowPoll
	}
	n := c.state.Polls - 1
	if !soon && n > 8 { // minutes after the run: the list is not late
		return slowPoll
	}
	return min(time.Second<<min(n, 5), fastPoll)
}

func (c *check) problem(
	ctx context.Context,
	s subject,
	run post.Run,
	set repository.Configuration,
	what string,
	p *comment.Problem,
) error {
	check := comment.Render(comment.Input{Problem: p, SHA: s.sha, Release: s.release})
	set.Speaks(&check)
	return c.conclude(ctx, s, verdict{run: run, ext: c.external(s.sha, what), check: check})
}

// invalid concludes with the problems of the configuration, as annotations if the head has the
// file.
func (c *check) invalid(
	ctx context.Context,
	s subject,
	run post.Run,
	set repository.Configuration,
	problems []config.Problem,
) error {
	ext := c.external(s.sha, "config", set.Digest)
	if ext == c.state.Concluded && !c.state.Pending {
		return nil
	}
	lines := 0
	if set.Own {
		var err error
		if lines, err = c.repo.Lines(ctx, s.sha, config.Path); err != nil {
			return err
		}
	}
	var errs []comment.ConfigError
	for _, p := range problems {
		errs = append(errs, comment.ConfigError{Line: p.Line, Key: p.Key, Message: p.Message})
	}
	check := comment.Render(
		comment.Input{Problem: comment.ConfigInvalid(set.Where, errs, lines), SHA: s.sha},
	)
	return c.conclude(ctx, s, verdict{run: run, ext: ext, check: check})
}

// unbuilt concludes a subject without artifacts, with the errors in the logs of its failed jobs. It
// passes only if all that it lacks was accepted.
func (r *round) unbuilt(ctx context.Context, what string, p *comment.Problem) error {
	logs, err := runlog.Read(ctx, r.attempt, r.repo, r.found.Runs)
	if err != nil {
		return err
	}
	in := comment.Input{SHA: r.subject.sha, Release: r.subject.release, Unselected: r.unselected()}
	if in.Missing, in.AcceptedMissing, err = r.missing(ctx, nil, nil); err != nil {
		return err
	}
	in.Problem = p
	if len(in.Missing) == 0 && len(in.AcceptedMissing) > 0 && r.found.State == artifact.Empty {
		in.Problem = comment.NothingLeft()
	}
	v := verdict{
		run: r.run, logs: logs, missing: in.Missing, absent: true, plain: comment.Render(in),
		ext: r.check.external(r.subject.sha, what, acceptDigest(r.accepted)),
	}
	in.Logs = logs
	v.check = comment.Render(in)
	r.set.Speaks(&v.check)
	r.set.Speaks(&v.plain)
	return r.conclude(ctx, r.subject, v)
}

// unselected returns the names of artifacts that the configuration does not select.
func (r *round) unselected() (names []string) {
	if r.subject.release {
		return nil
	}
	for _, p := range r.found.Skipped {
		names = append(names, p.Name)
	}
	return names
}

// acceptDigest returns the acceptances as an input of the external ID.
func acceptDigest(as []store.Accepted) string {
	data, err := json.Marshal(as)
	if err != nil || len(as) == 0 {
		return ""
	}
	return string(data)
}
