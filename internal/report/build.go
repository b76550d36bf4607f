package report

import (
	"net/url"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// Build is what the page of a failed build shows of its logs.
type Build struct {
	Failures []Failure `json:"failures,omitempty"`
	Notes    []Link    `json:"notes,omitempty"` // about failed jobs without such an error
}

// Failure is a cause that was read from the log of a job.
type Failure struct {
	Cause     analyzer.Cause `json:"cause"` // without findings
	Job       string         `json:"job"`
	MoreJobs  int            `json:"more_jobs,omitempty"` // other jobs with the same error
	Lines     []Link         `json:"lines"`               // of the log
	MoreLines int            `json:"more_lines,omitempty"`
	// Analysis is a sentence about what the artifacts show of the error; "" if there were none.
	Analysis string `json:"analysis,omitempty"`
}

// Link is a text with an address. Addresses other than http and https are not shown.
type Link struct {
	Text string `json:"text"`
	URL  string `json:"url,omitempty"`
	More string `json:"more,omitempty"` // text after the link
}

// failedBuild returns an article for each failure, and the notes; nil if the build has none.
func failedBuild(b *Build) g.Node {
	content := g.Group{}
	for i := range b.Failures {
		x := &b.Failures[i]
		c := &x.Cause
		body := []g.Node{h.P(whole(c.Action)), source(x)}
		one := &analyzer.Report{Causes: []analyzer.Cause{*c}}
		body = append(body, fixes(one, 0, causetext.StepsOf(one, nil, true))...)
		body = append(body, folded(evidence(c, "Evidence of "+c.ID), true, "Details"))
		content = append(content, article(c, string(c.Severity), c.Title, false, body...))
	}
	if list := listed(h.Ul, b.Notes, link); list != nil {
		content = append(content, list)
	}
	if len(content) == 0 {
		return nil
	}
	return section("The failed build", content...)
}

// source returns where a failure is in the log, and what the artifacts show of it.
func source(x *Failure) g.Node {
	out := g.Group{g.Text("In the log of "), code(x.Job)}
	if x.MoreJobs > 0 {
		out = append(out, g.Text(" and "+analyzer.Count(x.MoreJobs, "more job")))
	}
	for i, l := range x.Lines {
		between := ", "
		if i == 0 {
			between = ": "
		}
		out = append(out, g.Text(between), link(l))
	}
	if x.MoreLines > 0 {
		out = append(out, g.Text(" and "+analyzer.Count(x.MoreLines, "more line")))
	}
	if x.Analysis == "" {
		return h.P(out)
	}
	return g.Group{h.P(out), g.Text("\n"), h.P(whole(x.Analysis))}
}

// link returns a link, or only its text if the address is not one of the web.
func link(l Link) g.Node {
	out := g.Group{linked(whole(l.Text), l.URL)}
	if l.More != "" {
		out = append(out, g.Text(": "), whole(l.More))
	}
	return out
}

// linked returns a node as a link, or only the node if the address is not one of the web.
func linked(text g.Node, address string) g.Node {
	if u, err := url.Parse(address); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
		return h.A(h.Href(u.String()), text)
	}
	return text
}
