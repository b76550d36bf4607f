package pkgmeta

import (
	"fmt"
	"strings"
)

const (
	maxVersion     = 256     // longest version on the public index is below 60
	maxRequirement = 8 << 10 // longest seen in the wild is about 600 bytes
	maxTags        = 4096    // the widest wheel in the wild expands to some 60
	maxQuote       = 80      // of outside text inside of a message
)

// quote shows outside text in a message: escaped and short.
func quote(s string) string {
	if len(s) > maxQuote {
		return fmt.Sprintf("%q… (%d bytes)", s[:maxQuote], len(s))
	}
	return fmt.Sprintf("%q", s)
}

// Normalize gives the one spelling of a project name (PEP 503): lower case, runs of "-", "_" and
// "." become one "-". It does not check that the name is valid.
func Normalize(name string) string {
	var b strings.Builder
	run := false
	for _, c := range []byte(name) {
		if c == '-' || c == '_' || c == '.' {
			run = true
			continue
		}
		if run {
			b.WriteByte('-')
			run = false
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	if run {
		b.WriteByte('-')
	}
	return b.String()
}

// validName follows PEP 508: letters, digits and "-_." between, a letter or digit at both ends.
func validName(s string) bool {
	for i := range len(s) {
		if !alnum(s[i]) && (i == 0 || i == len(s)-1 || !strings.ContainsRune("-_.", rune(s[i]))) {
			return false
		}
	}
	return s != ""
}

func alnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
