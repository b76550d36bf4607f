package subject

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/mdsafe"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/worker"
)

// protection is one attempt at a response to a deployment protection rule.
type protection struct {
	*Service
	attempt *worker.Attempt
	repo    *repository.Repository
	event   *job.Deployment
	protectionState
}

// protectionState is the stored state of a deployment that waits for a response.
type protectionState struct {
	// ID of the deployment, and the attempt of its workflow run that was checked; 0 = not known
	Deployment int64 `json:"deployment,omitempty"`
	Attempt    int   `json:"attempt,omitempty"`

	Deadline time.Time `json:"deadline,omitzero"`
	Polls    int       `json:"polls,omitempty"`
	Status   string    `json:"told,omitempty"`   // the last status on the deployment's page
	Statuses int       `json:"tells,omitempty"`  // number of statuses
	Answer   string    `json:"answer,omitempty"` // approved or rejected; "" = unknown
	Comment  string    `json:"comment,omitempty"`
	Given    bool      `json:"given,omitempty"` // the response was sent to GitHub
}

const (
	approved = "approved"
	rejected = "rejected"
)

// deployment responds to a deployment protection rule, once, depending on whether the run's
// artifacts pass. There is no comparison with a base: findings that are not new affect users too.
func (s *Service) deployment(
	ctx context.Context,
	a *worker.Attempt,
	r *repository.Repository,
	event *job.Deployment,
) (worker.Outcome, error) {
	if event.Environment == "" {
		return worker.Done, worker.Permanent("the stored job cannot be read")
	}
	g := &protection{Service: s, attempt: a, repo: r, event: event}
	if !a.Load(&g.protectionState) {
		g.protectionState = protectionState{}
	}
	switch {
	case event.ID != 0 && event.ID < g.Deployment:
		return worker.Done, nil // an earlier attempt of the run, which waits no more
	case event.ID > g.Deployment: // the run was started again, with artifacts of its own
		g.protectionState = protectionState{Deployment: event.ID}
	}
	if g.Given {
		return worker.Done, nil
	}
	if g.Answer != "" { // an earlier attempt has decided, and may have responded
		run, err := r.Client.Run(ctx, r.Owner, r.Name, event.Run)
		switch {
		case err != nil && !repository.NotFound(err):
			return worker.Done, err
		case err == nil && g.Attempt != 0 && run.Attempt != g.Attempt:
			g.protectionState = protectionState{Deployment: g.Deployment}
		case err == nil && run.Status != "waiting":
			g.Given = true
			return worker.Done, g.save(ctx)
		}
	}
	a.GiveUp = func(ctx context.Context, reason string) error {
		if g.Answer == "" {
			g.Answer, g.Comment = rejected, "Could not check: "+mdsafe.Prose(
				strings.TrimRight(reason, "."),
			)+"."
		}
		return g.answer(ctx)
	}
	if g.Answer == "" {
		if a.FinalLoss {
			return worker.Done, worker.Permanent(
				fmt.Sprintf("The service was terminated %d times while it checked this commit.", a.Losses),
			)
		}
		if out, err := g.decide(ctx); err != nil || g.Answer == "" {
			return out, err
		}
	}
	return worker.Done, g.answer(ctx)
}

func (g *protection) analysis() *analysis {
	return &analysis{Service: g.Service, attempt: g.attempt, repo: g.repo}
}

