package githubtest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/compat-app/compat/internal/lazy"
)

// permissions are those that the App requests at installation, unless it was created from a
// manifest.
var permissions = lazy.Value[map[string]string]{New: func() map[string]string {
	return map[string]string{
		"metadata": "read", "contents": "read", "actions": "read", "merge_queues": "read",
		"checks": "write", "pull_requests": "write", "issues": "write", "deployments": "write",
		"statuses": "write",
	}
}}

type token struct {
	inst        *Installation
	permissions map[string]string
	repos       map[int64]bool // nil = all of the installation
	expires     time.Time
	revoked     bool
}

// RevokeTokens revokes all tokens, as GitHub does when a key may have leaked.
func (s *Server) RevokeTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tokens {
		t.revoked = true
	}
}

// authenticate checks the credentials and permissions of a request, and sets its installation and
// repository.
func (s *Server) authenticate(r *request) error {
	scheme, credential, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if owner := r.PathValue("owner"); owner != "" {
		r.repo = s.find(owner, r.PathValue("repo"))
		r.call.Repo = owner + "/" + r.PathValue("repo")
	}
	isJWT := strings.Count(credential, ".") == 2
	switch {
	case r.op.needs == "nothing":
		if credential != "" {
			s.violate("%s %s: carries credentials, and needs none", r.Method, r.call.Path)
		}
		return nil
	case credential == "" && r.op.needs == "any":
		return nil
	case credential == "" || !strings.EqualFold(scheme, "bearer") && !strings.EqualFold(scheme,
		"token"):
		s.violate("%s %s: no credentials", r.Method, r.call.Path)
		return fail(http.StatusUnauthorized, "Requires authentication")
	case isJWT && r.op.needs != "jwt" && r.op.needs != "any":
		s.violate("%s %s: an installation token is needed, not the App's JWT", r.Method, r.call.Path)
		return fail(http.StatusForbidden, "Resource not accessible by integration")
	case isJWT:
		if err := s.verifyJWT(credential, time.Now()); err != nil {
			s.violate("%s %s: JWT: %v", r.Method, r.call.Path, err)
			return fail(http.StatusUnauthorized, "A JSON web token could not be decoded")
		}
		return nil
	case r.op.needs == "jwt":
		s.violate("%s %s: the App's JWT is needed, not an installation token", r.Method, r.call.Path)
		return fail(http.StatusUnauthorized, "A JSON web token could not be decoded")
	}
	t := s.tokens[credential]
	if t == nil {
		s.violate("%s %s: a token that was never given out", r.Method, r.call.Path)
		return fail(http.StatusUnauthorized, "Bad credentials")
	}
	r.inst, r.call.Installation = t.inst, t.inst.ID
	switch {
	case t.revoked || time.Now().After(t.expires) || t.inst.Deleted:
		return fail(http.StatusUnauthorized, "Bad credentials")
	case t.inst.Suspended:
		return fail(http.StatusForbidden, "This installation has been suspended")
	case r.op.needs == "token" || r.op.needs == "any":
		return nil
	}
	return s.authorize(r, t)
}

func (s *Server) authorize(r *request, t *token) error {
	repo := r.repo
	if repo == nil {
		return notFound()
	}
	if repo.Installation != t.inst || t.repos != nil && !t.repos[repo.ID] {
		if repo.Private || r.Method != http.MethodGet {
			s.violate("%s %s: the token is of another installation", r.Method, r.call.Path)
			if repo.Private {
				return notFound()
			}
			return fail(http.StatusForbidden, "Resource not accessible by integration")
		}
		return nil // public repositories are readable for everyone
	}
	if !allowed(r.op.needs, t.permissions) {
		s.violate("%s %s: needs the permission %s", r.Method, r.call.Path, r.op.needs)
		return fail(http.StatusForbidden, "Resource not accessible by integration")
	}
	if repo.Archived && r.Method != http.MethodGet {
		return fail(http.StatusForbidden, "Repository was archived so is read-only.")
	}
	return nil
}

