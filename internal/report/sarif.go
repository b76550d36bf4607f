package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Rule describes a rule in SARIF.
type Rule struct {
	ID       string
	Title    string            // a phrase without a period
	Help     string            // Markdown
	Example  string            // Markdown, for its page: a finding and its fix; "" = none
	Severity analyzer.Severity // the default severity
	// Specifications and documentation, as "title: URL or file".
	References []string
	URL        string // of its documentation; "" = the page of the rule
}

const (
	// maxResults is GitHub's limit for the results of a run. maxLocations is the number of
	// locations of a result that GitHub shows (docs.github.com, "SARIF support for code
	// scanning", limits).
	maxResults   = 25000
	maxLocations = 100
	// characters of a description of a rule (the same page, "reportingDescriptor object")
	maxDescription = 1024
)

// SARIF writes the report as SARIF 2.1.0 with one run. Each cause is a result. Its location is the
// source line that causes it, because code scanning shows files of the repository only, and its
// objects are related locations; without such a line, the objects are its locations. Its
// fingerprint depends on the cause's ID only, so code scanning tracks it across versions of an
// artifact. Notes, which have no cause, are results of level "note". Accepted findings are
// suppressed results, and files that could not be read are notifications. rules are described in
// the given order; other rules are added without a description.
func SARIF(w io.Writer, r *analyzer.Report, rules []Rule, lines Lines) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Automation.ID = "compat/"
	d := &run.Tool.Driver
	d.Name, d.Version, d.URI, d.Rules = "compat", r.Tool.Version, homeURL, []sarifRule{}
	index := map[string]int{}
	for _, x := range rules {
		index[x.ID] = len(d.Rules)
		d.Rules = append(
			d.Rules,
			sarifRule{
				ID:      x.ID,
				Name:    pascal(x.ID),
				Short:   text(x.Title),
				Full:    text(cmp.Or(firstParagraph(x.Help), x.Title)),
				Help:    &sarifText{Text: x.Help, Markdown: x.Help},
				HelpURI: cmp.Or(x.URL, ruleURL+x.ID+".md"),
				Default: &sarifLevel{level(x.Severity)},
			},
		)
	}
	rule := func(id string) int {
		i, ok := index[id]
		if !ok {
			i = len(d.Rules)
			index[id] = i
			d.Rules = append(d.Rules, sarifRule{
				ID: id, Name: pascal(id), Short: text(id), Full: text(id),
			})
		}
		return i
	}
	for i := range r.Causes {
		c := &r.Causes[i]
		id := r.Findings[c.Findings[0]].Rule
		res := causeResult(r, i, id, rule(id), lines.edits(r, i))
		if file, line, ok := lines.place(r, i); ok {
			at := sourceLocation(file, line)
			if r.Environment { // its packages are no files that could be related
				for _, l := range res.Locations {
					at.Logical = append(at.Logical, l.Logical...)
				}
				res.Locations = nil
			}
			res.Related, res.Locations = res.Locations, []sarifLocation{at}
		}
		run.Results = append(run.Results, res)
	}
	for _, f := range notes(r, maxResults-len(run.Results)) {
		run.Results = append(run.Results, findingResult(f, rule(f.Rule)))
	}
	for i := range r.Accepted[:min(len(r.Accepted), maxResults-len(run.Results))] {
		a := &r.Accepted[i]
		run.Results = append(run.Results, acceptedResult(a, rule(a.Finding.Rule)))
	}
	inv := sarifInvocation{Successful: r.Verdict != analyzer.Unchecked, Notes: []sarifNote{}}
	for _, u := range r.Unread {
		inv.Notes = append(
			inv.Notes,
			sarifNote{
				Level:   "error",
				Message: text("could not check " + mdsafe.Visible(u.Path) + ": " + mdsafe.Visible(u.Reason)),
			},
		)
	}
	for _, n := range r.Notes {
		inv.Notes = append(inv.Notes, sarifNote{Level: "note", Message: text(mdsafe.Visible(n))})
	}
	run.Invocations = []sarifInvocation{inv}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(
		sarifLog{
			Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
			Version: "2.1.0",
			Runs:    []sarifRun{run},
		},
	)
}

// Addresses of the project and of the documentation of rules.
const (
	homeURL = "https://github.com/compat-app/compat"
	ruleURL = homeURL + "/blob/main/docs/rules/"
)

