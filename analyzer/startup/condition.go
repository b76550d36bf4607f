package startup

import (
	"slices"
	"strconv"
	"strings"
)

// System is what the sources of an artifact find out about the system that executes them. In the
// zero value nothing is known, and no condition on it is evaluated.
type System struct {
	Name    string // sys.platform: "linux"
	Machine string // platform.machine(): "x86_64"; "" if it is not known
}

// condition is what is known of the condition of an if statement or a while loop.
type condition struct {
	known, holds bool
	only         Versions // if it is not known: it holds in exactly these versions; zero for none
	flag         flag     // if it is not known: it holds if the flag is set
}

func holds(yes bool) condition { return condition{known: true, holds: yes} }

// not returns the opposite.
func (c condition) not() condition {
	switch {
	case c.known:
		return holds(!c.holds)
	case c.only != Versions{}:
		if v, ok := c.only.others(); ok {
			return condition{only: v}
		}
	case c.flag.name != "":
		return condition{flag: c.flag.not()}
	}
	return condition{}
}

// evaluate evaluates a condition as far as it depends on the version of Python, on the system, on
// names of modules and on constants. Environment variables that only the user sets are not set.
func (r *moduleReader) evaluate(all []token) condition {
	e := evaluation{System: r.system, rest: all, flag: r.flag}
	v := e.or()
	if len(e.rest) > 0 {
		return condition{}
	}
	return v
}

// evaluation is the state of evaluate: a parser that goes through the tokens once.
type evaluation struct {
	System
	rest  []token
	flag  func(name string) string // the path of the flag with a name; "" for other names
	depth int
}

// is skips tokens with these texts, which are no strings.
func (e *evaluation) is(words ...string) bool {
	for i, w := range words {
		if i >= len(e.rest) || e.rest[i].text != w || e.rest[i].kind == 's' {
			return false
		}
	}
	e.rest = e.rest[len(words):]
	return true
}

func (e *evaluation) or() condition {
	v := e.and()
	for e.is("or") {
		v = either(v, e.and(), true)
	}
	return v
}

func (e *evaluation) and() condition {
	v := e.not()
	for e.is("and") {
		v = either(v, e.not(), false)
	}
	return v
}

// either combines the operands of an operator of which one value decides: true for "or".
func either(a, b condition, decides bool) condition {
	switch {
	case a.known && a.holds == decides || b.known && b.holds == decides:
		return holds(decides)
	case a.known:
		return b
	case b.known:
		return a
	}
	return condition{}
}

func (e *evaluation) not() condition {
	const deepest = 20 // parentheses and negations of one condition
	if e.depth++; e.depth > deepest {
		e.rest = []token{{}}
		return condition{}
	}
	if e.is("not") {
		return e.not().not()
	}
	return e.comparison()
}

// end returns the number of tokens up to the end of a comparison.
func (e *evaluation) end() int {
	depth := 0
	for i, t := range e.rest {
		switch {
		case t.opens():
			depth++
		case t.closes():
			if depth--; depth < 0 {
				return i
			}
		case depth == 0 && t.kind == 'n' && (t.text == "and" || t.text == "or" || t.text == "if"):
			return i
		}
	}
	return len(e.rest)
}

func (e *evaluation) comparison() condition {
	if e.is("(") {
		v := e.or()
		if !e.is(")") {
			e.rest = e.rest[e.end():]
			return condition{}
		}
		if e.end() == 0 {
			return v
		}
		e.rest = e.rest[e.end():]
		return condition{}
	}
	end := e.end()
	one := evaluation{System: e.System, rest: e.rest[:end]}
	e.rest = e.rest[end:]
	if at := e.flagIn(one.rest); at != "" {
		return condition{flag: flag{name: at}}
	}
	if v, ok := selected(one.rest); ok {
		return condition{only: v}
	}
	left, ok := one.operand()
	if !ok {
		return condition{}
	}
	if len(one.rest) == 0 {
		return holds(left.holds())
	}
	equal := one.is("==")
	if !equal && !one.is("!=") {
		return one.contains(left)
	}
	right, ok := one.operand()
	if !ok || len(one.rest) > 0 || left.kind != right.kind && left.kind != '0' && right.kind != '0' {
		return condition{}
	}
	return holds((left == right) == equal)
}

