package command

import (
	"context"
	"fmt"
	"time"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/comment/post"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

// checkAction handles a click on one of the App's buttons on a check run. The reply is posted to
// the pull request, if there is one.
func (s *Service) checkAction(
	ctx context.Context,
	a *worker.Attempt,
	repo *repository.Repository,
	p *job.CheckAction,
) (worker.Outcome, error) {
	var of job.Body = &job.Commit{Repository: p.Repository, SHA: p.SHA}
	if p.Of != job.KindCommit {
		var err error
		if of, err = job.Subject(p.Subject); err != nil {
			return worker.Done, worker.Permanent(err.Error())
		}
	}
	pull, isPull := of.(*job.Pull)
	number := 0
	if isPull {
		number = pull.Number
	}
	r := &request{
		Service: s, attempt: a, repo: repo, number: number, author: p.Author, at: a.Job.Received,
	}
	answer := "done"
	var reply string
	within, err := r.withinBudget(ctx, 1)
	if err != nil {
		return worker.Done, err
	}
	ok := false
	if within {
		ok, err = r.mayWrite(ctx)
	}
	switch {
	case err != nil:
	case !within:
		answer = overBudget
	case !ok:
		answer, reply = "not permitted", comment.NotPermitted(p.Action)
	case p.Action == comment.Recheck:
		err = worker.Follow(ctx, s.Store.Queue, a.Job, of, p.SHA, a.Job.Key)
	case !isPull:
		answer = "not for a " + string(of.Kind())
	case p.Action == comment.AcceptAll:
		if reply, err = r.acceptNew(ctx, p.SHA, p.External); reply != "" {
			answer = "nothing accepted"
		}
	case p.Action == comment.ExplainAll:
		reply, err = r.explainNew(ctx, p.Subject)
	}
	if err != nil {
		return worker.Done, err
	}
	r.repo.Log.Info(
		"audit",
		"action",
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
		return worker.Done, nil
	}
	if reply, err = r.bounded(ctx, []string{reply}); err != nil || reply == "" {
		return worker.Done, err
	}
	err = r.repo.Poster.Reply(ctx, post.ReplyTo{Number: number, Press: r.attempt.Job.Delivery}, reply)
	if repository.Refused(err) {
		r.repo.Log.Warn("the conversation is locked or gone", "error", err)
		return worker.Done, nil
	}
	return worker.Done, err
}

// acceptNew accepts all new findings in the report of a commit that the check run with an external
// ID showed, with one entry per rule. The returned text explains why nothing was accepted; "" =
// accepted.
func (r *request) acceptNew(ctx context.Context, sha, external string) (string, error) {
	key := r.key()
	standing, err := r.Store.Standing(ctx, key)
	if err != nil {
		return "", err
	}
	if standing.SHA != sha {
		return comment.Outdated(sha), nil
	}
	last, found, err := r.Store.LastAs(ctx, key, external)
	if err != nil {
		return "", err
	}
	report := last.Report
	if !found || last.SHA != "" && last.SHA != sha {
		return comment.Outdated(sha), nil
	}
	if r.earlier(last) {
		return comment.BaseChanged(), nil
	}
	byRule := map[string]*store.Accepted{}
	var order []string
	if report != nil {
		for i := range report.Findings {
			f := &report.Findings[i]
			if !f.New {
				continue
			}
			a := byRule[f.Rule]
			if a == nil {
				a = &store.Accepted{
					What:    f.Rule,
					Because: fmt.Sprintf("the action on the check run of %.12s", sha),
					By:      r.author,
					Base:    last.Base,
					On:      r.at.UTC().Format(time.DateOnly),
				}
				byRule[f.Rule] = a
				order = append(order, f.Rule)
			}
			a.Findings = append(a.Findings, store.FindingOf(f))
		}
	}
	var all []store.Accepted
	for _, rule := range order {
		all = append(all, *byRule[rule])
	}
	if len(all) == 0 {
		return comment.NothingToAccept("", "", report != nil), nil
	}
	if err := r.Store.Accept(ctx, key, all...); err != nil {
		return "", err
	}
	return "", r.recheckPull(ctx)
}

func (r *request) explainNew(ctx context.Context, key string) (string, error) {
	last, err := r.Store.LastReport(ctx, key)
	if err != nil {
		return "", err
	}
	if last.Report == nil {
		return comment.NothingToExplain(), nil
	}
	return comment.ExplainNew(last.Report, r.Store.PageURL(last.ID)), nil
}
