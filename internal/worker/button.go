package worker

import (
	"context"
	"fmt"
	"github.com/compat-app/compat/internal/job"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/comment/post"
)

// button does what a button says. It is answered in the conversation of its pull request, where it
// has one.
func (t *task) button(ctx context.Context, p *job.CheckAction) (outcome, error) {
	var of job.Body = &job.Commit{Repository: p.Repository, SHA: p.SHA}
	if p.Of != job.KindCommit {
		var err error
		if of, err = job.Subject(p.Subject); err != nil {
			return done, &unfit{err.Error()}
		}
	}
	pull, isPull := of.(*job.Pull)
	number := 0
	if isPull {
		number = pull.Number
	}
	r := &request{Number: number, Author: p.Author}
	answer := "done"
	var reply string
	ok, err := t.mayWrite(ctx, r)
	switch {
	case err != nil:
	case !ok:
		answer, reply = "not permitted", comment.NotPermitted(p.Action)
	case p.Action == comment.Recheck:
		err = t.follow(ctx, of, p.SHA, t.job.Delivery)
	case !isPull:
		answer = "not for a " + string(of.Kind())
	case p.Action == comment.AcceptAll:
		if reply, err = t.acceptNew(ctx, r, p.SHA); reply != "" {
			answer = "nothing accepted"
		}
	case p.Action == comment.ExplainAll:
		reply, err = t.explainNew(ctx, p.Subject)
	}
	if err != nil {
		return done, err
	}
	t.Log.Info(
		"audit",
		"button",
		p.Action,
		"by",
		p.Author,
		"subject",
		p.Subject,
		"head",
		p.SHA,
		"answer",
		answer,
	)
	if !isPull || reply == "" {
		return done, nil
	}
	err = t.poster.Reply(ctx, post.ReplyTo{Number: number, Press: t.job.Delivery}, reply)
	if refused(err) {
		t.Log.Warn("the conversation takes no more words", "error", err)
		return done, nil
	}
	return done, err
}

// acceptNew accepts all that is new in the report on a commit, one entry for each rule; the answer
// says why not.
func (t *task) acceptNew(ctx context.Context, r *request, sha string) (string, error) {
	key := t.pullKey(r.Number)
	var last standing
	if err := t.recall(ctx, standingKey(key), &last); err != nil {
		return "", err
	}
	if last.SHA != sha {
		return comment.Outdated(sha), nil
	}
	report, _, err := t.lastReport(ctx, key)
	if err != nil {
		return "", err
	}
	byRule := map[string]*accepted{}
	var order []string
	if report != nil {
		for i := range report.Findings {
			f := &report.Findings[i]
			if !f.New {
				continue
			}
			a := byRule[f.Rule]
			if a == nil {
				a = &accepted{
					What:    f.Rule,
					Because: fmt.Sprintf("the button on the check run of %.12s was pressed", sha),
					By:      r.Author,
					On:      t.job.Received.UTC().Format("2006-01-02"),
				}
				byRule[f.Rule] = a
				order = append(order, f.Rule)
			}
			a.Findings = append(
				a.Findings,
				finding{
					Rule:    f.Rule,
					Object:  f.Object,
					Symbol:  f.Symbol,
					Version: f.Version,
					Library: f.Library,
				},
			)
		}
	}
	var all []accepted
	for _, rule := range order {
		all = append(all, *byRule[rule])
	}
	if len(all) == 0 {
		return comment.NothingToAccept("", "", report != nil), nil
	}
	if err := t.remember(ctx, key, all...); err != nil {
		return "", err
	}
	return "", t.follow(ctx, t.pullBody(r.Number), "", t.job.Delivery)
}

func (t *task) explainNew(ctx context.Context, key string) (string, error) {
	report, page, err := t.lastReport(ctx, key)
	if err != nil {
		return "", err
	}
	if report == nil {
		return comment.NothingToExplain(), nil
	}
	return comment.ExplainNew(report, page), nil
}
