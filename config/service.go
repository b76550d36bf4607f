// Package config reads the two configurations of compat: Service, from the environment of the
// process, and Repository, from the .github/compat.yml of a repository.
//
// Both are strict. An invalid variable gives a one-line error with the variable, the problem and
// what to set. An invalid compat.yml gives a list of problems with key and line, which a check
// run shows as annotations. Everyone with write access to a repository can change compat.yml, so
// its size is limited to 64 KiB and 10,000 values, and aliases are errors.
//
//	service, err := config.FromEnv(os.LookupEnv)
//	repository, problems := config.ParseRepository(data, ruleIDs)
package config

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/compat-app/compat/internal/appkey"
)

// Defaults of the optional variables.
const (
	DefaultAPI  = "https://api.github.com"
	DefaultData = "./compat-data"
	DefaultAddr = ":8080"
	// time after which another worker takes over the job of a crashed one
	DefaultLease = 10 * time.Second
	DefaultWait  = 6 * time.Hour // the time limit of a job on GitHub-hosted runners
)

// Service is the configuration of `compat serve`. Use FromEnv: the zero value is not usable.
type Service struct {
	AppID          int64
	PrivateKey     *appkey.Key
	WebhookSecrets *Secrets // at least one, none empty; a signature by any of them is valid
	// files of PrivateKey and WebhookSecrets; "" = they are not in files
	keyPath, secretPath string
	API                 *url.URL // root of the REST API, without a trailing slash
	RedisURL            Secret   // may contain a password; empty = the embedded queue
	Blobs               string   // bucket for large values; empty = they are stored with the queue
	// parts of the queue, each with its own keys; 0 = as at the first start, else 1
	Partitions int
	Data       string // directory of the embedded queue's journal and of downloads
	Workers    int    // 0 = receive webhooks only
	Pool       string // of the workers: "small", "large" or "" = both; see queue.Pool
	// root address of the report pages, without a trailing slash; nil = check runs do not link to
	// a report
	PublicURL  *url.URL
	Lease      time.Duration
	Wait       time.Duration // how long a check waits for artifacts before it is concluded
	LogLevel   slog.Level
	IndexURL   Secret // package index, may contain a password; empty = no index is used
	IndexAllow string // names of packages that any pull request may look up; see COMPAT_INDEX_ALLOW
	Addr       string // from PORT

	// address of the admin endpoints, HOST:PORT; empty = not served
	AdminAddr string
	// exit at start if a layer of the sandbox is not available
	SandboxRequired bool
}

// EnvError is an invalid environment variable. Its text is one line and never contains a secret.
type EnvError struct {
	Variable string
	Problem  string // what is wrong, and what to do
}

func (e *EnvError) Error() string { return e.Variable + ": " + e.Problem }

// FromEnv reads the service's configuration; getenv is os.LookupEnv. The error is an *EnvError
// for the first invalid variable.
func FromEnv(getenv func(string) (string, bool)) (*Service, error) {
	s, invalid := Examine(getenv)
	if len(invalid) > 0 {
		return nil, invalid[0]
	}
	return s, nil
}

// Examine is FromEnv with an error for each invalid variable. The fields of those are not set, so
// the service is not usable if there is any.
func Examine(getenv func(string) (string, bool)) (*Service, []error) {
	env := trimmed(getenv)
	return env.read(env.app, env.key, env.secrets)
}

// BeforeApp reads the configuration of a service whose GitHub App is not created yet. It returns
// nil, nil if any variable of the App is set or COMPAT_PUBLIC_URL is not.
func BeforeApp(getenv func(string) (string, bool)) (*Service, error) {
	env := trimmed(getenv)
	if env("APP_ID") != "" || env("PRIVATE_KEY") != "" || env("PRIVATE_KEY_PATH") != "" ||
		env("PRIVATE_KEY_COMMAND") != "" || env("COMPAT_PUBLIC_URL") == "" {
		return nil, nil
	}
	s, invalid := env.read()
	if len(invalid) > 0 {
		return nil, invalid[0]
	}
	return s, nil
}

func trimmed(getenv func(string) (string, bool)) environment {
	return func(name string) string {
		v, set := getenv(name)
		if !set {
			return ""
		}
		return strings.TrimSpace(v)
	}
}

// read builds a Service with the given readers and those of all variables that do not concern the
// App. It returns the errors of all readers.
func (env environment) read(app ...func(*Service) error) (s *Service, invalid []error) {
	s = &Service{}
	for _, read := range append(app, env.api, env.redis, env.partitions, env.workers, env.pool,
		env.public, env.lease, env.wait, env.level, env.index, env.port, env.admin, env.sandbox) {
		if err := read(s); err != nil {
			invalid = append(invalid, err)
		}
	}
	s.Blobs = env("COMPAT_BLOBS")
	if s.Data = env("COMPAT_DATA"); s.Data == "" {
		s.Data = DefaultData
	}
	return s, invalid
}

