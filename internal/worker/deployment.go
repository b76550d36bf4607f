package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/compat-app/compat/internal/job"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/mdsafe"
)

// gate is the state of a deployment that waits for our answer.
type gate struct {
	Deadline time.Time `json:"deadline,omitzero"`
	Polls    int       `json:"polls,omitempty"`
	Told     string    `json:"told,omitempty"`   // the last report of how it stands
	Tells    int       `json:"tells,omitempty"`  // how many there were
	Answer   string    `json:"answer,omitempty"` // approved or rejected, once it is known
	Comment  string    `json:"comment,omitempty"`
	Given    bool      `json:"given,omitempty"` // GitHub has it
}

const (
	approved = "approved"
	rejected = "rejected"
)

// deployment answers a deployment protection rule, once: the run's artifacts pass or they don't.
// The base counts for nothing here, since what is deployed meets users whatever the branch had
// before.
func (t *task) deployment(ctx context.Context, event *job.Deployment) (outcome, error) {
	if event.Environment == "" {
		return done, &unfit{"the job's payload is damaged"}
	}
	g := &gate{}
	if len(t.lease.State) > 0 {
		if err := json.Unmarshal(t.lease.State, g); err != nil {
			t.Log.Warn("the stored state of the gate is damaged", "error", err)
		}
	}
	if g.Given {
		return done, nil
	}
	if g.Answer != "" { // an earlier try has come to it, and may have given it
		if r, err := t.client.Run(ctx, t.repo.Owner, t.repo.Name, event.Run); err != nil &&
			!notFound(err) {
			return done, err
		} else if err == nil && r.Status != "waiting" {
			g.Given = true
			return done, t.saveGate(ctx, g)
		}
	}
	t.giveUp = func(ctx context.Context, reason string) error {
		if g.Answer == "" {
			g.Answer, g.Comment = rejected, "Could not check: "+mdsafe.Prose(
				strings.TrimRight(reason, "."),
			)+"."
		}
		return t.answer(ctx, g, event.Run, event.Environment)
	}
	if g.Answer == "" {
		if t.lease.Doomed {
			return done, &unfit{
				fmt.Sprintf("Judging it has ended the service %d times.", t.lease.Losses),
			}
		}
		if out, err := t.decideGate(ctx, g, event); err != nil || g.Answer == "" {
			return out, err
		}
	}
	return done, t.answer(ctx, g, event.Run, event.Environment)
}

// decideGate sets the gate's answer, or says when to look again.
func (t *task) decideGate(ctx context.Context, g *gate, event *job.Deployment) (outcome, error) {
	if g.Deadline.IsZero() {
		g.Deadline = t.Now().Add(t.Config.Wait)
	}
	set, problems, err := t.configured(ctx, t.repo.DefaultBranch)
	if err != nil {
		return done, err
	}
	if len(problems) > 0 {
		g.Answer, g.Comment = rejected, fmt.Sprintf(
			"The configuration is invalid: %s",
			mdsafe.Prose(problems[0].In(set.where)),
		)
		return done, t.saveGate(ctx, g)
	}
	found, err := t.Fetcher.Run(
		ctx,
		t.client,
		t.repo.Owner,
		t.repo.Name,
		event.Run,
		set.repository.Artifacts...)
	if err != nil {
		return done, err
	}
	if found.State != artifact.Ready {
		if left := g.Deadline.Sub(t.Now()); left > 0 {
			g.Polls++
			if err := t.report(ctx, g, event, "Waits for artifacts. "+found.Reason); err != nil {
				return done, err
			}
			return later(
					min(left, time.Second<<min(g.Polls-1, 5), fastPoll),
					found.Reason,
				), t.saveGate(
					ctx,
					g,
				)
		}
		g.Answer, g.Comment = rejected, "Could not check: "+mdsafe.Prose(
			strings.TrimRight(found.Reason, "."),
		)+"."
		return done, t.saveGate(ctx, g)
	}
	if err := t.report(ctx, g, event, "Judging what the workflow run has built."); err != nil {
		return done, err
	}
	j, err := t.analyze(ctx, found, set.repository, nil, nil)
	if bad := (*badOptions)(nil); errors.As(err, &bad) {
		g.Answer, g.Comment = rejected, "The configuration can't be used: "+mdsafe.Prose(
			bad.Error(),
		)
		return done, t.saveGate(ctx, g)
	}
	if err != nil {
		return done, err
	}
	check := comment.Render(
		comment.Input{
			Report:  j.report,
			Problem: j.problem,
			Partial: j.partial,
			FailOn:  set.repository.FailOn,
			Release: true,
		},
	)
	g.Answer = rejected
	if check.Conclusion == "success" ||
		set.repository.FailOn == "never" && check.Conclusion == "neutral" {
		g.Answer = approved
	}
	g.Comment = gateComment(check.Title, j.report)
	return done, t.saveGate(ctx, g)
}

// report says on the deployment's page how it stands, once for each thing there is to say and never
// oftener than GitHub takes it. It is noted before it is said, so a crash may swallow a report and
// repeats none. That GitHub doesn't take it holds up no answer.
func (t *task) report(ctx context.Context, g *gate, event *job.Deployment, text string) error {
	if text == g.Told || g.Tells >= github.StatusReports {
		return nil
	}
	g.Told, g.Tells = text, g.Tells+1
	if err := t.saveGate(ctx, g); err != nil {
		return err
	}
	if err := t.fence(ctx); err != nil {
		return err
	}
	if err := t.client.ReviewDeployment(ctx, t.repo.Owner, t.repo.Name, event.Run, event.Environment, "", mdsafe.Prose(text)); err != nil {
		if ctx.Err() != nil || github.Classify(err).Kind == github.After {
			return err
		}
		t.Log.Info("GitHub took no report of how a deployment stands", "error", err)
	}
	return nil
}

// answer gives GitHub the answer. One that GitHub calls invalid was given before: a crash came
// between the call and our note of it.
func (t *task) answer(ctx context.Context, g *gate, run int64, environment string) error {
	if err := t.fence(ctx); err != nil {
		return err
	}
	err := t.client.ReviewDeployment(
		ctx,
		t.repo.Owner,
		t.repo.Name,
		run,
		environment,
		g.Answer,
		g.Comment,
	)
	if err != nil && github.Classify(err).Kind != github.Invalid {
		return err
	}
	if err != nil {
		t.Log.Warn("GitHub takes no answer for this deployment (any more)", "error", err)
	}
	t.Log.Info("deployment answered", "run", run, "answer", g.Answer)
	g.Given = true
	return t.saveGate(ctx, g)
}

func (t *task) saveGate(ctx context.Context, g *gate) error {
	data, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	return t.lease.Save(ctx, data)
}

// gateComment is the title and as many of the worst findings as GitHub's limit allows.
func gateComment(title string, r *analyzer.Report) string {
	out := mdsafe.Prose(title)
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
