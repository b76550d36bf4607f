package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Rule is what SARIF says of a rule.
type Rule struct {
	ID       string
	Title    string            // half a sentence
	Help     string            // Markdown
	Severity analyzer.Severity // the usual one
}

// maxResults is how many results GitHub takes in a run (docs.github.com, "SARIF support for code
// scanning", limits). The worst come first in a report, so what is left out is the least.
const maxResults = 25000

// SARIF writes the report as SARIF 2.1.0 with one run: a result for each finding, whose fingerprint
// is the finding's identity, so that code scanning follows it over versions of the artifact.
// Accepted findings are suppressed results; what could not be read is a notification. rules are
// described in the order given; a finding of another rule adds a bare one.
func SARIF(w io.Writer, r *analyzer.Report, rules []Rule) error {
	run := sarifRun{Results: []sarifResult{}}
	d := &run.Tool.Driver
	d.Name, d.Version, d.Rules = "compat", r.Tool.Version, []sarifRule{}
	index := map[string]int{}
	for _, x := range rules {
		index[x.ID] = len(d.Rules)
		d.Rules = append(
			d.Rules,
			sarifRule{
				ID:      x.ID,
				Short:   text(x.Title),
				Help:    &sarifText{Text: x.Help, Markdown: x.Help},
				Default: &sarifLevel{level(x.Severity)},
			},
		)
	}
	add := func(f *analyzer.Finding, why *analyzer.Accepted) {
		if len(run.Results) == maxResults {
			return
		}
		i, ok := index[f.Rule]
		if !ok {
			i = len(d.Rules)
			index[f.Rule] = i
			d.Rules = append(d.Rules, sarifRule{ID: f.Rule, Short: text(f.Rule)})
		}
		run.Results = append(run.Results, result(f, i, why))
	}
	for i := range r.Findings {
		add(&r.Findings[i], nil)
	}
	for i := range r.Accepted {
		add(&r.Accepted[i].Finding, &r.Accepted[i])
	}
	inv := sarifInvocation{Successful: r.Verdict != analyzer.Unchecked, Notes: []sarifNote{}}
	for _, u := range r.Unread {
		inv.Notes = append(
			inv.Notes,
			sarifNote{
				Level: "error",
				Message: text(
					"could not read " + mdsafe.Visible(u.Path) + ": " + mdsafe.Visible(u.Reason),
				),
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

func result(f *analyzer.Finding, rule int, why *analyzer.Accepted) sarifResult {
	sum := sha256.Sum256([]byte(f.Identity()))
	res := sarifResult{
		RuleID:    f.Rule,
		RuleIndex: rule,
		Level:     level(f.Severity),
		Message:   *text(mdsafe.Visible(f.Message)),
		Fingerprints: map[string]string{
			"compatIdentity/v1": hex.EncodeToString(sum[:]),
		},
		Baseline: "unchanged",
	}
	if f.New {
		res.Baseline = "new"
	}
	for _, x := range f.Fixes {
		t := x.Title
		if x.Command != "" {
			t += ": " + x.Command
		}
		res.Message.Text += "\nFix: " + mdsafe.Visible(t)
	}
	var loc sarifLocation
	loc.Physical.Artifact.URI = uri(f.Artifact)
	loc.Physical.Region.Start = 1 // a binary has no lines; code scanning wants one
	loc.Logical = []sarifLogical{
		{Name: mdsafe.Visible(subject(f)), Full: mdsafe.Visible(f.Object), Kind: "object"},
	}
	res.Locations = []sarifLocation{loc}
	res.Properties = map[string]any{}
	for k, v := range map[string]string{"object": f.Object, "symbol": f.Symbol, "version": f.Version, "library": f.Library, "target": f.Target} {
		if v != "" {
			res.Properties[k] = v
		}
	}
	if why != nil {
		res.Suppressions = []sarifSuppression{
			{Kind: "external", Justification: mdsafe.Visible(why.Because)},
		}
	}
	return res
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

// uri is a path as a URI reference: relative, or file:// for an absolute one.
func uri(path string) string {
	u := url.URL{Path: strings.ToValidUTF8(path, "\ufffd")}
	if strings.HasPrefix(path, "/") {
		u.Scheme = "file"
	}
	return u.String()
}

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
			Rules   []sarifRule `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
}

type sarifRule struct {
	ID      string      `json:"id"`
	Short   *sarifText  `json:"shortDescription"`
	Help    *sarifText  `json:"help,omitempty"`
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
	Logical []sarifLogical `json:"logicalLocations"`
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