// Unquoted returns getenv without the quotes around a value: a shell, systemd and Docker Compose
// remove those of a file with settings, kubectl and docker run do not.
func Unquoted(getenv func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, set := getenv(name)
		for _, quote := range []string{`"`, "'"} {
			inner, first := strings.CutPrefix(strings.TrimSpace(v), quote)
			inner, last := strings.CutSuffix(inner, quote)
			if first && last && !strings.Contains(inner, quote) {
				return inner, set
			}
		}
		return v, set
	}
}

// minSecret is the length in bytes of a webhook secret that is long enough. Shorter ones can be
// found by trying, because each delivery is signed with it.
const minSecret = 16

// Risks returns an error for each valid variable with which secrets can become known to others.
func (s *Service) Risks() []*EnvError {
	var risks []*EnvError
	risk := func(variable, format string, a ...any) {
		risks = append(risks, &EnvError{Variable: variable, Problem: fmt.Sprintf(format, a...)})
	}
	if plain(s.API) {
		risk("GITHUB_API_URL", "%s is not encrypted, so the tokens of the App can be read in transit; "+
			"use https", s.API)
	}
	if plain(s.PublicURL) {
		risk("COMPAT_PUBLIC_URL", "%s is not encrypted, so events and the links to the reports of "+
			"private repositories can be read in transit; use https, with a reverse proxy that has a "+
			"certificate", s.PublicURL)
	}
	for _, secret := range s.WebhookSecrets.All() {
		if len(secret) < minSecret {
			risk("WEBHOOK_SECRET", "is shorter than %d characters, so it can be guessed, and then "+
				"anybody can send events; set it, and the App's webhook secret, to the output of "+
				"openssl rand -hex 32", minSecret)
		}
	}
	return risks
}

// plain reports whether requests to an address leave this machine unencrypted; nil is no address.
func plain(u *url.URL) bool {
	if u == nil || u.Scheme != "http" {
		return false
	}
	return !Loopback(u.Hostname())
}

// Loopback reports whether a host name or address is that of this machine.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") ||
		ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

type environment func(string) string

func bad(variable, format string, a ...any) error {
	return &EnvError{Variable: variable, Problem: fmt.Sprintf(format, a...)}
}

func (env environment) app(s *Service) error {
	v := env("APP_ID")
	if v == "" {
		return bad(
			"APP_ID",
			"is not set; set it to the App ID shown on the settings page of the GitHub App, or create an "+
				"App with 'compat setup', or set COMPAT_PUBLIC_URL and open /setup",
		)
	}
	id, err := strconv.ParseInt(v, 10, 64)
	if err != nil || id <= 0 {
		return bad(
			"APP_ID",
			"%s is not a number; set it to the App ID shown on the settings page of the GitHub App",
			quote(v),
		)
	}
	s.AppID = id
	return nil
}

func (env environment) api(s *Service) (err error) {
	v := env("GITHUB_API_URL")
	if v == "" {
		v = DefaultAPI
	}
	s.API, err = Root("GITHUB_API_URL", v, "https://api.github.com or https://HOST/api/v3")
	return err
}

func (env environment) public(s *Service) (err error) {
	if v := env("COMPAT_PUBLIC_URL"); v != "" {
		s.PublicURL, err = Root(
			"COMPAT_PUBLIC_URL",
			v,
			"the public address of this service, such as https://compat.example.com",
		)
	}
	return err
}

