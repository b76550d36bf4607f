package comment

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

var (
	// libraryFlags match flags that link libraries, and nothing that has a meaning in a build file.
	libraryFlags = lazyregexp.New(`^(?:-Wl,--no-as-needed )?-l[A-Za-z0-9_+.-]+(?: -l[A-Za-z0-9_+.-]+)*$`)
	// cmakeLinks matches a whole command of CMake that links a target, up to the parenthesis.
	cmakeLinks = lazyregexp.New(`^\s*target_link_libraries\s*\(\s*[^\s()]+\s+[^\s()][^()]*\)\s*$`)
	// cmakeAdds matches a whole command of CMake that adds a library that is linked, with its
	// indentation and the target.
	cmakeAdds = lazyregexp.New(`^(\s*)add_library\s*\(\s*([A-Za-z0-9_.+-]+)\s+(?:SHARED|MODULE)\b[^()]*\)\s*$`)
	// makeFlags matches an assignment of Make to what is passed to the linker.
	makeFlags = lazyregexp.New(`^\s*(?:export\s+|override\s+)*(?:LDFLAGS|LDLIBS)\s*[:+?]?=\s*[^"'\\]*$`)
	// linkArgs matches a whole list of what setuptools or Meson passes to the linker, with what
	// precedes the end of the list, its quote, and the end.
	linkArgs = lazyregexp.New(
		`^(.*\b(?:extra_link_args\s*=|link_args\s*:)\s*\[\s*(?:[^\[\]]*(["'])[^\[\]"']*["'])?),?\s*(\].*)$`)
)

// addFlags adds flags that link libraries to a line of CMake, Make, setuptools or Meson that links
// a library. ok is false if it is not known to be whole, or has the flags.
func addFlags(text, flags string) (edited string, ok bool) {
	if !libraryFlags.MatchString(flags) || strings.Contains(text, flags) {
		return "", false
	}
	if cmakeLinks.MatchString(text) {
		end := strings.LastIndexByte(text, ')')
		return strings.TrimRight(text[:end], " \t") + " " + flags + text[end:], true
	}
	if m := cmakeAdds.FindStringSubmatch(text); m != nil {
		return text + "\n" + m[1] + "target_link_libraries(" + m[2] + " PRIVATE " + flags + ")", true
	}
	if makeFlags.MatchString(text) {
		used := strings.TrimRight(text, " \t")
		return used + " " + flags + text[len(used):], true
	}
	if m := linkArgs.FindStringSubmatch(text); m != nil {
		quote, list := m[2], m[1]
		if quote == "" {
			quote = `"`
		} else {
			list += ", "
		}
		return list + quote + strings.ReplaceAll(flags, " ", quote+", "+quote) + quote + m[3], true
	}
	return "", false
}
