package comment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Dependencies is the review of a change of pinned packages.
type Dependencies struct {
	// Report contains the findings of all environments; nil = no native package changed.
	Report *analyzer.Report `json:"report,omitempty"`
	// Places has an entry for each cause of Report, which is empty for causes that are not new.
	Places []Place `json:"places,omitempty"`
	// interpreter and platforms used for each, for display
	Environments []string     `json:"environments,omitempty"`
	Native       bool         `json:"native,omitempty"`   // a native package changed
	Reviewed     []string     `json:"reviewed,omitempty"` // native packages, NAME==VERSION
	Repaired     []Repaired   `json:"repaired,omitempty"`
	Unread       []Unreviewed `json:"unread,omitempty"`
	Patch        string       `json:"patch,omitempty"` // of the files with the pins; see Check
}

// Place is the line that causes a cause, and what to pin there.
type Place struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // from 1
	// Packages are those of the cause, as NAME==VERSION, starting with the one that causes it.
	Packages []string `json:"packages,omitempty"`
	Old      string   `json:"old,omitempty"` // version in the line; "" = the line pins no package
	// version that was checked and loads; "" = none is known
	New     string `json:"new,omitempty"`
	Pin     string `json:"pin,omitempty"` // NAME==New
	Command string `json:"command,omitempty"`
	Suggest bool   `json:"suggest,omitempty"` // people edit the line (not a tool)
	Text    string `json:"text,omitempty"`    // text of the line
}

// Repaired is a cause in the base that the head does not have.
type Repaired struct {
	Title    string   `json:"title"`
	Symbol   string   `json:"symbol,omitempty"`
	Packages []string `json:"packages,omitempty"` // in the base, NAME==VERSION
}

// Unreviewed is a file or package that could not be reviewed.
type Unreviewed struct {
	File   string `json:"file"`
	Line   int    `json:"line"`           // from 1
	What   string `json:"what,omitempty"` // NAME==VERSION; "" = the file
	Reason string `json:"reason"`
}

// Add adds the report for one environment, with a place for each of its causes.
func (d *Dependencies) Add(r *analyzer.Report, places []Place) {
	d.Places = append(d.Places, places...)
	if d.Report == nil {
		d.Report = r
		return
	}
	d.Report.Merge(r)
}

// dependencies is a review to be rendered.
type dependencies struct {
	view
	*Dependencies
	in Input
}

// RenderDependencies returns the Check for a review. It uses FailOn, BaseName, DetailsURL, SHA,
// Converse and Diff of in. It fails for new findings at or above FailOn, and for packages that
// could not be reviewed.
func RenderDependencies(in Input, d *Dependencies) Check {
	in.Report = d.Report
	s := dependencies{newView(d.Report, nil), d, in}
	c := Check{
		Title:      mdsafe.Cut(s.title(), MaxTitle),
		Conclusion: "success",
		Actions:    recheck(),
		Clean:      len(s.fresh) == 0 && len(d.Unread) == 0,
		Create:     len(s.fresh) > 0,
		Names:      s.names(s.fresh),
		Patch:      d.Patch,
	}
	switch {
	case len(d.Unread) > 0, in.FailOn != "never" && s.fails(in.FailOn):
		c.Conclusion = "failure"
	case in.FailOn == "never" && len(s.fresh) > 0:
		c.Conclusion = "neutral"
	}
	var lines []string
	for n, i := range s.fresh {
		lines = append(lines, fmt.Sprintf("%d. %s\n", n+1, s.line(i)))
	}
	list := mdsafe.Join(lines, maxOutput/3, func(left int) string { return leftOut(in, left) })
	foot := link(in, "\n", "The full report")
	c.Summary = mdsafe.Join([]string{
		s.lead() + "\n" + s.unreadList() + "\n" + list, restOf(s.view), s.repairedList(),
		existingList(in, s.view, maxOutput/8), acceptedList(s.accepted), s.reviewedList(),
		noteList(d.Report.Notes), foot,
	}, maxOutput, nil)
	c.Text = details(in, s.view, 0)
	c.Annotations = s.annotations()
	c.Review = s.review()
	c.Sticky = s.sticky(foot)
	if in.Converse && len(s.fresh) > 0 {
		c.Actions = conversationActions(c.Actions)
	}
	return c
}

