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
	return name == strings.ToUpper(name) && strings.ToLower(name) != name
}

// flag returns the path of a name that was imported, or of a constant of this module; "" for
// others.
func (r *moduleReader) flag(name string) string {
	if at, ok := r.names[name]; ok {
		return at
	}
	if _, ok := r.flags[name]; ok || r.changed[name] {
		return path.Join(r.name, name)
	}
	return ""
}

// setFlag handles an assignment to a name.
func (r *moduleReader) setFlag(name string, all []token, plain bool, in scope) {
	if !isFlag(name) || in.never || len(r.flags) >= maxSteps {
		return
	}
	_, again := r.flags[name]
	value := r.evaluate(all)
	name = strings.Clone(name)
	if again || !plain || !value.known || in.into != &r.top || in.class != "" || in.may ||
		in.only != (Versions{}) || in.flag != (flag{}) {
		r.changed[name] = true
		return
	}
	r.flags[name] = value.holds
}

// keepFlags removes the flags that the source may set again, in functions too.
func (r *moduleReader) keepFlags(text string) {
	for name := range r.changed {
		delete(r.flags, name)
	}
	for at := range every(text, "global ") {
		line, _, _ := strings.Cut(text[at:], "\n")
		for name := range r.flags {
			if strings.Contains(line, name) {
				delete(r.flags, name)
			}
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
