package report

import (
	"encoding/xml"
	"io"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

type junitSuites struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Suite    junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
	Out      string      `xml:"system-out,omitempty"` // the notes of the report
}

type junitCase struct {
	Name      string       `xml:"name,attr"`
	ClassName string       `xml:"classname,attr"`
	Skipped   *junitResult `xml:"skipped"`
	Failure   *junitResult `xml:"failure"`
	Error     *junitResult `xml:"error"`
	Out       string       `xml:"system-out,omitempty"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes the report as JUnit XML: a test case for each cause in each artifact, which fails if
// it is new and at or above a severity ("" is Error), one that passes for each artifact without
// causes, one with an error for each file that could not be read, and a skipped one for each that
// is not checked.
// The notes of the report are the output of the suite.
func JUnit(w io.Writer, r *analyzer.Report, failOn analyzer.Severity) error {
	if failOn == "" {
		failOn = analyzer.Error
	}
	s := junitSuite{Name: "compat"}
	hasCause := map[string]bool{}
	for i := range r.Causes {
		c := &r.Causes[i]
		x := junitCase{Name: mdsafe.Visible(c.Title)}
		fails := c.New && failOn != analyzer.Off && c.Severity.Rank() >= failOn.Rank()
		if fails {
			x.Failure = &junitResult{
				Message: mdsafe.Visible(c.Action),
				Type:    r.Findings[c.Findings[0]].Rule,
				Text:    advice(r, i, nil),
			}
		} else {
			x.Out = string(c.Severity) + ": " + advice(r, i, nil)
		}
		for _, artifact := range r.ArtifactsOf(c) {
			hasCause[artifact] = true
			x.ClassName = mdsafe.Visible(artifact)
			s.Cases = append(s.Cases, x)
			if fails {
				s.Failures++
			}
		}
	}
	for i := range r.Artifacts {
		a := &r.Artifacts[i]
		judged, ok := r.JudgedArtifact(a)
		if !ok || hasCause[a.Path] {
			continue
		}
		x := junitCase{
			Name: judged.Found(), ClassName: mdsafe.Visible(a.Path), Out: mdsafe.Visible(judged.Except()),
		}
		if ignored(r) != "" {
			x.Name = "nothing else is found"
		}
		s.Cases = append(s.Cases, x)
	}
	for _, u := range r.Unread {
		s.Cases = append(s.Cases, junitCase{
			Name: "could be read", ClassName: mdsafe.Visible(u.Path),
			Error: &junitResult{Message: mdsafe.Visible(u.Reason), Type: "unread"},
		})
		s.Errors++
	}
	for _, u := range r.Skipped {
		s.Cases = append(s.Cases, junitCase{
			Name: "is of a kind that is checked", ClassName: mdsafe.Visible(u.Path),
			Skipped: &junitResult{Message: mdsafe.Visible(u.Reason)},
		})
		s.Skipped++
	}
	for _, n := range r.Notes {
		s.Out += "note: " + mdsafe.Visible(n) + "\n"
	}
	s.Tests = len(s.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{
		Name: s.Name, Tests: s.Tests, Failures: s.Failures, Errors: s.Errors, Suite: s,
	}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
