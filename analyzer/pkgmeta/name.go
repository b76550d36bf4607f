package pkgmeta

import (
	"fmt"
	"strings"
)

const (
	maxVersion     = 256     // the longest version on PyPI has less than 60
	maxRequirement = 8 << 10 // the longest published one has about 600
	maxTags        = 4096    // published wheels expand to at most about 60
	maxQuote       = 80      // bytes of input that an error message quotes
)

// quote returns input for an error message, escaped and truncated.
func quote(s string) string {
	if len(s) > maxQuote {
		return fmt.Sprintf("%q… (%d bytes)", s[:maxQuote], len(s))
	}
	return fmt.Sprintf("%q", s)
}

// Normalize returns the normalised project name (PEP 503): lower case, with runs of "-", "_" and
// "." replaced by one "-". It does not check that the name is valid.
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

// validName follows PEP 508: letters, digits and "-_.", with a letter or digit at both ends.
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
