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

// explain replies with the findings of a symbol, library or rule in the last report, the
// documentation of the rule, and errors in the logs of failed jobs. Without arguments it explains
// only the logs. People without write access get a reaction only if there is nothing to explain,
// so that they cannot fill a pull request with comments.
func (r *request) explain(ctx context.Context, arguments string) (reaction, error) {
	what := word(strings.Join(strings.Fields(arguments), " "))
	// Logs are downloaded only for people with write access, so that others cannot cause the
	// cost.
	writer, err := r.mayWrite(ctx)
	if err != nil {
		return reaction{}, err
	}
	if what == "" && !writer {
		return reaction{emoji: confused}, nil
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
	meant := r.meant(what, report)
	text, found := comment.Explain(what, report, rule, meant, page)
	if found {
		return reaction{emoji: thumbsUp, reply: text}, nil
	}
	if !writer && meant == "" {
		return reaction{emoji: confused}, nil
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

// maxWords limits the words of a report that a mistyped word is compared with.
const maxWords = 2000

// meant returns the rule, symbol, library or object that was probably meant; "" if none is close.
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

// headLogs returns the logs of a pull request's newest head; nil if no run of it has failed.
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
