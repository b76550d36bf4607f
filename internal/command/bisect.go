package command

import (
	"context"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/repository"
)

// bisect replies with the merged pull request after which the artifact of the default branch no
// longer exported a symbol; without an argument, with the newest one that lost any. It uses what is
// stored of the builds, and one call of GitHub.
func (r *request) bisect(ctx context.Context, arguments string) (reaction, error) {
	if ok, err := r.mayWrite(ctx); err != nil || !ok {
		return reaction{emoji: thumbsDown, reply: comment.NotPermitted("bisect")}, err
	}
	what := word(strings.Join(strings.Fields(arguments), " "))
	all, err := r.Store.LostBuilds(ctx, r.attempt.Job.Installation, r.repo.ID)
	if err != nil {
		return reaction{}, err
	}
	for _, b := range all {
		lost := b.Lost
		if what != "" {
			lost = slices.DeleteFunc(slices.Clone(lost), func(name string) bool {
				symbol, _, _ := strings.Cut(name, "@")
				return name != what && !analyzer.NamesSymbol(what, symbol)
			})
			b.All = len(lost)
		}
		if len(lost) == 0 {
			continue
		}
		found := comment.Bisected{
			SHA: b.SHA, Before: b.Before, At: b.At, Lost: lost, All: b.All, URL: r.repo.URL,
		}
		pulls, err := r.repo.Client.PullsForCommit(ctx, r.repo.Owner, r.repo.Name, b.SHA)
		if err = repository.Known(err); err != nil {
			return reaction{}, err
		}
		for _, p := range pulls {
			if p.MergedAt != nil && p.GetBase().GetRef() == r.repo.DefaultBranch {
				found.Pull, found.Title = p.GetNumber(), p.GetTitle()
			}
		}
		return reaction{emoji: thumbsUp, reply: found.Text()}, nil
	}
	return reaction{emoji: confused, reply: comment.NothingLost(what)}, nil
}
