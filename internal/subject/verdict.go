package subject

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/comment/post"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/mdsafe"
	"github.com/compat-app/compat/internal/report"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

// verdict is the verdict to post.
type verdict struct {
	run    post.Run // the open check run, if known
	ext    string   // external ID
	check  comment.Check
	report *analyzer.Report // nil = nothing could be checked
	page   string           // address of the report page; "" = none

	missing []comment.Missing // what a person may accept as missing
	breaks  []string          // OWNER/NAME of repositories that break, which a person may accept
	checked bool              // artifacts or pins were analyzed
	absent  bool              // they are needed, and not there

	// Without a report: the errors in the logs of failed jobs (nil = no job failed), and the check
	// without them.
	logs  *comment.Logs
	plain comment.Check
}

// verdict analyzes artifacts and posts the result.
func (r *round) verdict(ctx context.Context) (worker.Outcome, error) {
	c, s, st, set, ext := r.check, r.subject, r.state, r.set, r.external
	if st.Intent != ext {
		st.Intent, st.Report = ext, store.NewReportID()
		if err := c.save(ctx); err != nil {
			return worker.Done, err
		}
	}
	a := c.analysis()
	if s.release {
		a.base, a.tag, a.before = "", s.tag, s.before
	}
	j, err := a.analyze(ctx, r.found, set.Repository, r.accepted, s.compare)
	if bad := (*badOptions)(nil); errors.As(err, &bad) {
		problems := []config.Problem{{Line: 1, Message: bad.Error()}}
		return worker.Done, c.invalid(ctx, s, r.run, set, problems)
	}
	if err != nil {
		return worker.Done, err
	}
	var base contents
	if j.report != nil {
		if base, err = r.baseContents(ctx, a, j); err != nil {
			return worker.Done, err
		}
	}
	if s.current != nil {
		if ok, err := s.current(ctx, false); err != nil || !ok {
			return worker.Later(time.Second, "a newer commit was pushed during the check"), err
		}
	}
	advice := ""
	if s.advice != nil && j.report != nil {
		advice = s.advice(j.report)
	}
	if s.release { // because it is compared with another release
		j.base = ""
	}
	in := comment.Input{
		RulesURL: c.Store.RulesURL(),
		Advice:   advice,
		Report:   j.report,
		Problem:  j.problem,
		Logs:     j.logs,
		Partial:  j.partial,
		FailOn:   set.FailOn,
		BaseName: j.base,
		SHA:      s.sha,
		With:     set.Python.With,
		Release:  s.release,
		Converse: s.number != 0,
	}
	if in.Missing, in.AcceptedMissing, err = r.missing(ctx, base, j.contents); err != nil {
		return worker.Done, err
	}
	in.Unselected = r.unselected()
	v := verdict{run: r.run, ext: ext, report: j.report, missing: in.Missing,
		checked: j.report != nil}
	var others *comment.Impact
	if j.report != nil {
		if others, err = r.impacts(ctx, a, j.report); err != nil {
			return worker.Done, err
		}
		v.breaks = others.Breaks()
		if s.number != 0 {
			j.report.OfPullRequest()
		}
		j.report.Outcome = comment.Outcome(in)
		if others.Fails() && j.report.Outcome == analyzer.OutcomePass {
			j.report.Outcome = analyzer.OutcomeFail
		}
		whole := *j.report
		if r.pins != nil {
			whole.Merge(r.pins.Report)
			if store.Blocks(c.pins.Conclusion) {
				whole.Outcome = analyzer.OutcomeFail
			}
		}
		if v.page, err = c.keep(ctx, s, &whole, j.took); err != nil {
			return worker.Done, err
		}
		in.DetailsURL = v.page
		if anyNew(j.report) {
			if in.Files, in.Diff, err = c.sources(ctx, s.sha, s.number); err != nil {
				return worker.Done, err
			}
		}
	}
	v.check = comment.WithImpact(comment.Render(in), others)
	set.Speaks(&v.check)
	if v.report == nil && in.Logs != nil {
		v.logs, in.Logs = in.Logs, nil
		v.plain = comment.Render(in)
		set.Speaks(&v.plain)
	}
	c.attempt.Log.Info(
		"checked",
		"conclusion",
		v.check.Conclusion,
		"title",
		v.check.Title,
		"took",
		j.took.Round(time.Millisecond).String(),
	)
	passes := !store.Blocks(v.check.Conclusion) && (c.pins == nil || !store.Blocks(c.pins.Conclusion))
	if s.current != nil && passes {
		if ok, err := s.current(ctx, true); err != nil || !ok {
			return worker.Later(time.Second, "the head or the base has changed"), err
		}
	}
	return worker.Done, c.conclude(ctx, s, v)
}

