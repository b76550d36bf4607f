package githubtest

import (
	"net/http"
	"slices"
	"time"
)

func (s *Server) listComments(r *request) (any, error) {
	i := r.repo.issue(r.number("issue_number"))
	if i == nil {
		return nil, notFound()
	}
	var out []any
	for _, c := range i.Comments {
		out = append(out, s.commentJSON(r.repo, i.Number, c))
	}
	return s.page(r, "", out)
}

func (s *Server) createComment(r *request) (any, error) {
	i := r.repo.issue(r.number("issue_number"))
	if i == nil {
		return nil, notFound()
	}
	if why := checkComment(str(r.body, "body")); why != "" {
		return nil, s.violation(r, "%s", why)
	}
	if i.Locked {
		return nil, locked()
	}
	s.spend(r)
	c := &Comment{ID: s.id(), Author: s.bot, Body: str(r.body, "body"), At: time.Now()}
	i.Comments = append(i.Comments, c)
	return created(s.commentJSON(r.repo, i.Number, c)), nil
}

func locked() error {
	return fail(http.StatusForbidden, "Unable to create comment because issue is locked.")
}

func (r *request) comment() (*Issue, *Comment, error) {
	for _, i := range r.repo.Issues {
		for _, c := range i.Comments {
			if c.ID == r.number("comment_id") {
				return i, c, nil
			}
		}
	}
	return nil, nil, notFound()
}

func (s *Server) getComment(r *request) (any, error) {
	i, c, err := r.comment()
	if err != nil {
		return nil, err
	}
	return s.commentJSON(r.repo, i.Number, c), nil
}

// own returns a comment to be changed. GitHub would let the App edit any comment, but compat must
// not.
func (s *Server) own(r *request) (*Issue, *Comment, error) {
	i, c, err := r.comment()
	if err == nil && c.Author != s.bot {
		err = s.violation(r, "changes the comment of %s", c.Author.Login)
	}
	return i, c, err
}

func (s *Server) updateComment(r *request) (any, error) {
	i, c, err := s.own(r)
	if err != nil {
		return nil, err
	}
	if why := checkComment(str(r.body, "body")); why != "" {
		return nil, s.violation(r, "%s", why)
	}
	c.Body, c.Edits = str(r.body, "body"), c.Edits+1
	return s.commentJSON(r.repo, i.Number, c), nil
}

func (s *Server) deleteComment(r *request) (any, error) {
	i, c, err := s.own(r)
	if err != nil {
		return nil, err
	}
	i.Comments = slices.DeleteFunc(i.Comments, func(o *Comment) bool { return o == c })
	return &answer{status: http.StatusNoContent}, nil
}

func (s *Server) listReactions(r *request) (any, error) {
	_, c, err := r.comment()
	if err != nil {
		return nil, err
	}
	var out []any
	for _, x := range c.Reactions {
		if want := r.query("content"); want == "" || want == x.Content {
			out = append(out, reactionJSON(x))
		}
	}
	return s.page(r, "", out)
}

func (s *Server) createReaction(r *request) (any, error) {
	i, c, err := r.comment()
	if err != nil {
		return nil, err
	}
	if i.Locked {
		return nil, locked()
	}
	return s.react(c, str(r.body, "content")), nil
}

// react returns status 200 if the App has reacted like this before.
func (s *Server) react(c *Comment, content string) any {
	for _, x := range c.Reactions {
		if x.User == s.bot && x.Content == content {
			return reactionJSON(x)
		}
	}
	x := Reaction{ID: s.id(), User: s.bot, Content: content}
	c.Reactions = append(c.Reactions, x)
	return created(reactionJSON(x))
}

func reactionJSON(x Reaction) object {
	return object{
		"id":         x.ID,
		"node_id":    node("REA", x.ID),
		"user":       x.User.json(),
		"content":    x.Content,
		"created_at": stamp(time.Now()),
	}
}

// CommentsBy returns copies of a user's comments on an issue or pull request, oldest first.
func (s *Server) CommentsBy(u *User, r *Repo, number int) []Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Comment
	for _, c := range r.issue(int64(number)).Comments {
		if c.Author == u {
			out = append(out, *c)
		}
	}
	return out
}
