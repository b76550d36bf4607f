package startup

import (
	"path"
	"strings"
)

// flag is a constant of a module, in upper case: USE_GLOBAL = False. Its value is looked up when a
// program is executed, because the module may be another one than the one that tests it. The zero
// value is none.
type flag struct {
	name  string // the path of the module and its name: "pkg/config/USE_GLOBAL"
	unset bool   // what depends on it is executed if it is false
}

func (f flag) not() flag { return flag{f.name, !f.unset} }

// isFlag reports whether a name is that of a constant.
func isFlag(name string) bool {
	if name == "" || name[0] >= 'a' && name[0] <= 'z' { // most names
		return false
	}
	return name == strings.ToUpper(name) && strings.ToLower(name) != name
}

// flag returns the path of a name that was imported, or of a constant of this module; "" for
// others, and for a name that was bound more than once.
func (r *moduleReader) flag(name string) string {
	if r.bindings[name] != 1 {
		return ""
	}
	if at, ok := r.names[name]; ok {
		return at
	}
	if _, ok := r.flags[name]; ok {
		return path.Join(r.name, name)
	}
	return ""
}

// setFlag handles an assignment to a name.
func (r *moduleReader) setFlag(name string, all []token, plain bool, in scope) {
	if !isFlag(name) && r.bindings[name] > 0 { // of a module that was imported
		r.rebinds(name, 2)
	}
	if !isFlag(name) || in.never || len(r.flags) >= maxSteps {
		return
	}
	value := r.evaluate(all)
	if !plain || !value.known || in.into != &r.top || in.class != "" || in.may ||
		in.only != (Versions{}) || in.flag != (flag{}) {
		r.rebinds(name, 2) // to one value or another
		return
	}
	r.rebinds(name, 1)
	r.flags[strings.Clone(name)] = value.holds
}

// rebinds counts the values that a flag, or the name of a module, may have: those of assignments
// and imports. Names that are not counted, because there are too many, are no flags.
func (r *moduleReader) rebinds(name string, values int) {
	if n := r.bindings[name]; n > 0 {
		r.bindings[name] = n + values
	} else if len(r.bindings) < maxSteps {
		r.bindings[strings.Clone(name)] = values
	}
}

// keepFlags removes the flags that the source may set again, in functions too.
func (r *moduleReader) keepFlags(text string) {
	const word = "global "
	if !r.words.global {
		text = ""
	}
	for at := range every(text, word) {
		line, _, _ := strings.Cut(text[at+len(word):], "\n")
		for name := range strings.FieldsFuncSeq(line, func(c rune) bool {
			return c > 0x7f || !isName(byte(c))
		}) {
			if r.bindings[name] > 0 {
				r.rebinds(name, 2)
			}
		}
	}
	for name, values := range r.bindings {
		if values > 1 && isFlag(name) {
			delete(r.flags, name)
			delete(r.names, name)
		}
	}
}

// under restricts a scope to what is executed if a flag is set. With a second one, it is not known
// what is.
func (s *scope) under(f flag) {
	switch {
	case f == flag{}, f == s.flag:
	case s.flag == flag{}:
		s.flag = f
	default:
		s.may = true
	}
}

// state is whether what depends on a flag is executed.
type state int

const (
	unknown state = iota
	executed
	skipped
)

// flag looks up a flag. Its name may be imported from other modules.
func (p Program) flag(f flag) state {
	if f.name == "" {
		return executed
	}
	const most = 8 // modules that import it from another one
	at := f.name
	for range most {
		m := p[path.Dir(at)]
		if m == nil {
			return unknown
		}
		if set, ok := m.flags[path.Base(at)]; ok {
			if set != f.unset {
				return executed
			}
			return skipped
		}
		from, ok := m.names[path.Base(at)]
		if !ok || from == at {
			return unknown
		}
		at = from
	}
	return unknown
}

// never reports whether a step is not executed.
func (p Program) never(s step) bool { return s.never || p.flag(s.flag) == skipped }

// may reports whether it is not known that a step is executed.
func (p Program) may(s step) bool {
	if s.flag != (flag{}) && s.only == (Versions{}) && p.flag(s.flag) == executed {
		return s.otherwise
	}
	return s.may
}
