package githubtest

import (
	"fmt"
	"strings"
)

// Story tells in plain text what the author of a pull request sees: the check on the head with its
// annotations, the review threads, and the conversation. Times and ids are left out, so that the
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
