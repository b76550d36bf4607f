package staticlink

import "slices"

// other models gold, lld and mold: they read everything on the line, including libraries after
// --as-needed, and no dependencies.
func (l *link) other(by Linker, lib *Library) {
	l.whole = true
	for _, n := range l.expand(l.line.Before) {
		l.add(n.library, !n.AsNeeded)
	}
	l.add(lib, true)
	for _, n := range l.expand(l.line.After) {
		l.add(n.library, !n.AsNeeded) // the program needs none of them, so --as-needed drops them
	}
	l.add(l.provided("libgcc_s.so.1"), false)
	l.add(l.provided("libc.so.6"), true)
	l.add(l.provided(l.platform.Loader()), false)
	if by == Mold {
		return
	}
	for a := range archives {
		l.fetch(int32(a))
	}
	var checked []*Library
	for _, x := range l.read {
		if !slices.ContainsFunc(x.Needed, func(name string) bool {
			return !slices.ContainsFunc(l.read, func(y *Library) bool { return y.HasName(name) })
		}) {
			checked = append(checked, x)
		}
	}
	l.collectProblems(checked)
	// A hidden definition satisfies the link without an error and is not exported, so the program
	// fails at run time.
	l.problems = slices.DeleteFunc(l.problems, func(p problem) bool { return p.kind == Hidden })
}
