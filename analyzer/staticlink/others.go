package staticlink

import "slices"

// other is gold, lld or mold: all that the line names is in the table, what --as-needed guards too;
// nothing is followed.
func (l *link) other(by Linker, lib *Library) {
	l.whole = true
	for _, n := range l.expand(l.line.Before) {
		l.add(n.library, !n.AsNeeded)
	}
	l.add(lib, true)
	for _, n := range l.expand(l.line.After) {
		l.add(
			n.library,
			!n.AsNeeded,
		) // what is as needed is dropped: the program itself wants nothing of it
	}
	l.add(l.provided("libgcc_s.so.1"), false)
	l.add(l.provided("libc.so.6"), true)
	l.add(l.provided(l.platform.Loader()), false)
	if by == Mold {
		return
	}
	for _, a := range []archive{libgcc, nonshared, startFiles} {
		l.fetch(a)
	}
	var judged []*Library
	for _, x := range l.read {
		if !slices.ContainsFunc(x.Needed, func(name string) bool {
			return !slices.ContainsFunc(l.read, func(y *Library) bool { return y.AnswersTo(name) })
		}) {
			judged = append(judged, x)
		}
	}
	l.judge(judged)
	// A hidden member serves the link and is not exported: the program fails when it runs, and no
	// word is said before.
	l.result.Problems = slices.DeleteFunc(
		l.result.Problems,
		func(p Problem) bool { return p.Kind == Hidden },
	)
}
