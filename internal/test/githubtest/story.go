package githubtest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Story returns as plain text what the author of a pull request sees: the check on the head with
// its annotations, the review threads, and the conversation. It contains no times and IDs, so the
// same events give the same text.
func (s *Server) Story(p *Pull) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%s#%d %s (%s)\n", p.Repo.FullName(), p.Number, p.Title, p.State)
	for _, k := range p.Repo.Checks {
		if k.SHA == p.HeadSHA {
			k.tell(&b)
		}
	}
	for _, v := range p.Reviews {
		if v.Body != "" {
			fmt.Fprintf(&b, "\nreview by %s\n%s", v.Author.Login, indent(v.Body))
		}
	}
	for _, t := range p.Threads {
		state := ""
		if t.Resolved {
			state = " (resolved)"
		}
		fmt.Fprintf(&b, "\nthread on %s:%d%s\n", t.Path, t.Line, state)
		for _, c := range t.Comments {
			c.tell(&b)
		}
	}
	fmt.Fprintln(&b)
	for _, c := range p.Repo.issue(int64(p.Number)).Comments {
		c.tell(&b)
	}
	return b.String()
}

func (k *Check) tell(b *strings.Builder) {
	state := k.Status
	if k.Conclusion != "" {
		state = k.Conclusion
	}
	fmt.Fprintf(b, "\ncheck %s: %s: %s\n%s", k.Name, state, k.Title, indent(k.Summary))
	if k.Text != "" {
		fmt.Fprintf(b, "\n%s", indent(k.Text))
	}
	for _, a := range k.Annotations {
		fmt.Fprintf(b, "  %s:%d: %s: %s\n%s", a.Path, a.Start, a.Level, a.Title, indent(a.Message))
	}
}

func (c *Comment) tell(b *strings.Builder) {
	state := ""
	if c.Minimized != "" {
		state = " (hidden: " + strings.ToLower(c.Minimized) + ")"
	}
	for _, x := range c.Reactions {
		state += " " + x.User.Login + ": " + x.Content
	}
	fmt.Fprintf(b, "comment by %s%s\n%s", c.Author.Login, state, indent(c.Body))
}

func indent(s string) string {
	var b strings.Builder
	for _, l := range lines(strings.TrimRight(s, "\n")) {
		b.WriteString(strings.TrimRight("    "+l, " ") + "\n")
	}
	return b.String()
}

// Load is the maximum load by an installation in any minute, in the units of GitHub's secondary
// limits (docs: rate limits for the REST API): 80 comments and reviews a minute, 500 an hour; 900
// points a minute; 100 concurrent requests.
type Load struct {
	Content int // comments and reviews in a minute
	Hourly  int // the same in an hour
	Points  int // per minute: one for a read, five for a write
	AtOnce  int
}

// Heaviest measures the requests of an installation.
func (s *Server) Heaviest(i *Installation) Load {
	var l Load
	var at, content []time.Time
	var points []int
	var ends []time.Time
	for _, c := range s.Calls() {
		if c.Installation != i.ID {
			continue
		}
		worth := 1
		if c.Writes() {
			worth = 5
		}
		at, points = append(at, c.At), append(points, worth)
		if slices.Contains(
			[]string{
				"issues/create-comment",
				"pulls/create-review",
				"pulls/create-review-comment",
				"pulls/create-reply-for-review-comment",
			},
			c.Op,
		) {
			content = append(content, c.At)
		}
		ends = slices.DeleteFunc(ends, func(end time.Time) bool { return end.Before(c.At) })
		ends = append(ends, c.At.Add(c.Took))
		l.AtOnce = max(l.AtOnce, len(ends))
	}
	l.Content, l.Hourly = most(content, nil, time.Minute), most(content, nil, time.Hour)
	l.Points = most(at, points, time.Minute)
	return l
}

// most returns the maximum sum in any window; worth nil counts each as one. at must be sorted.
func most(at []time.Time, worth []int, window time.Duration) (best int) {
	sum, from := 0, 0
	value := func(i int) int {
		if worth == nil {
			return 1
		}
		return worth[i]
	}
	for i := range at {
		for sum += value(i); at[i].Sub(at[from]) >= window; from++ {
			sum -= value(from)
		}
		best = max(best, sum)
	}
	return best
}
