// Package comment renders an analyzer.Report for GitHub as a Check: conclusion, title, Markdown,
// annotations, review comments and summary comment. It is pure; package comment/post posts a
// Check, and a dry run stops before that.
//
//	check := comment.Render(comment.Input{Report: report, Files: files, BaseName: "main"})
//
// Names in a report are untrusted: they are shown in code spans (internal/mdsafe), never as
// Markdown. Text beyond GitHub's limits (limits.go) is counted and linked, and constructs are
// never truncated in the middle.
package comment