func (s dependencies) title() string {
	d := s.Dependencies
	switch {
	case len(s.fresh) > 0:
		t := s.headline(s.fresh[0])
		if n := len(s.fresh) - 1; n > 0 {
			t += " (and " + analyzer.Count(n, "more cause") + ")"
		}
		return t
	case len(d.Unread) > 0:
		u := d.Unread[0]
		t := "Could not check " + mdsafe.Plain(u.place(), 100) + ": " + mdsafe.Plain(u.Reason, 120)
		if n := len(d.Unread) - 1; n > 0 {
			t += fmt.Sprintf(" (and %d more)", n)
		}
		return t
	case len(d.Repaired) > 0:
		return "Repaired: " + mdsafe.Plain(d.Repaired[0].Title, 200)
	case len(s.existing) > 0:
		return "Nothing new; already on " + base(s.in) + ": " + s.headline(s.existing[0])
	case len(s.accepted) > 0:
		return "Compatible; " + analyzer.Count(len(s.accepted), "accepted finding")
	case !d.Native:
		return "No native package changed"
	case len(d.Reviewed) == 0:
		return "Compatible: the pinned packages load together"
	}
	t := "Compatible: " + mdsafe.Plain(d.Reviewed[0], 100)
	if n := len(d.Reviewed) - 1; n > 0 {
		t += " and " + analyzer.Count(n, "more package")
	}
	return t
}

// place returns a short name for what could not be reviewed.
func (u Unreviewed) place() string {
	if u.What != "" {
		return u.What
	}
	return fmt.Sprintf("%s:%d", u.File, u.Line)
}

func (s dependencies) lead() string {
	var parts []string
	d := s.Dependencies
	if len(s.fresh) > 0 {
		parts = append(parts, fmt.Sprintf("**%s**%s.", s.count(s.fresh), newer(s.in)))
		if s.in.FailOn == "never" {
			parts = append(parts, "Informational: `fail_on` is `never`.")
		}
	}
	if len(d.Unread) > 0 {
		parts = append(parts, "**Not everything could be checked**, so this check fails.")
	}
	if len(parts) == 0 && !d.Native {
		parts = append(parts, "**No native package changed.** Packages without native code load "+
			"with every version of the others.")
	}
	if len(parts) == 0 {
		parts = append(parts, "**The pinned packages load together**, as before.")
	}
	if len(d.Repaired) > 0 {
		parts = append(parts, "This change fixes problems that the base branch has.")
	}
	return strings.Join(parts, " ")
}

// line returns a cause in one line of Markdown, with the packages and what to pin.
func (s dependencies) line(i int) string {
	c := s.cause(i)
	p := s.place(i)
	known := append(causetext.Names(s.report, c), p.Packages...)
	out := "**" + string(c.Severity) + "** " + mdsafe.Prose(c.Title, known...)
	if names := s.names([]int{i}); names != "" {
		out += " (" + names + ")"
	}
	if len(p.Packages) > 0 {
		out += ", with " + mdsafe.Codes(p.Packages, 6, 100)
	}
	if p.File != "" {
		out += fmt.Sprintf(", from %s line %d", mdsafe.Code(p.File, 200), p.Line)
	}
	return out + ". " + s.fix(i)
}

// place returns the place of a cause.
func (s dependencies) place(i int) Place {
	if i < len(s.Places) {
		return s.Places[i]
	}
	return Place{}
}

// fix returns what to pin, as Markdown: other packages than the changed one, and its version that
// was checked, or else the first fix of the cause.
func (s dependencies) fix(i int) string {
	p, c := s.place(i), s.cause(i)
	pin := "pin " + mdsafe.Code(p.Pin, 100)
	if p.Command != "" {
		pin += ": " + mdsafe.Code(p.Command, maxShown)
	}
	switch x := keeping(c, p.Pin); {
	case x != nil && p.Pin != "":
		return s.choice(c, *x) + "; or (tried): " + pin
	case p.Pin != "":
		return "**Fix** (tried): " + pin
	case len(c.Fixes) > 0:
		return s.choice(c, c.Fixes[0])
	}
	return "No fix is known."
}

