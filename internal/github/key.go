package github

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v4"
)

// ParseKey reads an RSA private key as people put it into environment variables: PEM in PKCS#1 (as
// GitHub gives it) or PKCS#8, with real line breaks, with the two characters \n instead of them,
// with spaces instead of them, quoted, or all of that in base64. The error never holds a byte of
// the key.
func ParseKey(text []byte) (*rsa.PrivateKey, error) {
	s := strings.Trim(strings.TrimSpace(string(text)), `"'`)
	s = strings.NewReplacer(`\r`, "", `\n`, "\n", "\r", "").Replace(s)
	if s == "" {
		return nil, errors.New("private key: empty")
	}
	if !strings.Contains(s, "-----BEGIN") {
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
		if err != nil || !bytes.Contains(raw, []byte("-----BEGIN")) {
			return nil, errors.New(
				"private key: neither PEM (-----BEGIN RSA PRIVATE KEY-----) nor PEM in base64",
			)
		}
		s = string(raw)
	}
	block, _ := pem.Decode([]byte(lines(s)))
	if block == nil {
		return nil, errors.New(
			"private key: damaged PEM: it needs a BEGIN and an END line and base64 between them",
		)
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New(
			"private key: neither a PKCS#1 nor a PKCS#8 key without a passphrase",
		)
	}
	key, ok := any.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("private key: %T, but GitHub Apps sign with RSA", any)
	}
	return key, nil
}

// lines gives PEM that lost its line breaks (to spaces, or to nothing) its BEGIN and END lines
// back.
func lines(s string) string {
	head, rest, ok := strings.Cut(s, "-----BEGIN ")
	kind, body, ok2 := strings.Cut(rest, "-----")
	body, _, ok3 := strings.Cut(body, "-----END ")
	if !ok || !ok2 || !ok3 || strings.TrimSpace(head) != "" || strings.Contains(body, ":") {
		return s
	}
	return "-----BEGIN " + kind + "-----\n" + strings.Join(
		strings.Fields(body),
		"\n",
	) + "\n-----END " + kind + "-----\n"
}

// GitHub refuses a JWT that is issued in the future or lives longer than ten minutes, both by its
// own clock (docs.github.com: generating a JSON web token for a GitHub App). So ours tolerates a
// clock that is a minute off, either way.
const (
	jwtBack = 60 * time.Second
	jwtLife = 8 * time.Minute
)

// signer signs ghinstallation's claims with RS256 and our own times: its default (30 s back, 2
// minutes) is tighter.
type signer struct{ key *rsa.PrivateKey }

func (s signer) Sign(claims jwt.Claims) (string, error) {
	c, ok := claims.(*jwt.RegisteredClaims)
	if !ok {
		return "", fmt.Errorf("github: sign %T", claims)
	}
	now := time.Now().Truncate(time.Second)
	c.IssuedAt, c.ExpiresAt = jwt.NewNumericDate(
		now.Add(-jwtBack),
	), jwt.NewNumericDate(
		now.Add(jwtLife),
	)
	return jwt.NewWithClaims(jwt.SigningMethodRS256, c).SignedString(s.key)
}
