// Package report writes an analyzer.Report as text for a terminal, JSON, SARIF, Markdown or an
// HTML page.
//
// The output depends only on the report. Names in a report are untrusted: control characters are
// made visible, Markdown has names in code spans, and HTML is built from escaped nodes and
// contains no script.
//
//	report.Text(os.Stdout, r, report.TextOptions{})
package report
