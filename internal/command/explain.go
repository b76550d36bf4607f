package command

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/runlog"
	"github.com/compat-app/compat/internal/store"
)

// explain answers with what the last report of the pull request has about a symbol, library or
// rule, with the rule's documentation, and with what the logs of its failed jobs show; without an
// argument, with the logs alone.
func (r *request) explain(ctx context.Context, arguments string) (reaction, error) {
	what := word(strings.Join(strings.Fields(arguments), " "))
	// Logs are downloaded for people with write access only: a comment costs a stranger nothing.
	writer, err := r.mayWrite(ctx)
	if err != nil {
		return reaction{}, err
	}
	if what == "" && !writer {
		return r.explainStored(ctx)
	}
	if what == "" {
		logs, err := r.headLogs(ctx)
		if text, found := comment.ExplainLogs("", logs); err != nil || found {
			return reaction{emoji: thumbsUp, reply: text}, err
		}
		return reaction{emoji: confused, reply: comment.NothingToExplain()}, nil
	}
	last, err := r.Store.LastReport(ctx, r.key())
	if err != nil {
		return reaction{}, err
	}
	report := last.Report
	var rule *comment.RuleText
	for _, known := range r.Analyzer.Rules() {
		if known.ID == what {
			rule = &comment.RuleText{ID: known.ID, Title: known.Title, Doc: known.Doc}
		}
	}
	page := r.Store.PageURL(last.ID)
	text, found := comment.Explain(what, report, rule, r.meant(what, report), page)
	if found {
		return reaction{emoji: thumbsUp, reply: text}, nil
	}
	if !writer {
		return reaction{emoji: confused, reply: text}, nil
	}
	logs, err := r.headLogs(ctx)
	if said, found := comment.ExplainLogs(what, logs); err != nil || found {
		return reaction{emoji: thumbsUp, reply: said}, err
	}
	return reaction{emoji: confused, reply: text}, nil
}

// explainStored explains what is new in the last report.
func (r *request) explainStored(ctx context.Context) (reaction, error) {
	text, err := r.explainNew(ctx, r.key())
	return reaction{emoji: thumbsUp, reply: text}, err
}

// maxWords bounds the words of a report that a mistyped one is compared with.
const maxWords = 2000

// meant is the rule, or the symbol, library or object of a report, that was probably meant; "" when
// none is near.
func (s *Service) meant(what string, report *analyzer.Report) string {
	words := s.ruleIDs()
	for _, f := range store.Findings(report) {
		if len(words) > maxWords {
			break
		}
		for _, w := range []string{f.Symbol, f.Library, path.Base(f.Object)} {
			if w != "" {
				words = append(words, w)
			}
		}
	}
	if slices.Contains(words, what) {
		return ""
	}
	return config.Nearest(what, words)
}

// headLogs are the logs of a pull request's newest head; nil where no run of it has failed.
func (r *request) headLogs(ctx context.Context) (*comment.Logs, error) {
	pr, _, err := r.repo.Client.PullRequests.Get(ctx, r.repo.Owner, r.repo.Name, r.number)
	if err != nil {
		return nil, fmt.Errorf("read #%d: %w", r.number, err)
	}
	set, problems, err := r.repo.Configuration(ctx, pr.GetBase().GetRef())
	if err != nil || len(problems) > 0 { // the check run reports them
		return nil, err
	}
	found, err := r.Fetcher.Head(
		ctx,
		r.repo.Client,
		repository.HeadOf(r.repo, pr, set.Workflows),
		set.Artifacts,
	)
	if err != nil {
		return nil, err
	}
	return runlog.Read(ctx, r.attempt, r.repo, found.Runs)
}
