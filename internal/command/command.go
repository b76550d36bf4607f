package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/comment/post"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/mdsafe"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

// Reactions to a command: eyes when it is received, then one of the others.
const (
	eyes       = "eyes"
	thumbsUp   = "+1"
	thumbsDown = "-1"
	confused   = "confused"
)

// reaction is the response to a command; both fields may be empty.
type reaction struct {
	emoji string
	reply string // Markdown
}

// command runs one command; arguments are the rest of its line.
type command func(r *request, ctx context.Context, arguments string) (reaction, error)

// commands maps names to commands. A command may run twice for one comment: reactions and replies
// that exist already are not repeated, and each ForceID has one effect.
var commands = lazy.Value[map[string]command]{New: func() map[string]command {
	return map[string]command{
		"recheck":  (*request).recheck,
		"explain":  (*request).explain,
		"fix":      (*request).fix,
		"accept":   (*request).accept,
		"ignore":   (*request).accept,
		"unaccept": (*request).unaccept,
		"status":   (*request).status,
		"impact":   (*request).impact,
		"bisect":   (*request).bisect,
		"help": func(*request, context.Context, string) (reaction, error) {
			return reaction{emoji: thumbsUp, reply: comment.Help()}, nil
		},
	}
}}

// maxAge is the age of a comment from which its commands are not carried out. GitHub Enterprise
// Server redelivers for 7 days. What was carried out is remembered for longer.
const maxAge = 8 * 24 * time.Hour

// comment runs the commands of one comment. It adds one reaction and one reply for all of them.
func (s *Service) comment(
	ctx context.Context,
	a *worker.Attempt,
	repo *repository.Repository,
	j *job.Command,
) (worker.Outcome, error) {
	if j.Number <= 0 {
		return worker.Done, worker.Permanent("The stored job cannot be read.")
	}
	r := &request{
		Service: s, attempt: a, repo: repo, number: j.Number, author: j.Author, at: a.Job.Requested,
	}
	if r.at.IsZero() { // of an earlier release
		r.at = a.Job.Received
	}
	if age := s.Store.Now().Sub(r.at); age > maxAge {
		a.Log.Warn("a command is too old to be carried out", "comment", j.Comment, "age", age.String())
		return worker.Done, nil
	}
	at := post.ReplyTo{Number: j.Number, Comment: j.Comment, Thread: j.Thread}
	within, err := r.withinBudget(ctx, len(j.Lines))
	if err != nil {
		return worker.Done, err
	}
	if !within {
		r.repo.Log.Info("audit", "commands", len(j.Lines), "by", r.author, "pull", r.number,
			"comment", j.Comment, "answer", overBudget)
		return worker.Done, nil
	}
	if err := repo.Poster.React(ctx, at, eyes); err != nil && !repository.Refused(err) {
		return worker.Done, err
	}
	var replies []string
	var emojis []string
	for _, c := range j.Lines {
		do := commands.Get()[c.Name]
		if do == nil {
			do = func(*request, context.Context, string) (reaction, error) {
				return reaction{
					emoji: confused,
					reply: comment.Unknown(
						c.Name,
						config.Nearest(c.Name, slices.Collect(maps.Keys(commands.Get()))),
					),
				}, nil
			}
		}
		answer, err := do(r, ctx, c.Arguments)
		if errors.Is(err, errPosting) {
			return worker.Later(time.Second, errPosting.Error()), nil
		}
		if err != nil {
			return worker.Done, err
		}
		// The text is untrusted; the log handler escapes it.
		r.repo.Log.Info(
			"audit",
			"command",
			c.Name,
			"arguments",
			c.Arguments,
			"by",
			r.author,
			"pull",
			r.number,
			"comment",
			j.Comment,
			"answer",
			answer.emoji,
		)
		if answer.emoji != "" && !slices.Contains(emojis, answer.emoji) {
			emojis = append(emojis, answer.emoji)
		}
		if answer.reply != "" {
			replies = append(replies, answer.reply)
		}
	}
	for _, e := range emojis {
		if err := r.repo.Poster.React(ctx, at, e); err != nil && !repository.Refused(err) {
			return worker.Done, err
		}
	}
	reply, err := r.bounded(ctx, replies)
	if err != nil || reply == "" {
		return worker.Done, err
	}
	err = repo.Poster.Reply(ctx, at, reply)
	if err != nil && !repository.Refused(err) {
		return worker.Done, err
	}
	return worker.Done, nil
}

