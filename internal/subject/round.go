package subject

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/comment/post"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

// round is one attempt at a check, step by step. A step uses what the steps before it found out.
type round struct {
	*check
	subject  subject
	run      post.Run                 // the check run, if the round has written it
	early    bool                     // no workflow run of the commit has ended
	set      repository.Configuration // of the base branch
	accepted []store.Accepted
	changed  *change   // nil = not known, or not needed yet
	compared bool      // changed was requested
	pins     *reviewed // nil = no pin is changed
	judged   bool      // reason was found out
	reason   string    // why no artifacts are needed; "" = they are
	found    *artifact.Found
	external string // identifies what is checked
}

// step does a part of a round. ended is nil if the round continues.
type step func(*round, context.Context) (ended *worker.Outcome, err error)

// steps are those of a round, in order.
var steps = []step{
	(*round).open, (*round).configure, (*round).reviewPins, (*round).findArtifacts, (*round).settle,
	(*round).identify, (*round).lookForMissing, (*round).judge,
}

// update updates the check run of a subject. c.state must be loaded and about s.sha.
func (c *check) update(ctx context.Context, s subject) (worker.Outcome, error) {
	r := &round{check: c, subject: s}
	for _, next := range steps {
		if ended, err := next(r, ctx); err != nil {
			return worker.Done, err
		} else if ended != nil {
			return *ended, nil
		}
	}
	return worker.Done, nil
}

// end ends a round with an outcome, or with the error of what was done for it.
func end(o worker.Outcome, err error) (*worker.Outcome, error) { return &o, err }

// open shows that the commit is waiting, and what happens if the service gives up.
func (r *round) open(ctx context.Context) (*worker.Outcome, error) {
	sha := r.subject.sha
	if err := r.force(ctx, r.attempt.Job.ForceID); err != nil {
		return nil, err
	}
	if sha != r.attempt.Job.SHA {
		r.attempt.Log = r.attempt.Log.With("head", sha)
	}
	r.attempt.GiveUp = r.giveUp
	if r.state.Pending {
		by, err := r.checkedFor(ctx, sha,
			store.Standing{Base: r.subject.base.Ref, Fork: r.subject.fork, Absent: true})
		if err != nil {
			return nil, err
		}
		if by == nil { // else its run stays until there are artifacts for this subject
			if r.run, err = r.start(ctx, r.subject, waitingTitle, waitingSummary); err != nil {
				return nil, err
			}
		}
	}
	if r.attempt.FinalLoss {
		if out, err := r.posted(ctx, sha); err != nil {
			return nil, err
		} else if !out { // if the analysis had ended, continue with posting the verdict
			return nil, worker.Permanent(fmt.Sprintf("The service was terminated %d times while it "+
				"checked this commit.", r.attempt.Losses))
		}
	}
	var err error
	if r.early, err = r.check.early(ctx, r.subject); err != nil {
		return nil, err
	}
	if r.early && r.Reviewer == nil { // without artifacts there is nothing to do yet
		return r.waitForRuns(ctx)
	}
	return nil, nil
}

// giveUp concludes the check with the reason why the service stops trying.
func (r *round) giveUp(ctx context.Context, reason string) error {
	sha := r.subject.sha
	if out, err := r.posted(ctx, sha); err != nil || out {
		return err
	}
	return r.conclude(ctx, r.subject, verdict{
		ext: r.check.external(sha, "failed", r.attempt.Job.ID),
		check: comment.Render(comment.Input{
			Problem: comment.Failed(strings.TrimRight(reason, ".")), SHA: sha,
		}),
	})
}

// waitForRuns ends the round until a workflow run of the commit has ended.
func (r *round) waitForRuns(ctx context.Context) (*worker.Outcome, error) {
	r.state.Deadline = r.now().Add(r.Config.Wait)
	return end(worker.Later(min(slowPoll, r.Config.Wait), "No workflow run of this commit has ended."),
		r.save(ctx))
}

// configure reads the configuration of the base branch and the accepted findings.
func (r *round) configure(ctx context.Context) (*worker.Outcome, error) {
	set, problems, err := r.repo.Configuration(ctx, r.subject.base.Ref)
	if err != nil {
		return nil, err
	}
	if r.set = set; len(problems) > 0 {
		return end(worker.Done, r.invalid(ctx, r.subject, r.run, set, problems))
	}
	r.accepted, err = r.subject.accepts(ctx)
	return nil, err
}

// compare compares the subject with its base.
func (r *round) compare(ctx context.Context) (err error) {
	if r.compared {
		return nil
	}
	r.changed, err = r.changes(ctx, r.subject)
	r.compared = err == nil
	return err
}

