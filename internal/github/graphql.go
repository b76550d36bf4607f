package github

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"
)

const graphBytes = 16 << 20 // larger than any response that we request

// GraphQL runs one query or mutation and decodes its data into out (nil = ignored). Queries are
// retried like a GET, mutations are not. Errors in a response with status 200 become a
// *GraphQLError; data in the same response is decoded anyway.
func (c *Client) GraphQL(ctx context.Context, query string, vars map[string]any, out any) error {
	body, err := json.Marshal(struct {
		Query     string         `json:"query"`
		Variables map[string]any `json:"variables,omitempty"`
	}{query, vars})
	if err != nil {
		return fmt.Errorf("github: graphql variables: %w", err)
	}
	if q := strings.TrimSpace(query); strings.HasPrefix(q, "query") || strings.HasPrefix(q, "{") {
		ctx = context.WithValue(ctx, repeatable{}, true)
	}
	req, err := http.NewRequestWithContext(
		ctx,
		http.MethodPost,
		c.api.graphql.String(),
		bytes.NewReader(body),
	)
	if err != nil {
		return fmt.Errorf("github: graphql: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.api.agent)
	resp, err := c.Client.Client().Do(req)
	if err != nil {
		return fmt.Errorf("github: graphql: %w", err)
	}
	defer resp.Body.Close()
	if err := gh.CheckResponse(resp); err != nil {
		return fmt.Errorf("github: graphql: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, graphBytes))
	if err != nil {
		return fmt.Errorf("github: graphql: read the response: %w", lost(req, err))
	}
	var answer struct {
		Data   json.RawMessage
		Errors []GraphQLFault
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("github: graphql: the response is not JSON: %w", lost(req, err))
	}
	if out != nil && len(answer.Data) > 0 {
		if err := json.Unmarshal(answer.Data, out); err != nil {
			return fmt.Errorf("github: graphql: decode data: %w", err)
		}
	}
	if len(answer.Errors) == 0 {
		return nil
	}
	failed := &GraphQLError{Faults: answer.Errors}
	if failed.limited() { // GitHub responds with 200 to a rate limited query
		like := &http.Response{StatusCode: http.StatusTooManyRequests, Header: resp.Header}
		l := c.tr.limiter.block(ctx, readLimit(like, nil, time.Now()))
		return fmt.Errorf("github: graphql: %w", l)
	}
	return failed
}

// GraphQLFault is one element of errors in a GraphQL response.
type GraphQLFault struct {
	// "NOT_FOUND", "FORBIDDEN", "RATE_LIMITED", …; "" if GitHub could not parse the query
	Type    string
	Message string
}

// GraphQLError is the error for a GraphQL response with errors.
type GraphQLError struct{ Faults []GraphQLFault }

func (e *GraphQLError) Error() string {
	f := e.Faults[0]
	return fmt.Sprintf("github: graphql: %s %s (%d errors)", f.Type, brief(f.Message), len(e.Faults))
}

func (e *GraphQLError) limited() bool {
	for _, f := range e.Faults {
		if f.Type == "RATE_LIMITED" || strings.Contains(strings.ToLower(f.Message), "rate limit") {
			return true
		}
	}
	return false
}

func (e *GraphQLError) class() ErrorClass {
	f := ErrorClass{
		Kind:   Invalid,
		Reason: sentence("GitHub refused a GraphQL request: " + brief(e.Faults[0].Message)),
	}
	switch t := e.Faults[0].Type; {
	case t == "NOT_FOUND":
		f.Kind = Missing
	case t == "FORBIDDEN", t == "INSUFFICIENT_SCOPES":
		f.Kind = Forbidden
	case t == "SERVICE_UNAVAILABLE",
		t == "INTERNAL",
		strings.Contains(e.Faults[0].Message, "Something went wrong"):
		f.Kind, f.Unsure = Retry, true
	}
	return f
}
