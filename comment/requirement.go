package comment

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// req is a PEP 508 requirement in a line. The numbers are byte offsets in the line.
type req struct {
	name, spec string
	// the version specifiers including white space; equal if there are none
	specAt, specEnd  int
	poetry           bool // name = "^1.2": the specifier is a separate string
	url, hash, paren bool // name @ URL; pinned by hash; name (>=1)
}

// normal returns the normalized form of a project name (PEP 503).
func normal(name string) string { return strings.ToLower(separators.ReplaceAllString(name, "-")) }

var (
	separators = lazyregexp.New(`[-_.]+`)
	nameRE     = lazyregexp.New(`[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?`)
	extrasRE   = lazyregexp.New(`^\s*\[[A-Za-z0-9._, -]*\]`)
	specRE     = lazyregexp.New(
		`^\s*(?:===?|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9._*+!-]+(?:\s*,\s*(?:===?|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9._*+!-]+)*`,
	)
	poetryRE = lazyregexp.New(
		`^["']?\s*=\s*(?:\{\s*(?:[a-z]+\s*=\s*(?:"[^"]*"|\[[^\]]*\]|true|false)\s*,\s*)*version\s*=\s*)?["']([^"'{}]*)["']`,
	)
	endRE     = lazyregexp.New(`^\s*(?:$|["';,\\)\]}])`)
	installRE = lazyregexp.New(
		`\b(?:pip3?|conda|mamba|poetry|pdm|uv)\b.*\b(?:install|add|create)\b|^\s*[A-Z_]*(?:REQUIRES|BEFORE_BUILD|BEFORE_ALL|DEPENDENCIES)\w*\s*[:=]`,
	)
)

// parseRequirement parses a single requirement, as in a fix.
func parseRequirement(s string) (req, bool) {
	m := nameRE.FindString(s)
	if m == "" || !strings.HasPrefix(s, m) {
		return req{}, false
	}
	return findRequirement(s, m, pinned)
}

// findRequirement finds a requirement of a package in a line without comment.
func findRequirement(line, name string, kind fileKind) (req, bool) {
	want := normal(name)
	key := strings.TrimSpace(line)
	// metadata of the project itself
	for _, own := range []string{"name", "description", "keywords", "title", "packages",
		"py-modules", "py_modules", "include", "exclude"} {
		if k, _, ok := strings.Cut(key, "="); ok && strings.TrimSpace(k) == own {
			return req{}, false
		}
	}
	for _, at := range nameRE.FindAllStringIndex(line, -1) {
		if normal(line[at[0]:at[1]]) != want {
			continue
		}
		if r, ok := requirementAt(line, at[0], at[1], kind); ok {
			r.name = want
			return r, true
		}
	}
	return req{}, false
}

func requirementAt(line string, from, to int, kind fileKind) (req, bool) {
	before := byte(0)
	if from > 0 {
		before = line[from-1]
	}
	quoted := before == '"' || before == '\''
	if before != 0 && !quoted && before != ' ' && before != '\t' && before != '=' &&
		before != '[' &&
		before != '(' &&
		before != ',' {
		return req{}, false
	}
	rest := line[to:]
	r := req{specAt: to, specEnd: to}
	onlyName := strings.Trim(line[:from], " \t\"'") == ""
	if m := poetryRE.FindStringSubmatchIndex(rest); m != nil && kind == projectPy && onlyName {
		r.poetry, r.specAt, r.specEnd = true, to+m[2], to+m[3]
		r.spec = line[r.specAt:r.specEnd]
		return r, true
	}
	skip := len(extrasRE.FindString(rest))
	rest = rest[skip:]
	r.specAt, r.specEnd = to+skip, to+skip
	if open := strings.TrimLeft(rest, " \t"); strings.HasPrefix(
		open,
		"(",
	) { // the old form name (>=1.2)
		inner := open[1:]
		m := specRE.FindString(inner)
		if m == "" || !strings.HasPrefix(strings.TrimLeft(inner[len(m):], " \t"), ")") {
			return req{}, false
		}
		r.paren = true
		r.specAt = to + skip + len(rest) - len(inner)
		r.specEnd = r.specAt + len(m)
		r.spec = strings.TrimSpace(m)
		return r, true
	}
	m := specRE.FindString(rest)
	r.specEnd += len(m)
	r.spec = strings.TrimSpace(m)
	rest = rest[len(m):]
	switch t := strings.TrimLeft(rest, " \t"); {
	case strings.HasPrefix(t, "@") && m == "":
		r.url = true
	case strings.HasPrefix(t, "--hash"):
		r.hash = true
	case endRE.MatchString(rest):
		r.hash = strings.Contains(rest, `\`)
	case (kind == imageFile || kind == workflowYML) && (rest == "" || rest[0] == ' '):
	default:
		return req{}, false
	}
	switch kind { // a word in a program or a script is not always a requirement
	case projectPy:
		return r, quoted || m != "" ||
			onlyName && !strings.Contains(line, "=") && strings.HasPrefix(line, " ")
	case imageFile, workflowYML:
		return r, m != "" || r.url || installRE.MatchString(line)
	}
	return r, true
}

func nameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
