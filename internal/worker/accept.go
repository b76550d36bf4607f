package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
)

// accepted is what a maintainer accepted by a command or a button, for one pull request: findings
// of the report that there was, and no others. It stays when the head moves, as these findings do.
type accepted struct {
	What     string    `json:"what"` // a symbol or a rule, as it was said
	Because  string    `json:"because"`
	Until    string    `json:"until,omitempty"` // YYYY-MM-DD
	By       string    `json:"by"`              // login
	On       string    `json:"on"`              // YYYY-MM-DD
	Findings []finding `json:"findings"`
}

// finding is what tells one finding from another.
type finding struct {
	Rule    string `json:"rule"`
	Object  string `json:"object"`
	Symbol  string `json:"symbol,omitempty"`
	Version string `json:"version,omitempty"`
	Library string `json:"library,omitempty"`
}

const (
	acceptTTL  = 365 * 24 * time.Hour // a pull request that is older is judged without
	maxAccepts = 200                  // of one pull request
	maxBound   = 20_000               // findings that are accepted in it
)

func acceptKey(subject string) string { return "accept/" + subject }

// options is what the analyzer is told.
func (a *accepted) options() (out []analyzer.Accept) {
	for _, f := range a.Findings {
		id := analyzer.Finding{
			Rule:    f.Rule,
			Object:  f.Object,
			Symbol:  f.Symbol,
			Version: f.Version,
			Library: f.Library,
		}
		out = append(
			out,
			analyzer.Accept{
				Finding: id.Identity(),
				Because: a.Because,
				Until:   a.Until,
				By:      a.By + ", " + a.On,
			},
		)
	}
	return out
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

// inForce is acceptedIn without what has expired, which counts no longer: the next look judges
// again.
func (t *task) inForce(ctx context.Context, subject string) ([]accepted, error) {
	as, err := t.acceptedIn(ctx, subject)
	return slices.DeleteFunc(
		as,
		func(a accepted) bool { return a.Until != "" && t.today() > a.Until },
	), err
}

func (t *task) today() string { return t.Now().UTC().Format(time.DateOnly) }

var acceptance = lazyregexp.New(`(?i)^(\S+)\s+because\s+(.+?)(?:\s+until\s+(\d{4}-\d\d-\d\d))?$`)

// accept notes that the findings about a symbol, or of a rule, may stay, and has the pull request
// judged again.
func (t *task) accept(ctx context.Context, r *request, arguments string) (reaction, error) {
	m := acceptance.FindStringSubmatch(arguments)
	if m == nil {
		what, _, _ := strings.Cut(arguments, " ")
		return reaction{emoji: confused, reply: comment.NeedsReason(word(what))}, nil
	}
	if m[3] != "" && !isDay(m[3]) {
		return reaction{
			emoji: confused,
			reply: fmt.Sprintf("%s is not a day.\n", mdsafe.Code(m[3], 20)),
		}, nil
	}
	if m[3] != "" && t.today() > m[3] {
		return reaction{
			emoji: confused,
			reply: fmt.Sprintf("%s is over. Nothing was accepted.\n", mdsafe.Code(m[3], 20)),
		}, nil
	}
	if ok, err := t.mayWrite(ctx, r); err != nil || !ok {
		return reaction{emoji: thumbsDown, reply: comment.NotPermitted("accept")}, err
	}
	what := word(m[1])
	report, _, err := t.lastReport(ctx, t.pullKey(r.Number))
	if err != nil {
		return reaction{}, err
	}
	a := accepted{
		What:    what,
		Because: strings.TrimSpace(m[2]),
		Until:   m[3],
		By:      r.Author,
		On:      t.job.Received.UTC().Format(time.DateOnly),
	}
	for _, f := range findings(report) {
		if f.is(what) {
			a.Findings = append(a.Findings, f)
		}
	}
	if len(a.Findings) == 0 {
		return reaction{
			emoji: confused,
			reply: comment.NothingToAccept(what, t.meant(what, report), report != nil),
		}, nil
	}
	if err := t.remember(ctx, t.pullKey(r.Number), a); err != nil {
		return reaction{}, err
	}
	return reaction{emoji: thumbsUp}, t.follow(ctx, t.pullBody(r.Number), "", t.job.Delivery)
}

// findings are those of a report, the accepted ones too: somebody may have a better reason. nil has
// none.
func findings(r *analyzer.Report) (out []finding) {
	if r == nil {
		return nil
	}
	seen := map[string]bool{}
	add := func(f *analyzer.Finding) {
		if id := f.Identity(); !seen[id] {
			seen[id] = true
			out = append(
				out,
				finding{
					Rule:    f.Rule,
					Object:  f.Object,
					Symbol:  f.Symbol,
					Version: f.Version,
					Library: f.Library,
				},
			)
		}
	}
	for i := range r.Findings {
		add(&r.Findings[i])
	}
	for i := range r.Accepted {
		add(&r.Accepted[i].Finding)
	}
	return out
}

// is tells whether a person means the finding by a word: its rule, its symbol with or without
// version, and where it is about none its library or version.
func (f finding) is(word string) bool {
	return word != "" &&
		(word == f.Rule || word == f.Symbol || word == f.Symbol+"@"+f.Version || f.Symbol == "" && (word == f.Library || word == f.Version))
}

// unaccept takes back what was accepted, and has the pull request judged again. Where it is taken
// back already (the job has run before) nothing is left to do, and it says so.
func (t *task) unaccept(ctx context.Context, r *request, arguments string) (reaction, error) {
	what := word(arguments)
	if what == "" {
		return reaction{
			emoji: confused,
			reply: "Say what is no longer accepted: " + mdsafe.Code(
				"/compat unaccept SYMBOL",
				0,
			) + ", or a rule.\n",
		}, nil
	}
	if ok, err := t.mayWrite(ctx, r); err != nil || !ok {
		return reaction{emoji: thumbsDown, reply: comment.NotPermitted("unaccept")}, err
	}
	found := false
	err := t.reaccept(ctx, t.pullKey(r.Number), func(as []accepted) ([]accepted, error) {
		return without(as, func(f finding) bool {
			is := f.is(what)
			found = found || is
			return is
		}), nil
	})
	switch {
	case err != nil:
		return reaction{}, err
	case !found:
		text := fmt.Sprintf(
			"%s is not accepted in this pull request by a command.\n",
			mdsafe.Code(what, 200),
		)
		return reaction{
				emoji: confused,
				reply: text,
			}, t.follow(
				ctx,
				t.pullBody(r.Number),
				"",
				"",
			) // costs nothing when the verdict stands
	}
	return reaction{emoji: thumbsUp}, t.follow(ctx, t.pullBody(r.Number), "", t.job.Delivery)
}

// without takes findings away, and what accepts none any more.
func without(as []accepted, drop func(finding) bool) (out []accepted) {
	for _, a := range as {
		a.Findings = slices.DeleteFunc(slices.Clone(a.Findings), drop)
		if len(a.Findings) > 0 {
			out = append(out, a)
		}
	}
	return out
}

// remember adds to the list. A finding is in it once, with the newest reason.
func (t *task) remember(ctx context.Context, subject string, more ...accepted) error {
	return t.reaccept(ctx, subject, func(as []accepted) ([]accepted, error) {
		anew := map[finding]bool{}
		for _, a := range more {
			for _, f := range a.Findings {
				anew[f] = true
			}
		}
		as = append(without(as, func(f finding) bool { return anew[f] }), more...)
		bound := 0
		for _, a := range as {
			bound += len(a.Findings)
		}
		if len(as) > maxAccepts || bound > maxBound {
			return nil, &unfit{
				fmt.Sprintf(
					"%d findings in %d acceptances are more than one pull request may have; accept them in %s",
					bound,
					len(as),
					comment.ConfigPath,
				),
			}
		}
		return as, nil
	})
}

// reaccept changes the list of what is accepted in a pull request.
func (t *task) reaccept(
	ctx context.Context,
	subject string,
	change func([]accepted) ([]accepted, error),
) error {
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
