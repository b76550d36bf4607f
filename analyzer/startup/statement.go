package startup

import (
	"path"
	"slices"
	"strings"
)

// standard are modules that load no library of a package. They are left out because most sources
// import several.
var standard = set(
	"__future__", "abc", "argparse", "ast", "builtins", "collections", "contextlib", "copy", "ctypes",
	"dataclasses", "datetime", "enum", "functools", "glob", "importlib", "inspect", "io", "itertools",
	"json", "logging", "math", "operator", "os", "pathlib", "pickle", "platform", "random", "re",
	"shutil", "string", "struct", "subprocess", "sys", "tempfile", "textwrap", "threading", "time",
	"traceback", "types", "typing", "typing_extensions", "unittest", "uuid", "warnings", "weakref",
)

// set returns the set of some names.
func set(names ...string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}

// conditional reports whether a token is a word in a statement that may not execute all of it.
func conditional(t token) bool {
	if t.kind == 'n' {
		switch t.text {
		case "lambda", "if", "for", "and", "or":
			return true
		}
	}
	return false
}

// statements reads the simple statements of a line.
func (r *moduleReader) statements(all []token, in scope) {
	if in.types {
		return
	}
	for len(all) > 0 {
		end := slices.IndexFunc(all, func(t token) bool { return t.kind == 'o' && t.text == ";" })
		if end < 0 {
			end = len(all)
		}
		if one := all[:end]; len(one) > 0 {
			r.statement(one, in)
		}
		all = all[min(end+1, len(all)):]
	}
}

func (r *moduleReader) statement(all []token, in scope) {
	l := line{tokens: all}
	switch l.word() {
	case "import":
		for one := range split(all[1:], ",") {
			name, as := renamed(one)
			at := strings.ReplaceAll(name, ".", "/")
			if at != "" && at[0] != '/' { // import .m is no Python
				r.imports(at, in)
				first, _, _ := strings.Cut(at, "/")
				if as != "" {
					r.bind(as, at)
				} else {
					r.bind(first, first)
				}
			}
		}
	case "from":
		r.importFrom(all[1:], in)
	default:
		r.raises = r.raises || l.word() == "raise" && in.into == &r.top
		r.exceptions(l, in)
		if slices.ContainsFunc(all, conditional) {
			in = in.maybe()
		}
		if len(all) > 2 && all[0].kind == 'n' && all[1].kind == 'o' && all[1].text == "=" &&
			len(r.global) < maxSteps && r.globalIn(all[2:]) {
			r.global[strings.Clone(all[0].text)] = true
		}
		if len(all) > 1 && all[0].kind == 'n' && all[1].kind == 'o' &&
			strings.HasSuffix(all[1].text, "=") {
			delete(r.values, all[0].text)
			r.assign(all[0].text, all[2:], all[1].text == "=")
			r.setFlag(all[0].text, all[2:], all[1].text == "=", in)
		}
		equals := slices.IndexFunc(all, func(t token) bool { return t.kind == 'o' && t.text == "=" })
		for i, t := range all {
			if t.kind == 'n' && equals > 1 && i < equals {
				r.rebinds(t.text, 2)
			}
			in.into.guarded = in.into.guarded || t.kind == 'n' && t.text == "yield"
			if t.kind == 'n' && (i == 0 || all[i-1].text != "." || all[i-1].kind != 'o') {
				r.use(all, i, in)
			}
		}
	}
}

// importFrom reads the rest of "from … import …".
func (r *moduleReader) importFrom(all []token, in scope) {
	at := slices.IndexFunc(all, func(t token) bool { return t.kind == 'n' && t.text == "import" })
	if at < 0 {
		return
	}
	from, _ := renamed(all[:at])
	rest := strings.TrimLeft(from, ".")
	dots := len(from) - len(rest)
	from = strings.ReplaceAll(rest, ".", "/")
	if dots > 0 {
		from = path.Join(r.folder, strings.Repeat("../", dots-1), from)
	}
	if from == "" || strings.HasPrefix(from, "..") || strings.HasPrefix(from, "/") {
		return // the last one is no Python: from/import x
	}
	if from != "." {
		r.imports(from, in)
	}
	for one := range split(all[at+1:], ",") {
		name, as := renamed(one)
		if name == "" || name == "*" {
			continue
		}
		whole := path.Join(from, name)
		r.imports(whole, in)
		if as == "" {
			as = name
		}
		r.bind(as, whole)
	}
}

// split iterates over the parts of a list, without its parentheses.
func split(all []token, at string) func(func([]token) bool) {
	return func(yield func([]token) bool) {
		all := all
		if slices.ContainsFunc(all, parenthesis) {
			all = slices.DeleteFunc(slices.Clone(all), parenthesis)
		}
		for {
			end := slices.IndexFunc(all, func(t token) bool { return t.kind == 'o' && t.text == at })
			if end < 0 {
				yield(all)
				return
			}
			if !yield(all[:end]) {
				return
			}
			all = all[end+1:]
		}
	}
}

