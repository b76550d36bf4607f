package worker

import (
	"context"
	"strings"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/mdsafe"
)

// explain tells what the last report of the pull request says of a symbol, library or rule, and what the rule's documentation says.
func (t *task) explain(ctx context.Context, r *request, arguments string) (reaction, error) {
	what := word(strings.Join(strings.Fields(arguments), " "))
	if what == "" {
		return reaction{emoji: confused, reply: "Say what to explain: " + mdsafe.Code("/compat explain SYMBOL", 0) + " or " + mdsafe.Code("/compat explain RULE", 0) + ".\n"}, nil
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
	if !found {
		return reaction{emoji: confused, reply: text}, nil
	}
	return reaction{reply: text}, nil
}
