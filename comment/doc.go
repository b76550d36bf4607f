// Package comment turns an analyzer.Report into what GitHub shows, and posts it.
//
// Two halves. The pure one plans: Render makes a Check (conclusion, title, Markdown, annotations,
// review comments, the summary comment) out of a report, the source files of the head and the pull
// request's diff; a dry run stops there. Poster performs: it puts a Check on a commit and its words
// on a pull request, so that doing it again changes nothing.
//
//	check := comment.Render(comment.Input{Report: report, Files: files, Diff: comment.ParseDiff(changed), BaseName: "main"})
//	_, err := poster.Conclude(ctx, sha, run, key, url, check)
//	err = poster.Sticky(ctx, number, check.Sticky, check.Create)
//
// Everything in a report comes from an artifact, and an artifact from whoever opened the pull
// request: names are shown in code spans (internal/mdsafe), never as Markdown. What does not fit
// GitHub's limits (limits.go) is counted and linked, never cut in the middle of a construct.
package comment
