package github

import (
	"fmt"
	"net/url"
	"strings"
)

const publicAPI = "https://api.github.com/"

// roots are the only addresses that receive credentials.
type roots struct {
	rest    *url.URL // ends with a slash, as go-github requires
	graphql *url.URL
}

// newRoots derives the GraphQL address from the REST root; on GitHub Enterprise Server (/api/v3)
// it is /api/graphql.
func newRoots(u *url.URL) (roots, error) {
	if u == nil {
		u, _ = url.Parse(publicAPI)
	}
	if (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil ||
		u.RawQuery != "" ||
		u.Fragment != "" {
		return roots{}, fmt.Errorf(
			"github: API root %q: want http(s)://HOST[/PATH] without user and query",
			u.Redacted(),
		)
	}
	rest := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/") + "/"}
	graphql := *rest
	if before, ok := strings.CutSuffix(rest.Path, "/api/v3/"); ok {
		graphql.Path = before + "/api/graphql"
	} else {
		graphql.Path += "graphql"
	}
	return roots{rest, &graphql}, nil
}

// public reports whether this is github.com, whose storage hosts are known.
func (r roots) public() bool { return strings.EqualFold(hostPort(r.rest), "api.github.com:443") }

// contains reports whether an address is part of the API. Dot segments are refused because they
// could leave the root.
func (r roots) contains(u *url.URL) bool {
	if u.User != nil || !strings.EqualFold(u.Scheme, r.rest.Scheme) ||
		!strings.EqualFold(hostPort(u), hostPort(r.rest)) {
		return false
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == "." || part == ".." {
			return false
		}
	}
	return strings.HasPrefix(u.Path, r.rest.Path) || u.Path == r.graphql.Path
}

func (r roots) is(u *url.URL, path string) bool { return u.Path == r.rest.Path+path }

func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case strings.EqualFold(u.Scheme, "http"):
		port = "80"
	default:
		port = "443"
	}
	return u.Hostname() + ":" + port
}
