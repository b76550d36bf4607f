package pkgmeta

import (
	"fmt"
	"slices"
	"strings"
)

// MarkerEnv maps the marker variables of PEP 508 to their values; a missing variable is "". "extra"
// usually comes from Requirement.Applies. If it is set here, it is a set of names that "==" tests
// for membership, as uv's markers for conflicting extras need. The sets "extras" and
// "dependency_groups" of PEP 751 are normalised names separated by commas.
type MarkerEnv map[string]string

// MarkerEnvOn returns the variables of CPython on "macos", "windows", "android", "ios" or
// "emscripten"; on another system they are those of DefaultMarkerEnv. machine is as in platform
// tags, "arm64" or "amd64".
func MarkerEnvOn(system, python, machine string) MarkerEnv {
	e := DefaultMarkerEnv(python, machine)
	switch system {
	case "macos":
		e["sys_platform"], e["platform_system"] = "darwin", "Darwin"
	case "android":
		e["sys_platform"], e["platform_system"] = "android", "Android"
	case "ios":
		e["sys_platform"], e["platform_system"] = "ios", "iOS"
		e["platform_machine"], _, _ = strings.Cut(machine, "_iphone")
	case "emscripten":
		e["sys_platform"], e["platform_system"] = "emscripten", "Emscripten"
	case "windows":
		e["os_name"], e["sys_platform"], e["platform_system"] = "nt", "win32", "Windows"
		e["platform_machine"] = strings.ToUpper(machine) // AMD64, ARM64
		if machine == "x86" {
			e["platform_machine"] = "AMD64" // a 32-bit Python on a 64-bit Windows
		}
	}
	return e
}

// DefaultMarkerEnv returns the variables of CPython on Linux. python is "3.12" or, if the patch
// release matters, "3.12.4" ("3.12" means 3.12.0); machine is as in platform tags, "x86_64".
func DefaultMarkerEnv(python, machine string) MarkerEnv {
	python = strings.TrimSuffix(python, "t") // the markers of free-threaded builds are the same
	parts := strings.SplitN(python, ".", 3)
	full := python
	if len(parts) == 2 {
		full += ".0"
	}
	return MarkerEnv{
		"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux",
		"platform_machine":               machine,
		"platform_python_implementation": "CPython", "implementation_name": "cpython",
		"implementation_version": full,
		"python_version":         strings.Join(parts[:min(2, len(parts))], "."),
		"python_full_version":    full,
		"platform_release":       "", "platform_version": "",
	}
}

var (
	markerVariables = []string{
		"python_version",
		"python_full_version",
		"os_name",
		"sys_platform",
		"platform_release",
		"platform_system",
		"platform_version",
		"platform_machine",
		"platform_python_implementation",
		"implementation_name",
		"implementation_version",
		"extra",
		"extras",
		"dependency_groups",
	}
	// Sets of names, for lock files (PEP 751).
	setVariables = []string{"extras", "dependency_groups"}
	// Compared as versions if the other operand is a version.
	versionVariables = []string{
		"python_version",
		"python_full_version",
		"implementation_version",
		"platform_release",
	}
	// Names used before PEP 508.
	oldVariables = map[string]string{
		"os.name":                        "os_name",
		"sys.platform":                   "sys_platform",
		"platform.version":               "platform_version",
		"platform.machine":               "platform_machine",
		"platform.python_implementation": "platform_python_implementation",
		"python_implementation":          "platform_python_implementation",
	}
)

const maxMarkerDepth = 32 // nested parentheses; published packages have at most 3

// marker is a node of the syntax tree: or, and, or a comparison.
type marker struct {
	op    string // "or", "and", or the comparison: "==", "in", "not in", …
	nodes []marker
	left  operand
	right operand
}

type operand struct {
	variable bool
	text     string // name of the variable, or the value
}

// markerParser is a recursive descent parser.
type markerParser struct {
	text  string
	at    int
	depth int
}

func parseMarker(s string) (marker, error) {
	p := &markerParser{text: s}
	m, err := p.or()
	if p.space(); err == nil && p.at < len(s) {
		err = fmt.Errorf("has %s where it should end", quote(s[p.at:]))
	}
	if err != nil {
		return marker{}, fmt.Errorf("marker %s: %w", quote(s), err)
	}
	return m, nil
}

func (p *markerParser) or() (marker, error)  { return p.list("or", p.and) }
func (p *markerParser) and() (marker, error) { return p.list("and", p.atom) }

func (p *markerParser) list(word string, item func() (marker, error)) (marker, error) {
	first, err := item()
	m := marker{op: word, nodes: []marker{first}}
	for err == nil && p.word(word) {
		var next marker
		next, err = item()
		m.nodes = append(m.nodes, next)
	}
	return m, err
}