// header returns what the report page of a subject shows about it.
func (c *check) header(s subject) report.Header {
	home := c.repo.URL
	h := report.Header{Repository: c.repo.Owner + "/" + c.repo.Name, RepositoryURL: home,
		Subject: s.name, Commit: s.sha, At: c.Store.Now()}
	if home == "" {
		return h
	}
	h.CommitURL = home + "/commit/" + s.sha
	switch {
	case s.number != 0:
		h.Subject = "pull request " + s.name
		h.SubjectURL = home + "/pull/" + strconv.Itoa(s.number)
	case s.release:
		h.SubjectURL = home + "/releases/tag/" + url.PathEscape(s.tag)
	}
	return h
}

// keep stores the report of the verdict, and returns the address of its page; "" = none.
func (c *check) keep(
	ctx context.Context,
	s subject,
	r *analyzer.Report,
	took time.Duration,
) (string, error) {
	st := c.state
	view := report.NewView(r)
	view.Header = c.header(s)
	view.Header.Base, view.Header.Took = s.base.Ref, took
	kept, err := c.Store.PutReport(ctx, st.Report, r, view)
	if err != nil || !kept {
		return "", err
	}
	c.kept = st.Report
	return c.Store.PageURL(st.Report), nil
}

func (c *check) analysis() *analysis {
	return &analysis{
		Service: c.Service,
		attempt: c.attempt,
		repo:    c.repo,
		also:    c.state.Also,
		head:    c.state.Head,
		base:    c.state.Base.Ref,
	}
}

func anyNew(r *analyzer.Report) bool {
	for i := range r.Findings {
		if r.Findings[i].New {
			return true
		}
	}
	return false
}

// conclude posts a verdict: the check run, and the comments in a pull request. Every step checks
// what exists, so all of it may be repeated.
func (c *check) conclude(ctx context.Context, s subject, v verdict) error {
	defer c.stage("post")()
	st := c.state
	if v.logs == nil {
		v.plain = v.check
	}
	if c.pins != nil {
		v.check, v.plain = comment.Combine(v.check, *c.pins), comment.Combine(v.plain, *c.pins)
	}
	pinsBlock := c.pins != nil && store.Blocks(c.pins.Conclusion)
	own := store.Standing{
		SHA:        s.sha,
		Name:       s.name,
		Base:       s.base.Ref,
		Conclusion: v.check.Conclusion,
		Title:      v.check.Title,
		Names:      v.check.Names,
		Fork:       s.fork,
		Checked:    v.checked || pinsBlock,
		Absent:     v.absent && !pinsBlock,
	}
	by, err := c.stricter(ctx, s.sha, own)
	if err != nil {
		return err
	}
	instead, err := c.checkedFor(ctx, s.sha, own)
	if err != nil {
		return err
	}
	if v.ext += overruled(by) + replaced(instead); by == nil {
		by = instead
	}
	if by != nil {
		v.check, v.plain = comment.Overruled(v.check, *by), comment.Overruled(v.plain, *by)
	}
	alone, err := c.alone(ctx, s)
	if err != nil {
		return err
	}
	if alone.Alone {
		v.run = alone
	}
	if v.report == nil {
		if v.page, err = c.publishProblem(ctx, s, v); err != nil {
			return err
		}
	}
	if st.Intent != v.ext || alone.ID != 0 {
		st.Intent = v.ext
		if err := c.save(ctx); err != nil {
			return err
		}
	}
	if err := c.post(ctx, s, v); err != nil {
		return err
	}
	if s.number != 0 && !v.check.Mute {
		if err := c.converse(ctx, s, v); err != nil {
			return err
		}
	}
	own.Page = v.page
	if own != c.own {
		if err := c.stand(ctx, own); err != nil {
			return err
		}
	}
	st.Concluded, st.Pending, st.Empty = v.ext, false, time.Time{}
	st.closed(s.sha)
	return c.save(ctx)
}

