package setup

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Site is a GitHub server: github.com, GitHub Enterprise Server, or a tenant of GHE.com.
type Site struct {
	Web *url.URL // root of the web pages, without a trailing slash
	API *url.URL // root of the REST API, without a trailing slash
}

const (
	publicWeb = "https://github.com"
	publicAPI = config.DefaultAPI
	tenants   = ".ghe.com"
)

// ServerAPI is the path of the REST API on a GitHub Enterprise Server.
const ServerAPI = "/api/v3"

// ParseSite returns the server for the root of its web pages, its API, or both. "" means unknown;
// if both are "" it is github.com. The error is one sentence with the flag or variable. Plain
// http is accepted on this machine only, because the App's key is transferred.
func ParseSite(web, api string) (Site, error) {
	s := Site{}
	var err error
	if api != "" {
		if s.API, err = config.Root("GITHUB_API_URL", api,
			"https://api.github.com or https://HOST/api/v3"); err != nil {
			return s, err
		}
		if web == "" {
			if web = webOf(s.API); web == "" {
				return s, fmt.Errorf(
					"--github-url: GITHUB_API_URL does not determine the web address of GitHub; give it, such " +
						"as https://HOST",
				)
			}
		}
	}
	if web == "" {
		web = publicWeb
	}
	if s.Web, err = config.Root("--github-url", web,
		"https://github.com or https://HOST of a GitHub Enterprise Server"); err != nil {
		return s, err
	}
	if s.Web.Path != "" {
		return s, fmt.Errorf(
			"--github-url: %s has a path; give the root of GitHub's web address, such as https://%s",
			s.Web,
			s.Web.Host,
		)
	}
	if s.API == nil {
		s.API = apiOf(s.Web)
	}
	for _, u := range []*url.URL{s.Web, s.API} {
		if u.Scheme != "https" && !config.Loopback(u.Hostname()) {
			return s, fmt.Errorf(
				"--github-url: %s is not https, so the App's private key would be sent unencrypted; use https",
				u,
			)
		}
	}
	return s, nil
}

func apiOf(web *url.URL) *url.URL {
	switch host := strings.ToLower(web.Host); {
	case host == "github.com":
		return &url.URL{Scheme: "https", Host: "api.github.com"}
	case strings.HasSuffix(host, tenants):
		return &url.URL{Scheme: web.Scheme, Host: "api." + host}
	}
	return &url.URL{Scheme: web.Scheme, Host: web.Host, Path: ServerAPI}
}

// webOf is the inverse of apiOf; "" = unknown.
func webOf(api *url.URL) string {
	host := strings.ToLower(api.Host)
	switch {
	case api.String() == publicAPI:
		return publicWeb
	case strings.HasSuffix(host, tenants) && strings.HasPrefix(host, "api."):
		return api.Scheme + "://" + strings.TrimPrefix(host, "api.")
	case api.Path == ServerAPI:
		return api.Scheme + "://" + api.Host
	}
	return ""
}

// form returns the address to which the manifest is posted.
func (s Site) form(org, state string) string {
	u := *s.Web
	u.Path = "/settings/apps/new"
	if org != "" {
		u.Path = "/organizations/" + org + u.Path
	}
	u.RawQuery = url.Values{"state": {state}}.Encode()
	return u.String()
}

var login = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// CheckOrganization returns an error if the name of an organization is invalid. "" is valid.
func CheckOrganization(org string) error {
	if org != "" && !login.MatchString(org) {
		return fmt.Errorf(
			"--org: %.60q is not an organization name; give the name in the organization's URL",
			org,
		)
	}
	return nil
}

// ParsePublic parses the address at which GitHub reaches the service. name is that of a flag or
// variable, for the error.
func ParsePublic(name, address string) (*url.URL, error) {
	const hint = "the address at which GitHub reaches this service, such as https://compat.example.com"
	if address == "" {
		return nil, fmt.Errorf(
			"%s: is not set, and neither is COMPAT_PUBLIC_URL; set it to %s",
			name,
			hint,
		)
	}
	u, err := config.Root(name, address, hint)
	if err != nil {
		return nil, err
	}
	if config.Loopback(u.Hostname()) {
		return nil, fmt.Errorf(
			"%s: %s is reachable only from this machine, but GitHub must send events to it; set it to %s",
			name,
			u,
			hint,
		)
	}
	return u, nil
}
