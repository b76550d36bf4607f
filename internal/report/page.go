package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// The pages are built with gomponents instead of html/template. html/template calls methods by
// name, so the linker would keep every method of every type: a third of the binary.

// CSP returns the Content-Security-Policy for the pages: it allows only the style sheet, the search
// form, and the script that copies commands, by its hash.
func CSP() string {
	return "default-src 'none'; style-src 'self'; script-src " + hash(script) +
		"; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// hash allows an inline style or script in a Content-Security-Policy.
func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

//go:embed style.css
var style []byte

//go:embed copy.js
var script []byte

// Style returns the style sheet of the page, to be served as /reports/style.css.
func Style() []byte { return bytes.Clone(style) }

// File writes the page of a report as one file that needs no other.
func File(w io.Writer, v *View) error {
	policy := "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) +
		"; base-uri 'none'; form-action 'none'"
	return page(w, v, "", g.Group{
		h.Meta(g.Attr("http-equiv", "Content-Security-Policy"), h.Content(policy)),
		g.Text("\n"),
		h.StyleEl(g.Raw(string(style))),
	})
}

// Page writes a report as an HTML page: a summary, a table of the artifacts, the causes, and lists.
// It is complete without its script, which adds a button to each command that copies it. It links
// style.css in the same directory, and under id the other forms of the report: id.json, id.sarif,
// id.md and id/findings. The size is at most 300 KB: long lists are truncated, with a count of the
// rest.
func Page(w io.Writer, v *View, id string) error {
	return page(w, v, id, h.Link(h.Rel("stylesheet"), h.Href("style.css")))
}

// page writes the page; without an id it links no other.
func page(w io.Writer, v *View, id string, style g.Node) error {
	r := &v.Report
	if v.Problem != "" && len(r.Notes) > 0 {
		return problemPage(w, v, style)
	}
	var fresh, existing []int
	for i := range r.Causes {
		if r.Causes[i].New {
			fresh = append(fresh, i)
		} else {
			existing = append(existing, i)
		}
	}
	steps := causetext.StepsOf(r, fresh, true)
	words, as := verdictOf(r)
	title, heading, files := words, "Causes", "Files"
	if v.Findings > 0 {
		files = "Findings and files"
	}
	if v.Name != "" {
		title += ": " + v.Name
	}
	switch {
	case len(existing) > 0:
		heading = "New: the base does not have them"
	case len(fresh) == 1: // its title is the reason in the header
		heading = "What to do"
	case len(fresh) > 1:
		heading += ": " + causetext.CountCauses(r, fresh)
	}
	return complete(w, title, style,
		h.Header(Rows(
			h.P(h.Class("tool"), g.Text("compat report")),
			h.H1(h.Span(h.Class("badge "+string(as)), whole(words)), g.Text(" "), whole(v.Name)),
			lead(v, fresh),
			about(v),
			downloads(id),
		)),
		h.Main(Rows(
			section("Artifacts", results(r, v.Rows)),
			section("What to do", plan(r, steps)),
			causes(heading, v, fresh, steps, id),
			causes("Not new: the base has them too", v, existing,
				causetext.StepsOf(r, existing, true), id),
			section("Checked on", folded(matrix(v.Matrix), !v.Matrix.open(),
				"Each artifact on each platform"), targets(r)),
			section("Accepted", listed(h.Ul, r.Accepted, accepted)),
			section("Could not be checked", listed(h.Ul, r.Unread, unread)),
			section("Not checked", listed(h.Ul, r.Skipped, unread)),
			section("Notes", folded(listed(h.Ul, r.Notes, whole), len(r.Notes) > openNotes,
				number(len(r.Notes), "note"))),
			section(files, findings(v), search(v, id),
				folded(listed(h.Ul, r.Artifacts, artifact), len(r.Artifacts) > 0,
					number(len(r.Artifacts), "file")+" with checksums")),
		)),
		h.Footer(h.P(g.Text("compat "), whole(r.Tool.Version), terms(r))),
	)
}

// terms returns what the words of a page with causes mean, after the version of compat; nil
// without causes.
func terms(r *analyzer.Report) g.Node {
	if len(r.Causes) == 0 {
		return nil
	}
	return g.Text(". " + causetext.KeyOf(r))
}

// lead returns what is read first: the reason for the verdict, and the summary. Of several new
// causes, none is the reason: they are listed, after the answer whether the artifacts may be
// shipped. The results of several artifacts have the reasons.
func lead(v *View, fresh []int) g.Node {
	r := &v.Report
	first, rest := "", cmp.Or(v.Summary, Summary(r))
	var list g.Node
	if len(fresh) > 1 && len(v.Rows) == 0 {
		list = contents(r, fresh)
	} else if len(fresh) > 0 {
		first = r.Causes[fresh[0]].Title
		if !r.Environment { // there it begins with the name of a package
			first = upper(first)
		}
	}
	if ship := causetext.Ship(r); len(fresh) > 1 && ship != "" {
		if after, ok := strings.CutPrefix(rest, ship); ok {
			first, rest = ship, strings.TrimSpace(after)
		}
	}
	var out g.Group
	if first != "" {
		out = append(out, h.P(h.Class("lead"), whole(first)), g.Text("\n"))
	}
	if list != nil {
		out = append(out, list, g.Text("\n"))
	}
	return append(out, h.P(whole(rest)))
}

// contents returns the titles of the first causes, each as a link to its cause: those of errors, or
// without any those of warnings. The summary counts all.
func contents(r *analyzer.Report, causes []int) g.Node {
	is := func(i int) bool { return r.Causes[i].Severity == analyzer.Error }
	errors := slices.ContainsFunc(causes, is)
	var rows []g.Node
	for _, i := range causes {
		c := &r.Causes[i]
		if errors && !is(i) || len(rows) == shownContents {
			continue
		}
		rows = append(rows, h.Li(h.Value(strconv.Itoa(i+1)), graded(string(c.Severity)), g.Text(" "),
			h.A(h.Href("#"+c.ID), whole(c.Title))))
	}
	return h.Ol(h.Class("contents"), Rows(rows...))
}

// problemPage writes the page of a check that has no report.
func problemPage(w io.Writer, v *View, style g.Node) error {
	r := &v.Report
	reason, err := prose(v.Problem)
	if err != nil {
		return err
	}
	title, notes := r.Notes[0], r.Notes[1:]
	return complete(w, title, style,
		h.Header(Rows(
			h.P(h.Class("tool"), g.Text("compat report")),
			h.H1(h.Span(h.Class("badge "+string(r.Verdict)), g.Text(string(r.Verdict)))),
			h.P(h.Class("lead"), whole(title)),
			about(v),
		)),
		h.Main(Rows(
			reason,
			failedBuild(&v.Build),
			section("Notes", listed(h.Ul, notes, whole)),
		)),
		h.Footer(h.P(g.Text("compat "), whole(r.Tool.Version))),
	)
}

// complete writes a page with the script that copies commands.
func complete(w io.Writer, title string, style g.Node, body ...g.Node) error {
	var b bytes.Buffer
	body = append(body, h.Script(g.Raw(string(script))))
	if err := PageOf(mdsafe.Visible(title)+" - compat", style, body...).Render(&b); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Sentence returns a text with a capital letter first and a period.
func Sentence(s string) string { return upper(s) + "." }

// upper returns a text with a capital letter first, unless it starts with a name.
func upper(s string) string {
	if first, _, _ := strings.Cut(s, " "); strings.ContainsAny(first, "._/:") || s == "" {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// folded returns content that is behind its title if fold is set; nil if there is none.
func folded(content g.Node, fold bool, title string) g.Node {
	if content == nil || !fold {
		return content
	}
	return h.Details(Rows(h.Summary(g.Text(title)), content))
}

// PageOf returns an HTML page with a title, a style and a body.
func PageOf(title string, style g.Node, body ...g.Node) g.Node {
	return h.Doctype(g.Group{g.Text("\n"), h.HTML(h.Lang("en"), Rows(
		h.Head(Rows(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.Meta(h.Name("robots"), h.Content("noindex")),
			h.TitleEl(g.Text(title)),
			style,
		)),
		h.Body(Rows(body...)),
	)), g.Text("\n")})
}

// Rows returns the nodes on separate lines, without nil nodes.
func Rows(nodes ...g.Node) g.Node {
	rows := g.Group{g.Text("\n")}
	for _, n := range nodes {
		if n != nil {
			rows = append(rows, n, g.Text("\n"))
		}
	}
	return rows
}

// whole returns untrusted text, visible and on one line. All untrusted text uses it or code.
func whole(s string) g.Node { return g.Text(mdsafe.Visible(s)) }

// withCode is whole, with a command in the sentence as code; "" = none.
func withCode(sentence, command string) g.Node {
	before, after, ok := strings.Cut(sentence, command)
	if command == "" || !ok {
		return whole(sentence)
	}
	return g.Group{whole(before), code(command), whole(after)}
}

func code(s string) g.Node { return h.Code(whole(s)) }

// codes returns names as code elements with a separator.
func codes(names []string, between string) g.Node {
	var out g.Group
	for i, s := range names {
		if i > 0 {
			out = append(out, g.Text(between))
		}
		out = append(out, code(s))
	}
	return out
}

// openRows is the number of rows of a list that is not folded.
const openRows = 12

// graded returns a verdict or severity with its color class.
func graded(word string) g.Node { return h.Span(h.Class(word), g.Text(word)) }

// section returns a section with a heading; nil if there is no content.
func section(title string, content ...g.Node) g.Node {
	content = slices.DeleteFunc(content, func(n g.Node) bool { return n == nil })
	if len(content) == 0 {
		return nil
	}
	return h.Section(Rows(append([]g.Node{h.H2(g.Text(title))}, content...)...))
}

// listed returns a list, with a count of the items beyond shownOnPage; nil if there are no items.
func listed[T any](of func(...g.Node) g.Node, items []T, item func(T) g.Node) g.Node {
	return listedOf(of, items, len(items), item)
}

// listedOf is listed for the first of all items.
func listedOf[T any](of func(...g.Node) g.Node, items []T, all int, item func(T) g.Node) g.Node {
	if len(items) == 0 {
		return nil
	}
	shown := items[:min(len(items), shownOnPage)]
	rows := g.Map(shown, func(x T) g.Node { return h.Li(item(x)) })
	if n := all - len(shown); n > 0 {
		rows = append(rows, h.Li(g.Text("and "+grouped(n)+" more, in the JSON report")))
	}
	return of(Rows(rows...))
}

// resultClass is the class of the color of a result.
var resultClass = map[causetext.Result]string{
	causetext.Fails: "incompatible", causetext.Works: "compatible", causetext.Skipped: "none",
	causetext.Warns: "warning", causetext.Unclear: "unchecked",
}

// results returns the results of several artifacts as a table, with their causes and a choice of
// one result; nil for one artifact.
func results(r *analyzer.Report, all []causetext.Row) g.Node {
	if len(all) == 0 {
		return nil
	}
	rows := g.Group{}
	var found []causetext.Result
	for _, row := range all[:min(len(all), shownOnPage)] {
		if !slices.Contains(found, row.Result) {
			found = append(found, row.Result)
		}
		names := row.Artifacts[:min(len(row.Artifacts), shownOnPage)]
		files := codes(names, " ")
		if len(names) > 1 {
			files = folded(files, true, number(len(row.Artifacts), "file"))
		}
		rows = append(rows, h.Tr(h.Class("of-"+string(row.Result)),
			h.Td(h.Span(h.Class(resultClass[row.Result]), g.Text(string(row.Result)))),
			h.Td(files, more(len(row.Artifacts)-len(names))),
			h.Td(whole(row.Reason), causeLinks(r, row.Causes)),
		), g.Text("\n"))
	}
	table := h.Table(h.Class("stacked"), Rows(
		h.THead(h.Tr(th("result"), th("file"), th("reason"))), h.TBody(rows)))
	return g.Group{
		h.P(g.Text(causetext.Tally(all) + ".")),
		choice(found),
		scrolled("Artifacts", table),
		more(len(all) - shownOnPage),
	}
}

// choice returns buttons that show only the rows of one result; nil if all have the same. They work
// without a script: style.css hides the other rows.
func choice(found []causetext.Result) g.Node {
	if len(found) < 2 {
		return nil
	}
	option := func(value, text string, checked bool) g.Node {
		var state g.Node
		if checked {
			state = h.Checked()
		}
		return h.Label(h.Input(h.Type("radio"), h.Name("show"), h.Value(value), state), g.Text(text))
	}
	options := g.Group{option("all", "all", true)}
	for _, x := range found {
		options = append(options, option(string(x), string(x), false))
	}
	return h.FieldSet(h.Class("choice"), h.Legend(g.Text("Show")), options)
}

// causeLinks returns links to causes that are given by number; nil if there are none.
func causeLinks(r *analyzer.Report, numbers []int) g.Node {
	var out g.Group
	for i, n := range numbers[:min(len(numbers), shownOnPage)] {
		if n < 1 || n > len(r.Causes) { // a stored report may be damaged
			continue
		}
		between := ", "
		if i == 0 {
			between = " (cause "
			if len(numbers) > 1 {
				between = " (causes "
			}
		}
		out = append(out, g.Text(between), h.A(h.Href("#"+r.Causes[n-1].ID), g.Text(fmt.Sprint(n))))
	}
	if len(out) == 0 {
		return nil
	}
	return append(out, g.Text(")"))
}

func th(title string) g.Node { return h.Th(g.Attr("scope", "col"), g.Text(title)) }

// more counts what a list leaves out; nil if it is complete.
func more(n int) g.Node {
	if n <= 0 {
		return nil
	}
	return g.Text(" and " + grouped(n) + " more, in the JSON report")
}

// targets returns the platforms; nil if there is only one, which the header has, without packages.
func targets(r *analyzer.Report) g.Node {
	if len(r.Targets) == 1 && len(r.Targets[0].With) == 0 {
		return nil
	}
	return listed(h.Ul, causetext.CheckedOn(r), checkedOn)
}

func checkedOn(x causetext.Checked) g.Node {
	out := g.Group{codes(x.Targets, ", "), g.Text(": "), graded(string(x.Verdict)), whole(x.Causes)}
	if len(x.With) == 0 {
		return out
	}
	names := codes(x.With[:min(len(x.With), shownOnPage)], " ")
	with := ", with "
	if x.End != "" {
		with += x.End + ": "
	}
	if len(x.With) <= openRows {
		return append(out, whole(with), names)
	}
	return append(out, folded(names, true, strings.TrimPrefix(with, ", ")+
		number(len(x.With), "package")))
}

func accepted(a analyzer.Accepted) g.Node {
	out := g.Group{
		code(subject(&a.Finding)),
		g.Text(" in "),
		code(a.Finding.Object),
		g.Text(", because "),
		whole(a.Because),
	}
	if a.By != "" {
		out = append(out, g.Text(", by "), whole(a.By))
	}
	if a.Until != "" {
		out = append(out, g.Text(", until "), whole(a.Until))
	}
	return out
}

func unread(u analyzer.Unread) g.Node {
	return g.Group{code(u.Path), g.Text(": "), whole(u.Reason)}
}

func artifact(a analyzer.Artifact) g.Node {
	return g.Group{
		code(a.Path),
		g.Text(": " + a.Kind + ", " + analyzer.Count(a.Objects, "binary file")),
		h.Br(),
		h.Small(g.Text("sha256 "), code(a.SHA256)),
	}
}

// finding returns one line of the list of all findings.
func finding(f analyzer.Finding) g.Node {
	return g.Group{graded(string(f.Severity)), g.Text(" "), code(f.Rule), g.Text(": "),
		whole(mdsafe.Cut(f.Message, maxMessage))}
}

// findings returns the findings, with those that are alike together, behind a title; nil if there
// are none.
func findings(v *View) g.Node {
	if v.Findings == 0 {
		return nil
	}
	shown := 0
	list := listed(h.Ul, v.Alike, func(x Alike) g.Node {
		shown += 1 + len(x.Symbols) + x.More
		out := g.Group{finding(x.Finding)}
		if len(x.Symbols) > 0 {
			out = append(out, h.Br(), g.Text("The same for "), codes(x.Symbols, " "), plus(x.More))
		}
		return out
	})
	if n := v.Findings - shown; n > 0 {
		list = g.Group{list, h.P(g.Text("and " + grouped(n) + " more, in the JSON report"))}
	}
	title := "Show " + number(v.Findings, "finding")
	if all := v.Report.Findings; len(all) == v.Findings { // otherwise the others are not known
		notes := 0
		for i := range all {
			if all[i].Severity == analyzer.Note {
				notes++
			}
		}
		if notes > 0 { // the causes have fewer findings
			title += ", with " + number(notes, "note")
		}
	}
	return folded(list, true, title+"; those that differ only in the symbol are together")
}

// ruleLinks returns the names of rules, with links to their pages unless there is no id.
func ruleLinks(rules []string, id string) g.Node {
	if id == "" {
		return codes(rules, ", ")
	}
	var out g.Group
	for i, s := range rules {
		if i > 0 {
			out = append(out, g.Text(", "))
		}
		out = append(out, h.A(h.Href("../rules/"+url.PathEscape(s)), code(s)))
	}
	return out
}

// about returns a list of what a report is about; nil if nothing is known.
func about(v *View) g.Node {
	x, r := &v.Header, &v.Report
	rows := g.Group{}
	add := func(name, text, link string) {
		if text == "" {
			return
		}
		rows = append(rows, h.Dt(g.Text(name)), h.Dd(linked(whole(text), link)), g.Text("\n"))
	}
	add("Repository", x.Repository, x.RepositoryURL)
	add("Checked", x.Subject, x.SubjectURL)
	if x.Subject == "" && len(r.Artifacts) == 1 {
		add("File", r.Artifacts[0].Path, "")
	}
	add("Commit", x.Commit[:min(len(x.Commit), 12)], x.CommitURL)
	add("Compared with", x.Base, "")
	names := platformNames(r)
	add("Checked on", analyzer.List(names, shownPlatforms, len(names), "platform"), "")
	if !x.At.IsZero() {
		at := x.At.UTC().Format("2006-01-02 15:04 UTC")
		if x.Took > 0 {
			at += ", in " + x.Took.Round(time.Millisecond).String()
		}
		add("Date", at, "")
	}
	if len(rows) == 0 {
		return nil
	}
	return h.Dl(h.Class("about"), rows)
}

// scrolled returns a wide element in a region that can be scrolled with the keyboard.
func scrolled(name string, wide g.Node) g.Node {
	return h.Div(h.Class("wide"), h.Role("region"), h.TabIndex("0"),
		h.Aria("label", mdsafe.Visible(name)), wide)
}

// copied returns text to be copied: one click selects all of it, and copy.js adds a button.
func copied(text string) g.Node {
	shown := mdsafe.Cut(mdsafe.Lines(text), 4000)
	return h.Div(h.Class("command"),
		h.Pre(h.Class("copy"), h.TabIndex("0"), h.Code(g.Text(shown))))
}

// plan returns the commands to run, or without any the fixes that together remove all errors. It is
// nil if there are none, and for one cause, which has them.
func plan(r *analyzer.Report, steps *causetext.Steps) g.Node {
	if lines := steps.Rest(); len(lines) > 0 {
		return g.Group{h.P(g.Text("This command applies the fixes that change files:")),
			copied(strings.Join(lines, "\n"))}
	}
	if len(r.Causes) == 1 {
		return nil
	}
	if runs := steps.Runs(); len(runs) > 0 {
		var items []g.Node
		for i, x := range runs {
			command := copied(strings.Join(x.Commands, "\n"))
			if about := steps.About(i); about != "" {
				command = h.Li(h.P(whole(about)), command)
			}
			items = append(items, command)
		}
		out := g.Group{h.P(whole(steps.RunsTitle()))}
		if len(items) > 1 {
			out = append(out, h.Ol(Rows(items...)))
		} else {
			out = append(out, items[0])
		}
		if other := steps.Other(); other != "" {
			out = append(out, h.P(g.Text(other)))
		}
		return out
	}
	var titles []string
	of := map[string][]int{} // numbers of the causes
	for _, x := range r.Plan.Fixes {
		title := x.Title.String()
		if of[title] == nil {
			titles = append(titles, title)
		}
		i := slices.IndexFunc(r.Causes, func(c analyzer.Cause) bool { return c.ID == x.Cause })
		of[title] = append(of[title], i+1)
	}
	return listed(h.Ol, titles, func(title string) g.Node {
		return g.Group{whole(title), causeLinks(r, of[title])}
	})
}

// downloads links the other forms of a report; nil without an id.
func downloads(id string) g.Node {
	if id == "" {
		return nil
	}
	return h.Nav(h.Class("mark"), h.Aria("label", "Other forms of this report"),
		h.A(h.Href(id+".json"), g.Text("JSON")), g.Text(" · "),
		h.A(h.Href(id+".sarif"), g.Text("SARIF")), g.Text(" · "),
		h.A(h.Href(id+".md"), g.Text("Markdown")), g.Text(" · "),
		h.A(h.Href(id+"/findings"), g.Text("search all findings")))
}

// search links the list of all findings; nil if the page has all of them or there is no id.
func search(v *View, id string) g.Node {
	if id == "" || v.Findings <= shownOnPage {
		return nil
	}
	return h.P(h.A(h.Href(id+"/findings"), g.Text("Search all "+grouped(v.Findings)+" findings")))
}

func plus(n int) g.Node {
	if n == 0 {
		return nil
	}
	return g.Text(" +" + grouped(n))
}