// decide sets the answer, or returns when to try again.
func (g *protection) decide(ctx context.Context) (worker.Outcome, error) {
	if g.Deadline.IsZero() {
		g.Deadline = g.now().Add(g.Config.Wait)
	}
	set, problems, err := g.repo.Configuration(ctx, g.repo.DefaultBranch)
	if err != nil {
		return worker.Done, err
	}
	if len(problems) > 0 {
		g.Answer, g.Comment = rejected, fmt.Sprintf(
			"The configuration is invalid: %s",
			mdsafe.Prose(problems[0].In(set.Where)),
		)
		return worker.Done, g.save(ctx)
	}
	find := func() (*artifact.Found, error) {
		return g.Fetcher.Run(ctx, g.repo.Client, g.repo.Owner, g.repo.Name, g.event.Run,
			set.Artifacts...)
	}
	found, err := find()
	if err != nil {
		return worker.Done, err
	}
	if found.State != artifact.Ready {
		if left := g.Deadline.Sub(g.now()); left > 0 {
			g.Polls++
			if err := g.status(ctx, "Waiting for artifacts. "+found.Reason); err != nil {
				return worker.Done, err
			}
			return worker.Later(
				min(left, time.Second<<min(g.Polls-1, 5), fastPoll),
				found.Reason,
			), g.save(ctx)
		}
		g.Answer, g.Comment = rejected, "Could not check: "+mdsafe.Prose(
			strings.TrimRight(found.Reason, "."),
		)+"."
		return worker.Done, g.save(ctx)
	}
	release, otherwise := g.admit(found)
	if release == nil {
		return otherwise, g.save(ctx)
	}
	defer release()
	if err := g.status(ctx, "Checking the artifacts of the workflow run."); err != nil {
		return worker.Done, err
	}
	j, err := g.analysis().analyze(ctx, found, set.Repository, nil, nil)
	if bad := (*badOptions)(nil); errors.As(err, &bad) {
		g.Answer, g.Comment = rejected, "The configuration is invalid: "+mdsafe.Prose(bad.Error())
		return worker.Done, g.save(ctx)
	}
	if err != nil {
		return worker.Done, err
	}
	check := comment.Render(
		comment.Input{
			Report:  j.report,
			Problem: j.problem,
			Partial: j.partial,
			FailOn:  set.FailOn,
			Release: true,
		},
	)
	if now, err := find(); err != nil {
		return worker.Done, err
	} else if now.Key != found.Key {
		return worker.Later(time.Second, "the workflow run has changed during the check"), g.save(ctx)
	}
	g.Attempt = found.Runs[0].Attempt
	g.Answer = rejected
	if check.Conclusion == "success" ||
		set.FailOn == "never" && check.Conclusion == "neutral" {
		g.Answer = approved
	}
	g.Comment = protectionComment(check.Title, found.Skipped, j.report)
	return worker.Done, g.save(ctx)
}

// status posts a status to the deployment's page, unless it is the same as the last or the limit
// is reached. It is saved before it is posted, so a crash may lose a status but does not repeat
// it. If GitHub rejects it, the response is sent anyway.
func (g *protection) status(ctx context.Context, text string) error {
	if text == g.Status || g.Statuses >= github.StatusReports {
		return nil
	}
	g.Status, g.Statuses = text, g.Statuses+1
	if err := g.save(ctx); err != nil {
		return err
	}
	if err := g.attempt.Fence(ctx); err != nil {
		return err
	}
	if err := g.repo.Client.ReviewDeployment(ctx, g.repo.Owner, g.repo.Name, g.event.Run,
		g.event.Environment, "", mdsafe.Prose(text)); err != nil {
		if ctx.Err() != nil || github.Classify(err).Kind == github.After {
			return err
		}
		g.attempt.Log.Info("GitHub took no report of how a deployment stands", "error", err)
	}
	return nil
}

// answer sends the response to GitHub. If GitHub calls it invalid it was sent already, before a
// crash.
func (g *protection) answer(ctx context.Context) error {
	if err := g.attempt.Fence(ctx); err != nil {
		return err
	}
	err := g.repo.Client.ReviewDeployment(
		ctx,
		g.repo.Owner,
		g.repo.Name,
		g.event.Run,
		g.event.Environment,
		g.Answer,
		g.Comment,
	)
	if err != nil && github.Classify(err).Kind != github.Invalid {
		return err
	}
	if err != nil {
		g.attempt.Log.Warn("GitHub takes no answer for this deployment (any more)", "error", err)
	}
	g.attempt.Log.Info("deployment answered", "run", g.event.Run, "answer", g.Answer)
	g.Given = true
	return g.save(ctx)
}

func (g *protection) save(ctx context.Context) error {
	return g.attempt.SaveState(ctx, g.protectionState)
}

// maxUnselected limits the names of artifacts in a comment that the configuration does not select.
const maxUnselected = 3

// protectionComment returns the title, the artifacts that were not checked, and as many findings as
// fit into GitHub's limit.
func protectionComment(title string, skipped []artifact.Problem, r *analyzer.Report) string {
	out := mdsafe.Prose(title)
	for i, p := range skipped {
		if i == maxUnselected {
			out += fmt.Sprintf("\n- and %d more artifacts that are not selected", len(skipped)-i)
			break
		}
		out += fmt.Sprintf("\n- not checked: %s, %s", mdsafe.Code(p.Name, 80), mdsafe.Prose(p.Reason))
	}
	if r == nil {
		return out
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		line := fmt.Sprintf(
			"\n- %s: %s in %s",
			f.Severity,
			mdsafe.Code(analyzer.Versioned(firstOf(f.Symbol, f.Library, f.Rule), f.Version), 120),
			mdsafe.Code(f.Object, 120),
		)
		if len(out)+len(line) > github.ReviewComment-40 {
			return out + fmt.Sprintf("\n- and %d more", len(r.Findings)-i)
		}
		out += line
	}
	return out
}

func firstOf(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}
