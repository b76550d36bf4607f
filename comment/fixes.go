package comment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Fixes replies to a fix command with the new causes of the last report and their fixes, the
// command that applies those of the plan to the artifacts, and the patch of the files of the
// repository; "" = no file can be changed. r is nil if there is no report yet.
func Fixes(r *analyzer.Report, sha, patch, detailsURL string) string {
	in := Input{Report: r, DetailsURL: detailsURL}
	if r == nil {
		return "There is no report on this pull request yet.\n"
	}
	v := newView(r, nil)
	commit := mdsafe.Code(sha[:min(len(sha), 12)], 0)
	if len(v.fresh) == 0 {
		return "The check of " + commit + " has nothing new to fix.\n" + link(in, "\n", "The full report")
	}
	blocks := []string{"The fixes of the check of " + commit + ":\n"}
	// the command of the plan
	shown := r.Plan.Command == "" || slices.ContainsFunc(v.steps.Runs(), func(x causetext.Run) bool {
		return slices.Contains(x.Commands, string(r.Plan.Command))
	})
	for n, i := range v.fresh[:min(len(v.fresh), maxExplained)] {
		line := fmt.Sprintf("%d. %s\n", n+1, v.line(i))
		shown = shown || v.inline(i) != "" &&
			slices.Contains(v.steps.Of(i, 0).Commands, string(r.Plan.Command))
		if n == 0 {
			line = "\n" + line
		}
		blocks = append(blocks, line)
	}
	blocks = append(blocks, leftOut(in, len(v.fresh)-maxExplained), causetext.RunsMarkdown(v.steps))
	if patch != "" {
		blocks = append(blocks, "\nThe fixes change these files. Save this as `fix.patch` and run "+
			"`git apply fix.patch`; for lines of the diff, the review of this pull request has "+
			"suggestions.\n\n"+mdsafe.Fence("diff", strings.TrimSuffix(patch, "\n")))
	}
	if !shown {
		blocks = append(blocks, "\nThis command changes the built artifacts, next to which it is run, "+
			"and checks the result. It has to be repeated after each build.\n\n"+
			mdsafe.Fence("", mdsafe.Lines(string(r.Plan.Command))))
	}
	if !slices.ContainsFunc(v.fresh, func(i int) bool { return len(v.cause(i).Fixes) > 0 }) {
		blocks = append(blocks, "\nNo fix is known that can be applied.\n")
	}
	blocks = append(blocks, link(in, "\n", "The full report"))
	return mdsafe.Join(blocks, maxBody/2, func(int) string { return "\nThe rest is in the report.\n" })
}
