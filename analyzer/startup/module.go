package startup

import (
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
)

// Module is what a Python source does when it is imported, in order, as far as it matters for
// libraries: imports of modules, loads of libraries, and calls of functions. Conditions on the
// system and constants are evaluated, and those on the version of Python: see Program.For.
type Module struct {
	top       body
	functions map[string]*body  // by name; methods are under the name of their class
	names     map[string]string // paths of what it imports under a name
	raises    bool              // a statement at its top level raises an exception
	versions  bool              // a step depends on the version of Python
	flags     map[string]bool   // values of constants
	files     []string          // texts and patterns of the names of libraries: "_C*.so"
}

// body is what a source or a function does.
type body struct {
	steps  []step
	loads  bool // a step loads a library
	raises bool // a statement raises an exception, and not because of another one
	// A call of the function may not execute it as it is written, or handle what it raises: it has a
	// decorator, several definitions or one under a condition, or is a generator or coroutine.
	guarded bool
	// In any case it uses the object that a load of a library returns, or declares functions of one.
	uses bool
}

// loads reports whether the source loads a library.
func (m *Module) loads() bool {
	return slices.ContainsFunc(m.bodies(), func(b *body) bool { return b.loads })
}

// bodies returns what the source does, and then its functions, by name.
func (m *Module) bodies() []*body {
	if m == nil {
		return nil
	}
	out := []*body{&m.top}
	for _, name := range slices.Sorted(maps.Keys(m.functions)) {
		out = append(out, m.functions[name])
	}
	return out
}

// step is something that a source does.
type step struct {
	do stepKind
	// The path of a module ("pkg/_module") or of a function of it ("pkg/util/load"), or the file name
	// of a library. "" if it is computed.
	name    string
	may     bool   // it depends on a condition, or a function is only mentioned
	handled bool   // the source continues if it fails
	guarded bool   // the source may continue if a library is not loaded: it handles OSError
	kept    kept   // when the source continues in any case if a library is not loaded
	plain   bool   // a library that cannot be loaded is an OSError: see local
	at      string // the path of a library, relative to site-packages; "" if it is not known
	// A library is loaded with RTLD_GLOBAL, or modules are from now on; without it, no longer.
	global    bool
	only      Versions // in a branch for these versions of Python
	otherwise bool     // it depends on a condition in these versions too
	never     bool     // no system or version that the program is for executes it
	flag      flag     // only if it is set
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

// ModuleOf returns the path of the module of a source: "pkg" for "pkg/__init__.py", and
// "pkg/module" for "pkg/module.py".
func ModuleOf(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(file, ".py"), "/__init__")
}

// ReadModule reads a Python source, with its path relative to site-packages: see Code.Module.
func ReadModule(file, text string, on System) (name string, m *Module) {
	return NewCode(file, text).Module(on)
}

// Module returns the source as a system executes it. name is its path without a suffix, "pkg" for
// pkg/__init__.py. m is nil for a source of tests, which nothing imports.
func (c *Code) Module(on System) (name string, m *Module) {
	if InTests(c.file) {
		return "", nil
	}
	name = ModuleOf(c.file)
	r := moduleReader{
		folder: path.Dir(c.file), words: c.words, defined: maps.Clone(c.words.defined), system: on,
		file: c.file, paths: map[string][]string{}, found: map[string]bool{},
	}
	r.name, r.names, r.functions = name, map[string]string{}, map[string]*body{}
	r.global, r.opened = map[string]bool{"RTLD_GLOBAL": true}, map[string]bool{}
	r.flags, r.bindings = map[string]bool{}, map[string]int{}
	dotted := func(at string) []string { return []string{strings.ReplaceAll(at, "/", ".")} }
	r.values = map[string][]string{"__name__": dotted(r.name), "__package__": dotted(r.folder)}
	r.lexer.src = c.text
	for name := range r.defined {
		r.bound.add(name)
	}
	r.skips = !r.words.imports && !r.words.loads
	buffer := lines.Get().(*[]token)
	r.lexer.out = *buffer
	r.next()
	r.block(0, scope{into: &r.top})
	if *buffer = r.lexer.out; cap(*buffer) <= 1024 {
		clear((*buffer)[:cap(*buffer)]) // keep no text
		lines.Put(buffer)
	}
	if r.count >= maxSteps {
		r.top.steps = append(r.top.steps, step{may: true})
	}
	r.prune()
	r.keepFlags(c.text)
	out := r.Module // the rest is no longer needed
	return name, &out
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
	system   System
	name     string              // of the module
	folder   string              // of relative imports
	defined  map[string]bool     // names of functions and classes
	global   map[string]bool     // names of values that contain RTLD_GLOBAL
	opened   map[string]bool     // names of what loads of libraries return
	values   map[string][]string // constant texts of names: of a variable of a loop, each one
	paths    map[string][]string // paths of names, from all assignments: absolute, below siteFolder
	found    map[string]bool     // names of results of ctypes.util.find_library
	bindings map[string]int      // of flags: how many values they may have
	file     string              // of the source, relative to site-packages
	leaves   bool                // a break, continue or return since the last loop over constants
	skips    bool                // its functions do nothing that matters
	words    words
	bound    nameFilter // has all of defined and names
	loaded   bool       // a step loads a library
	lexer    lexer
	line     line // the next one; without tokens at the end
	failures int  // number of statements that may raise an exception, as far as they are recognized
	count    int  // number of steps
	forks    int  // number of if and try statements
}