// choice returns a fix of a cause with its command.
func (s dependencies) choice(c *analyzer.Cause, x analyzer.CauseFix) string {
	out := "**Fix** (" + causetext.ShortState(c, x) + "): " +
		mdsafe.Prose(x.Title.String(), causetext.Names(s.report, c)...)
	if x.Command != "" && !x.ShowsCommand() {
		out += ": " + mdsafe.Code(string(x.Command), maxShown)
	}
	return out
}

// keeping returns the first tried fix of a cause that clears it and does not change the package of
// a pin, or nil.
func keeping(c *analyzer.Cause, pin string) *analyzer.CauseFix {
	name, _, _ := strings.Cut(pin, "==")
	for i := range c.Fixes {
		x := &c.Fixes[i]
		q, err := pkgmeta.ParseRequirement(x.Requirement)
		if x.Verified && x.Clears == len(c.Findings) && err == nil && q.Name != name {
			return x
		}
	}
	return nil
}

func (s dependencies) unreadList() string {
	var lines []string
	for _, u := range s.Unread {
		lines = append(lines, fmt.Sprintf("- Could not check %s (%s): %s\n", mdsafe.Code(u.place(), 200),
			mdsafe.Code(fmt.Sprintf("%s:%d", u.File, u.Line), 200),
			mdsafe.Prose(mdsafe.Cut(u.Reason, 400), u.What, u.File)))
	}
	return section("\n", lines, listBytes)
}

func (s dependencies) repairedList() string {
	var lines []string
	for _, r := range s.Repaired {
		line := "- repaired: " + mdsafe.Prose(r.Title, append(r.Packages, r.Symbol)...)
		if r.Symbol != "" {
			line += " (" + mdsafe.Code(r.Symbol, maxShown) + ")"
		}
		if len(r.Packages) > 0 {
			line += ", with " + mdsafe.Codes(r.Packages, 6, 100)
		}
		lines = append(lines, line+"\n")
	}
	return section("\n### Repaired\n\n", lines, listBytes)
}

func (s dependencies) reviewedList() string {
	var lines []string
	if len(s.Reviewed) > 0 {
		lines = append(lines, "- native packages: "+mdsafe.Codes(s.Reviewed, 40, 100)+"\n")
	}
	for _, e := range s.Environments {
		lines = append(lines, "- "+mdsafe.Prose(e)+"\n")
	}
	return section("\n### Reviewed\n\n", lines, listBytes)
}

func (s dependencies) annotations() []Annotation {
	var out []Annotation
	for _, i := range s.fresh {
		p := s.place(i)
		if p.File == "" || len(out) == maxAnnotations {
			continue
		}
		a := annotation(s.in, s.view, i, p.File, p.Line)
		var more []string
		if len(p.Packages) > 0 {
			more = append(more, "Packages: "+mdsafe.Plain(strings.Join(p.Packages, ", "), 1000)+".")
		}
		if p.Pin != "" {
			more = append(more, "Pin "+mdsafe.Plain(p.Pin, 200)+" (tried).")
		}
		if p.Command != "" {
			more = append(more, mdsafe.Visible(p.Command))
		}
		a.Message = bounded(strings.Join(append(more, a.Message), "\n"), maxRaw)
		out = append(out, a)
	}
	for _, u := range s.Unread {
		if len(out) == maxAnnotations {
			break
		}
		out = append(out, Annotation{
			Path: u.File, StartLine: u.Line, EndLine: u.Line, Level: LevelFailure,
			Title:   mdsafe.Cut("Could not check "+mdsafe.Plain(u.place(), 150), MaxTitle),
			Message: bounded(plain(u.Reason), maxRaw),
		})
	}
	return out
}

// review returns suggestions for lines of the diff that people edit.
func (s dependencies) review() []ReviewComment {
	var out []ReviewComment
	for _, i := range s.fresh {
		p := s.place(i)
		line, ok := p.edited()
		if !ok || !s.in.Diff.Has(p.File, p.Line) || len(out) == maxReview ||
			slices.ContainsFunc(out, func(c ReviewComment) bool {
				return c.Path == p.File && c.Line == p.Line
			}) {
			continue
		}
		sum := sha256.Sum256([]byte(p.File + "\x00" + strings.TrimSpace(line)))
		c := ReviewComment{Path: p.File, Line: p.Line, Fingerprint: hex.EncodeToString(sum[:12])}
		c.Body = fmt.Sprintf("<!-- compat:thread %s -->\n%s\n\n%s", c.Fingerprint, s.line(i),
			mdsafe.Fence("suggestion", line))
		if len(c.Body) <= maxBody {
			out = append(out, c)
		}
	}
	return out
}

