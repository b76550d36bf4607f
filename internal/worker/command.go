package worker

import (
	"context"
	"fmt"
	"github.com/compat-app/compat/internal/job"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/comment/post"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Reactions that tell a person what became of a command: seen, and then one of the others.
const (
	eyes       = "eyes"
	thumbsUp   = "+1"
	thumbsDown = "-1"
	confused   = "confused"
)

// request is who wants something of which pull request.
type request struct {
	Number int
	Author string // login
	writer *bool  // whether the author has write access; nil: not looked up yet
}

// reaction is what a command answers with; both may be empty.
type reaction struct {
	emoji string
	reply string // Markdown of ours
}

// command does what one line says; arguments are the rest of the line.
type command func(t *task, ctx context.Context, r *request, arguments string) (reaction, error)

// commands holds what each command does. They may run twice: reactions and replies look first, and
// a nonce counts once.
var commands = map[string]command{
	"recheck":  (*task).recheck,
	"explain":  (*task).explain,
	"accept":   (*task).accept,
	"ignore":   (*task).accept,
	"unaccept": (*task).unaccept,
	"status":   (*task).status,
	"help": func(*task, context.Context, *request, string) (reaction, error) {
		return reaction{emoji: thumbsUp, reply: comment.Help()}, nil
	},
}

// command answers the commands of one comment: with a reaction, and with one reply for all of them.
func (t *task) command(ctx context.Context, j *job.Command) (outcome, error) {
	if j.Number <= 0 {
		return done, &unfit{"the job's payload is damaged"}
	}
	r := request{Number: j.Number, Author: j.Author}
	at := post.ReplyTo{Number: j.Number, Comment: j.Comment, Thread: j.Thread}
	if err := t.poster.React(ctx, at, eyes); err != nil && !refused(err) {
		return done, err
	}
	var replies []string
	var emojis []string
	for _, c := range j.Lines {
		do := commands[c.Name]
		if do == nil {
			do = func(*task, context.Context, *request, string) (reaction, error) {
				return reaction{
					emoji: confused,
					reply: comment.Unknown(
						c.Name,
						config.Nearest(c.Name, slices.Collect(maps.Keys(commands))),
					),
				}, nil
			}
		}
		answer, err := do(t, ctx, &r, c.Arguments)
		if err != nil {
			return done, err
		}
		// Who told the service to do what, for whoever has to find out later. The words are a
		// stranger's: the log escapes them.
		t.Log.Info(
			"audit",
			"command",
			c.Name,
			"arguments",
			c.Arguments,
			"by",
			r.Author,
			"pull",
			r.Number,
			"comment",
			j.Comment,
			"answer",
			answer.emoji,
		)
		if answer.emoji != "" {
			emojis = append(emojis, answer.emoji)
		}
		if answer.reply != "" {
			replies = append(replies, answer.reply)
		}
	}
	for _, e := range emojis {
		if err := t.poster.React(ctx, at, e); err != nil && !refused(err) {
			return done, err
		}
	}
	if len(replies) > 0 {
		if err := t.poster.Reply(ctx, at, mdsafe.Join(replies, maxReply, nil)); err != nil &&
			!refused(err) {
			return done, err
		}
	}
	return done, nil
}

// maxReply is well below GitHub's 65,536 characters for a comment.
const maxReply = 60000

// mayWrite asks GitHub for the author's permission, not the payload: being a member says nothing of
// this repository.
func (t *task) mayWrite(ctx context.Context, r *request) (bool, error) {
	if r.writer == nil {
		p, err := t.client.Permission(ctx, t.repo.Owner, t.repo.Name, r.Author)
		if err != nil {
			return false, err
		}
		r.writer = &p.Write
	}
	return *r.writer, nil
}

// maxPlatforms is how many platforms a recheck may name.
const maxPlatforms = 20

// alsoTTL is far longer than a job waits for its turn.
const alsoTTL = 3 * 24 * time.Hour

// recheck has the head judged again, against the platforms that are named as well.
func (t *task) recheck(ctx context.Context, r *request, arguments string) (reaction, error) {
	if ok, err := t.mayWrite(ctx, r); err != nil || !ok {
		return reaction{emoji: thumbsDown, reply: comment.NotPermitted("recheck")}, err
	}
	also := strings.FieldsFunc(
		arguments,
		func(c rune) bool { return c == ' ' || c == '\t' || c == ',' || c == '`' },
	)
	for _, name := range also {
		if !slices.ContainsFunc(
			platform.Architectures(),
			func(arch string) bool { _, err := platform.Lookup(name, arch); return err == nil },
		) {
			return reaction{
				emoji: confused,
				reply: comment.NoPlatform(name, config.Nearest(name, platformNames())),
			}, nil
		}
	}
	if len(also) > maxPlatforms {
		return reaction{
			emoji: confused,
			reply: fmt.Sprintf(
				"%d platforms are too many for one look; name at most %d.\n",
				len(also),
				maxPlatforms,
			),
		}, nil
	}
	if len(also) > 0 {
		if err := t.keepFor(ctx, alsoKey(t.job.Delivery), also, alsoTTL); err != nil {
			return reaction{}, err
		}
	}
	return reaction{emoji: thumbsUp}, t.follow(ctx, t.pullBody(r.Number), "", t.job.Delivery)
}

// platformNames are the names that people give platforms, without the architecture.
func platformNames() []string {
	names := platform.Names("x86_64")
	for i, n := range names {
		names[i] = strings.TrimSuffix(n, "_x86_64")
	}
	return names
}

func (t *task) pullBody(number int) *job.Pull {
	return &job.Pull{Repository: t.repo.ID, Number: number}
}

func (t *task) pullKey(number int) string { return t.pullBody(number).Key() }

// word takes the code marks off a symbol or rule.
func word(s string) string { return strings.Trim(strings.TrimSpace(s), "`") }
