package githubtest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

func (r *request) pull() (*Pull, error) {
	if p := r.repo.pull(r.number("pull_number")); p != nil {
		return p, nil
	}
	return nil, notFound()
}

func (s *Server) getPull(r *request) (any, error) {
	p, err := r.pull()
	if err != nil {
		return nil, err
	}
	return s.pullJSON(p), nil
}

func (s *Server) listPulls(r *request) (any, error) {
	state, head, base := r.query("state"), r.query("head"), r.query("base")
	if state == "" {
		state = "open"
	}
	var out []any
	for _, p := range slices.Backward(r.repo.Pulls) {
		if (state == "all" || p.State == state) &&
			(head == "" || head == p.Head.Owner.Login+":"+p.HeadRef) &&
			(base == "" || base == p.BaseRef) {
			out = append(out, s.pullJSON(p))
		}
	}
	return s.page(r, "", out)
}

// commitPulls lists the pull requests of the repository's own branches. GitHub lists none from
// forks until they are merged.
func (s *Server) commitPulls(r *request) (any, error) {
	var out []any
	for _, p := range r.repo.Pulls {
		if p.Head == r.repo && slices.Contains(p.Heads, r.PathValue("commit_sha")) {
			out = append(out, s.pullJSON(p))
		}
	}
	return s.page(r, "", out)
}

func (s *Server) listPullFiles(r *request) (any, error) {
	p, err := r.pull()
	if err != nil {
		return nil, err
	}
	return s.page(r, "", filesJSON(r.repo.changes(p.BaseSHA, p.HeadSHA), maxPullFiles))
}

func (s *Server) listReviews(r *request) (any, error) {
	p, err := r.pull()
	if err != nil {
		return nil, err
	}
	var out []any
	for _, v := range p.Reviews {
		out = append(out, s.reviewJSON(p, v))
	}
	return s.page(r, "", out)
}

func (s *Server) createReview(r *request) (any, error) {
	p, err := r.pull()
	if err != nil {
		return nil, err
	}
	sha := str(r.body, "commit_id")
	comments := arr(r.body, "comments")
	switch event := str(r.body, "event"); {
	case event != "COMMENT":
		return nil, s.violation(r, "a review with event %q; compat only comments", event)
	case sha == "":
		return nil, s.violation(r, "a review without commit_id")
	case !slices.Contains(p.Heads, sha):
		return nil, s.violation(r, "commit_id %s is no head of the pull request", sha)
	case len(comments) == 0 && strings.TrimSpace(str(r.body, "body")) == "":
		return nil, s.violation(r, "a review without body and comments")
	}
	for _, item := range comments {
		c, _ := item.(object)
		if why := s.checkAnchor(p, sha, c); why != "" {
			return nil, s.violation(r, "%s", why)
		}
	}
	if r.repo.issue(int64(p.Number)).Locked {
		return nil, locked()
	}
	s.spend(r)
	v := &Review{
		ID:     s.id(),
		Author: s.bot,
		Body:   str(r.body, "body"),
		State:  "COMMENTED",
		SHA:    sha,
		At:     time.Now(),
	}
	p.Reviews = append(p.Reviews, v)
	for _, item := range comments {
		s.thread(p, v.ID, sha, item.(object))
	}
	return s.reviewJSON(p, v), nil
}

func (s *Server) thread(p *Pull, review int64, sha string, c object) *Thread {
	t := &Thread{
		ID:     s.id(),
		Path:   str(c, "path"),
		Line:   int(num(c, "line")),
		Start:  int(num(c, "start_line")),
		Side:   str(c, "side"),
		SHA:    sha,
		Review: review,
	}
	if t.Side == "" {
		t.Side = "RIGHT"
	}
	t.Comments = []*Comment{{ID: s.id(), Author: s.bot, Body: str(c, "body"), At: time.Now()}}
	p.Threads = append(p.Threads, t)
	return t
}

