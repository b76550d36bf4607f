package comment

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

var (
	// libraryFlags match flags that link libraries, and nothing that has a meaning in a build file.
	libraryFlags = lazyregexp.New(
		`^(?:-Wl,--no-as-needed )?-l[A-Za-z0-9_+.-]+(?: -l[A-Za-z0-9_+.-]+)*$`)
	// cmakeCall matches a whole call of CMake that adds or links a target, with its indentation, the
	// command, the target, and what else it is called with.
	cmakeCall = lazyregexp.New(
		`^(\s*)(add_library|target_link_libraries)\s*\(\s*([A-Za-z0-9_.+-]+)\s+([^\s()][^()]*)\)\s*$`)
	cmakeKeyword = lazyregexp.New(
		`\b(?:PUBLIC|PRIVATE|INTERFACE|LINK_\w+|IMPORTED|ALIAS|STATIC|OBJECT)\b`)
	// linkArgs matches a whole list of what setuptools or Meson passes to the linker, with what
	// precedes the end of the list, its quote, and the end.
	linkArgs = lazyregexp.New(
		`^(.*\b(?:extra_link_args\s*=|link_args\s*:)\s*\[\s*` +
			`(?:[^\[\]]*(["'])[^\[\]"']*["'])?),?\s*(\].*)$`)
)

// targetOf returns the target of a call of CMake that links it, whole or not; "" for other lines.
func targetOf(line string) string {
	_, call, ok := strings.Cut(line, "target_link_libraries")
	if call = strings.TrimSpace(call); !ok || !strings.HasPrefix(call, "(") {
		return ""
	}
	target, _, _ := strings.Cut(strings.TrimSpace(call[1:]), " ")
	return strings.TrimRight(target, ")")
}

// addFlags adds flags that link libraries to a line of CMake, setuptools or Meson that links an
// object. ok is false if the line is not known to be whole or to be about the object, or has the
// flags. A setting of Make is for other objects, too.
func addFlags(text, object, flags string) (edited string, ok bool) {
	name := stem(object)
	if !libraryFlags.MatchString(flags) || strings.Contains(text, flags) || !hasWord(text, name) {
		return "", false
	}
	if m := cmakeCall.FindStringSubmatch(text); m != nil {
		keywords := cmakeKeyword.FindAllString(m[4], -1)
		link := m[1] + "target_link_libraries(" + m[3] + " "
		switch added := m[2] == "add_library"; {
		case m[3] != name:
			return "", false
		case added && len(keywords) == 0 &&
			(strings.HasPrefix(m[4], "SHARED") || strings.HasPrefix(m[4], "MODULE")):
			return text + "\n" + link + "PRIVATE " + flags + ")", true
		case added:
			return "", false
		case len(keywords) > 0 && keywords[len(keywords)-1] != "PRIVATE": // users would link it, too
			flags = "PRIVATE " + flags
		}
		end := strings.LastIndexByte(text, ')')
		return strings.TrimRight(text[:end], " \t") + " " + flags + text[end:], true
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
