package githubtest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The supported GraphQL: hide a comment, resolve a thread, and read the comments and review
// threads of a pull request. The response has all fields of the objects, regardless of the
// selection. Aliases are not supported.

func (s *Server) graphql(r *request) (any, error) {
	query := str(r.body, "query")
	var data object
	var why string
	switch {
	case strings.Contains(query, "minimizeComment"):
		data, why = s.minimize(r, query)
	case strings.Contains(query, "resolveReviewThread"):
		data, why = s.resolveThread(r, query)
	case strings.Contains(query, "pullRequest"):
		data, why = s.conversation(r, query)
	default:
		why = "compat uses no such query"
	}
	if why != "" {
		s.violate("POST /graphql: %s: %.200s", why, query)
		return object{
			"data":   nil,
			"errors": []any{object{"type": "UNPROCESSABLE", "message": why}},
		}, nil
	}
	return object{"data": data}, nil
}

// argument returns an argument of a query: a literal, a variable (not its declaration), or a
// field of the variable named input.
func argument(r *request, query, name string) string {
	variables := obj(r.body, "variables")
	m := regexp.MustCompile(`(?:^|[^$\w])`+name+`\s*:\s*(\$\w+|"[^"]*"|[A-Z0-9_]+\b)`).
		FindAllStringSubmatch(query, -1)
	for _, found := range m {
		v, isVariable := strings.CutPrefix(found[1], "$")
		if !isVariable {
			return strings.Trim(v, `"`)
		}
		if value, ok := variables[v]; ok {
			return fmt.Sprint(value)
		}
	}
	return str(obj(variables, "input"), name)
}

func (s *Server) minimize(r *request, query string) (object, string) {
	id, classifier := argument(r, query, "subjectId"), argument(r, query, "classifier")
	reasons := []string{"ABUSE", "DUPLICATE", "OFF_TOPIC", "OUTDATED", "RESOLVED", "SPAM"}
	if !slices.Contains(reasons, classifier) {
		return nil, fmt.Sprintf("classifier %q is not one of %s", classifier, strings.Join(reasons, ", "))
	}
	c := s.commentNode(r.inst, id)
	switch {
	case c == nil:
		return nil, fmt.Sprintf("could not resolve to a node with the global id of %q", id)
	case c.Author != s.bot:
		return nil, "hides the comment of " + c.Author.Login
	}
	c.Minimized = classifier
	return object{
		"minimizeComment": object{
			"clientMutationId": nil,
			"minimizedComment": object{
				"isMinimized":     true,
				"minimizedReason": strings.ToLower(classifier),
			},
		},
	}, ""
}

func (s *Server) commentNode(i *Installation, id string) *Comment {
	for _, repo := range s.repos {
		if repo.Installation != i {
			continue
		}
		for _, issue := range repo.Issues {
			for _, c := range issue.Comments {
				if node("IC", c.ID) == id {
					return c
				}
			}
		}
		for _, p := range repo.Pulls {
			for _, t := range p.Threads {
				for _, c := range t.Comments {
					if node("PRRC", c.ID) == id {
						return c
					}
				}
			}
		}
	}
	return nil
}

func (s *Server) resolveThread(r *request, query string) (object, string) {
	id := argument(r, query, "threadId")
	for _, repo := range s.repos {
		for _, p := range repo.Pulls {
			for _, t := range p.Threads {
				if repo.Installation != r.inst || node("PRRT", t.ID) != id {
					continue
				}
				if t.Comments[0].Author != s.bot {
					return nil, "resolves the thread of " + t.Comments[0].Author.Login
				}
				t.Resolved = true
				return object{
					"resolveReviewThread": object{
						"clientMutationId": nil,
						"thread":           object{"id": id, "isResolved": true},
					},
				}, ""
			}
		}
	}
	return nil, fmt.Sprintf("could not resolve to a node with the global id of %q", id)
}

func (s *Server) conversation(r *request, query string) (object, string) {
	repo := s.find(argument(r, query, "owner"), argument(r, query, "name"))
	if repo == nil || repo.Installation != r.inst {
		return nil, "could not resolve to a Repository"
	}
	r.call.Repo = repo.FullName()
	var p *Pull
	for _, o := range repo.Pulls {
		if fmt.Sprint(o.Number) == argument(r, query, "number") {
			p = o
		}
	}
	if p == nil {
		return nil, "could not resolve to a PullRequest"
	}
	var threads, comments []any
	for _, t := range p.Threads {
		var inside []any
		for _, c := range t.Comments {
			inside = append(inside, s.commentNodeJSON("PRRC", c))
		}
		outdated := t.SHA != p.HeadSHA
		o := object{
			"id":               node("PRRT", t.ID),
			"isResolved":       t.Resolved,
			"isOutdated":       outdated,
			"path":             t.Path,
			"line":             t.Line,
			"originalLine":     t.Line,
			"startLine":        nil,
			"diffSide":         t.Side,
			"viewerCanResolve": true,
			"comments":         connection(inside, 0, 100),
		}
		if outdated {
			o["line"] = nil
		}
		threads = append(threads, o)
	}
	for _, c := range repo.issue(int64(p.Number)).Comments {
		comments = append(comments, s.commentNodeJSON("IC", c))
	}
	return object{
		"repository": object{
			"pullRequest": object{
				"id":            node("PR", p.ID),
				"number":        p.Number,
				"reviewThreads": r.page(query, "reviewThreads", threads),
				"comments":      r.page(query, "comments", comments),
			},
		},
	}, ""
}

// page returns the requested part of a connection. If its name occurs several times the last
// applies, because the others are nested in it.
func (r *request) page(query, name string, nodes []any) object {
	all := regexp.MustCompile(`\b`+name+`\s*\(([^)]*)\)`).FindAllStringSubmatch(query, -1)
	if len(all) == 0 {
		return connection(nodes, 0, 0)
	}
	arguments := all[len(all)-1][1]
	first, err := strconv.Atoi(argument(r, arguments, "first"))
	if err != nil || first > 100 {
		first = 100
	}
	after, _ := strconv.Atoi(argument(r, arguments, "after")) // 0 if there is none
	return connection(nodes, after, first)
}

func (s *Server) commentNodeJSON(kind string, c *Comment) object {
	login, typename := c.Author.Login, "User"
	if c.Author.Kind == "Bot" { // GraphQL returns a bot's login without its suffix
		login, typename = strings.TrimSuffix(login, "[bot]"), "Bot"
	}
	var reason any
	if c.Minimized != "" {
		reason = strings.ToLower(c.Minimized)
	}
	return object{
		"id":              node(kind, c.ID),
		"databaseId":      c.ID,
		"fullDatabaseId":  fmt.Sprint(c.ID),
		"body":            c.Body,
		"isMinimized":     c.Minimized != "",
		"minimizedReason": reason,
		"viewerDidAuthor": c.Author == s.bot,
		"author":          object{"login": login, "__typename": typename},
		"createdAt":       stamp(c.At),
	}
}

// connection returns a page of nodes; its cursors are positions.
func connection(nodes []any, from, count int) object {
	from = min(from, len(nodes))
	to := min(from+count, len(nodes))
	part := nodes[from:to]
	if part == nil {
		part = []any{}
	}
	return object{
		"totalCount": len(nodes),
		"nodes":      part,
		"pageInfo":   object{"hasNextPage": to < len(nodes), "endCursor": fmt.Sprint(to)},
	}
}