func (s *Server) listReviewComments(r *request) (any, error) {
	p, err := r.pull()
	if err != nil {
		return nil, err
	}
	var out []any
	for _, t := range p.Threads {
		for _, c := range t.Comments {
			out = append(out, s.reviewCommentJSON(p, t, c))
		}
	}
	return s.page(r, "", out)
}

// createReply replies in a thread. GitHub accepts only its first comment.
func (s *Server) createReply(r *request) (any, error) {
	p, t, c := s.reviewComment(r.repo, r.number("comment_id"))
	if c == nil || int64(p.Number) != r.number("pull_number") {
		return nil, notFound()
	}
	if c != t.Comments[0] {
		return nil, s.violation(r, "replies to a reply")
	}
	if why := checkComment(str(r.body, "body")); why != "" {
		return nil, s.violation(r, "%s", why)
	}
	s.spend(r)
	reply := &Comment{ID: s.id(), Author: s.bot, Body: str(r.body, "body"), At: time.Now()}
	t.Comments = append(t.Comments, reply)
	return created(s.reviewCommentJSON(p, t, reply)), nil
}

func (s *Server) createReviewReaction(r *request) (any, error) {
	_, _, c := s.reviewComment(r.repo, r.number("comment_id"))
	if c == nil {
		return nil, notFound()
	}
	return s.react(c, str(r.body, "content")), nil
}

// createReviewComment starts a thread, or replies in one with in_reply_to.
func (s *Server) createReviewComment(r *request) (any, error) {
	p, err := r.pull()
	if err != nil {
		return nil, err
	}
	if to := num(r.body, "in_reply_to"); to != 0 {
		_, t, c := s.reviewComment(r.repo, to)
		if c == nil {
			return nil, notFound()
		}
		s.spend(r)
		reply := &Comment{ID: s.id(), Author: s.bot, Body: str(r.body, "body"), At: time.Now()}
		t.Comments = append(t.Comments, reply)
		return created(s.reviewCommentJSON(p, t, reply)), nil
	}
	sha := str(r.body, "commit_id")
	if !slices.Contains(p.Heads, sha) {
		return nil, s.violation(r, "commit_id %q is no head of the pull request", sha)
	}
	if why := s.checkAnchor(p, sha, r.body); why != "" {
		return nil, s.violation(r, "%s", why)
	}
	s.spend(r)
	t := s.thread(p, 0, sha, r.body)
	return created(s.reviewCommentJSON(p, t, t.Comments[0])), nil
}

func (s *Server) reviewComment(repo *Repo, id int64) (*Pull, *Thread, *Comment) {
	for _, p := range repo.Pulls {
		for _, t := range p.Threads {
			for _, c := range t.Comments {
				if c.ID == id {
					return p, t, c
				}
			}
		}
	}
	return nil, nil, nil
}

func (s *Server) updateReviewComment(r *request) (any, error) {
	p, t, c := s.reviewComment(r.repo, r.number("comment_id"))
	if c == nil {
		return nil, notFound()
	}
	if c.Author != s.bot {
		return nil, s.violation(r, "edits the comment of %s", c.Author.Login)
	}
	if why := checkSuggestions(str(r.body, "body")); why != "" {
		return nil, s.violation(r, "%s", why)
	}
	c.Body, c.Edits = str(r.body, "body"), c.Edits+1
	return s.reviewCommentJSON(p, t, c), nil
}

func (s *Server) deleteReviewComment(r *request) (any, error) {
	p, t, c := s.reviewComment(r.repo, r.number("comment_id"))
	if c == nil {
		return nil, notFound()
	}
	if c.Author != s.bot {
		return nil, s.violation(r, "deletes the comment of %s", c.Author.Login)
	}
	if slices.ContainsFunc(t.Comments, func(o *Comment) bool { return o.Author != s.bot }) {
		return nil, s.violation(r, "deletes from a thread that a person answered")
	}
	t.Comments = slices.DeleteFunc(t.Comments, func(o *Comment) bool { return o == c })
	if len(t.Comments) == 0 {
		p.Threads = slices.DeleteFunc(p.Threads, func(o *Thread) bool { return o == t })
	}
	return &answer{status: http.StatusNoContent}, nil
}
