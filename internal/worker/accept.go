package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/mdsafe"
)

// accepted is what a maintainer accepted by a command, for one pull request.
type accepted struct {
	What    string `json:"what"` // a symbol or a rule
	Because string `json:"because"`
	Until   string `json:"until,omitempty"` // YYYY-MM-DD
	By      string `json:"by"`              // login
	On      string `json:"on"`              // YYYY-MM-DD
	Comment int64  `json:"comment"`
}

const (
	acceptTTL  = 365 * 24 * time.Hour // a pull request that is older is judged without
	maxAccepts = 200                  // of one pull request
)

func acceptKey(subject string) string { return "accept/" + subject }

// option is what the analyzer is told.
func (a accepted) option(rules []string) []analyzer.Accept {
	o := analyzer.Accept{Because: a.Because, Until: a.Until, By: a.By + ", " + a.On}
	if slices.Contains(rules, a.What) {
		o.Rule = a.What
	} else {
		o.Symbol = a.What
	}
	return []analyzer.Accept{o}
}

// acceptDigest is part of what a verdict rests on.
func acceptDigest(as []accepted) string {
	data, err := json.Marshal(as)
	if err != nil || len(as) == 0 {
		return ""
	}
	return string(data)
}

// acceptedIn lists what was accepted in a pull request.
func (t *task) acceptedIn(ctx context.Context, subject string) ([]accepted, error) {
	data, err := t.Queue.Get(ctx, acceptKey(subject))
	if err != nil || data == nil {
		return nil, err
	}
	var as []accepted
	if err := json.Unmarshal(data, &as); err != nil {
		return nil, &unfit{"what was accepted by commands can't be read"}
	}
	return as, nil
}

var acceptance = regexp.MustCompile(`(?i)^(\S+)\s+because\s+(.+?)(?:\s+until\s+(\d{4}-\d\d-\d\d))?$`)

// accept notes that a finding may stay, and has the pull request judged again.
func (t *task) accept(ctx context.Context, r *request, arguments string) (reaction, error) {
	m := acceptance.FindStringSubmatch(arguments)
	if m == nil {
		what, _, _ := strings.Cut(arguments, " ")
		return reaction{emoji: confused, reply: comment.NeedsReason(word(what))}, nil
	}
	if m[3] != "" && !isDay(m[3]) {
		return reaction{emoji: confused, reply: fmt.Sprintf("%s is not a day.\n", mdsafe.Code(m[3], 20))}, nil
	}
	if ok, err := t.mayWrite(ctx, r); err != nil || !ok {
		return reaction{emoji: thumbsDown, reply: comment.NotPermitted("accept")}, err
	}
	a := accepted{What: word(m[1]), Because: strings.TrimSpace(m[2]), Until: m[3], By: r.Author, On: t.job.Received.UTC().Format(time.DateOnly), Comment: r.Comment}
	if err := t.remember(ctx, t.pullKey(r.Number), a); err != nil {
		return reaction{}, err
	}
	return reaction{emoji: thumbsUp}, t.follow(ctx, "pull", t.pullKey(r.Number), "", t.job.Delivery)
}

// unaccept takes back what was accepted, and has the pull request judged again. Where it is taken back already (the job has run before)
// nothing is left to do, and it says so.
func (t *task) unaccept(ctx context.Context, r *request, arguments string) (reaction, error) {
	what := word(arguments)
	if what == "" {
		return reaction{emoji: confused, reply: "Say what is no longer accepted: " + mdsafe.Code("/compat unaccept SYMBOL", 0) + ", or a rule.\n"}, nil
	}
	if ok, err := t.mayWrite(ctx, r); err != nil || !ok {
		return reaction{emoji: thumbsDown, reply: comment.NotPermitted("unaccept")}, err
	}
	found := false
	err := t.reaccept(ctx, t.pullKey(r.Number), func(as []accepted) ([]accepted, error) {
		rest := slices.DeleteFunc(slices.Clone(as), func(o accepted) bool { return o.What == what })
		found = len(rest) < len(as)
		return rest, nil
	})
	switch {
	case err != nil:
		return reaction{}, err
	case !found:
		text := fmt.Sprintf("%s is not accepted in this pull request by a command.\n", mdsafe.Code(what, 200))
		return reaction{emoji: confused, reply: text}, t.follow(ctx, "pull", t.pullKey(r.Number), "", "") // costs nothing when the verdict stands
	}
	return reaction{emoji: thumbsUp}, t.follow(ctx, "pull", t.pullKey(r.Number), "", t.job.Delivery)
}

// remember adds to the list, once for each comment and subject.
func (t *task) remember(ctx context.Context, subject string, a accepted) error {
	return t.reaccept(ctx, subject, func(as []accepted) ([]accepted, error) {
		as = slices.DeleteFunc(as, func(o accepted) bool { return o.What == a.What })
		if len(as) >= maxAccepts {
			return nil, &unfit{fmt.Sprintf("%d findings are accepted in this pull request already", len(as))}
		}
		return append(as, a), nil
	})
}

// reaccept changes the list of what is accepted in a pull request.
func (t *task) reaccept(ctx context.Context, subject string, change func([]accepted) ([]accepted, error)) error {
	t.accepts.Lock()
	defer t.accepts.Unlock()
	as, err := t.acceptedIn(ctx, subject)
	if err != nil {
		return err
	}
	if as, err = change(as); err != nil {
		return err
	}
	data, err := json.Marshal(as)
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	if err := t.Queue.Put(ctx, acceptKey(subject), data, acceptTTL); err != nil {
		return &ownFault{fmt.Errorf("worker: keep what was accepted: %w", err)}
	}
	return nil
}

// isDay tells whether a text is a day as YYYY-MM-DD.
func isDay(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}
