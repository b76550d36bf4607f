package github

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v4"
)

// GitHub rejects a JWT issued in the future or valid for more than ten minutes, by its own clock
// (docs.github.com: generating a JSON web token for a GitHub App). These times tolerate a clock
// that is off by one minute in either direction.
const (
	jwtBack = 60 * time.Second
	jwtLife = 8 * time.Minute
)

// signer signs ghinstallation's claims with RS256 and with the times above; its defaults (30 s
// back, 2 minutes) tolerate less.
type signer struct{ key crypto.Signer }

// Sign implements ghinstallation.Signer. jwt's own methods take an *rsa.PrivateKey only. Signer has
// a type of golang-jwt/v4, also in ghinstallation v2.19.0, so that module stays; nothing is parsed
// with it.
func (s signer) Sign(claims jwt.Claims) (string, error) {
	c, ok := claims.(*jwt.RegisteredClaims)
	if !ok {
		return "", fmt.Errorf("github: sign %T", claims)
	}
	now := time.Now().Truncate(time.Second)
	c.IssuedAt = jwt.NewNumericDate(now.Add(-jwtBack))
	c.ExpiresAt = jwt.NewNumericDate(now.Add(jwtLife))
	text, err := jwt.NewWithClaims(jwt.SigningMethodRS256, c).SigningString()
	if err != nil {
		return "", fmt.Errorf("github: sign: %w", err)
	}
	digest := sha256.Sum256([]byte(text))
	signature, err := s.key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return "", fmt.Errorf("github: sign: %w", err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
