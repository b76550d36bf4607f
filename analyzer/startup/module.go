package startup

import (
	"iter"
	"path"
	"slices"
	"strings"
)

// Module is what a Python source does when it is imported, in order, as far as it matters for
// libraries: imports of modules, loads of libraries, and calls of functions. Conditions are not
// evaluated, except for those on the version of Python: see Program.For.
type Module struct {
	top       body
	functions map[string]*body  // by name; methods are under the name of their class
	names     map[string]string // paths of what it imports under a name
	raises    bool              // a statement at its top level raises an exception
	versions  bool              // a step depends on the version of Python
}

// body is what a source or a function does.
type body struct{ steps []step }

// step is something that a source does.
type step struct {
	do stepKind
	// The path of a module ("pkg/_module") or of a function of it ("pkg/util/load"), or the file name
	// of a library. "" if it is computed.
	name    string
	may     bool // it depends on a condition, or a function is only mentioned
	handled bool // the source continues if it fails
	// A library is loaded with RTLD_GLOBAL, or modules are from now on; without it, no longer.
	global    bool
	only      Versions // in a branch for these versions of Python
	otherwise bool     // it depends on a condition in these versions too
	never     bool     // no version that the program is for executes it
	// Which branch of which if or try statement it is in; zero for none.
	fork, arm int
}

type stepKind byte

const (
	importsModule stepKind = iota
	loadsLibrary
	callsFunction
	setsFlags // how modules are loaded: sys.setdlopenflags
)

// maxSteps limits the steps of a source that are stored. A source with more may do anything.
const maxSteps = 4000

// ReadModule reads a Python source. file is relative to site-packages; name is its path without a
// suffix, "pkg" for pkg/__init__.py. m is nil for a source of tests, which nothing imports.
func ReadModule(file, text string) (name string, m *Module) {
	if inTests(file) {
		return "", nil
	}
	name = strings.TrimSuffix(file, ".py")
	r := moduleReader{folder: path.Dir(name), defined: definitions(text)}
	name = strings.TrimSuffix(name, "/__init__")
	r.name, r.names, r.functions = name, map[string]string{}, map[string]*body{}
	r.global = map[string]bool{"RTLD_GLOBAL": true}
	dotted := func(at string) []string { return []string{strings.ReplaceAll(at, "/", ".")} }
	r.values = map[string][]string{"__name__": dotted(r.name), "__package__": dotted(r.folder)}
	r.lexer.src = text
	r.skips = !importsInside(text) && !loadsInside(text)
	r.next()
	r.block(0, scope{into: &r.top})
	if r.count >= maxSteps {
		r.top.steps = append(r.top.steps, step{may: true})
	}
	r.prune()
	out := r.Module // the rest is no longer needed
	return name, &out
}

// importsInside reports whether a function may import something or execute a text.
func importsInside(text string) bool {
	for at := range every(text, "import") {
		line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
		words := strings.TrimLeft(line, " \t")
		if len(words) < len(line) && (words == "" || strings.HasPrefix(words, "from ")) ||
			strings.Contains(words, ": ") || strings.Contains(words, "; ") ||
			strings.HasPrefix(text[at:], "import_") || strings.HasSuffix(words, "__") {
			return true
		}
	}
	return strings.Contains(text, "exec(") || strings.Contains(text, "_module(")
}

// loadsInside reports whether a name in a source is like that of a function that loads libraries.
func loadsInside(text string) bool {
	for _, word := range []string{"oad", "dll", "DLL", "dlopen"} {
		for at := range every(text, word) {
			end := at
			for at > 0 && isName(text[at-1]) {
				at--
			}
			for end < len(text) && isName(text[end]) {
				end++
			}
			if loads(text[at:end]) {
				return true
			}
		}
	}
	return false
}

// every iterates over the places of a word.
func every(text, word string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := 0; ; at += len(word) {
			n := strings.Index(text[at:], word)
			if n < 0 || !yield(at+n) {
				return
			}
			at += n
		}
	}
}

