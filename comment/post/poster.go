// Package post writes a comment.Check to GitHub: check runs, review comments, the summary comment
// and replies. It is the only code that writes to a repository's conversations and check runs.
//
//	p := &post.Poster{Client: client, Owner: "acme", Repo: "widget", Bot: bot, AppID: id}
//	_, err := p.Conclude(ctx, sha, run, externalID, url, check)
//	err = p.Conversation(number, false).Sticky(ctx, check.Sticky, check.Create)
//
// Every operation can be repeated after a crash: it first reads what an earlier attempt has
// written. It never deletes a comment and never edits one that another account wrote.
package post

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/sleep"
)

// Poster posts Checks and comments in one repository. Every method may be repeated after a crash
// or an error, because it first reads what exists. Writes that fail with a temporary error (502,
// connection error) are retried after a read. Rate limits are returned at once.
//
// All fields but Fence and Log are required.
type Poster struct {
	Client      *github.Client
	Owner, Repo string
	// login of the App in the REST API, "compat-app[bot]"; only its comments are changed
	Bot   string
	AppID int64 // only its check runs are changed
	// called before each write; an error (the lease is lost) ends the work; nil = not called
	Fence func(context.Context) error
	Log   *slog.Logger
}

func (p *Poster) log() *slog.Logger {
	if p.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return p.Log
}

// pauses are the pauses between the attempts of one write. For longer outages the queue retries
// the job.
var pauses = [...]time.Duration{300 * time.Millisecond, 1200 * time.Millisecond}

// read adds what was read to an error. The client retries reads.
func (p *Poster) read(what string, get func() error) error {
	if err := get(); err != nil {
		return fmt.Errorf("%s in %s/%s: %w", what, p.Owner, p.Repo, err)
	}
	return nil
}

// write calls do after the fence. After an error that may hide a success it calls done, which
// reports whether the write took effect.
func (p *Poster) write(
	ctx context.Context,
	what string,
	do func() error,
	done func() (bool, error),
) error {
	for i := 0; ; i++ {
		if p.Fence != nil {
			if err := p.Fence(ctx); err != nil {
				return fmt.Errorf("%s in %s/%s: %w", what, p.Owner, p.Repo, err)
			}
		}
		err := do()
		if err == nil {
			return nil
		}
		if !passing(ctx, err) {
			return fmt.Errorf("%s in %s/%s: %w", what, p.Owner, p.Repo, err)
		}
		p.log().
			Warn("a write may have failed; looking before another try", "what", what, "error", err)
		if err := sleep.For(ctx, pauses[min(i, len(pauses)-1)]); err != nil {
			return err
		}
		ok, lookErr := done()
		if lookErr != nil {
			return lookErr
		}
		if ok {
			return nil
		}
		if i == len(pauses) {
			return fmt.Errorf("%s in %s/%s: %w", what, p.Owner, p.Repo, err)
		}
	}
}

// passing reports whether the same call may succeed in a moment.
func passing(ctx context.Context, err error) bool {
	return ctx.Err() == nil && github.Classify(err).Kind == github.Retry
}