// pascal returns the ID of a rule as the name that SARIF recommends: "SymbolVersionTooNew".
func pascal(id string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(id, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// firstParagraph returns the first paragraph of the text of a rule on one line; "" without a text.
func firstParagraph(help string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(help), "\n\n")
	return mdsafe.Cut(strings.Join(strings.Fields(first), " "), maxDescription)
}

// causeResult returns the result for a cause, given by its index: title, action, fixes, and a
// location for each object.
func causeResult(r *analyzer.Report, i int, id string, rule int,
	edits []causetext.Edit) sarifResult {
	c := &r.Causes[i]
	res := sarifResult{
		RuleID:       id,
		RuleIndex:    rule,
		Level:        level(c.Severity),
		Message:      *text(mdsafe.Visible(c.Title) + "\n" + advice(r, i, edits)),
		Fingerprints: map[string]string{"compatCause/v1": fingerprint(c.ID)},
		Baseline:     "unchanged",
		Properties: map[string]any{
			"cause": c.ID, "actor": c.Actor, "findings": len(c.Findings), "rules": c.Rules,
		},
	}
	if c.New {
		res.Baseline = "new"
	}
	type place struct{ artifact, object string }
	seen := map[place]bool{}
	for _, i := range c.Findings {
		f := &r.Findings[i]
		at := place{f.Artifact, f.Object}
		if seen[at] || len(res.Locations) == maxLocations {
			continue
		}
		seen[at] = true
		res.Locations = append(res.Locations, location(f))
	}
	return res
}

// notes returns the findings that are notes, at most a number of them. They have no cause.
func notes(r *analyzer.Report, most int) []*analyzer.Finding {
	var out []*analyzer.Finding
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Severity == analyzer.Note && len(out) < most {
			out = append(out, f)
		}
	}
	return out
}

// findingResult returns the result for a single finding.
func findingResult(f *analyzer.Finding, rule int) sarifResult {
	res := sarifResult{
		RuleID:    f.Rule,
		RuleIndex: rule,
		Level:     level(f.Severity),
		Message:   *text(mdsafe.Visible(f.Message)),
		Locations: []sarifLocation{location(f)},
		Fingerprints: map[string]string{"compatIdentity/v1": fingerprint(
			f.Identity() + "\x00" + unversioned(f.Artifact))},
		Baseline: "unchanged",
	}
	if f.New {
		res.Baseline = "new"
	}
	return res
}

func acceptedResult(a *analyzer.Accepted, rule int) sarifResult {
	res := findingResult(&a.Finding, rule)
	res.Baseline = "unchanged"
	res.Suppressions = []sarifSuppression{
		{Kind: "external", Justification: mdsafe.Visible(a.Because)},
	}
	return res
}

func fingerprint(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func location(f *analyzer.Finding) (loc sarifLocation) {
	loc.Physical.Artifact.URI = uri(f.Artifact)
	loc.Physical.Region.Start = 1 // a binary has no lines, but code scanning requires one
	if f.Object != "" {
		loc.Logical = []sarifLogical{
			{Name: mdsafe.Visible(path.Base(f.Object)), Full: mdsafe.Visible(f.Object), Kind: "module"},
		}
	}
	return loc
}

// sourceLocation is a line of a file in the working directory.
func sourceLocation(file string, line int) (loc sarifLocation) {
	loc.Physical.Artifact.URI = uri(file)
	loc.Physical.Region.Start = line
	return loc
}

func level(s analyzer.Severity) string {
	switch s {
	case analyzer.Error:
		return "error"
	case analyzer.Warning:
		return "warning"
	case analyzer.Off:
		return "none"
	}
	return "note"
}

// uri returns a path as a URI reference: relative to the working directory, which is the root of
// the repository for code scanning and the folder that is open in an editor, or file:// for an
// absolute path, also one of Windows.
func uri(name string) string {
	name = strings.ToValidUTF8(name, "\ufffd")
	if drive.MatchString(name) {
		name = "/" + strings.ReplaceAll(name, `\`, "/")
	}
	u := url.URL{Path: name}
	if strings.HasPrefix(name, "/") {
		u.Scheme = "file"
	}
	return u.String()
}

// drive matches an absolute path of Windows.
var drive = lazyregexp.New(`^[A-Za-z]:[/\\]`)

func text(s string) *sarifText { return &sarifText{Text: s} }

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver struct {
			Name    string      `json:"name"`
			Version string      `json:"version,omitempty"`
			URI     string      `json:"informationUri"`
			Rules   []sarifRule `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	Automation struct {
		ID string `json:"id"`
	} `json:"automationDetails"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
}

type sarifRule struct {
	ID      string      `json:"id"`
	Name    string      `json:"name"`
	Full    *sarifText  `json:"fullDescription"`
	Short   *sarifText  `json:"shortDescription"`
	Help    *sarifText  `json:"help,omitempty"`
	HelpURI string      `json:"helpUri,omitempty"`
	Default *sarifLevel `json:"defaultConfiguration,omitempty"`
}

type sarifLevel struct {
	Level string `json:"level"`
}

type sarifText struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type sarifInvocation struct {
	Successful bool        `json:"executionSuccessful"`
	Notes      []sarifNote `json:"toolExecutionNotifications"`
}

type sarifNote struct {
	Level   string     `json:"level"`
	Message *sarifText `json:"message"`
}

type sarifResult struct {
	RuleID       string             `json:"ruleId"`
	RuleIndex    int                `json:"ruleIndex"`
	Level        string             `json:"level"`
	Message      sarifText          `json:"message"`
	Locations    []sarifLocation    `json:"locations"`
	Related      []sarifLocation    `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string  `json:"partialFingerprints"`
	Baseline     string             `json:"baselineState"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	Properties   map[string]any     `json:"properties,omitempty"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			Start int `json:"startLine"`
		} `json:"region"`
	} `json:"physicalLocation"`
	Logical []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifLogical struct {
	Name string `json:"name"`
	Full string `json:"fullyQualifiedName"`
	Kind string `json:"kind"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification"`
}