// verifyJWT checks an App's JWT by GitHub's rules: RS256 with the App's key, iss is the App ID,
// iat not in the future, exp within ten minutes.
func (s *Server) verifyJWT(jwt string, now time.Time) error {
	parts := strings.Split(jwt, ".")
	var header struct{ Alg string }
	var claims struct {
		Iss      any
		Iat, Exp float64
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err := errors.Join(err, part(parts[0], &header), part(parts[1], &claims)); err != nil {
		return err
	}
	if header.Alg != "RS256" {
		return fmt.Errorf("signed with %s, want RS256", header.Alg)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	signed := func(key *rsa.PrivateKey) bool {
		return key != nil && rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], sig) == nil
	}
	if !signed(s.Key) && !signed(s.OldKey) {
		return errors.New("not signed by the App's key")
	}
	unix := float64(now.UnixMilli()) / 1000
	iss := fmt.Sprint(claims.Iss)
	if f, ok := claims.Iss.(float64); ok {
		iss = fmt.Sprintf("%.0f", f)
	}
	switch {
	case iss != fmt.Sprint(s.AppID):
		return fmt.Errorf("iss is %s, want %d", iss, s.AppID)
	case claims.Iat > unix+1:
		return fmt.Errorf("iat is %.0f s in the future", claims.Iat-unix)
	case claims.Exp < unix:
		return fmt.Errorf("expired %.0f s ago", unix-claims.Exp)
	case claims.Exp > unix+600:
		return fmt.Errorf("exp is %.0f s away, at most 600", claims.Exp-unix)
	}
	return nil
}

func part(s string, v any) error {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

func (s *Server) createToken(r *request) (any, error) {
	inst := s.installs[r.number("installation_id")]
	if inst == nil || inst.Deleted {
		return nil, notFound()
	}
	if inst.Suspended {
		return nil, fail(http.StatusForbidden, "This installation has been suspended")
	}
	t := &token{
		inst:        inst,
		permissions: maps.Clone(s.permissions),
		expires:     time.Now().Add(s.TokenLife),
	}
	if wanted := obj(r.body, "permissions"); wanted != nil {
		t.permissions = map[string]string{"metadata": "read"}
		for name, level := range wanted {
			if !allowed(name+":"+fmt.Sprint(level), s.permissions) {
				return nil, s.violation(
					r,
					"asks for the permission %s:%v, which the App does not have",
					name,
					level,
				)
			}
			t.permissions[name] = fmt.Sprint(level)
		}
	}
	selection := "all"
	for _, id := range arr(r.body, "repository_ids") {
		n, _ := id.(float64)
		if repo := s.repos[int64(n)]; repo == nil || repo.Installation != inst {
			return nil, s.violation(r, "repository %.0f is not of the installation", n)
		}
		if t.repos == nil {
			t.repos, selection = map[int64]bool{}, "selected"
		}
		t.repos[int64(n)] = true
	}
	value := "ghs_" + random(88) // 180 characters, like GitHub's stateless tokens
	s.tokens[value] = t
	return created(
		object{
			"token":                value,
			"expires_at":           stamp(t.expires),
			"permissions":          t.permissions,
			"repository_selection": selection,
		},
	), nil
}

func (s *Server) getApp(r *request) (any, error) {
	return object{
		"id":          s.AppID,
		"slug":        s.Slug,
		"name":        "compat test",
		"node_id":     node("A", s.AppID),
		"owner":       s.bot.json(),
		"html_url":    "https://github.test/apps/" + s.Slug,
		"permissions": s.permissions,
		"events":      []string{},
		"created_at":  stamp(time.Unix(0, 0)),
		"updated_at":  stamp(time.Unix(0, 0)),
	}, nil
}

func (s *Server) listInstallations(r *request) (any, error) {
	var out []any
	for _, id := range sorted(s.installs) {
		if i := s.installs[id]; !i.Deleted {
			out = append(out, s.installationJSON(i))
		}
	}
	return s.page(r, "", out)
}

func (s *Server) getInstallation(r *request) (any, error) {
	if i := s.installs[r.number("installation_id")]; i != nil && !i.Deleted {
		return s.installationJSON(i), nil
	}
	return nil, notFound()
}

func (s *Server) getRepoInstallation(r *request) (any, error) {
	if r.repo.Installation == nil || r.repo.Installation.Deleted {
		return nil, notFound()
	}
	return s.installationJSON(r.repo.Installation), nil
}

func (s *Server) listRepos(r *request) (any, error) {
	var out []any
	for _, id := range sorted(s.repos) {
		if repo := s.repos[id]; repo.Installation == r.inst {
			out = append(out, s.repoJSON(repo))
		}
	}
	return s.page(r, "repositories", out)
}

func (s *Server) getRateLimit(r *request) (any, error) {
	core := object{
		"limit":     5000,
		"remaining": 4900,
		"used":      100,
		"reset":     time.Now().Add(time.Hour).Unix(),
	}
	if r.inst != nil && r.inst.limit != nil && time.Now().Before(r.inst.limit.until) &&
		r.inst.limit.Primary {
		core = object{
			"limit":     5000,
			"remaining": 0,
			"used":      5000,
			"reset":     r.inst.limit.until.Unix() + 1,
		}
	}
	return object{"resources": object{"core": core, "search": core}, "rate": core}, nil
}
