package unpack

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Safe makes an untrusted name safe to display: control characters, invalid UTF-8 and invisible
// characters (bidirectional overrides, zero width, line and paragraph separators) are replaced
// by escapes such as "\x1b" and "\u202e". The result may contain Markdown or HTML, which the
// caller has to escape.
func Safe(name string) string {
	clean := true
	for i := 0; i < len(name) && clean; i++ {
		clean = name[i] >= 0x20 && name[i] < 0x7f
	}
	if clean {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && n == 1, r < 0x100 && unicode.IsControl(r):
			for _, c := range []byte(name[i : i+n]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs):
			if r > 0xffff {
				fmt.Fprintf(&b, `\U%08x`, r)
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		default:
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	return b.String()
}

// shorten limits the length of a name in a message.
func shorten(s string) string {
	if len(s) <= 200 {
		return s
	}
	cut := 160
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s…(%d bytes)", s[:cut], len(s))
}

// member returns a stored name in a form that is safe to display. odd is the reason if no file
// with that name can be installed, otherwise "".
func member(raw string) (shown, odd string) {
	if len(raw) > maxName {
		return shorten(
			Safe(raw),
		), fmt.Sprintf("its name is longer than %d bytes, so it cannot be unpacked", maxName)
	}
	slashed := strings.ReplaceAll(raw, `\`, "/")
	switch {
	case strings.HasPrefix(slashed, "/"):
		odd = "its name is an absolute path, which would be written outside the installation folder"
	case len(raw) >= 3 && raw[1] == ':' && slashed[2] == '/' && unicode.IsLetter(rune(raw[0])):
		odd = "its name starts with a drive letter, which would be written outside the " +
			"installation folder"
	case hasDotDot(slashed):
		odd = `its name leaves the archive with "..", which would be written outside the installation folder`
	case strings.Trim(raw, "./") == "":
		odd = "it has no name"
	case strings.ContainsRune(raw, 0):
		odd = "its name contains a NUL byte, which different tools interpret differently"
	}
	if odd != "" {
		return Safe(raw), odd
	}
	return Safe(path.Clean(raw)), ""
}

// hasDotDot reports whether a name has a ".." component. Inner ones ("a/../b") count too: no
// archiver writes them.
func hasDotDot(slashed string) bool {
	for part := range strings.SplitSeq(slashed, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}
