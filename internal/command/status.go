package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/worker"
)

// status replies with the verdict on the pull request, the state of its job, and its acceptances.
func (r *request) status(ctx context.Context, _ string) (reaction, error) {
	key := r.key()
	last, err := r.Store.Standing(ctx, key)
	if err != nil {
		return reaction{}, err
	}
	said := comment.Standing{}
	if last.Conclusion != "" {
		said = comment.Standing{
			SHA:        last.SHA,
			Conclusion: last.Conclusion,
			Title:      last.Title,
			DetailsURL: last.Page,
		}
	}
	entry, err := r.Store.Queue.Show(ctx, key)
	switch {
	case errors.Is(err, queue.ErrNotFound):
	case err != nil:
		return reaction{}, worker.Internal(fmt.Errorf("show %s: %w", key, err))
	case entry.State == queue.Running:
		said.Doing = "the newest commit is being checked"
	case entry.State == queue.Waiting:
		said.Doing = "the newest commit is waiting in the queue"
	case entry.State == queue.Dead:
		said.Doing = "nothing; the last attempt failed: " + entry.Reason
	default:
		said.Doing = entry.Reason
	}
	accepted, err := r.Store.Accepts(ctx, key)
	for _, a := range accepted {
		said.Accepted = append(
			said.Accepted,
			comment.Taken{What: a.What, Because: a.Because, By: a.By, On: a.On, Until: a.Until},
		)
	}
	return reaction{emoji: thumbsUp, reply: comment.Status(said)}, err
}
