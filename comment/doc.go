// Package comment turns an analyzer.Report into what GitHub shows: a Check with its conclusion,
// title, Markdown, annotations, review comments and the summary comment. It is pure and writes
// nothing; package comment/post writes a Check to GitHub, and a dry run stops before that.
//
//	check := comment.Render(comment.Input{Report: report, Files: files, BaseName: "main"})
//
// Everything in a report comes from an artifact, and an artifact from whoever opened the pull
// request: names are shown in code spans (internal/mdsafe), never as Markdown. What exceeds
// GitHub's limits (limits.go) is counted and linked, never cut in the middle of a construct.
package comment
