package stories

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/internal/test/needs"
)

// secretFile writes a file as Kubernetes replaces a secret: the new file is moved over the old one.
func (s *story) secretFile(name, text string) string {
	s.Helper()
	path := filepath.Join(s.app.dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		s.Fatal(err)
	}
	return path
}

// The key and the webhook secret are replaced while the service runs; the old ones are then
// invalid.
func TestCredentialsRotate(t *testing.T) {
	s := tell(t, world{asleep: true})
	delete(s.app.env, "PRIVATE_KEY")
	delete(s.app.env, "WEBHOOK_SECRET")
	first := s.gh.Secret
	s.app.env["PRIVATE_KEY_PATH"] = s.secretFile("key.pem", s.gh.PEM())
	s.app.env["WEBHOOK_SECRET_PATH"] = s.secretFile("secret", first+"\n")
	s.app.start()
	s.Bad()

	rotated := func(what string, times int) {
		t.Helper()
		eventually(s, func() string {
			if n := strings.Count(s.app.log.String(), `"rotated":"`+what+`"`); n != times {
				return fmt.Sprintf("%s: rotated %d times", what, n)
			}
			return ""
		})
	}
	// Both are valid during the rotation.
	next, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s.gh.Do(func() { s.gh.OldKey, s.gh.Key = s.gh.Key, next })
	s.secretFile("key.pem", string(pem.EncodeToMemory(&pem.Block{
		Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(next),
	})))
	s.secretFile("secret", "the-new-secret\n"+first+"\n")
	rotated("private key", 1)
	rotated("webhook secret", 1)
	s.gh.Do(func() { s.gh.OldKey = nil })
	s.repo = s.newRepo(s.gh.Install("another"), "widget") // needs a token
	p := s.OpenWith("old-secret", requiring("packaging>=25"))
	s.gh.Do(func() { s.gh.Secret = "the-new-secret" })
	s.Finish(p, wheels(cases.CaseA("1.5.1")))
	s.want(s.Concluded(p.HeadSHA), "failure")

	s.secretFile("secret", "the-new-secret")
	rotated("webhook secret", 2)
	s.gh.Do(func() { s.gh.Secret = first })
	if d := s.gh.Send("ping", map[string]any{"zen": "x"}); d.Code != 401 {
		t.Errorf("a delivery that is signed with the old secret is answered %d", d.Code)
	}
	s.gh.Do(func() { s.gh.Secret = "the-new-secret" })

	// Invalid credentials do not replace valid ones.
	s.secretFile("secret", ",")
	eventually(s, func() string {
		if !strings.Contains(s.app.log.String(), "the earlier webhook secret stays in use") {
			return "the log does not have the damaged file"
		}
		return ""
	})
	if d := s.gh.Send("ping", map[string]any{"zen": "x"}); d.Code != 200 {
		t.Errorf("ping is answered %d", d.Code)
	}
}

// A program signs, like that of a key management service: the service itself has no key.
func TestExternalSigner(t *testing.T) {
	openssl := needs.Program(t, "openssl", "openssl", "no program signs")
	s := tell(t, world{asleep: true})
	delete(s.app.env, "PRIVATE_KEY")
	key := s.secretFile("token.pem", s.gh.PEM())
	program := filepath.Join(s.app.dir, "sign")
	text := fmt.Sprintf("#!/bin/sh\nexec %s pkeyutl -sign -inkey %s -pkeyopt digest:sha256\n",
		openssl, key)
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	s.app.env["PRIVATE_KEY_COMMAND"] = program
	s.app.start()
	s.Bad()
}
