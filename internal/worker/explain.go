package worker

import (
	"context"
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// maxExplained findings are told of; a rule may have thousands.
const maxExplained = 10

// explain tells what the last report of the pull request says of a symbol, library or rule, and what the rule's documentation says.
func (t *task) explain(ctx context.Context, r *request, arguments string) (reaction, error) {
	what := word(strings.Join(strings.Fields(arguments), " "))
	if what == "" {
		return reaction{emoji: confused, reply: "Say what to explain: `/compat explain SYMBOL` or `/compat explain RULE`.\n"}, nil
	}
	report, err := t.lastReport(ctx, t.pullKey(r.Number))
	if err != nil {
		return reaction{}, err
	}
	var out []string
	for _, rule := range t.Analyzer.Rules() {
		if rule.ID == what {
			out = append(out, fmt.Sprintf("**%s**: %s\n\n%s\n", mdsafe.Code(rule.ID, 0), rule.Title, strings.TrimSpace(rule.Doc)))
		}
	}
	if report != nil {
		out = append(out, findings(report, what)...)
	}
	if len(out) == 0 {
		return reaction{emoji: confused, reply: fmt.Sprintf("The last analysis of this pull request found nothing about %s, and no rule is called that.\n", mdsafe.Code(what, 200))}, nil
	}
	return reaction{reply: strings.Join(out, "\n")}, nil
}

// findings tells of the findings about a symbol, library, version, object or rule.
func findings(r *analyzer.Report, what string) (out []string) {
	total := 0
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Symbol != what && f.Demangled != what && analyzer.Versioned(f.Symbol, f.Version) != what && f.Library != what && f.Version != what && f.Object != what && f.Rule != what {
			continue
		}
		if total++; total <= maxExplained {
			out = append(out, finding(f))
		}
	}
	if total > maxExplained {
		out = append(out, fmt.Sprintf("and %d more findings about it.\n", total-maxExplained))
	}
	return out
}

func finding(f *analyzer.Finding) string {
	var b strings.Builder
	subject := analyzer.Versioned(firstOf(f.Symbol, f.Library, f.Rule), f.Version)
	fmt.Fprintf(&b, "**%s** %s in %s (rule %s)\n\n%s\n", f.Severity, mdsafe.Code(subject, 200), mdsafe.Code(f.Object, 200), mdsafe.Code(f.Rule, 80),
		mdsafe.Prose(f.Message, f.Symbol, f.Version, f.Library, f.Object, f.Demangled))
	if len(f.Chain) > 1 {
		fmt.Fprintf(&b, "\nLoaded as %s.\n", mdsafe.Code(strings.Join(f.Chain, " → "), 400))
	}
	for _, x := range f.Fixes {
		fmt.Fprintf(&b, "\n- %s", mdsafe.Prose(x.Title))
		if x.Command != "" {
			fmt.Fprintf(&b, ": %s", mdsafe.Code(x.Command, 300))
		}
		if x.Verified {
			b.WriteString(" (verified)")
		}
	}
	b.WriteString("\n")
	return b.String()
}
