// Package report writes an analyzer.Report as text for a terminal, JSON, SARIF, Markdown or an
// HTML page.
//
// The output depends only on the report. Names in a report are untrusted: control characters are
// made visible, Markdown has names in code spans, and HTML is built from escaped nodes. Its only
// script is copy.js, which the Content-Security-Policy allows by its hash.
//
//	report.Text(os.Stdout, r, report.TextOptions{})
package report