func parenthesis(t token) bool { return t.kind == 'o' && (t.text == "(" || t.text == ")") }

// renamed returns the dotted name in tokens, and the name after "as".
func renamed(all []token) (name, as string) {
	if len(all) == 1 && (all[0].kind != 'n' || all[0].text != "as") {
		return all[0].text, ""
	}
	var whole strings.Builder // a name may be as long as the source
	for i, t := range all {
		if t.kind == 'n' && t.text == "as" {
			if i+1 < len(all) {
				as = all[i+1].text
			}
			break
		}
		whole.WriteString(t.text)
	}
	return whole.String(), as
}

func (r *moduleReader) bind(name, at string) {
	first, _, _ := strings.Cut(at, "/")
	r.rebinds(name, 1)
	if !standard[first] && len(r.names) < maxSteps {
		r.bound.add(name)
		r.names[strings.Clone(name)] = strings.Clone(at)
	}
}

// deepest limits the parts of the name of a module. One with more may be any: all packages on the
// way are looked up, which would take the square of their number.
const deepest = 100

func (r *moduleReader) imports(at string, in scope) {
	if strings.Count(at, "/") > deepest {
		at, in = "", in.maybe()
	}
	if first, _, _ := strings.Cut(at, "/"); !standard[first] {
		r.add(importsModule, at, in)
	}
}

func (r *moduleReader) add(do stepKind, name string, in scope) {
	r.step(step{do: do, name: name}, in)
}

// step stores a step unless the source has done the same before.
func (r *moduleReader) step(s step, in scope) {
	s.only, s.otherwise, s.never = in.only, in.may, in.never
	s.may = in.may || in.only != Versions{} || in.flag != flag{}
	s.handled, s.guarded, s.kept = in.handled, in.guarded, in.kept
	s.fork, s.arm, s.flag = in.fork, in.arm, in.flag
	r.versions = r.versions || in.only != Versions{}
	if r.count < maxSteps && (s.do == setsFlags || !in.into.has(s)) {
		s.name = strings.Clone(s.name)
		in.into.steps = append(in.into.steps, s)
		in.into.loads = in.into.loads || s.do == loadsLibrary
		r.loaded = r.loaded || s.do == loadsLibrary
		r.count++
	}
}

// has reports whether a step was stored before.
func (b *body) has(s step) bool {
	for i := range b.steps {
		if b.steps[i].name == s.name && b.steps[i] == s {
			return true
		}
	}
	return false
}

// use handles the use of a name: a call or a mention of a function.
func (r *moduleReader) use(all []token, i int, in scope) {
	first, end := all[i].text, i+1
	for end+1 < len(all) && all[end].kind == 'o' && all[end].text == "." && all[end+1].kind == 'n' {
		end += 2
	}
	parts := all[i:end]
	last := parts[len(parts)-1].text
	if !r.bound.may(first) && (len(parts) == 1 || !r.bound.may(last)) &&
		!r.special(first, last) && !r.anyLoads(parts) {
		return // most names
	}
	at, imported := r.names[first]
	call := end < len(all) && all[end].kind == 'o' && all[end].text == "("
	own := imported && (strings.HasPrefix(at, r.folder+"/") || strings.HasPrefix(r.name, at+"/"))
	if !call {
		in = in.maybe()
	}
	rest := func() string { // what follows the first name
		var b strings.Builder
		for n := 2; n < len(parts); n += 2 {
			b.WriteByte('/')
			b.WriteString(parts[n].text)
		}
		return b.String()
	}
	switch {
	case r.defined[first]:
		r.add(callsFunction, path.Join(r.name, first+rest()), in)
	case own:
		r.add(callsFunction, at+rest(), in)
	case r.defined[last] && len(parts) > 1: // of an object of a class, whose use counts
	case call && (last == "import_module" || last == "__import__"):
		r.importComputed(all[end+1:], in)
	case last == "setdlopenflags" && call:
		r.step(step{do: setsFlags, global: r.globalIn(arguments(all[end:]))}, in)
	case last == "setdlopenflags" || last == "getdlopenflags":
	case r.system.Name == "linux" && slices.Contains(windowsOnly, last):
	case r.anyLoads(parts):
		r.loads(last, all[end:], in)
	case first == "getattr" && len(parts) == 1 && slices.ContainsFunc(arguments(all[end:]),
		func(t token) bool { return t.kind == 's' && loads(t.text) }): // getattr(ctypes, "CDLL")(path)
		r.step(step{do: loadsLibrary}, in.maybe())
	case executes(first), slices.Contains(opaque, last), opens(last):
		r.add(importsModule, "", in.maybe())
	case imported && in.into == &r.top: // of another package; other functions would be too many
		r.add(callsFunction, at+rest(), in)
	}
}

// anyLoads reports whether a part of a dotted name is like that of a function that loads libraries.
func (r *moduleReader) anyLoads(parts []token) bool {
	return r.words.mayLoad && slices.ContainsFunc(parts, func(t token) bool {
		return t.kind == 'n' && loads(t.text)
	})
}

