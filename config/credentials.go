package config

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/compat-app/compat/internal/appkey"
	"github.com/compat-app/compat/internal/secretfile"
)

// keyKind is the kind of key that GitHub accepts, and where it comes from.
const keyKind = "the RSA private key of the GitHub App: the PEM file (PKCS#1 or PKCS#8, without " +
	"a passphrase) that its settings page generates under Private keys"

// atMostOne returns an error if two variables that are sources of the same secret are set. None
// takes precedence: the other one would be an old secret that its owner believes to be in use.
func (env environment) atMostOne(variables ...string) error {
	first := ""
	for _, name := range variables {
		switch {
		case env(name) == "":
		case first == "":
			first = name
		default:
			return bad(first, "%s and %s are both set; remove one of them", first, name)
		}
	}
	return nil
}

// key reads PRIVATE_KEY, or the file that PRIVATE_KEY_PATH names, or takes the program that
// PRIVATE_KEY_COMMAND names.
func (env environment) key(s *Service) (err error) {
	err = env.atMostOne("PRIVATE_KEY", "PRIVATE_KEY_PATH", "PRIVATE_KEY_COMMAND")
	if err != nil {
		return err
	}
	v, path, command := env("PRIVATE_KEY"), env("PRIVATE_KEY_PATH"), env("PRIVATE_KEY_COMMAND")
	switch {
	case v != "":
		if s.PrivateKey, err = appkey.Parse([]byte(v)); err != nil {
			return bad(
				"PRIVATE_KEY",
				"%v; set it to %s, with newlines, with \\n for newlines, or base64-encoded",
				err,
				keyKind,
			)
		}
	case path != "":
		if s.PrivateKey, err = appkey.Read(path); err != nil {
			return badFile("PRIVATE_KEY_PATH", path, err, "set it to the path of "+keyKind)
		}
		s.keyPath = path
	case command != "":
		s.PrivateKey = appkey.Program(command)
	default:
		return bad(
			"PRIVATE_KEY",
			"is not set, and neither is PRIVATE_KEY_PATH or PRIVATE_KEY_COMMAND; set one of them to the "+
				"private key of the GitHub App",
		)
	}
	return nil
}

// badFile returns the error of a variable that names a file. next is what to do unless err says it.
func badFile(variable, path string, err error, next string) error {
	if errors.Is(err, secretfile.ErrMode) || errors.Is(err, fs.ErrPermission) {
		return bad(variable, "%v", err)
	}
	return bad(variable, "%s: %v; %s", quote(path), err, next)
}

// Secrets are the webhook secrets that are valid now. It is safe for concurrent use, except for
// Reload.
type Secrets struct {
	file *secretfile.File // nil: they do not change
	now  atomic.Pointer[[]Secret]
}

// NewSecrets returns secrets that do not change.
func NewSecrets(secrets ...string) *Secrets {
	all := make([]Secret, len(secrets))
	for i, text := range secrets {
		all[i] = Secret(text)
	}
	s := &Secrets{}
	s.now.Store(&all)
	return s
}

// All returns the secrets, each of which makes valid signatures. nil has none.
func (s *Secrets) All() []Secret {
	if s == nil {
		return nil
	}
	return *s.now.Load()
}

// Reload reads the file again if it has changed, and reports whether there are other secrets. After
// an error the earlier ones stay valid.
func (s *Secrets) Reload() (changed bool, _ error) {
	if s.file == nil {
		return false, nil
	}
	text, err := s.file.Read()
	if err != nil || text == nil {
		return false, err
	}
	trimmed := strings.TrimSpace(string(text))
	if trimmed == "" {
		return false, errors.New("is empty")
	}
	words, err := splitSecrets(strings.ReplaceAll(trimmed, "\n", ","))
	if err != nil {
		return false, err
	}
	read := NewSecrets(words...).now.Load()
	old := s.now.Swap(read)
	return old == nil || !slices.EqualFunc(*old, *read, func(a, b Secret) bool {
		return string(a) == string(b)
	}), nil
}

// splitSecrets splits at commas. An empty secret is an error: everybody could sign with it.
func splitSecrets(list string) ([]string, error) {
	var secrets []string
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part == "" {
			return nil, errors.New("contains an empty secret; remove the extra comma or line")
		}
		secrets = append(secrets, part)
	}
	return secrets, nil
}

// secrets reads WEBHOOK_SECRET, or the file that WEBHOOK_SECRET_PATH names.
func (env environment) secrets(s *Service) error {
	if err := env.atMostOne("WEBHOOK_SECRET", "WEBHOOK_SECRET_PATH"); err != nil {
		return err
	}
	v, path := env("WEBHOOK_SECRET"), env("WEBHOOK_SECRET_PATH")
	switch {
	case v != "":
		words, err := splitSecrets(v)
		if err != nil {
			return bad("WEBHOOK_SECRET", "%v", err)
		}
		s.WebhookSecrets = NewSecrets(words...)
	case path != "":
		secrets := &Secrets{file: secretfile.At(path)}
		if _, err := secrets.Reload(); err != nil {
			return badFile("WEBHOOK_SECRET_PATH", path, err, "set it to the path of a file with the "+
				"webhook secret of the GitHub App, or several, one on each line")
		}
		s.WebhookSecrets, s.secretPath = secrets, path
	default:
		return bad(
			"WEBHOOK_SECRET",
			"is not set; set it to the webhook secret of the GitHub App, which authenticates its events",
		)
	}
	return nil
}

// followEvery is how soon a changed file is noticed.
const followEvery = 5 * time.Second

// Follow reads the files of the key and of the webhook secrets again when they change, until ctx
// ends.
func (s *Service) Follow(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			reloaded(log.With("variable", "PRIVATE_KEY_PATH", "file", s.keyPath), "private key",
				s.PrivateKey.Reload)
			reloaded(log.With("variable", "WEBHOOK_SECRET_PATH", "file", s.secretPath), "webhook secret",
				s.WebhookSecrets.Reload)
		}
	}
}

func reloaded(log *slog.Logger, what string, reload func() (bool, error)) {
	switch changed, err := reload(); {
	case err != nil:
		log.Error("a changed file cannot be used; the earlier "+what+" stays in use", "error", err)
	case changed:
		log.Info("audit", "rotated", what)
	}
}