// definitions returns the names of the functions and classes in a source.
func definitions(text string) map[string]bool {
	out := map[string]bool{}
	for _, word := range []string{"def ", "class "} {
		for at := range every(text, word) {
			at += len(word)
			end := at
			for end < len(text) && isName(text[end]) {
				end++
			}
			out[text[at:end]] = true
		}
	}
	return out
}

// prune removes functions that do nothing, and calls of them.
func (r *moduleReader) prune() {
	prefix := r.name + "/"
	for more := true; more; {
		more = false
		for name, b := range r.functions {
			if len(b.steps) == 0 {
				delete(r.functions, name)
				delete(r.defined, name)
				more = true
			}
		}
		for _, b := range r.functions {
			b.steps = slices.DeleteFunc(b.steps, func(s step) bool {
				name, own := strings.CutPrefix(s.name, prefix)
				first, _, _ := strings.Cut(name, "/")
				return s.do == callsFunction && own && r.functions[first] == nil &&
					r.names[first] == ""
			})
		}
	}
}

// moduleReader is the state of reading a source.
type moduleReader struct {
	Module
	name    string              // of the module
	folder  string              // of relative imports
	defined map[string]bool     // names of functions and classes
	global  map[string]bool     // names of values that contain RTLD_GLOBAL
	values  map[string][]string // constant texts of names: of a variable of a loop, each one
	leaves  bool                // a break, continue or return since the last loop over constants began
	skips   bool                // its functions do nothing that matters
	lexer   lexer
	line    line // the next one; without tokens at the end
	count   int  // number of steps
	forks   int  // number of if and try statements
}

// line is a logical line.
type line struct {
	indent, after int // that of the line and that of the next one
	tokens        []token
}

func (l line) is(words ...string) bool {
	return len(l.tokens) > 0 && l.tokens[0].kind == 'n' && slices.Contains(words, l.tokens[0].text)
}

// scope is where statements are: what executes them, and where their steps are stored.
type scope struct {
	into         *body
	class        string // the class whose body it is
	may, handled bool
	fork, arm    int      // see step
	only         Versions // of a branch
	never        bool     // only type checkers read it
}

func (s scope) maybe() scope { s.may = true; return s }

// next reads the next logical line that is not only a text.
func (r *moduleReader) next() {
	l := &r.lexer
	for indent := r.line.after; ; {
		l.out = l.out[:0]
		if l.ended {
			r.line = line{}
			return
		}
		l.line()
		all := l.out
		after := 0
		if !l.ended {
			all, after = all[:len(all)-1], len(all[len(all)-1].text)
		}
		if len(all) > 1 || len(all) == 1 && all[0].kind == 'n' {
			r.line = line{indent, after, all}
			if r.line.is("async") && len(all) > 1 {
				r.line.tokens = all[1:]
			}
			return
		}
		indent = after
	}
}

// skip goes to the next line that is not indented more.
func (r *moduleReader) skip(indent int) {
	after := r.lexer.indent()
	for after > indent && !r.lexer.ended {
		r.lexer.skip()
		after = r.lexer.indent()
	}
	r.line.after = after
	r.next()
}