// Root parses an absolute http or https address to which paths are appended, and removes trailing
// slashes. variable names the variable or flag for the error, and hint describes a valid value.
func Root(variable, v, hint string) (*url.URL, error) {
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
		strings.ContainsFunc(v, unicode.IsSpace) ||
		u.RawQuery != "" ||
		u.Fragment != "" ||
		u.User != nil {
		shown := quote(v)
		if strings.Contains(v, "@") { // there may be a password before it
			shown = "its value"
		}
		return nil, bad(
			variable,
			"%s is not an http or https URL without spaces, user name, password, query and fragment; set "+
				"it to %s",
			shown,
			hint,
		)
	}
	if slices.Contains([]string{"your-host", "host", "ghes"}, strings.ToLower(u.Hostname())) {
		return nil, bad(variable, "%s is an example of the documentation; set it to %s", quote(v), hint)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// encoded are the characters that end the password of an address.
const encoded = "/ is %%2F, ? is %%3F, # is %%23, @ is %%40, %% is %%25"

func (env environment) redis(s *Service) error {
	v := env("REDIS_URL")
	if v == "" {
		return nil
	}
	// The value may contain a password, so the error does not contain it.
	u, err := url.Parse(v)
	switch {
	case err != nil, u.Fragment != "", u.Scheme != "unix" && strings.Contains(u.Path, "@"):
		return bad(
			"REDIS_URL",
			"is not a valid address; set it to redis://USER:PASSWORD@HOST:PORT/0, rediss:// for TLS, or "+
				"unix:///PATH, with special characters of the password percent-encoded ("+encoded+"), or "+
				"leave it empty for the embedded queue",
		)
	case (u.Scheme == "redis" || u.Scheme == "rediss") && u.Host != "",
		u.Scheme == "unix" && u.Path != "":
		s.RedisURL = Secret(v)
		return nil
	}
	return bad(
		"REDIS_URL",
		"is not a redis://, rediss:// or unix:// address; set it to redis://HOST:PORT/0, or leave it "+
			"empty for the embedded queue",
	)
}

// maxPartitions is queue.MaxPartitions.
const maxPartitions = 128

func (env environment) partitions(s *Service) error {
	v := env("COMPAT_PARTITIONS")
	if v == "" {
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > maxPartitions {
		return bad("COMPAT_PARTITIONS", "%s is not a number from 1 to %d", quote(v), maxPartitions)
	}
	if n > 1 && len(s.RedisURL) == 0 {
		return bad("COMPAT_PARTITIONS", "is %d, and the embedded queue has one partition; set REDIS_URL "+
			"too, or set it to 1", n)
	}
	s.Partitions = n
	return nil
}

func (env environment) workers(s *Service) error {
	// An analysis needs a processor, but most of a job's time is spent waiting for GitHub.
	s.Workers = 4 * runtime.NumCPU()
	v := env("COMPAT_WORKERS")
	if v == "" {
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > 1000 {
		return bad("COMPAT_WORKERS", "%s is not a number from 0 (only receive) to 1000", quote(v))
	}
	s.Workers = n
	return nil
}

func (env environment) pool(s *Service) error {
	switch s.Pool = env("COMPAT_POOL"); {
	case s.Pool == "":
	case s.Pool != "small" && s.Pool != "large":
		return bad("COMPAT_POOL", "%s is not known; set it to small or large, or leave it empty for "+
			"all jobs", quote(s.Pool))
	case len(s.RedisURL) == 0:
		return bad("COMPAT_POOL", "is %s, and a service with the embedded queue has one process, which "+
			"does all jobs; set REDIS_URL too, or leave it empty", s.Pool)
	}
	return nil
}

func (env environment) lease(s *Service) (err error) {
	s.Lease, err = env.duration("COMPAT_LEASE", DefaultLease)
	return err
}

func (env environment) wait(s *Service) (err error) {
	s.Wait, err = env.duration("COMPAT_WAIT", DefaultWait)
	return err
}

func (env environment) duration(variable string, otherwise time.Duration) (time.Duration, error) {
	const least = time.Second // room for three heartbeats
	v := env(variable)
	if v == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < least {
		return otherwise, bad(
			variable,
			"%s is not a duration of at least %s; write it as 30s, 10m or 6h",
			quote(v),
			least,
		)
	}
	return d, nil
}

func (env environment) level(s *Service) error {
	v := env("LOG_LEVEL")
	switch strings.ToLower(v) {
	case "", "info":
		s.LogLevel = slog.LevelInfo
	case "debug":
		s.LogLevel = slog.LevelDebug
	case "warn":
		s.LogLevel = slog.LevelWarn
	case "error":
		s.LogLevel = slog.LevelError
	default:
		return bad("LOG_LEVEL", "%s is not a level; set it to debug, info, warn or error", quote(v))
	}
	return nil
}

func (env environment) index(s *Service) error {
	v := env("PIP_INDEX_URL")
	if v == "" {
		return nil
	}
	// The value may contain a password, so the error does not contain it.
	if u, err := url.Parse(v); err != nil || u.Scheme != "http" && u.Scheme != "https" ||
		u.Host == "" || u.Fragment != "" || strings.ContainsFunc(v, unicode.IsSpace) {
		return bad(
			"PIP_INDEX_URL",
			"is not one valid http or https address without spaces; set it to a simple index such as "+
				"https://USER:PASSWORD@HOST/simple, with special characters of the password "+
				"percent-encoded ("+encoded+"), or leave it empty",
		)
	}
	s.IndexURL = Secret(v)
	s.IndexAllow = env("COMPAT_INDEX_ALLOW")
	return nil
}

func (env environment) port(s *Service) error {
	s.Addr = DefaultAddr
	v := env("PORT")
	if v == "" {
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 65535 {
		return bad("PORT", "%s is not a port; set it to a number from 1 to 65535", quote(v))
	}
	s.Addr = ":" + strconv.Itoa(n)
	return nil
}

func (env environment) admin(s *Service) error {
	v := env("COMPAT_ADMIN_ADDR")
	if v == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(v)
	n, numErr := strconv.ParseUint(port, 10, 16)
	if err != nil || numErr != nil || n == 0 {
		return bad("COMPAT_ADMIN_ADDR", "%s is not HOST:PORT; set it to an address that only operators "+
			"can reach, such as 127.0.0.1:9090", quote(v))
	}
	s.AdminAddr = v
	return nil
}

func (env environment) sandbox(s *Service) error {
	switch v := env("COMPAT_SANDBOX"); v {
	case "", "auto":
	case "required":
		s.SandboxRequired = true
	default:
		return bad("COMPAT_SANDBOX", "%s is not known; set it to auto or required", quote(v))
	}
	return nil
}

// quote quotes a value on one line and truncates it to 60 characters.
func quote(v string) string {
	if r := []rune(v); len(r) > 60 {
		v = string(r[:60]) + "…"
	}
	return strconv.Quote(v)
}