// special reports whether the first or last part of a dotted name has a meaning of its own.
func (r *moduleReader) special(first, last string) bool {
	switch last {
	case "import_module", "__import__", "setdlopenflags", "getdlopenflags", "getattr":
		return true
	}
	return executes(first) || opens(last) ||
		(r.words.opaque || r.words.mayLoad) && slices.Contains(opaque, last)
}

// executes reports whether a function executes a text.
func executes(name string) bool { return name == "exec" || name == "eval" }

// opens reports whether a function imports or executes a file.
func opens(name string) bool {
	switch name {
	case "load_module", "exec_module", "run_path", "run_module":
		return true
	}
	return false
}

// importComputed handles the arguments of importlib.import_module.
func (r *moduleReader) importComputed(all []token, in scope) {
	names := r.texts(all)
	if names == nil {
		r.add(importsModule, "", in.maybe())
		return
	}
	for _, name := range names {
		rest := strings.TrimLeft(name, ".")
		at := strings.ReplaceAll(rest, ".", "/")
		if dots := len(name) - len(rest); dots > 0 {
			at = path.Join(r.folder, strings.Repeat("../", dots-1), at)
		}
		r.imports(at, in)
	}
}

// texts evaluates the first argument of a call, whose tokens follow the parenthesis, to each of its
// values; nil if it is more than a sum of texts and names with known values.
func (r *moduleReader) texts(all []token) []string {
	out := []string{""}
	for i, t := range all {
		switch {
		case i%2 == 1 && t.kind == 'o' && (t.text == "," || t.text == ")"):
			return out
		case i%2 == 1 && t.kind == 'o' && t.text == "+":
		case i%2 == 1:
			return nil
		case t.kind == 's':
			out = r.formatted(out, t)
		default:
			out = combine(out, r.values[t.text], added)
		}
	}
	return nil
}

// formatted appends a text to each value, with the values of the names in an f-string.
func (r *moduleReader) formatted(out []string, t token) []string {
	for rest := t.text; ; {
		text, more, ok := strings.Cut(rest, "{")
		if !ok || !t.any {
			return combine(out, []string{rest}, added)
		}
		name, after, _ := strings.Cut(more, "}")
		out = combine(combine(out, []string{text}, added), r.values[name], added)
		rest = after
	}
}

// loops reads the head of a for statement. It reports whether it is executed once for each of
// several texts, which are then the values of its variable.
func (r *moduleReader) loops(all []token) bool {
	if len(all) < 6 || all[1].kind != 'n' || all[2].text != "in" ||
		all[3].text != "(" && all[3].text != "[" || len(r.values) > maxSteps {
		return false
	}
	var values []string
	for i, t := range all[4:] {
		switch {
		case t.kind == 's' && !t.any && i%2 == 0:
			values = append(values, t.text)
		case t.kind == 'o' && (t.text == ")" || t.text == "]"):
			r.values[strings.Clone(all[1].text)] = values
			return len(values) > 0 && i+5 < len(all) && all[i+5].text == ":"
		case t.text != "," || i%2 == 0:
			return false
		}
	}
	return false
}

// loads handles the arguments of a function that loads a library. A name without a folder is not
// that of a library in a package, unless the function knows where libraries are. If one of several
// names is loaded, or a name is computed, it may be any.
func (r *moduleReader) loads(function string, all []token, in scope) {
	computed := false
	var found []string
	all = arguments(all)
	for i, t := range all {
		if t.kind == 's' && (i == 1 || strings.Contains(t.text, ".so")) {
			found = append(found, t.text)
			computed = computed || t.any
		}
	}
	global, plain := r.globalIn(all), slices.Contains(local, function)
	literal := len(all) == 3 || len(all) > 3 && all[2].text == ","
	switch {
	case len(found) == 1 && !computed && literal && slices.Contains(local, function) &&
		!strings.Contains(found[0], "/"):
	case len(all) > 1 && all[1].text == "None":
	case len(all) > 2 && slices.Contains(local, function) && r.searches(all[1:]):
	case slices.Contains(byPath, function) && r.loadsPaths(all, global, in):
	case len(found) == 1 && !computed:
		r.step(step{do: loadsLibrary, name: path.Base(found[0]), global: global, plain: plain}, in)
	default:
		r.step(step{do: loadsLibrary, global: global, plain: plain}, in.maybe())
	}
}

// arguments returns the tokens of a call after the function's name, with its parentheses.
func arguments(all []token) []token {
	depth := 0
	for i, t := range all {
		switch {
		case t.opens():
			depth++
		case t.closes():
			depth--
		}
		if depth == 0 {
			return all[:i+1]
		}
	}
	return all
}

// globalIn reports whether an expression contains RTLD_GLOBAL, or a name that was set to it.
func (r *moduleReader) globalIn(all []token) bool {
	return r.words.opaque && // as RTLD_GLOBAL is
		slices.ContainsFunc(all, func(t token) bool { return t.kind == 'n' && r.global[t.text] })
}