// edited returns the line with only the version changed. It returns false if the line cannot be
// edited alone.
func (p Place) edited() (string, bool) {
	old := strings.TrimSuffix(p.Text, "\r")
	if !p.Suggest || p.New == "" || p.Old == "" || len(old) > maxLine || mdsafe.Lines(old) != old ||
		strings.HasSuffix(old, `\`) || strings.Contains(old, "--hash") {
		return "", false
	}
	re, err := regexp.Compile(`(===?\s*)` + regexp.QuoteMeta(p.Old) + `([\s;#,"']|$)`)
	if err != nil {
		return "", false
	}
	found := re.FindAllStringIndex(old, -1)
	if len(found) != 1 {
		return "", false
	}
	return re.ReplaceAllString(old, "${1}"+p.New+"${2}"), true
}

func (s dependencies) sticky(foot string) string {
	heading := nothingFound
	switch {
	case len(s.fresh) > 0:
		heading = s.count(s.fresh)
	case len(s.Unread) > 0:
		heading = "not everything could be checked"
	case len(s.Repaired) > 0:
		heading = "repaired"
	case len(s.existing) > 0:
		heading = "nothing new"
	}
	body := stickyHead(s.in, heading, heading == nothingFound)
	if len(s.fresh) == 0 && len(s.Unread) == 0 {
		body += "\n" + noCauses(s.view) + "\n"
	}
	for n, i := range s.fresh[:min(len(s.fresh), stickyCauses)] {
		body += fmt.Sprintf("\n%d. %s", n+1, s.line(i))
	}
	body += "\n" + leftOut(s.in, len(s.fresh)-stickyCauses)
	if heading == nothingFound {
		foot = ""
	}
	return mdsafe.Join([]string{body + s.unreadList() + s.repairedList(),
		existingList(s.in, s.view, maxBody/16), acceptedList(s.accepted), foot}, maxBody, nil)
}

// strictness orders conclusions.
var strictness = []string{"success", "neutral", "action_required", "failure"}

// Combine joins the check of artifacts with that of pinned packages. Its conclusion is the
// worse of both.
func Combine(c, d Check) Check {
	worse := slices.Index(strictness, d.Conclusion) > slices.Index(strictness, c.Conclusion)
	heading := "\n## Pinned packages: " + mdsafe.Prose(d.Title) + "\n\n"
	parts := []string{c.Summary, heading + d.Summary}
	switch {
	case worse:
		c.Conclusion, c.Title = d.Conclusion, d.Title
		parts = []string{d.Summary, "\n## The artifacts\n\n" + c.Summary}
	case !d.Clean && !c.Clean:
		c.Title = mdsafe.Cut(c.Title+"; "+d.Title, MaxTitle)
	}
	c.Summary = mdsafe.Join(parts, maxOutput, nil)
	c.Text = mdsafe.Join([]string{c.Text, d.Text}, maxOutput, nil)
	c.Annotations = append(slices.Clone(d.Annotations), c.Annotations...)
	c.Review = append(slices.Clone(d.Review), c.Review...)
	c.Patch += d.Patch
	if len(c.Actions) < len(d.Actions) {
		c.Actions = d.Actions
	}
	if d.Create || !d.Clean {
		switch _, body, _ := strings.Cut(d.Sticky, "\n"); {
		case c.Sticky == "" || c.Clean:
			c.Sticky = d.Sticky
		default:
			c.Sticky = mdsafe.Join([]string{c.Sticky, "\n" + body}, maxBody, nil)
		}
	}
	c.Create, c.Clean = c.Create || d.Create, c.Clean && d.Clean
	c.Names = strings.Join(causetext.NonEmpty(c.Names, d.Names), ", ")
	return c
}