// postingTime is how long people may have read a check run when its posting has ended.
const postingTime = 2 * time.Second

// post posts the check run. Requests of people are about the verdict that they could read, so the
// store knows which one that was.
func (c *check) post(ctx context.Context, s subject, v verdict) error {
	last := store.Last{
		ID: c.kept, SHA: s.sha, External: v.ext, Base: s.base.Ref, Since: c.state.BaseSince,
		Patch: v.check.Patch,
	}
	for _, m := range v.missing {
		last.Missing = append(last.Missing, m.Name)
	}
	last.Breaks = v.breaks
	if err := c.Store.PutLast(ctx, c.attempt.Job.Key, last); err != nil {
		return err
	}
	start := c.now()
	if _, err := c.repo.Poster.Conclude(ctx, s.sha, v.run, v.ext, v.page, v.check); err != nil {
		return err
	}
	if last.At = c.now().Add(-postingTime).UTC(); last.At.Before(start) {
		last.At = start.UTC()
	}
	return c.Store.PutLast(ctx, c.attempt.Job.Key, last)
}

// alone returns the subject's open run for writing. Alone is false if another subject has the
// same commit, because the run may show its verdict.
func (c *check) alone(ctx context.Context, s subject) (post.Run, error) {
	run := c.state.take(s.sha)
	if !run.Alone {
		return run, nil
	}
	peers, err := c.peers(ctx, s.sha)
	run.Alone = len(peers) == 0
	return run, err
}

// publishProblem stores the reason why there is no report as a page, and returns its address; ""
// if there is no public address. The last report is not changed.
func (c *check) publishProblem(
	ctx context.Context,
	s subject,
	v verdict,
) (string, error) {
	if c.Config.PublicURL == nil {
		return "", nil
	}
	r := analyzer.NewReport(c.Version)
	r.Verdict, r.Outcome = analyzer.Unchecked, analyzer.OutcomeError
	r.Notes = []string{v.check.Title}
	id := store.NewReportID()
	view := report.NewView(r)
	view.Problem, view.Header, view.Build = v.plain.Summary, c.header(s), failedBuild(v.logs)
	kept, err := c.Store.PutReport(ctx, id, r, view)
	if err != nil || !kept {
		return "", err
	}
	return c.Store.PageURL(id), nil
}

