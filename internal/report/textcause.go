package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

// block returns the lines for a cause.
func (p *textPrinter) block(i int) []textLine {
	c := &p.report.Causes[i]
	var out []textLine
	add := func(rank int, first, rest, text string) {
		for i, l := range wrap(first+text, p.width, rest) {
			out = append(out, textLine{text: l, rank: rank, more: i > 0})
		}
	}
	head := p.severity(c.Severity) + "[" + mdsafe.Visible(causetext.MainRule(p.report, c)) + "]"
	objects := p.objects(c)
	single := len(p.report.Causes) == 1
	several := func() {
		if len(p.report.Artifacts) > 1 && !p.report.Environment {
			in := causetext.In(p.report, c, func(a string) string { return mdsafe.Visible(path.Base(a)) })
			add(firstFixRank, "   ", "      ", in)
		}
	}
	if single {
		if objects != "" {
			head += " in " + objects
		}
		add(always, "", "    ", head)
		several()
	} else {
		head = fmt.Sprintf("%d. %s", i+1, head)
		if p.steps.Only() {
			head += " (" + mdsafe.Visible(c.ID) + ")"
		}
		head += ": " + mdsafe.Visible(c.Title)
		if !c.New {
			head += " (not new: the base has it too)"
		}
		add(always, "", "    ", head)
		add(whoRank, "   ", "    ", mdsafe.Visible(causetext.Action(p.report, c, nil)))
		several()
		if objects != "" {
			add(placeRank, "   in ", "      ", objects)
		}
	}
	error := c.Severity == analyzer.Error
	if why := causetext.Why(c); why != "" && (len(c.Fails) == 0 || !error) && (!single || error) {
		rank := placeRank
		if !error {
			rank = warnsRank
		}
		add(rank, "   ", "     ", strings.ToLower(why[:1])+mdsafe.Visible(why[1:]))
	}
	for _, x := range causetext.Also(p.report, c) {
		add(moreEvidenceRank, "   also: ", "     ", mdsafe.Visible(x.Text+" ["+x.Rule+"]"))
	}
	if label, message := causetext.Seen(p.report, i); message != "" {
		lines := wrap("   "+strings.ToLower(label[:1])+label[1:]+": "+
			mdsafe.Cut(mdsafe.Visible(message), maxSeen), p.width, "     ")
		rank := moreEvidenceRank
		// What people search for. Programs print it at the first call, and have other fixes.
		if i == 0 && len(lines) <= 2 && p.report.Causes[i].Reproduce != nil {
			rank = placeRank
		}
		for j, l := range lines {
			out = append(out, textLine{text: l, rank: rank, more: j > 0})
		}
	}
	noun := "version" // of symbols
	if c.Rules[0] == analyzer.RuleSupportRemoved {
		noun = rowPlatform
	}
	if slices.ContainsFunc(c.Evidence, func(e analyzer.Evidence) bool { return e.Version == "" }) {
		noun = "row"
	}
	rows, left := p.rows(c)
	for j, row := range rows {
		rank := evidenceRank
		switch {
		case j > 0:
			rank = moreEvidenceRank
		case c.Symbols == 0: // the title has the first libraries
			rank = moreEvidenceRank
		}
		out = append(out, textLine{text: "   " + row, rank: rank, row: j > 0, noun: noun, evidence: true})
	}
	if left > 0 {
		out = append(out, moreRows(left, noun))
	}
	if len(c.Fails) > 0 {
		shown := 6
		if len(c.Fails) == shown+1 { // a name is as short as "1 more system"
			shown++
		}
		s := "fails on " + analyzer.List(c.Fails, shown, len(c.Fails), "system")
		if why := causetext.Why(c); why != "" && error {
			s += " (" + mdsafe.Visible(strings.TrimPrefix(why, "Why ")) + ")"
		}
		for n := 4; n >= 0 && len(c.Works) > 0; n-- { // as many as fit in the line
			works := s + "; works on " + analyzer.List(c.Works, n, len(c.Works), "system")
			if n == 0 {
				works = s + "; works on " + analyzer.Count(len(c.Works), "other system")
			}
			if length(works)+3 <= p.width || n == 1 && !p.brief || n == 0 {
				s = works
				break
			}
		}
		add(platformRank, "   ", "     ", s)
	}
	for j, x := range c.Fixes {
		out = append(out, p.fix(i, j, x)...)
	}
	if len(c.Fixes) == 0 {
		add(firstFixRank, "   ", "     ", causetext.NoFix)
	}
	return out
}

