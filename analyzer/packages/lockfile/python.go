package lockfile

import (
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// ProjectPython returns the interpreters that a pyproject.toml allows, as Lock.Python.
func ProjectPython(data []byte) string {
	if len(data) > maxSize {
		return ""
	}
	root, err := decodeTOML(data)
	if err != nil {
		return ""
	}
	project, _ := root["project"].(map[string]any)
	return str(project, "requires-python")
}

var oneVersion = lazyregexp.New(`^3\.\d{1,2}$`)

// interpreters returns the PEP 440 specifier for the one of Poetry or Pipenv, where "3.11" means
// all its patch releases; "" if there is none, as for Poetry's caret.
func interpreters(spec string) string {
	if oneVersion.MatchString(spec) {
		return "==" + spec + ".*"
	}
	s, err := pkgmeta.ParseSpec(spec)
	if err != nil {
		return ""
	}
	return s.String()
}

// compiledFor matches the interpreter in a comment that pip-compile or uv begins a file with: "by
// pip-compile with Python 3.11", or the command "uv pip compile --python-version 3.11".
var compiledFor = lazyregexp.New(`pip-compile with [Pp]ython (3\.\d{1,2}t?)` +
	`|pip compile\b.* (?:--python-version|--python|-p)[ =](?:python)?(3\.\d{1,2}t?)(?:[\s.]|$)`)

// compiled returns Lock.CompiledFor of a requirements file.
func compiled(text string) string {
	for n := 0; n < maxHeader; n++ {
		line, rest, _ := strings.Cut(text, "\n")
		if line, text = strings.TrimSpace(line), rest; !strings.HasPrefix(line, "#") {
			break
		}
		if m := compiledFor.FindStringSubmatch(line); m != nil {
			return m[1] + m[2]
		}
	}
	return ""
}

// maxHeader limits the lines of the comment at the beginning; pip-compile and uv write at most six.
const maxHeader = 20
