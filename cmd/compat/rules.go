package main

import (
	_ "embed" // examples.txtar
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"

	"golang.org/x/tools/txtar"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"github.com/spf13/cobra"
)

func newRulesCommand(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "rules [ID]",
		Short: "List the rules, or explain one",
		Args:  cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return rules.IDs(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listRules(env)
			}
			for _, r := range rules.All() {
				if r.ID == args[0] {
					_, err := fmt.Fprint(env.Out, ruleText(r))
					return err
				}
			}
			if best := config.Nearest(args[0], rules.IDs()); best != "" {
				return fmt.Errorf("unknown rule %q; did you mean %s?", args[0], best)
			}
			return fmt.Errorf("unknown rule %q; 'compat rules' lists all rules", args[0])
		},
	}
}

func listRules(env environment) error {
	w := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	for _, r := range rules.All() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.ID, r.Severity, r.Title)
	}
	return w.Flush()
}

//go:embed examples.txtar
var examplesText []byte

// ruleExamples returns a finding of each rule and its fix, in Markdown, by the rule's ID.
var ruleExamples = sync.OnceValue(func() map[string]string {
	examples := map[string]string{}
	for _, f := range txtar.Parse(examplesText).Files {
		examples[f.Name] = strings.TrimSpace(string(f.Data))
	}
	return examples
})

// ruleText returns the documentation of a rule for a terminal.
func ruleText(r *analyzer.Rule) string {
	parts := []string{fmt.Sprintf("%s (%s)\n%s", r.ID, r.Severity, r.Title), r.Doc}
	if example := ruleExamples()[r.ID]; example != "" {
		parts = append(parts, strings.Replace(example, "## Before and after", "Before and after:", 1))
	}
	parts = append(parts, "References:\n  "+strings.Join(r.References, "\n  "))
	return strings.Join(parts, "\n\n") + "\n"
}