// flagIn returns the path of the flag whose name, perhaps after that of a module, is all of an
// expression; "" for others.
func (e *evaluation) flagIn(all []token) string {
	name, _ := renamed(all)
	first, rest, dotted := strings.Cut(name, ".")
	if e.flag == nil || len(all) == 0 || len(all) != strings.Count(name, ".")*2+1 ||
		!isFlag(name[strings.LastIndexByte(name, '.')+1:]) {
		return ""
	}
	at := e.flag(first)
	if at != "" && dotted {
		at += "/" + strings.ReplaceAll(rest, ".", "/")
	}
	return at
}

// contains evaluates "in" and "not in".
func (e *evaluation) contains(left value) condition {
	without := e.is("not", "in")
	if !without && !e.is("in") || left.kind != 's' {
		return condition{}
	}
	found := false
	if e.is("(") || e.is("[") || e.is("{") {
		for len(e.rest) > 1 {
			v, ok := e.operand()
			if !ok {
				return condition{}
			}
			found = found || v == left
			if !e.is(",") {
				break
			}
		}
		if !e.is(")") && !e.is("]") && !e.is("}") {
			return condition{}
		}
	} else {
		v, ok := e.operand()
		if !ok || v.kind != 's' {
			return condition{}
		}
		found = strings.Contains(v.text, left.text)
	}
	if len(e.rest) > 0 {
		return condition{}
	}
	return holds(found != without)
}

// value is the value of an operand.
type value struct {
	kind byte // 's' text, 'b' truth value or number, '0' None
	text string
}

func truth(yes bool) value {
	if yes {
		return value{'b', "1"}
	}
	return value{'b', "0"}
}

// holds reports whether Python takes a value as true.
func (v value) holds() bool {
	return v.kind == 's' && v.text != "" || v.kind == 'b' && v.text != "0"
}

// operand evaluates an operand. ok is false if its value is not known.
func (e *evaluation) operand() (v value, ok bool) {
	if len(e.rest) == 0 {
		return value{}, false
	}
	t := e.rest[0]
	switch {
	case t.kind == 's' && !t.any:
		e.rest = e.rest[1:]
		return e.methods(value{'s', t.text})
	case t.kind == '0':
		n, err := strconv.ParseInt(t.text, 0, 64)
		e.rest = e.rest[1:]
		if len(e.rest) > 0 && e.rest[0].kind == 'o' && strings.Contains("*./+-", e.rest[0].text[:1]) {
			return value{}, false
		}
		return value{'b', strconv.FormatInt(n, 10)}, err == nil
	case e.is("True"):
		return truth(true), true
	case e.is("False"):
		return truth(false), true
	case e.is("None"):
		return value{kind: '0'}, true
	case e.is("TYPE_CHECKING"), e.is("typing", ".", "TYPE_CHECKING"),
		e.is("t", ".", "TYPE_CHECKING"):
		return truth(false), true
	case e.is("__name__"):
		if len(e.rest) == 2 && e.rest[1].text == "__main__" { // a module that is imported is not run
			return value{'s', ""}, true
		}
		return value{}, false
	}
	if v, ok := e.variable(); ok {
		return v, true
	}
	if e.Name != "linux" {
		return value{}, false
	}
	switch {
	case e.is("sys", ".", "platform"):
		return e.methods(value{'s', "linux"})
	case e.is("os", ".", "name"):
		return e.methods(value{'s', "posix"})
	case e.is("platform", ".", "system", "(", ")"):
		return e.methods(value{'s', "Linux"})
	case e.Machine != "" && e.is("platform", ".", "machine", "(", ")"):
		return e.methods(value{'s', e.Machine})
	case len(e.rest) >= 6 && e.rest[4].kind == 's' && e.is("hasattr", "(", "os", ","):
		name := e.rest[0].text
		e.rest = e.rest[1:]
		if name != "add_dll_directory" && name != "startfile" && name != "fork" || !e.is(")") {
			return value{}, false
		}
		return truth(name == "fork"), true
	}
	return value{}, false
}