// overBudget is the logged answer of a request that exceeds the budget of its author.
const overBudget = "over budget"

// withinBudget counts the commands of the request. It returns false if the author, or all people
// together, exceeded the limit of the last hour. Then nothing is requested from GitHub: a stranger
// must not be able to use up the calls of the installation.
func (r *request) withinBudget(ctx context.Context, commands int) (bool, error) {
	j := r.attempt.Job
	by := store.Spender{Installation: j.Installation, Repository: j.Repository, Login: r.author}
	if refused, err := r.Store.Refuses(ctx, by, j.Key, commands); err != nil || refused {
		return false, err
	}
	var err error
	if by.Writer, err = r.mayWrite(ctx); err != nil {
		return false, err
	}
	return r.Store.Spend(ctx, by, j.Key, commands)
}

// bounded joins replies into one. A person without write access gets at most one short reply an
// hour; "" means that no reply is allowed now.
func (r *request) bounded(ctx context.Context, replies []string) (string, error) {
	if len(replies) == 0 {
		return "", nil
	}
	writer, err := r.mayWrite(ctx)
	if err != nil {
		return "", err
	}
	if writer {
		return mdsafe.Join(replies, maxReply, nil), nil
	}
	allowed, err := r.Store.AllowReply(ctx, r.key(), r.author, r.attempt.Job.Key)
	if err != nil || !allowed {
		return "", err
	}
	var blocks []string
	for _, reply := range replies {
		blocks = append(blocks, paragraphs(reply)...)
	}
	return mdsafe.Join(blocks, maxStrangerReply, func(left int) string {
		if left == 0 {
			return ""
		}
		return "The rest is in the check run and its report.\n"
	}), nil
}

// paragraphs splits a reply at blank lines, except inside code blocks and <details>.
func paragraphs(reply string) (blocks []string) {
	block, open := "", 0
	for line := range strings.Lines(reply) {
		block += line
		switch text := strings.TrimSpace(line); {
		case strings.HasPrefix(text, "```"):
			open ^= 1
		case strings.HasPrefix(text, "<details"):
			open += 2
		case strings.HasPrefix(text, "</details"):
			open -= 2
		case text == "" && open == 0:
			blocks, block = append(blocks, block), ""
		}
	}
	if block != "" {
		blocks = append(blocks, block)
	}
	return blocks
}

// maxReply is below GitHub's limit of 65,536 characters for a comment.
const maxReply = 60000

// maxStrangerReply limits a reply to a person without write access; with its marker it stays
// below 2,000 bytes.
const maxStrangerReply = 1800

// maxPlatforms limits the platforms of one recheck.
const maxPlatforms = 20

// recheck checks the head again, also against the platforms in the arguments.
func (r *request) recheck(ctx context.Context, arguments string) (reaction, error) {
	if ok, err := r.mayWrite(ctx); err != nil || !ok {
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
				"%d platforms are too many for one command; name at most %d.\n",
				len(also),
				maxPlatforms,
			),
		}, nil
	}
	if len(also) > 0 {
		if err := r.Store.PutPlatforms(ctx, r.attempt.Job.Key, also); err != nil {
			return reaction{}, err
		}
	}
	return reaction{emoji: thumbsUp}, r.recheckPull(ctx)
}

// impact checks the head again, with what other repositories use now.
func (r *request) impact(ctx context.Context, _ string) (reaction, error) {
	if ok, err := r.mayWrite(ctx); err != nil || !ok {
		return reaction{emoji: thumbsDown, reply: comment.NotPermitted("impact")}, err
	}
	return reaction{emoji: thumbsUp}, r.recheckPull(ctx)
}

// platformNames returns the names of platforms without the architecture.
func platformNames() []string {
	names := platform.Names("x86_64")
	for i, n := range names {
		names[i] = strings.TrimSuffix(n, "_x86_64")
	}
	return names
}

// word removes backquotes around a symbol or rule.
func word(s string) string { return strings.Trim(strings.TrimSpace(s), "`") }
