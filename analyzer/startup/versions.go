package startup

import "strconv"

// Versions are releases of Python 3 by their second number: all from From on, and before Before. A
// Before of zero means that there is no end; the zero value is all.
type Versions struct{ From, Before int }

// and returns the versions that are in both.
func (v Versions) and(w Versions) Versions {
	v.From = max(v.From, w.From)
	if v.Before == 0 || w.Before != 0 && w.Before < v.Before {
		v.Before = w.Before
	}
	return v
}

// within reports whether all versions are among those of w.
func (v Versions) within(w Versions) bool {
	return v.From >= w.From && (w.Before == 0 || v.Before != 0 && v.Before <= w.Before)
}

// apart reports whether no version is among those of w.
func (v Versions) apart(w Versions) bool {
	return v.Before != 0 && v.Before <= w.From || w.Before != 0 && w.Before <= v.From
}

// others returns the versions that are not in v; ok is false if they are not a range.
func (v Versions) others() (out Versions, ok bool) {
	switch {
	case v.Before == 0 && v.From > 0:
		return Versions{Before: v.From}, true
	case v.From == 0 && v.Before > 0:
		return Versions{From: v.Before}, true
	}
	return Versions{}, false
}

// selected evaluates a condition: "sys.version_info >= (3, 12)", also with version_info[:2]. ok is
// false for others, and for those that compare more or fewer numbers.
func selected(all []token) (v Versions, ok bool) {
	texts := make([]string, len(all))
	for i, t := range all {
		texts[i] = t.text
	}
	skip := func(words ...string) bool {
		for i, w := range words {
			if i >= len(texts) || texts[i] != w {
				return false
			}
		}
		texts = texts[len(words):]
		return true
	}
	skip("sys", ".")
	if !skip("version_info") {
		return Versions{}, false
	}
	two := skip("[", ":", "2", "]")
	if len(texts) == 0 {
		return Versions{}, false
	}
	operator := texts[0]
	if texts = texts[1:]; !skip("(", "3", ",") || len(texts) < 2 {
		return Versions{}, false
	}
	n, err := strconv.ParseUint(texts[0], 10, 8)
	texts = texts[1:]
	if err != nil || n == 0 || !skip(")") || len(texts) > 0 {
		return Versions{}, false
	}
	at := int(n)
	switch {
	case operator == ">=", operator == ">" && !two: // (3, 12, 0, …) is greater than (3, 12)
		return Versions{From: at}, true
	case operator == ">":
		return Versions{From: at + 1}, true
	case operator == "<", operator == "<=" && !two:
		return Versions{Before: at}, true
	case operator == "<=":
		return Versions{Before: at + 1}, true
	case operator == "==" && two:
		return Versions{at, at + 1}, true
	}
	return Versions{}, false
}

// For returns the program as some versions of Python execute it: conditions that all of them decide
// in the same way are evaluated.
func (p Program) For(v Versions) Program {
	out := make(Program, len(p))
	for name, m := range p {
		out[name] = m.in(v)
	}
	return out
}

// in returns the module itself if no step depends on the version. It may be nil.
func (m *Module) in(v Versions) *Module {
	if m == nil || !m.versions {
		return m
	}
	n := *m
	n.top.steps = decided(m.top.steps, v)
	n.functions = make(map[string]*body, len(m.functions))
	for name, b := range m.functions {
		f := *b
		f.steps = decided(b.steps, v)
		n.functions[name] = &f
	}
	return &n
}

func decided(steps []step, v Versions) []step {
	out := make([]step, len(steps))
	for i, s := range steps {
		switch {
		case s.only == Versions{}:
		case v.apart(s.only):
			s.never = true
		case v.within(s.only):
			s.may, s.only = s.otherwise || s.flag != flag{}, Versions{}
		}
		out[i] = s
	}
	return out
}
