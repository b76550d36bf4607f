package report

import (
	"slices"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
)

// View is what Page shows of a report. It is prepared once, so that the page of a report with
// 100,000 findings does not need them.
type View struct {
	Report analyzer.Report `json:"report"` // only the first Findings
	// Findings is the number of findings of the report.
	Findings int    `json:"findings"`
	Matrix   Matrix `json:"matrix"`
	// The result of each of several artifacts; nil for one.
	Rows   []causetext.Row `json:"rows,omitempty"`
	Why    []Why           `json:"why"` // for each cause of the report
	Graph  Graph           `json:"graph"`
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

// Why is the way from a file to the library in which a cause does not find something. The zero
// value means that the findings of the cause have none.
type Why struct {
	Chain   []string `json:"chain,omitempty"`
	Symbol  string   `json:"symbol,omitempty"` // demangled if it can be
	Version string   `json:"version,omitempty"`
}

// shownOnPage limits each list of a page.
const shownOnPage = 200

// NewView prepares the page of a report, which is not changed.
func NewView(r *analyzer.Report) *View {
	v := &View{Report: *r, Findings: len(r.Findings), Matrix: matrixOf(r), Graph: graphOf(r),
		Rows: causetext.Rows(r)}
	v.Report.Findings = slices.Clone(r.Findings[:min(len(r.Findings), shownOnPage)])
	for i := range r.Causes {
		v.Why = append(v.Why, whyOf(r, &r.Causes[i]))
	}
	return v
}

// whyOf returns the Why of the first finding that has one.
func whyOf(r *analyzer.Report, c *analyzer.Cause) Why {
	for _, f := range findingsOf(r, c) {
		if len(f.Chain) < 2 {
			continue
		}
		w := Why{Chain: f.Chain[:min(len(f.Chain), 20)], Symbol: f.Symbol, Version: f.Version}
		if f.Demangled != "" {
			w.Symbol = f.Demangled
		}
		return w
	}
	return Why{}
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