// fix returns the lines for a fix: the title, and the command on its own line if it is long. A
// fix that was printed as the first one of another cause is only referred to.
func (p *textPrinter) fix(cause, i int, x analyzer.CauseFix) []textLine {
	c := &p.report.Causes[cause]
	label := p.steps.Of(cause, i).Label
	label = strings.ToLower(label[:1]) + label[1:]
	rank := firstFixRank
	other := i > 0 && !c.Together
	rest := rank // of the lines after the first
	if other {
		rank, rest = otherFixRank, otherFixRank
		if i == 1 && !c.ForUsers(x) { // that there is a choice is worth more than the evidence
			rank = alternativeRank
		}
	}
	step := p.steps.Of(cause, i)
	brief := p.brief && other || p.terse
	title := mdsafe.Visible(x.Title.String())
	if x.Command != "" && x.ShowsCommand() {
		title = joined(title, mdsafe.Visible(string(x.Command)))
	}
	if n := causetext.ShownBefore(p.report, cause, x); n > 0 {
		too, state := "", step.State
		if !x.Verified { // it may have been tried for the other
			too, state = ", which changes this too", state+" for this cause"
		}
		var out []textLine
		line := fmt.Sprintf("   = %s: that of cause %d%s (%s)", label, n, too, state)
		for j, l := range wrap(line, p.width, "     ") {
			out = append(out, textLine{text: l, rank: rank, more: j > 0})
		}
		return out
	}
	var commands []string
	if len(step.Commands) > 0 {
		for _, l := range step.Commands {
			commands = append(commands, strings.Split(mdsafe.Lines(l), "\n")...)
		}
	}
	if brief {
		x.Cost = nil
		if other { // the first sentence says what to do
			title, _, _ = strings.Cut(title, ". ")
		}
	}
	text := func(state string) string {
		return fmt.Sprintf("   = %s (%s%s): %s", label, step.By, state, title)
	}
	cost := costs(x.Cost, len(x.Cost))
	remark := ""
	if step.Remark != "" {
		remark = ". " + joined(mdsafe.Visible(step.Remark), mdsafe.Visible(step.Whole))
	}
	if step.Before != "" && len(step.Commands) > 0 {
		remark = strings.TrimSuffix(remark, ".") + ". " + step.Before + ":"
	}
	said := text(step.State)
	if p.brief { // what "tried" means is said if it costs no line
		short := text(causetext.ShortState(c, x))
		if brief && !p.terse {
			short = text(causetext.BriefState(c, x))
		}
		height := func(s string) int { return len(wrap(s+cost+remark, p.width, "     ")) }
		if height(short) < height(said) {
			said = short
		}
	}
	if len(commands) == 1 && remark == "" &&
		length(said)+length(commands[0])+length(cost)+4 <= p.width {
		return []textLine{{text: said + ": " + commands[0] + cost, rank: rank}}
	}
	var out []textLine
	lines := wrap(said+cost+remark, p.width, "     ")
	for n := len(x.Cost) - 1; n > 1 && len(lines) > 3 && !p.options.Verbose; n-- {
		lines = wrap(said+costs(x.Cost, n)+remark, p.width, "     ")
	}
	for _, l := range lines {
		out = append(out, textLine{text: l, rank: rank})
	}
	for j, l := range commands {
		if j == maxCommands && len(commands) > maxCommands+1 && !p.options.Verbose {
			out = append(out, textLine{text: fmt.Sprintf("       and %s (--verbose)",
				analyzer.Count(len(commands)-j, "more line"))})
			break
		}
		out = append(out, textLine{text: "       " + l})
	}
	for j := range out {
		out[j].more = j > 0
		if j >= len(lines) { // an alternative without its command is still one
			out[j].rank, out[j].more = rest, j > len(lines) || rest == rank
		}
	}
	return out
}

// maxSeen limits the message that users see.
const maxSeen = 240

