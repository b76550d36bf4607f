package worker

import (
	"context"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/config"
)

// explain tells what the last report of the pull request says of a symbol, library or rule, what
// the rule's documentation says, and what the logs of its failed jobs say; without a word behind
// it, these logs alone.
func (t *task) explain(ctx context.Context, r *request, arguments string) (reaction, error) {
	what := word(strings.Join(strings.Fields(arguments), " "))
	if what == "" {
		logs, err := t.headLogs(ctx, r.Number)
		if text, found := comment.ExplainLogs("", logs); err != nil || found {
			return reaction{emoji: thumbsUp, reply: text}, err
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
	text, found := comment.Explain(what, report, rule, t.meant(what, report), page)
	if found {
		return reaction{emoji: thumbsUp, reply: text}, nil
	}
	logs, err := t.headLogs(ctx, r.Number)
	if said, found := comment.ExplainLogs(what, logs); err != nil || found {
		return reaction{emoji: thumbsUp, reply: said}, err
	}
	return reaction{emoji: confused, reply: text}, nil
}

// maxWords bounds the words of a report that a mistyped one is held against.
const maxWords = 2000

// meant is the rule, or the symbol, library or object of a report, that was probably meant; "" when
// none is near.
func (t *task) meant(what string, r *analyzer.Report) string {
	words := t.ruleIDs()
	for _, f := range findings(r) {
		if len(words) > maxWords {
			break
		}
		for _, w := range []string{f.Symbol, f.Library, lastPart(f.Object)} {
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
