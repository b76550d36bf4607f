package report

import (
	"cmp"
	"path"
	"slices"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
)

// View is what Page shows of a report. It is prepared once, so that the page of a report with
// 100,000 findings does not need them.
type View struct {
	Report analyzer.Report `json:"report"` // only the first Findings
	// Findings is the number of findings of the report, and Alike are the first groups of them.
	Findings int     `json:"findings"`
	Alike    []Alike `json:"alike,omitempty"`
	Name     string  `json:"name,omitempty"` // of what was checked; "" = unknown
	// Summary is shown below the title instead of that of the report; "" = that one.
	Summary string `json:"summary,omitempty"`
	Matrix  Matrix `json:"matrix"`
	// The result of each of several artifacts; nil for one.
	Rows   []causetext.Row `json:"rows,omitempty"`
	Why    []Why           `json:"why"` // for each cause of the report
	Header Header          `json:"header,omitzero"`
	// Problem is the Markdown text of a check that has no report. Then the first note of the report
	// is the title. "" = there is a report.
	Problem string `json:"problem,omitempty"`
	Build   Build  `json:"build,omitzero"` // with Problem: what failed in the build
}

// Header is what a report is about. Empty fields are not shown, and neither are links that do not
// start with https or http.
type Header struct {
	Repository    string    `json:"repository,omitempty"` // OWNER/NAME
	RepositoryURL string    `json:"repository_url,omitempty"`
	Subject       string    `json:"subject,omitempty"` // "#12", "release v1.2"
	SubjectURL    string    `json:"subject_url,omitempty"`
	Commit        string    `json:"commit,omitempty"` // SHA
	CommitURL     string    `json:"commit_url,omitempty"`
	Base          string    `json:"base,omitempty"` // branch that it was compared with
	At            time.Time `json:"at,omitzero"`
	// How long the analysis took; 0 = unknown.
	Took time.Duration `json:"took,omitempty"`
}

// Why is the example of a cause: the way from a file to the library in which it does not find
// something. The zero value means that the cause has no findings.
type Why struct {
	Chain   []string `json:"chain,omitempty"`
	Symbol  string   `json:"symbol,omitempty"` // demangled if it can be
	Version string   `json:"version,omitempty"`
	// Lacks is set if the last file of Chain should have the symbol. Otherwise none of the files
	// that the first one loads has it.
	Lacks   bool   `json:"lacks,omitempty"`
	Message string `json:"message,omitempty"` // of the finding
	In      string `json:"in,omitempty"`      // of several artifacts, those with the cause
}

// Limits of a page.
const (
	shownOnPage    = 200 // items of a list
	shownSymbols   = 20  // of findings that are alike
	shownChain     = 12  // files of a way
	maxMessage     = 900 // characters of a finding's message
	openCauses     = 3   // causes that are not folded
	manyCauses     = 10  // only the first of more causes is not folded
	openNotes      = 3   // notes that are not folded
	shownContents  = 3   // causes that the header lists
	openCosts      = 3   // costs of a fix that are not folded
	shownEvidence  = 40  // rows of evidence
	shownPlatforms = 8   // names in the header
)

// NewView prepares the page of a report, which is not changed.
func NewView(r *analyzer.Report) *View {
	v := &View{Report: *r, Findings: len(r.Findings), Matrix: matrixOf(r), Rows: causetext.Rows(r),
		Alike: alikeOf(r.Findings, shownOnPage, shownSymbols), Name: causetext.About(r)}
	v.Report.Findings = slices.Clone(r.Findings[:min(len(r.Findings), shownOnPage)])
	for i := range r.Causes {
		v.Why = append(v.Why, whyOf(r, &r.Causes[i]))
	}
	return v
}

// whyOf returns the Why of the first finding that the first row of the evidence is about, or of the
// first finding with a way or a symbol.
func whyOf(r *analyzer.Report, c *analyzer.Cause) (w Why) {
	var best *analyzer.Finding
	points := 0
	for _, f := range findingsOf(r, c) {
		n := 1
		if len(f.Chain) > 1 || f.Symbol != "" {
			n = 2
			if e := c.Evidence; len(e) > 0 && e[0].Version == f.Version && e[0].Library == f.Library {
				n = 3
			}
		}
		if n > points {
			best, points = f, n
		}
	}
	if best == nil {
		return w
	}
	w = Why{Chain: best.Chain[:min(len(best.Chain), shownChain)], Version: best.Version,
		Symbol: cmp.Or(best.Demangled, best.Symbol), Message: best.Message}
	w.Lacks = len(best.Chain) > 1 && best.Symbol != ""
	if !r.Environment && len(r.Artifacts) > 1 {
		w.In = causetext.In(r, c, func(p string) string { return path.Base(p) })
	}
	return w
}

// findingsOf returns the findings of a cause.
func findingsOf(r *analyzer.Report, c *analyzer.Cause) []*analyzer.Finding {
	var out []*analyzer.Finding
	for _, n := range c.Findings {
		if n >= 0 && n < len(r.Findings) { // a stored report may be damaged
			out = append(out, &r.Findings[n])
		}
	}
	return out
}
