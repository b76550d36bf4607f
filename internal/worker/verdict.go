package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/comment/post"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
)

// verdict is what will be posted.
type verdict struct {
	run    post.Run // the open check run, where one is known
	ext    string   // external id
	check  comment.Check
	report *analyzer.Report // nil: nothing could be judged
	page   string           // address of the report page; "" none
}

// verdict judges what was found and posts it.
func (t *task) verdict(
	ctx context.Context,
	s subject,
	run post.Run,
	ext string,
	found *artifact.Found,
	set configuration,
	accepted []accepted,
	gaps []comment.Gap,
) (outcome, error) {
	st := t.state
	if st.Intent != ext {
		st.Intent, st.Report = ext, newReportID()
		if err := t.save(ctx); err != nil {
			return done, err
		}
	}
	j, err := t.analyze(ctx, found, set.repository, accepted, s.compare)
	if bad := (*badOptions)(nil); errors.As(err, &bad) {
		return done, t.invalid(ctx, s, run, set, []config.Problem{{Line: 1, Message: bad.Error()}})
	}
	if err != nil {
		return done, err
	}
	if s.current != nil {
		if ok, err := s.current(ctx); err != nil || !ok {
			return later(time.Second, "a newer head has come while this one was judged"), err
		}
	}
	advice := ""
	if s.advice != nil && j.report != nil {
		advice = s.advice(j.report)
	}
	if s.release { // which is compared with another release
		j.base = ""
	}
	in := comment.Input{
		Advice:   advice,
		Report:   j.report,
		Problem:  j.problem,
		Logs:     j.logs,
		Partial:  j.partial,
		Gaps:     gaps,
		FailOn:   set.repository.FailOn,
		BaseName: j.base,
		SHA:      s.sha,
		Release:  s.release,
		Converse: s.number != 0,
	}
	v := verdict{run: run, ext: ext, report: j.report}
	if j.report != nil {
		if v.page, err = t.publish(ctx, st.Report, j.report); err != nil {
			return done, err
		}
		in.DetailsURL = v.page
		if anyNew(j.report) {
			if in.Files, in.Diff, err = t.sources(ctx, s.sha, s.number); err != nil {
				return done, err
			}
		}
	}
	v.check = comment.Render(in)
	set.speaks(&v.check)
	t.Log.Info(
		"judged",
		"conclusion",
		v.check.Conclusion,
		"title",
		v.check.Title,
		"took",
		j.took.Round(time.Millisecond).String(),
	)
	return done, t.conclude(ctx, s, v)
}

func anyNew(r *analyzer.Report) bool {
	for i := range r.Findings {
		if r.Findings[i].New {
			return true
		}
	}
	return false
}

// conclude posts a verdict: the check run, and in a pull request the conversation. Every step looks
// first, so all of it may be repeated.
func (t *task) conclude(ctx context.Context, s subject, v verdict) error {
	defer t.stage("post")()
	st := t.state
	own := v.check
	by, err := t.overruling(ctx, s, own.Conclusion)
	if err != nil {
		return err
	}
	if by != nil {
		v.check, v.ext = comment.Overruled(v.check, *by), v.ext+overruled(by)
	}
	alone, err := t.alone(ctx, s)
	if err != nil {
		return err
	}
	if alone.Alone {
		v.run = alone
	}
	if v.report == nil {
		if v.page, err = t.publishProblem(ctx, v.check); err != nil {
			return err
		}
	}
	if st.Intent != v.ext || alone.ID != 0 {
		st.Intent = v.ext
		if err := t.save(ctx); err != nil {
			return err
		}
	}
	if _, err := t.poster.Conclude(ctx, s.sha, v.run, v.ext, v.page, v.check); err != nil {
		return err
	}
	if s.number != 0 && !v.check.Mute {
		if err := t.converse(ctx, s, v); err != nil {
			return err
		}
	}
	now := standing{
		SHA:        s.sha,
		Name:       s.name,
		Conclusion: own.Conclusion,
		Title:      own.Title,
		Page:       v.page,
	}
	if now != t.own {
		if err := t.stand(ctx, now); err != nil {
			return err
		}
	}
	st.Said, st.Owed, st.Empty = v.ext, false, time.Time{}
	st.closed(s.sha)
	return t.save(ctx)
}

// alone takes the subject's open run to write on it. It is alone unless another subject has the
// same commit: its verdict may stand there.
func (t *task) alone(ctx context.Context, s subject) (post.Run, error) {
	run := t.state.take(s.sha)
	if !run.Alone {
		return run, nil
	}
	peers, err := t.peers(ctx, s.sha, false)
	run.Alone = len(peers) == 0
	return run, err
}

// overruling is another subject's verdict on the commit that is stricter than this one; nil: there
// is none.
func (t *task) overruling(
	ctx context.Context,
	s subject,
	conclusion string,
) (*comment.Peer, error) {
	return t.stricter(ctx, s.sha, conclusion)
}

// converse says in the pull request what is to be said there. A conversation that takes no more
// words (locked, gone) is no failure: the check run has said it all.
func (t *task) converse(ctx context.Context, s subject, v verdict) error {
	st, speaks := t.state, len(v.check.Review) > 0 || v.check.Create && v.check.Sticky != ""
	if st.Silent && !speaks || v.check.Sticky == "" && v.report == nil {
		return nil
	}
	told := v.told()
	if told == st.Told { // by an earlier head
		return nil
	}
	talk := t.poster.Conversation(s.number, st.Silent)
	if st.Silent { // a crash after the first word must not be followed by the same word
		st.Silent = false
		if err := t.save(ctx); err != nil {
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
		steps = steps[2:] // what could not be judged takes no advice back
	}
	for _, step := range steps {
		err := step.do()
		if refused(err) {
			t.Log.Warn("the conversation takes no more words", "step", step.what, "error", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("worker: %s: %w", step.what, err)
		}
	}
	st.Silent, st.Told = talk.Silent() && !speaks, told
	return nil
}

// told is a digest of what a verdict says in a conversation.
func (v verdict) told() string {
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
