package setup

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Site is a GitHub: github.com, a GitHub Enterprise Server, or a tenant of GHE.com.
type Site struct {
	Web *url.URL // root of the pages, without a slash at its end
	API *url.URL // root of REST, likewise
}

const (
	publicWeb = "https://github.com"
	publicAPI = config.DefaultAPI
	tenants   = ".ghe.com"
	serverAPI = "/api/v3" // of a GitHub Enterprise Server, below its pages
)

// ParseSite finds a GitHub by the root of its pages, that of its API, or both; "" is not told, and
// nothing told is github.com. The error is one sentence that names the flag or the variable. Plain
// http is taken on this machine only: the App's key comes that way.
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
		if u.Scheme != "https" && !loopback(u.Hostname()) {
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
	return &url.URL{Scheme: web.Scheme, Host: web.Host, Path: serverAPI}
}

// webOf is the opposite of apiOf; "" where the address doesn't tell.
func webOf(api *url.URL) string {
	host := strings.ToLower(api.Host)
	switch {
	case api.String() == publicAPI:
		return publicWeb
	case strings.HasSuffix(host, tenants) && strings.HasPrefix(host, "api."):
		return api.Scheme + "://" + strings.TrimPrefix(host, "api.")
	case api.Path == serverAPI:
		return api.Scheme + "://" + api.Host
	}
	return ""
}

// form is where the manifest is posted to.
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

// CheckOrganization says what is wrong with the name of an organisation; "" is none.
func CheckOrganization(org string) error {
	if org != "" && !login.MatchString(org) {
		return fmt.Errorf(
			"--org: %.60q is not an organization name; give the name in the organization's URL",
			org,
		)
	}
	return nil
}

// ParsePublic reads the address under which GitHub reaches the service, the value of a flag or a
// variable.
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
	if loopback(u.Hostname()) {
		return nil, fmt.Errorf(
			"%s: %s is reachable only from this machine, but GitHub must send events to it; set it to %s",
			name,
			u,
			hint,
		)
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") ||
		ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}