// maxCommands limits the lines of the command of a fix; one more is shown instead of its count.
const maxCommands = 3

// costs names the first n costs of a fix, and how many more.
func costs(all []string, n int) string {
	if len(all) == 0 {
		return ""
	}
	s := " (costs: " + mdsafe.Visible(strings.Join(all[:n], "; "))
	if n < len(all) {
		s += "; and " + analyzer.Count(len(all)-n, "more cost")
	}
	return s + ")"
}

// objects names up to three objects of a cause and counts the others. Of several packages in an
// environment, it names these.
func (p *textPrinter) objects(c *analyzer.Cause) string {
	if of := p.report.ArtifactsOf(c); p.report.Environment && len(of) > 1 {
		names := make([]string, len(of))
		for i := range of {
			names[i] = mdsafe.Visible(p.report.PackageOf(of[i]))
		}
		return analyzer.List(names, maxPackages, len(names), "package")
	}
	most := 3
	if p.options.Verbose {
		most = 50
	}
	var names []string
	for _, i := range c.Findings {
		f := &p.report.Findings[i]
		if f.Object != "" && !slices.Contains(names, f.Object) {
			if names = append(names, f.Object); len(names) == most {
				break
			}
		}
	}
	for i := range names {
		names[i] = mdsafe.Visible(names[i])
	}
	return counted(names, c.Objects-len(names), p.width-30, "file")
}

// maxPackages limits how many packages of a cause are named.
const maxPackages = 20

// counted joins the names that fit into width, and counts the others: "a, b and 3 more symbols".
func counted(names []string, more, width int, noun string) string {
	s := ""
	for i, n := range names {
		if i > 0 && length(s)+length(n) > width {
			more += len(names) - i
			break
		}
		if i > 0 {
			s += ", "
		}
		s += n
	}
	if more > 0 {
		s += " and " + analyzer.Count(more, "more "+noun)
	}
	return s
}

// rows returns the first lines of the evidence table, and the number of the others.
func (p *textPrinter) rows(c *analyzer.Cause) (out []string, left int) {
	most := 3
	if p.options.Verbose {
		most = len(c.Evidence)
	}
	if len(c.Evidence) == 0 {
		return nil, 0
	}
	onlyLibraries := !slices.ContainsFunc(c.Evidence, func(e analyzer.Evidence) bool {
		return e.Version != "" || len(e.Symbols) > 0
	})
	if onlyLibraries {
		var names []string
		for _, e := range c.Evidence {
			if e.Library != "" {
				names = append(names, mdsafe.Visible(e.Library))
			}
		}
		if len(names) == 0 {
			return nil, 0
		}
		label := "libraries: "
		if len(names) == 1 {
			label = "library: "
		}
		return []string{label + counted(names, 0, p.width-28-len(label), "library")}, 0
	}
	shown := c.Evidence[:min(len(c.Evidence), most)]
	if len(c.Evidence) > most {
		shown = shown[:most-1]
	}
	versions, libraries := 0, 0
	for _, e := range shown {
		versions = max(versions, length(e.Version))
		libraries = max(libraries, length(e.Library))
	}
	libraries = min(libraries, 32)
	label := "" // of a row with one cell
	switch {
	case versions == 0 && libraries == 0:
		label = "symbols: "
	case libraries == 0 && !slices.ContainsFunc(shown, func(e analyzer.Evidence) bool {
		return len(e.Symbols) > 0
	}):
		label = "needs: "
	}
	for _, e := range shown {
		s := label
		if versions > 0 {
			s += fmt.Sprintf("%-*s  ", versions, mdsafe.Visible(e.Version))
		}
		if libraries > 0 {
			s += fmt.Sprintf("%-*s  ", libraries, clip(mdsafe.Visible(e.Library), libraries))
		}
		names := make([]string, len(e.Symbols))
		for i, n := range e.Symbols {
			names[i] = mdsafe.Visible(n)
		}
		width := max(p.width-length(s)-24, 1)
		if len(names) > 0 {
			names[0] = clip(names[0], width) // so that the count fits
		}
		s += counted(names, e.MoreSymbols, width, "symbol")
		out = append(out, strings.TrimRight(clip(s, p.width-4), " "))
	}
	return out, len(c.Evidence) - len(shown)
}
