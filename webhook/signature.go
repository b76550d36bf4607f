package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/compat-app/compat/config"
)

// signature reads the header X-Hub-Signature-256. The older SHA-1 header is not looked at: GitHub
// always sends both.
func signature(header string) ([]byte, error) {
	digits, found := strings.CutPrefix(header, "sha256=")
	if !found {
		return nil, errors.New(
			"the header X-Hub-Signature-256 is missing; give the GitHub App a webhook secret",
		)
	}
	mac, err := hex.DecodeString(digits)
	if err != nil || len(mac) != sha256.Size {
		return nil, errors.New("the header X-Hub-Signature-256 is not a SHA-256 in hex")
	}
	return mac, nil
}

// signed is which of the secrets fits, the first is 1, or 0. It compares with every one, so that
// the time taken tells nothing of which. An empty secret fits nothing.
func signed(b *body, mac []byte, secrets []config.Secret) int {
	which := 0
	for i, secret := range secrets {
		if hmac.Equal(b.mac(secret), mac) && len(secret) > 0 {
			which = i + 1
		}
	}
	return which
}

// name tells whether a header has the form of an event's name or a GUID: short, and only characters
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

// clean is a header as it may stand in the log.
func clean(s string) string {
	if !name(s) {
		return ""
	}
	return s
}
