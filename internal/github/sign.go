package github

import (
	"crypto/rsa"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v4"
)

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