// methods evaluates the methods of a text that follow.
func (e *evaluation) methods(v value) (value, bool) {
	for e.is(".") {
		switch {
		case e.is("lower", "(", ")"), e.is("casefold", "(", ")"):
			v.text = strings.ToLower(v.text)
		case e.is("upper", "(", ")"):
			v.text = strings.ToUpper(v.text)
		case e.is("startswith", "("):
			several, begins := e.is("("), false
			for len(e.rest) > 0 && e.rest[0].kind == 's' && !e.rest[0].any {
				begins = begins || strings.HasPrefix(v.text, e.rest[0].text)
				e.rest = e.rest[1:]
				e.is(",")
			}
			return truth(begins), (!several || e.is(")")) && e.is(")")
		default:
			return value{}, false
		}
	}
	return v, len(e.rest) == 0 || e.rest[0].text != "[" && e.rest[0].text != "+" &&
		e.rest[0].text != "("
}

// everywhere are environment variables, and beginnings of their names, that are often set where
// nobody has set them for a package.
var everywhere = []string{
	"PATH", "HOME", "USER", "SHELL", "LANG", "TERM", "TMP", "TEMP", "PWD", "LD_", "PYTHON", "CONDA",
	"VIRTUAL_ENV", "CUDA", "ROCM", "HIP", "XDG_", "DISPLAY", "WAYLAND", "CI", "GITHUB_", "SLURM",
	"OMPI_", "PMI_", "OMP_", "MKL_", "LC_", "LOGNAME", "HOSTNAME", "LOCAL_RANK", "RANK", "WORLD_SIZE",
	"NVIDIA_", "JAVA_", "JPY_", "COLAB", "KAGGLE", "SPARK_", "DATABRICKS", "AWS_", "READTHEDOCS",
}

// variable evaluates how an environment variable is read.
func (e *evaluation) variable() (value, bool) {
	rest := e.rest
	found := e.is("os", ".", "environ", ".", "get", "(") || e.is("environ", ".", "get", "(") ||
		e.is("os", ".", "getenv", "(") || e.is("getenv", "(")
	if !found || len(e.rest) < 2 || e.rest[0].kind != 's' || e.rest[0].any ||
		slices.ContainsFunc(everywhere, func(known string) bool {
			return strings.HasPrefix(e.rest[0].text, known)
		}) {
		e.rest = rest
		return value{}, false
	}
	e.rest = e.rest[1:]
	v := value{kind: '0'}
	if e.is(",") {
		given, ok := e.operand()
		if !ok {
			e.rest = rest
			return value{}, false
		}
		v = given
	}
	if !e.is(")") {
		e.rest = rest
		return value{}, false
	}
	if v.kind == 's' {
		return e.methods(v)
	}
	return v, len(e.rest) == 0 || e.rest[0].text != "."
}

// subject evaluates the subject of a match statement; nil if it is not known.
func (s System) subject(all []token) *value {
	e := evaluation{System: s, rest: all}
	if v, ok := e.operand(); ok && len(e.rest) == 0 && v.kind == 's' {
		return &v
	}
	return nil
}

// pattern evaluates the pattern of a case: texts, or the name "_" for all.
func pattern(subject *value, all []token) condition {
	if len(all) == 1 && all[0].text == "_" && all[0].kind == 'n' {
		return holds(true)
	}
	found := false
	for i, t := range all {
		if (i%2 == 0) != (t.kind == 's' && !t.any) || i%2 == 1 && t.text != "|" {
			return condition{}
		}
		found = found || subject != nil && i%2 == 0 && t.text == subject.text
	}
	if subject == nil {
		return condition{}
	}
	return holds(found)
}