// readChanges compares the subject with its base, and finds out whether it can change artifacts.
func (r *round) readChanges(ctx context.Context) (err error) {
	if r.judged {
		return nil
	}
	if err := r.compare(ctx); err != nil {
		return err
	}
	r.reason, err = r.withoutReason(ctx, r.subject, r.set, r.changed, r.pins)
	r.judged = err == nil
	return err
}

// reviewPins reviews the changed lock files, which need no artifacts, and concludes with that if
// the change cannot have artifacts.
func (r *round) reviewPins(ctx context.Context) (_ *worker.Outcome, err error) {
	if r.Reviewer != nil {
		if err := r.compare(ctx); err != nil {
			return nil, err
		}
		r.pins, err = r.review(ctx, r.subject, r.set, r.changed, r.accepted)
		if err != nil {
			return nil, err
		}
		if err := r.readChanges(ctx); err != nil {
			return nil, err
		}
		if err := r.firstPins(ctx); err != nil {
			return nil, err
		}
	}
	if r.early && r.reason != "" {
		return end(r.withoutArtifacts(ctx, r.subject, r.set, r.pins, r.reason))
	}
	if r.pins != nil {
		rendered := r.pins.rendered(r.subject, r.set, "")
		r.check.pins = &rendered
		if r.reason == "" && r.state.Pending { // the artifacts come later
			if err := r.show(ctx, r.subject, r.pins, r.set); err != nil {
				return nil, err
			}
		}
	}
	if r.early {
		return r.waitForRuns(ctx)
	}
	return nil, nil
}

// findArtifacts looks for the artifacts, and waits for them if they are needed.
func (r *round) findArtifacts(ctx context.Context) (_ *worker.Outcome, err error) {
	if r.found, err = r.subject.find(ctx, r.set.Repository); err != nil {
		return nil, err
	}
	if r.found.State == artifact.Ready {
		return nil, nil
	}
	if r.Reviewer == nil && r.state.Pending { // reviewPins did not ask for the changes
		if err := r.readChanges(ctx); err != nil {
			return nil, err
		}
	}
	switch {
	case r.reason != "":
		r.check.pins = nil
		return end(r.withoutArtifacts(ctx, r.subject, r.set, r.pins, r.reason))
	case !r.state.Pending:
		by, err := r.checkedFor(ctx, r.subject.sha, r.own)
		if err != nil || !r.own.Absent || !r.own.Fork ||
			strings.HasSuffix(r.state.Concluded, replaced(by)) &&
				(by != nil) == strings.Contains(r.state.Concluded, "~") {
			return end(worker.Done, err) // keep the verdict until an event comes
		}
		r.state.Pending = true // the verdict that replaced it has changed
		r.state.Turn++
	}
	return end(r.wait(ctx))
}

// settle waits until the list of artifacts has not changed for a while.
func (r *round) settle(ctx context.Context) (*worker.Outcome, error) {
	if r.subject.settle == 0 {
		return nil, nil
	}
	st := r.state
	if st.Found != r.found.Key {
		st.Found, st.FoundAt = r.found.Key, r.now()
	}
	if left := r.subject.settle - r.now().Sub(st.FoundAt); left > 0 && st.Pending {
		return end(worker.Later(min(left, 3*time.Second), "more assets may be uploaded"), r.save(ctx))
	}
	return nil, nil
}

// identify computes what identifies the check. The round ends if the same has been concluded.
func (r *round) identify(ctx context.Context) (*worker.Outcome, error) {
	st, sha := r.state, r.subject.sha
	identity := func() string {
		return r.check.external(sha, "found", r.found.Key, r.set.Digest, acceptDigest(r.accepted))
	}
	r.external = identity()
	by, err := r.stricter(ctx, sha, r.own)
	if err != nil {
		return nil, err
	}
	if r.external+overruled(by) == st.Concluded && !st.Pending {
		return end(worker.Done, nil)
	}
	if !st.Pending {
		// The same verdict may have been posted before, and a concluded run is not written again.
		// The turn makes its external ID different.
		st.Pending = true
		st.Turn++
		r.external = identity()
		r.run, err = r.start(ctx, r.subject, checkingTitle, checkingSummary)
	}
	return nil, err
}

// judge checks the artifacts and posts the verdict, when there is room for it.
func (r *round) judge(ctx context.Context) (*worker.Outcome, error) {
	release, otherwise := r.admit(r.found)
	if release == nil {
		return end(otherwise, r.save(ctx))
	}
	defer release()
	if yields, err := r.yields(ctx, r.subject); err != nil || yields {
		return end(worker.Done, err)
	}
	return end(r.verdict(ctx))
}
