package worker

import (
	"context"
	"strings"

	"github.com/compat-app/compat/comment"
)

// explain tells what the last report of the pull request says of a symbol, library or rule, what the rule's documentation says, and what the logs of its failed jobs say; without a word
// behind it, these logs alone.
func (t *task) explain(ctx context.Context, r *request, arguments string) (reaction, error) {
	what := word(strings.Join(strings.Fields(arguments), " "))
	if what == "" {
		logs, err := t.headLogs(ctx, r.Number)
		if text, found := comment.ExplainLogs("", logs); err != nil || found {
			return reaction{reply: text}, err
		}
		return reaction{emoji: confused, reply: comment.NothingToExplain()}, nil
	}
	report, page, err := t.lastReport(ctx, t.pullKey(r.Number))
	if err != nil {
		return reaction{}, err
	}
	var rule *comment.RuleText
	for _, known := range t.Analyzer.Rules() {
		if known.ID == what {
			rule = &comment.RuleText{ID: known.ID, Title: known.Title, Doc: known.Doc}
		}
	}
	text, found := comment.Explain(what, report, rule, page)
	if found {
		return reaction{reply: text}, nil
	}
	logs, err := t.headLogs(ctx, r.Number)
	if said, found := comment.ExplainLogs(what, logs); err != nil || found {
		return reaction{reply: said}, err
	}
	return reaction{emoji: confused, reply: text}, nil
}
