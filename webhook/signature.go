package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/compat-app/compat/config"
)

// signature parses the header X-Hub-Signature-256. The SHA-1 header is ignored: GitHub always
// sends both.
func signature(header string) ([]byte, error) {
	digits, found := strings.CutPrefix(header, "sha256=")
	if !found {
		return nil, errors.New(
			"the header X-Hub-Signature-256 is missing; give the GitHub App a webhook secret",
		)
	}
	mac, err := hex.DecodeString(digits)
	if err != nil || len(mac) != sha256.Size {
		return nil, errors.New(
			"the header X-Hub-Signature-256 is not sha256= followed by 64 hexadecimal digits",
		)
	}
	return mac, nil
}

// signed returns the number, from 1, of the secret that signed the body, or 0. It compares with
// every secret, so that the time does not depend on which one matches. An empty secret never
// matches.
func signed(b *body, mac []byte, secrets []config.Secret) int {
	which := 0
	for i, secret := range secrets {
		if hmac.Equal(b.mac(secret), mac) && len(secret) > 0 {
			which = i + 1
		}
	}
	return which
}

// name reports whether s looks like the name of an event or a GUID: short, and only characters
// that are safe in keys and logs.
func name(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' &&
			r != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 100
}

// clean returns a header for the log, or "" if it is not a name.
func clean(s string) string {
	if !name(s) {
		return ""
	}
	return s
}