// line is a logical line.
type line struct {
	indent, after int // that of the line and that of the next one
	tokens        []token
	async         bool // it began with this word, which is not among the tokens
}

// word returns the name with which the line begins; "" if it begins with something else.
func (l line) word() string {
	if len(l.tokens) > 0 && l.tokens[0].kind == 'n' {
		return l.tokens[0].text
	}
	return ""
}

func (l line) is(words ...string) bool {
	word := l.word()
	return word != "" && slices.Contains(words, word)
}

// scope is where statements are: what executes them, and where their steps are stored.
type scope struct {
	into         *body
	class        string // the class whose body it is
	may, handled bool
	guarded      bool     // see step
	kept         kept     // see step
	trying       bool     // in a try block
	excepting    bool     // in an except clause
	fork, arm    int      // see step
	only         Versions // of a branch
	types        bool     // only type checkers read it
	never        bool     // see step
	flag         flag     // see step
	subject      *value   // what a match statement compares; nil if it is not known
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
			r.line = line{indent: indent, after: after, tokens: all}
			if r.line.is("async") && len(all) > 1 {
				r.line.tokens, r.line.async = all[1:], true
			}
			if r.words.loads {
				r.addFiles(all)
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

// block reads the lines that are indented at least as much.
func (r *moduleReader) block(indent int, in scope) (out ending) {
	var chain branches
	first := r.line.indent
	subject := in.subject
	in.subject = nil
	decorated := false // the next function or class
	for len(r.line.tokens) > 0 && r.line.indent >= indent {
		l := r.line
		word := l.word()
		inner := in
		chain.enter(r, l, &inner)
		catching, guarding, decided := false, false, condition{}
		switch {
		case word == "def" && r.skips:
			r.skip(l.indent)
			continue
		case word == "def" && len(l.tokens) > 1:
			inner = r.function(l, in, decorated)
		case word == "class" && len(l.tokens) > 1:
			inner.class = strings.Clone(l.tokens[1].text)
			if slices.ContainsFunc(l.tokens[2:afterColon(l.tokens)], func(t token) bool {
				return t.kind == 'n' && loads(t.text)
			}) { // class Library(ctypes.CDLL): a call of it loads one, and is not recognized
				r.step(step{do: loadsLibrary}, in.maybe())
			}
		case word == "if" || word == "elif":
			head := l.tokens[1:max(1, afterColon(l.tokens)-1)]
			inner.types = in.types || typesOnly(head)
			decided = chain.branch(r.evaluate(head), in, &inner)
		case word == "except":
			catching = catches(l.tokens, "OSError", "IOError")
			guarding = catches(l.tokens, "ImportError")
			inner = inner.maybe()
			inner.excepting = true
		case word == "for" && r.loops(l.tokens):
			r.leaves = false
		case word == "else":
			decided = chain.branch(holds(true), in, &inner)
		case word == "for" || word == "while":
			inner = inner.maybe()
		case word == "match" && l.tokens[len(l.tokens)-1].text == ":":
			inner.subject = r.system.subject(l.tokens[1 : len(l.tokens)-1])
		case word == "case" && l.tokens[len(l.tokens)-1].text == ":":
			decided = chain.branch(pattern(subject, l.tokens[1:len(l.tokens)-1]), in, &inner)
		case word == "with":
			decided = holds(true)
			inner.handled = in.handled || slices.ContainsFunc(l.tokens, func(t token) bool {
				return t.text == "suppress"
			})
			head := l.tokens[:afterColon(l.tokens)]
			inner.kept = max(in.kept, suppressed(head))
			inner.guarded = in.guarded || inner.handled || !slices.ContainsFunc(head, func(t token) bool {
				return slices.Contains(transparent, t.text)
			})
		case word == "try":
			inner.trying = true
		case word == "finally":
		default:
			if l.indent == first {
				out.add(l.tokens)
			}
			decorated = l.tokens[0].kind == 'o' && l.tokens[0].text == "@"
			r.leaves = r.leaves || word == "break" || word == "continue" || word == "return"
			r.statements(l.tokens, in)
			r.next()
			in.never = in.never || word == "return"
			continue
		}
		colon := afterColon(l.tokens)
		if word != "def" && word != "class" && word != "except" {
			r.statements(l.tokens[1:max(1, colon-1)], in)
		}
		begins, loops, rest := word == "if" || word == "try", word == "for", l.tokens[colon:]
		defines := word == "def" || word == "class"
		decorated = decorated && !defines
		var clause line
		if word == "except" {
			clause.tokens = slices.Clone(l.tokens[:colon]) // the next line overwrites it
		}
		begun := len(in.into.steps)
		failures := r.failures
		r.statements(rest, inner)
		var end ending
		end.add(rest)
		r.next()
		end = end.or(r.block(l.indent+1, inner))
		if clause.tokens != nil {
			chain.except(clause, in.into.steps, r.failures > failures)
		}
		if (catching || guarding) && !end.raises {
			for i := range in.into.steps[chain.tried:chain.end] {
				s := &in.into.steps[chain.tried+i]
				s.handled, s.guarded = s.handled || catching, s.guarded || guarding
			}
		}
		if begins {
			chain.end = len(in.into.steps)
		}
		if end.returns && !defines && !inner.never {
			out.returns = out.returns || decided.known && decided.holds
			in.never = in.never || decided.known && decided.holds
			in.may = true
		}
		if loops && r.leaves { // what follows a break or continue may not be executed
			for i := range in.into.steps[begun:] {
				s := &in.into.steps[begun+i]
				s.may, s.otherwise = true, true
			}
		}
	}
	return out
}

// ending is how a block ends, if it is executed.
type ending struct{ raises, returns bool }

func (e ending) or(f ending) ending {
	return ending{e.raises || f.raises, e.returns || f.returns}
}

// add handles a simple statement of the block.
func (e *ending) add(all []token) {
	l := line{tokens: all}
	e.returns = e.returns || l.word() == "return"
	e.raises = e.raises || l.word() == "raise" || ends(all)
}

// ends reports whether a statement ends Python: sys.exit().
func ends(all []token) bool {
	l := line{tokens: all}
	if word := l.word(); (word == "sys" || word == "os") && len(all) > 3 && all[1].text == "." {
		l.tokens = all[2:]
	}
	word := l.word()
	return (word == "exit" || word == "_exit" || word == "quit") && len(l.tokens) > 1 &&
		l.tokens[1].text == "("
}

// branches is the state of the if, try or match statement whose branches are read.
type branches struct {
	fork, arm  int
	tried, end int      // the steps of the last try statement
	rest       Versions // for which no branch was taken so far
	unset      flag     // it must be set so that no branch was taken so far; none if several must
	open       bool     // there was a branch that is taken under another condition
	closed     bool     // there was one that is always taken
	tries      bool     // it is a try statement
	fails      bool     // a clause may not handle that a library is not loaded
}

// enter handles the first words of a line.
func (b *branches) enter(r *moduleReader, l line, inner *scope) {
	word := l.word()
	if word == "if" || word == "try" {
		r.forks++
		b.fork, b.arm, b.tried = r.forks, 0, len(inner.into.steps)
		b.tries, b.fails = word == "try", false
	}
	if word != "elif" && word != "else" && word != "case" {
		b.rest, b.unset, b.open, b.closed = Versions{}, flag{}, word != "if", false
	}
	if word == "else" && b.tries && b.tried == b.end { // the try block does nothing that may fail
		b.open = false
	}
	switch b.arm++; word {
	case "if", "elif", "else", "try", "except":
		inner.fork, inner.arm = b.fork, b.arm
	}
}

// branch restricts the scope of a branch with a condition, and returns when it is taken.
func (b *branches) branch(c condition, in scope, inner *scope) condition {
	inner.only = in.only.and(b.rest)
	inner.may = in.may || b.open
	inner.under(b.unset)
	certain := !b.open && b.rest == Versions{} && b.unset == flag{}
	switch {
	case b.closed, c.known && !c.holds:
		inner.never = true
		return holds(false)
	case c.known:
		b.closed = true
		if certain {
			return c
		}
		return condition{}
	case c.only != Versions{}:
		inner.only = inner.only.and(c.only)
		v, ok := c.only.others()
		b.rest, b.open = b.rest.and(v), b.open || !ok
	case c.flag != flag{}:
		inner.under(c.flag)
		b.open = b.open || b.unset != flag{}
		b.unset = c.flag.not()
	default:
		*inner = inner.maybe()
		b.open = true
	}
	return condition{}
}

// typesOnly reports whether a condition holds only for type checkers.
func typesOnly(head []token) bool {
	return slices.ContainsFunc(head, func(t token) bool { return t.text == "TYPE_CHECKING" }) &&
		!slices.ContainsFunc(head, func(t token) bool { return t.text == "not" || t.text == "or" })
}

// function returns the scope of the body of a function. Whoever uses a class may call its methods.
// A function in another one is part of that.
func (r *moduleReader) function(l line, in scope, decorated bool) scope {
	if in.class == "" && in.into != &r.top {
		in.guarded = true // by what calls it later
		return in.maybe()
	}
	out := scope{types: in.types, never: in.never, flag: in.flag, may: in.class != ""}
	name := l.tokens[1].text
	if in.class != "" {
		name = in.class
	}
	conditional := in.may || in.trying || in.excepting || in.only != (Versions{})
	if out.into = r.functions[name]; out.into == nil {
		out.into = &body{}
		r.functions[strings.Clone(name)] = out.into
	} else {
		out.into.guarded = true
	}
	out.into.guarded = out.into.guarded || decorated || l.async || conditional
	return out
}

// otherErrors are exceptions that are raised neither when a module cannot be loaded nor when ctypes
// cannot load a library. ModuleNotFoundError is not raised for a module that is there.
var otherErrors = []string{
	"except", "ModuleNotFoundError", "KeyError", "ValueError", "AttributeError", "TypeError",
	"RuntimeError", "NameError", "IndexError", "LookupError", "FileNotFoundError",
	"NotImplementedError",
	"AssertionError", "KeyboardInterrupt", "SystemExit", "UnicodeDecodeError", "PermissionError",
	"ZeroDivisionError", "TimeoutError", "StopIteration",
}

// catches reports whether an except clause catches an exception: it names none, or one that is
// neither in otherErrors nor among those given.
func catches(clause []token, others ...string) bool {
	named := false
	for _, t := range clause[:afterColon(clause)] {
		if t.kind == 'n' && t.text == "as" {
			break
		}
		if t.kind == 'n' && !slices.Contains(otherErrors, t.text) && !slices.Contains(others, t.text) {
			return true
		}
		named = named || t.kind == 'n' && t.text != "except"
	}
	return !named
}

// transparent are context managers that handle no exception of the statements in them.
var transparent = []string{"open", "catch_warnings", "as_file"}

// afterColon returns the index after the colon that ends the head of a compound statement, or the
// number of tokens.
func afterColon(all []token) int {
	depth := 0
	for i, t := range all {
		switch {
		case t.kind != 'o':
		case t.opens():
			depth++
		case t.closes():
			depth--
		case t.text == ":" && depth == 0:
			return i + 1
		}
	}
	return len(all)
}
