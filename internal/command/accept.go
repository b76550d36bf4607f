package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

var acceptance = lazyregexp.New(`(?i)^(\S+)\s+because\s+(.+?)(?:\s+until\s+(\d{4}-\d\d-\d\d))?$`)

// accept accepts the findings of a symbol, rule, library or package, and checks the pull request
// again.
func (r *request) accept(ctx context.Context, arguments string) (reaction, error) {
	m := acceptance.FindStringSubmatch(arguments)
	if m == nil {
		what, _, _ := strings.Cut(arguments, " ")
		return reaction{emoji: confused, reply: comment.NeedsReason(word(what))}, nil
	}
	if m[3] != "" && !isDay(m[3]) {
		return reaction{
			emoji: confused,
			reply: fmt.Sprintf("%s is not a date; write it as YYYY-MM-DD.\n", mdsafe.Code(m[3], 20)),
		}, nil
	}
	if m[3] != "" && r.Store.Today() > m[3] {
		return reaction{
			emoji: confused,
			reply: fmt.Sprintf("%s is in the past. Nothing was accepted.\n", mdsafe.Code(m[3], 20)),
		}, nil
	}
	if ok, err := r.mayWrite(ctx); err != nil || !ok {
		return reaction{emoji: thumbsDown, reply: comment.NotPermitted("accept")}, err
	}
	what := word(m[1])
	last, err := r.Store.LastReport(ctx, r.key())
	if err != nil {
		return reaction{}, err
	}
	report := last.Report
	if r.earlier(last) {
		return reaction{emoji: confused, reply: comment.BaseChanged()}, nil
	}
	a := store.Accepted{
		What:    what,
		Because: strings.TrimSpace(m[2]),
		Until:   m[3],
		By:      r.author,
		Base:    last.Base,
		On:      r.attempt.Job.Received.UTC().Format(time.DateOnly),
	}
	for _, f := range store.Findings(report) {
		if f.Matches(what) {
			a.Findings = append(a.Findings, f)
		}
	}
	if len(a.Findings) == 0 {
		return reaction{
			emoji: confused,
			reply: comment.NothingToAccept(what, r.meant(what, report), report != nil),
		}, nil
	}
	if err := r.Store.Accept(ctx, r.key(), a); err != nil {
		return reaction{}, err
	}
	return reaction{emoji: thumbsUp}, r.recheckPull(ctx)
}

// earlier reports whether the request was made before the base branch of the last report was
// known or changed, so that it concerned another base.
func (r *request) earlier(l store.Last) bool {
	return l.Report != nil && (l.Base == "" || r.attempt.Job.Received.Before(l.Since))
}

// unaccept revokes an acceptance, and checks the pull request again. If it is revoked already,
// because the job ran before, the reply says so.
func (r *request) unaccept(ctx context.Context, arguments string) (reaction, error) {
	what := word(arguments)
	if what == "" {
		return reaction{
			emoji: confused,
			reply: "Name what to revoke, a symbol, rule, library or package: " +
				mdsafe.Code("/compat unaccept SYMBOL", 0) + ".\n",
		}, nil
	}
	if ok, err := r.mayWrite(ctx); err != nil || !ok {
		return reaction{emoji: thumbsDown, reply: comment.NotPermitted("unaccept")}, err
	}
	found, err := r.Store.Revoke(ctx, r.key(), what)
	switch {
	case err != nil:
		return reaction{}, err
	case !found:
		text := fmt.Sprintf(
			"Nothing to revoke: %s has not been accepted in this pull request.\n",
			mdsafe.Code(what, 200),
		)
		return reaction{
			emoji: confused,
			reply: text,
			// without a ForceID, unchanged input is not analyzed again
		}, worker.Follow(ctx, r.Store.Queue, r.attempt.Job, r.repo.Pull(r.number), "", "")
	}
	return reaction{emoji: thumbsUp}, r.recheckPull(ctx)
}

// isDay reports whether s is a date of the form YYYY-MM-DD.
func isDay(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}
