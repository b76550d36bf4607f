// Package report writes an analyzer.Report for people and machines: text for a terminal, JSON,
// SARIF, Markdown, and a page of HTML.
//
// A writer only shows: it judges nothing, opens nothing, and the same report gives the same bytes.
// Names in a report come from artifacts, so each writer makes them harmless for its reader: control
// characters are visible in a terminal, Markdown has them in code spans, HTML is built from escaped
// nodes and needs no script.
//
//	report.Text(os.Stdout, r, report.TextOptions{})
package report