// converse posts the review and the summary comment of a pull request. A locked or deleted
// conversation is not an error, because the check run contains everything.
func (c *check) converse(ctx context.Context, s subject, v verdict) error {
	st, writes := c.state, len(v.check.Review) > 0 || v.check.Create && v.check.Sticky != ""
	if st.Silent && !writes || v.check.Sticky == "" && v.report == nil {
		return nil
	}
	digest := v.conversation()
	if digest == st.Talk { // by an earlier head
		return nil
	}
	talk := c.repo.Poster.Conversation(s.number, st.Silent)
	if st.Silent { // save before the first text, so that it is not repeated after a crash
		st.Silent = false
		if err := c.save(ctx); err != nil {
			return err
		}
	}
	steps := []struct {
		what string
		do   func() error
	}{
		{"review", func() error { return talk.Review(ctx, s.sha, v.check.Review) }},
		{"resolve threads", func() error {
			var keep []string
			for _, c := range v.check.Review {
				keep = append(keep, c.Fingerprint)
			}
			return talk.Resolve(ctx, keep)
		}},
		{"comment", func() error { return talk.Sticky(ctx, v.check.Sticky, v.check.Create) }},
	}
	if v.report == nil {
		steps = steps[2:] // a problem resolves no threads
	}
	for _, step := range steps {
		err := step.do()
		if repository.Refused(err) {
			c.attempt.Log.Warn("the conversation is locked or gone", "step", step.what, "error", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	st.Silent, st.Talk = talk.Silent() && !writes, digest
	return nil
}

// conversation returns a digest of what a verdict writes to a conversation.
func (v verdict) conversation() string {
	parts := []string{
		v.check.Sticky,
		strconv.FormatBool(v.check.Create),
		strconv.FormatBool(v.report == nil),
	}
	for _, c := range v.check.Review {
		parts = append(parts, c.Fingerprint)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// Limits of what a page shows of logs.
const (
	maxFailures = 50
	maxLogLines = 12
	maxLogFixes = 3
)

// failedBuild returns the errors in logs as causes; nothing for nil.
func failedBuild(l *comment.Logs) (b report.Build) {
	if l == nil {
		return b
	}
	groups := l.Groups()
	for i, group := range groups[:min(len(groups), maxFailures)] {
		b.Failures = append(b.Failures, failure(fmt.Sprintf("failure-%d", i+1), group))
	}
	if n := len(groups) - maxFailures; n > 0 {
		b.Notes = append(b.Notes, report.Link{Text: fmt.Sprintf("and %d more failures in the logs", n)})
	}
	for _, n := range l.Notes() {
		if n.Job == "" {
			b.Notes = append(b.Notes, report.Link{Text: n.Text})
			continue
		}
		b.Notes = append(b.Notes, report.Link{Text: n.Job, URL: n.URL, More: n.Text})
	}
	if len(l.Lines) == 0 {
		b.Notes = append(b.Notes, report.Link{Text: "The log contains no linker, loader or runtime " +
			"error that compat recognizes."})
	}
	return b
}

// failure returns a group of errors as a cause.
func failure(id string, group []comment.LogLine) report.Failure {
	first := group[0]
	f := report.Failure{
		Cause: analyzer.Cause{
			ID: id, Title: mdsafe.Cut(first.Message, 300), Severity: analyzer.Error, New: true,
			Action: "The text does not show where to fix it.",
		},
		Job: first.Job, MoreJobs: first.Also, MoreLines: max(0, len(group)-maxLogLines),
	}
	if first.Cause != buildlog.CauseUnknown {
		f.Cause.Action = "To be fixed in the " + first.Cause + "."
	}
	needs := analyzer.Evidence{Library: first.Library, Objects: []string{}}
	if first.Object != "" {
		needs.Objects = append(needs.Objects, first.Object)
	}
	for i, l := range group {
		if i < maxLogLines {
			f.Lines = append(f.Lines, report.Link{Text: fmt.Sprintf("line %d", l.Line), URL: l.URL})
		}
		switch {
		case l.Symbol == "":
			needs.Version = l.Version
		case len(needs.Symbols) < maxLogLines:
			needs.Symbols = append(needs.Symbols,
				mdsafe.Cut(analyzer.Versioned(l.Symbol, l.Version), 300))
		default:
			needs.MoreSymbols++
		}
	}
	if len(needs.Symbols) > 0 || needs.Library+needs.Version != "" {
		f.Cause.Evidence = []analyzer.Evidence{needs}
	}
	if a := first.Analysis; a != nil {
		f.Analysis = "Compared with the artifacts: " + a.Verdict + ". " + mdsafe.Cut(a.Why, 600)
	}
	for _, x := range first.Fixes[:min(len(first.Fixes), maxLogFixes)] {
		x.Title = fix.Text(mdsafe.Cut(x.Title.String(), 400))
		f.Cause.Fixes = append(f.Cause.Fixes, analyzer.CauseFix{Fix: x})
	}
	return f
}
