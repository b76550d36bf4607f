package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// gitlabIssue is an entry of a code quality report (docs.gitlab.com, "Code Quality", section
// "Code Quality report format").
type gitlabIssue struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	Fingerprint string `json:"fingerprint"`
	Severity    string `json:"severity"`
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

// GitLab writes the report for GitLab's code quality widget: an issue for each cause, which GitLab
// itself compares with the target branch, one for each note, and one for each file that could not
// be read. A cause without a source line has an issue for each of its artifacts. Fingerprints are
// unique, and do not depend on the versions of wheels.
func GitLab(w io.Writer, r *analyzer.Report, lines Lines) error {
	issues := []gitlabIssue{}
	used := map[string]int{} // two versions of a wheel have the same id
	add := func(check, id, severity, description, file string, line int) {
		if used[id]++; used[id] > 1 {
			id = fmt.Sprint(id, "\x00", used[id])
		}
		issue := gitlabIssue{
			Description: description,
			CheckName:   check,
			Fingerprint: fingerprint(id),
			Severity:    severity,
		}
		issue.Location.Path, issue.Location.Lines.Begin = file, line
		issues = append(issues, issue)
	}
	for i := range r.Causes {
		c := &r.Causes[i]
		severity := "info"
		switch c.Severity {
		case analyzer.Error:
			severity = "critical"
		case analyzer.Warning:
			severity = "minor"
		}
		rule := r.Findings[c.Findings[0]].Rule
		description := mdsafe.Visible(c.Title) + ". " + mdsafe.Visible(c.Action)
		if file, line, source := lines.place(r, i); source {
			add(rule, c.ID, severity, description, mdsafe.Visible(file), line)
			continue
		}
		for _, p := range r.ArtifactsOf(c) {
			add(rule, c.ID+"\x00"+unversioned(p), severity, description, mdsafe.Visible(p), 1)
		}
	}
	for _, f := range notes(r, maxResults) {
		add(f.Rule, f.Identity()+"\x00"+unversioned(f.Artifact), "info",
			mdsafe.Visible(f.Message), mdsafe.Visible(f.Artifact), 1)
	}
	for _, u := range r.Unread {
		add("unread", "unread\x00"+u.Path+"\x00"+u.Reason, "critical",
			"Could not be checked: "+mdsafe.Visible(u.Reason), mdsafe.Visible(u.Path), 1)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(issues)
}
