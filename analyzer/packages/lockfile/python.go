package lockfile

import (
	"cmp"
	"strconv"
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
	tool, _ := root["tool"].(map[string]any)
	poetry, _ := tool["poetry"].(map[string]any)
	dependencies, _ := poetry["dependencies"].(map[string]any)
	return cmp.Or(str(project, "requires-python"), interpreters(str(dependencies, "python")))
}

// shortForm matches a version without operator, such as "3.11" or "3.*", and one with an operator
// of Poetry: "^3.10", "~3.10".
var shortForm = lazyregexp.New(`^([\^~]?)\s*(3)(?:\.(\d{1,2}))?(\.\d{1,3})?(\.\*)?$`)

// interpreters returns the PEP 440 specifier for the one of Poetry or Pipenv; "" if there is none,
// as for alternatives. "3.11" means all its patch releases, "^3.10" all before 4, and "~3.10" all
// before 3.11 (https://python-poetry.org/docs/dependency-specification/).
func interpreters(spec string) string {
	var clauses []string
	for clause := range strings.SplitSeq(spec, ",") {
		clause = strings.TrimSpace(clause)
		if m := shortForm.FindStringSubmatch(clause); m != nil {
			operator, major, minor, patch := m[1], m[2], m[3], m[4]
			version := major
			if minor != "" {
				version += "." + minor
			}
			next := "4"
			if n, err := strconv.Atoi(minor); err == nil && operator != "^" {
				next = major + "." + strconv.Itoa(n+1)
			}
			switch {
			case operator != "" && m[5] == "":
				clause = ">=" + version + patch + ",<" + next
			case operator == "" && patch == "":
				clause = "==" + version + ".*"
			}
		}
		clauses = append(clauses, clause)
	}
	s, err := pkgmeta.ParseSpec(strings.Join(clauses, ","))
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
