package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/compat-app/compat/internal/mdsafe"
)

// Reactions that tell a person what became of a command.
const (
	thumbsUp   = "+1"
	thumbsDown = "-1"
	confused   = "confused"
)

// request is a comment with commands, as the webhook stored it.
type request struct {
	Number   int    `json:"number"`
	Comment  int64  `json:"comment"`
	Author   string `json:"author"`
	Commands []struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"commands"`
	writer *bool // may the author write; nil: not asked yet
}

// reaction is what a command answers with; both may be empty.
type reaction struct {
	emoji string
	reply string // Markdown of ours
}

// commands holds what each command does. They may run twice: reactions and replies look first, and a nonce counts once.
var commands = map[string]func(*task, context.Context, *request, string) (reaction, error){
	"recheck": (*task).recheck,
	"explain": (*task).explain,
	"accept":  (*task).accept,
	"help":    func(*task, context.Context, *request, string) (reaction, error) { return reaction{reply: help}, nil },
}

const help = "compat takes these commands, each on a line of its own:\n\n" +
	"- `/compat recheck` judges the newest commit again (for those who may write here)\n" +
	"- `/compat explain SYMBOL` or `/compat explain RULE` tells what a finding or a rule means\n" +
	"- `/compat accept SYMBOL because REASON until 2030-01-31` (or a rule; `until` may be left out) lets a finding count for nothing in this pull request (for those who may write here)\n" +
	"- `/compat help` shows this list\n"

// command answers the commands of one comment: with a reaction, and with one reply for all of them.
func (t *task) command(ctx context.Context) (outcome, error) {
	var r request
	if err := json.Unmarshal(t.job.Payload, &r); err != nil || r.Number <= 0 || r.Comment <= 0 {
		return done, &unfit{"the job's payload is damaged"}
	}
	var replies []string
	var emojis []string
	for _, c := range r.Commands {
		do := commands[c.Name]
		if do == nil {
			emojis = append(emojis, confused)
			replies = append(replies, fmt.Sprintf("There is no command %s.\n\n%s", mdsafe.Code(c.Name, 60), help))
			continue
		}
		answer, err := do(t, ctx, &r, c.Arguments)
		if err != nil {
			return done, err
		}
		if answer.emoji != "" {
			emojis = append(emojis, answer.emoji)
		}
		if answer.reply != "" {
			replies = append(replies, answer.reply)
		}
	}
	for _, e := range emojis {
		if err := t.poster.React(ctx, r.Comment, e); err != nil && !refused(err) {
			return done, err
		}
	}
	if len(replies) > 0 {
		if err := t.poster.Reply(ctx, r.Number, r.Comment, mdsafe.Join(replies, maxReply, nil)); err != nil && !refused(err) {
			return done, err
		}
	}
	return done, nil
}

// maxReply is well below GitHub's 65,536 characters for a comment.
const maxReply = 60000

// mayWrite asks GitHub for the author's permission, not the payload: being a member says nothing of this repository.
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

func (t *task) recheck(ctx context.Context, r *request, _ string) (reaction, error) {
	if ok, err := t.mayWrite(ctx, r); err != nil || !ok {
		return reaction{emoji: thumbsDown, reply: "Only those who may write to this repository can start a new analysis.\n"}, err
	}
	return reaction{emoji: thumbsUp}, t.follow(ctx, "pull", t.pullKey(r.Number), "", t.job.Delivery)
}

func (t *task) pullKey(number int) string { return fmt.Sprintf("pull/%d/%d", t.repo.ID, number) }

// word takes the code marks off a symbol or rule.
func word(s string) string { return strings.Trim(strings.TrimSpace(s), "`") }