func (p *markerParser) atom() (marker, error) {
	if p.space(); p.at < len(p.text) && p.text[p.at] == '(' {
		if p.depth++; p.depth > maxMarkerDepth {
			return marker{}, fmt.Errorf("has more than %d nested parentheses", maxMarkerDepth)
		}
		p.at++
		m, err := p.or()
		p.depth--
		if err != nil {
			return m, err
		}
		if p.space(); p.at >= len(p.text) || p.text[p.at] != ')' {
			return m, fmt.Errorf("has a parenthesis that is not closed")
		}
		p.at++
		return m, nil
	}
	left, err := p.operand()
	if err != nil {
		return marker{}, err
	}
	m := marker{left: left}
	if m.op, err = p.operator(); err != nil {
		return marker{}, err
	}
	if m.right, err = p.operand(); err != nil {
		return marker{}, err
	}
	if m.left.variable == m.right.variable {
		return marker{}, fmt.Errorf(
			"compares two %s instead of a variable and a quoted value",
			map[bool]string{true: "variables", false: "values"}[m.left.variable],
		)
	}
	return m, nil
}

func (p *markerParser) operand() (operand, error) {
	p.space()
	rest := p.text[p.at:]
	if rest != "" && (rest[0] == '\'' || rest[0] == '"') {
		end := strings.IndexByte(rest[1:], rest[0])
		if end < 0 {
			return operand{}, fmt.Errorf("has a quote that is not closed")
		}
		p.at += end + 2
		return operand{text: rest[1 : 1+end]}, nil
	}
	end := strings.IndexFunc(
		rest,
		func(c rune) bool { return c > 127 || !alnum(byte(c)) && c != '_' && c != '.' },
	)
	if end < 0 {
		end = len(rest)
	}
	name := rest[:end]
	if now, ok := oldVariables[name]; ok {
		name = now
	}
	if !slices.Contains(markerVariables, name) {
		return operand{}, fmt.Errorf("has %s instead of a variable or a quoted value", quote(rest))
	}
	p.at += end
	return operand{variable: true, text: name}, nil
}

func (p *markerParser) operator() (string, error) {
	p.space()
	for _, op := range operators {
		if strings.HasPrefix(p.text[p.at:], op) {
			p.at += len(op)
			return op, nil
		}
	}
	switch {
	case p.word("in"):
		return "in", nil
	case p.word("not") && p.word("in"):
		return "not in", nil
	}
	return "", fmt.Errorf("has no comparison in %s", quote(p.text[p.at:]))
}

// word consumes a keyword that is not the start of a longer word.
func (p *markerParser) word(w string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.text[p.at:], w)
	if !ok || rest != "" && (alnum(rest[0]) || rest[0] == '_') {
		return false
	}
	p.at += len(w)
	return true
}

func (p *markerParser) space() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
}

// eval evaluates the marker; extra is the normalised name of one requested extra, "" for none.
func (m marker) eval(env MarkerEnv, extra string) (bool, error) {
	switch m.op {
	case "or", "and":
		result := m.op == "and"
		for _, n := range m.nodes {
			// No short circuit: a comparison that is invalid is an error at any position.
			ok, err := n.eval(env, extra)
			if err != nil {
				return false, err
			}
			if m.op == "or" {
				result = result || ok
			} else {
				result = result && ok
			}
		}
		return result, nil
	}
	left, right, variable := m.left.text, m.right.text, m.left.text
	if m.right.variable {
		variable = right
		right = env.value(variable, extra)
	} else {
		left = env.value(variable, extra)
	}
	if slices.Contains(setVariables, variable) {
		if !m.right.variable || m.op != "in" && m.op != "not in" {
			return false, fmt.Errorf("%s is a set, which only \"in\" and \"not in\" can search", variable)
		}
		has := slices.Contains(strings.Split(right, ","), Normalize(left))
		return has == (m.op == "in"), nil
	}
	if set, ok := env[variable]; ok && variable == "extra" {
		name := m.left.text
		if m.left.variable {
			name = m.right.text
		}
		has := slices.Contains(strings.Split(set, ","), Normalize(name))
		return has == (m.op != "!="), nil
	}
	if variable == "extra" {
		left, right = Normalize(left), Normalize(right)
	}
	return compareMarker(variable, left, m.op, right)
}

func (e MarkerEnv) value(name, extra string) string {
	if name == "extra" {
		return extra
	}
	return e[name]
}

// compareMarker compares versions if the variable holds one and op and right form a specifier, and
// strings otherwise; strings have no order.
func compareMarker(variable, left, op, right string) (bool, error) {
	if slices.Contains(versionVariables, variable) {
		if spec, err := ParseSpec(op + right); err == nil && !strings.Contains(right, ",") {
			v, err := ParseVersion(left)
			return err == nil && spec.Admits(v), nil
		}
	}
	switch op {
	case "in":
		return strings.Contains(right, left), nil
	case "not in":
		return !strings.Contains(right, left), nil
	case "==", "<=", ">=":
		return left == right, nil
	case "!=":
		return left != right, nil
	case "<", ">":
		return false, nil
	}
	return false, fmt.Errorf("cannot compare %s with %s by %s", quote(left), quote(right), op)
}
