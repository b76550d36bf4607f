package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

// acceptance is WHAT because TEXT [until DATE]. Names of artifacts may have spaces.
var acceptance = lazyregexp.New(`(?i)^(?:(missing)\s+(.+?)|(\S+))\s+because\s+(.+?)` +
	`(?:\s+until\s+(\d{4}-\d\d-\d\d))?$`)

// missingWord is what precedes the name of something missing.
var missingWord = lazyregexp.New(`(?i)^missing\s+`)

// accept accepts something missing, a repository that breaks, or the findings of a symbol, rule,
// library or package, and checks the pull request again.
func (r *request) accept(ctx context.Context, arguments string) (reaction, error) {
	m := acceptance.FindStringSubmatch(arguments)
	if m == nil {
		what, _, _ := strings.Cut(arguments, " ")
		return reaction{emoji: confused, reply: comment.NeedsReason(word(what))}, nil
	}
	because, until := strings.TrimSpace(m[4]), m[5]
	if until != "" && !isDay(until) {
		return reaction{
			emoji: confused,
			reply: fmt.Sprintf("%s is not a date; write it as YYYY-MM-DD.\n", mdsafe.Code(until, 20)),
		}, nil
	}
	if until != "" && r.Store.Today() > until {
		return reaction{
			emoji: confused,
			reply: fmt.Sprintf("%s is in the past. Nothing was accepted.\n", mdsafe.Code(until, 20)),
		}, nil
	}
	if ok, err := r.mayWrite(ctx); err != nil || !ok {
		return reaction{emoji: thumbsDown, reply: comment.NotPermitted("accept")}, err
	}
	missing, what := m[1] != "", word(m[2]+m[3])
	verdict, reported, posting, err := r.Store.LastAt(ctx, r.key(), r.at)
	if err != nil {
		return reaction{}, err
	}
	if posting && r.Store.Now().Sub(r.at) < postingPatience {
		return reaction{}, errPosting
	}
	about := reported
	breaks := slices.Contains(verdict.Breaks, what)
	if missing || breaks {
		about = verdict
	}
	if r.earlier(about) {
		return reaction{emoji: confused, reply: comment.BaseChanged()}, nil
	}
	a := store.Accepted{
		What:    what,
		Because: because,
		Until:   until,
		By:      r.author,
		Base:    about.Base,
		On:      r.at.UTC().Format(time.DateOnly),
	}
	switch {
	case breaks:
		a.Missing = []string{what}
	case missing:
		a.What = "missing " + what
		a.Missing = slices.DeleteFunc(slices.Clone(about.Missing), func(name string) bool {
			return !store.NamesMissing(what, name)
		})
		if len(a.Missing) == 0 {
			return reaction{emoji: confused, reply: comment.NotMissing(what, about.Missing)}, nil
		}
	default:
		for _, f := range store.Findings(about.Report) {
			if f.Matches(what) {
				a.Findings = append(a.Findings, f)
			}
		}
		if len(a.Findings) == 0 {
			reply := comment.NothingToAccept(what, r.meant(what, about.Report), about.Report != nil)
			return reaction{emoji: confused, reply: reply}, nil
		}
	}
	if err := r.Store.Accept(ctx, r.key(), a); err != nil {
		return reaction{}, err
	}
	now, err := r.Store.Standing(ctx, r.key())
	if err != nil {
		return reaction{}, err
	}
	answer := reaction{emoji: thumbsUp}
	if about.SHA != "" && now.SHA != "" && now.SHA != about.SHA {
		answer.reply = comment.AcceptedEarlier(what, about.SHA)
	}
	return answer, r.recheckPull(ctx)
}

// errPosting means that a verdict is being posted, so that it is not known yet which one a command
// is about.
var errPosting = errors.New("a verdict is being posted")

// postingPatience is how long after a command that is waited for.
const postingPatience = 2 * time.Minute

// earlier reports whether the request was made before the base branch of a verdict was known or
// changed, so that it concerned another base.
func (r *request) earlier(l store.Last) bool {
	return (l.Report != nil || len(l.Missing)+len(l.Breaks) > 0) &&
		(l.Base == "" || r.at.Before(l.Since.Truncate(time.Second))) // GitHub's times are in seconds
}

// unaccept revokes an acceptance, and checks the pull request again. If it is revoked already,
// because the job ran before, the reply says so.
func (r *request) unaccept(ctx context.Context, arguments string) (reaction, error) {
	what := word(missingWord.ReplaceAllString(arguments, ""))
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