// block reads the lines that are indented at least as much. raises is set if it ends by raising an
// exception.
func (r *moduleReader) block(indent int, in scope) (raises bool) {
	fork, arm := 0, 0
	var tried, end int // the steps of the last try statement
	first := r.line.indent
	var rest Versions // for which no branch of the if statement was taken so far
	var open bool     // there was a branch that is taken under another condition
	for len(r.line.tokens) > 0 && r.line.indent >= indent {
		l := r.line
		if l.is("if", "try") {
			r.forks++
			fork, arm, tried = r.forks, 0, len(in.into.steps)
		}
		inner := in
		if !l.is("elif", "else") {
			rest, open = Versions{}, !l.is("if")
		}
		if arm++; l.is("if", "elif", "else", "try", "except") {
			inner.fork, inner.arm = fork, arm
		}
		catching := false
		switch {
		case l.is("def") && r.skips:
			r.skip(l.indent)
			continue
		case l.is("def") && len(l.tokens) > 1:
			inner = r.function(l.tokens[1].text, in)
		case l.is("class") && len(l.tokens) > 1:
			inner.class = strings.Clone(l.tokens[1].text)
		case l.is("if", "elif"):
			inner.only = in.only.and(rest)
			inner.may = in.may || open
			v, ok := selected(l.tokens[1:max(1, afterColon(l.tokens)-1)])
			if ok {
				inner.only = inner.only.and(v)
				v, ok = v.others()
				rest = rest.and(v)
			} else {
				inner = inner.maybe()
			}
			open = open || !ok
			inner.never = in.never || slices.ContainsFunc(l.tokens, func(t token) bool {
				return t.text == "TYPE_CHECKING"
			})
		case l.is("except"):
			catching = catches(l.tokens)
			inner = inner.maybe()
		case l.is("for") && r.loops(l.tokens):
			r.leaves = false
		case l.is("else"):
			inner.only = in.only.and(rest)
			inner.may = in.may || open
		case l.is("for", "while"):
			inner = inner.maybe()
		case l.is("match", "case") && l.tokens[len(l.tokens)-1].text == ":":
			inner = inner.maybe()
		case l.is("with"):
			inner.handled = in.handled || slices.ContainsFunc(l.tokens, func(t token) bool {
				return t.text == "suppress"
			})
		case l.is("try", "finally"):
		default:
			raises = raises || l.indent == first && l.is("raise")
			r.leaves = r.leaves || l.is("break", "continue", "return")
			r.statements(l.tokens, in)
			r.next()
			continue
		}
		colon := afterColon(l.tokens)
		if !l.is("def", "class", "except") {
			r.statements(l.tokens[1:max(1, colon-1)], in)
		}
		begins, loops, rest := l.is("if", "try"), l.is("for"), l.tokens[colon:]
		begun := len(in.into.steps)
		r.statements(rest, inner)
		again := len(rest) > 0 && rest[0].text == "raise"
		r.next()
		if again = r.block(l.indent+1, inner) || again; catching && !again {
			for i := range in.into.steps[tried:end] {
				in.into.steps[tried+i].handled = true
			}
		}
		if begins {
			end = len(in.into.steps)
		}
		if loops && r.leaves { // what follows a break or continue may not be executed
			for i := range in.into.steps[begun:] {
				s := &in.into.steps[begun+i]
				s.may, s.otherwise = true, true
			}
		}
	}
	return raises
}

// function returns the scope of the body of a function. Whoever uses a class may call its methods.
// A function in another one is part of that.
func (r *moduleReader) function(name string, in scope) scope {
	if in.class == "" && in.into != &r.top {
		return in.maybe()
	}
	out := scope{never: in.never, may: in.class != ""}
	if in.class != "" {
		name = in.class
	}
	if r.functions[name] == nil {
		r.functions[strings.Clone(name)] = &body{}
	}
	out.into = r.functions[name]
	return out
}

// otherErrors are exceptions that are not raised when a module cannot be loaded.
var otherErrors = []string{
	"except", "ModuleNotFoundError", "KeyError", "ValueError", "AttributeError", "TypeError",
	"RuntimeError", "NameError", "IndexError", "LookupError", "FileNotFoundError",
	"NotImplementedError",
	"AssertionError", "KeyboardInterrupt", "SystemExit", "UnicodeDecodeError", "PermissionError",
	"ZeroDivisionError", "TimeoutError", "StopIteration", "OSError", "IOError",
}

// catches reports whether an except clause catches that a module cannot be loaded.
// ModuleNotFoundError is not raised for one that is there.
func catches(clause []token) bool {
	named := false
	for _, t := range clause[:afterColon(clause)] {
		if t.kind == 'n' && t.text == "as" {
			break
		}
		if t.kind == 'n' && !slices.Contains(otherErrors, t.text) {
			return true
		}
		named = named || t.kind == 'n' && t.text != "except"
	}
	return !named
}

// afterColon returns the index after the colon that ends the head of a compound statement, or the
// number of tokens.
func afterColon(all []token) int {
	depth := 0
	for i, t := range all {
		switch {
		case t.kind != 'o':
		case strings.Contains("([{", t.text):
			depth++
		case strings.Contains(")]}", t.text):
			depth--
		case t.text == ":" && depth == 0:
			return i + 1
		}
	}
	return len(all)
}
