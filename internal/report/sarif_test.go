package report

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
)

// A viewer opens what a location names: a path in its folder, or an absolute one with a scheme.
func TestURI(t *testing.T) {
	for path, want := range map[string]string{
		"dist/a b.whl":      "dist/a%20b.whl",
		"pyproject.toml":    "pyproject.toml",
		"a:b/c.so":          "./a:b/c.so", // else "a" is a scheme
		"/src/a#1.whl":      "file:///src/a%231.whl",
		"C:/src/a.whl":      "file:///C:/src/a.whl",
		`C:\src\dist\a.whl`: "file:///C:/src/dist/a.whl",
	} {
		got := uri(path)
		if got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
		if u, err := url.Parse(got); err != nil || u.Scheme != "" && u.Scheme != "file" {
			t.Errorf("%s: %s is no reference to a file: %v", path, got, err)
		}
	}
}

// What code scanning and viewers demand of a rule and of a location beyond the schema.
func TestSARIFForViewers(t *testing.T) {
	r := sample()
	var b bytes.Buffer
	rules := []Rule{{ID: "symbol-version-too-new", Title: "a title", Severity: analyzer.Error,
		Help: "The first\nparagraph.\n\nThe second."}}
	if err := SARIF(&b, r, rules, nil); err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	d := log.Runs[0].Tool.Driver
	if d.URI == "" || d.Rules[0].Full.Text != "The first paragraph." ||
		d.Rules[0].Name != "SymbolVersionTooNew" {
		t.Errorf("driver %+v, rule %+v", d, d.Rules[0])
	}
	for _, x := range d.Rules {
		if x.Name == "" || strings.Contains(x.Name, "-") || x.Full == nil || x.Full.Text == "" {
			t.Errorf("rule %+v", x)
		}
	}
	for _, x := range log.Runs[0].Results {
		for _, l := range append(x.Locations, x.Related...) {
			if l.Physical.Artifact.URI == "" || l.Physical.Region.Start < 1 {
				t.Errorf("%s: location %+v", x.RuleID, l)
			}
			for _, of := range l.Logical {
				if of.Name == "" || !strings.HasSuffix(of.Full, of.Name) {
					t.Errorf("%s: %+v", x.RuleID, of)
				}
			}
		}
	}
	// The fixes of a cause are alternatives.
	if text := log.Runs[0].Results[0].Message.Text; strings.Count(text, "\nFix (") > 1 {
		t.Error(text)
	}
}
