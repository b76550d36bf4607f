package wheelpolicy

import "strings"

// numbering assigns numbers to the names of needed libraries. With hundreds of objects and a dozen
// policies, external looks up the same names a million times.
type numbering struct {
	number    map[string]int32
	names     []string
	seen      []int32    // by number: the last run of external that visited the name
	libraries []*library // by number: the library of the current tree
	current   []int32    // numbers with an entry in libraries
	run       int32      // number of the current run of external
	todo      []int32
}

func (s *numbering) numbers(names []string) []int32 {
	out := make([]int32, len(names))
	for i, name := range names {
		n, ok := s.number[name]
		if !ok {
			if s.number == nil {
				s.number = map[string]int32{}
			}
			n = int32(len(s.names))
			s.number[name] = n
			s.names, s.seen, s.libraries = append(s.names, name), append(s.seen, 0), append(s.libraries, nil)
		}
		out[i] = n
	}
	return out
}

// enter selects the tree that external works on, and returns the numbers of its object's DT_NEEDED
// entries.
func (s *numbering) enter(t *tree) []int32 {
	for _, n := range s.current {
		s.libraries[n] = nil
	}
	s.current = s.numbers(t.order)
	for i, n := range s.current {
		l := t.libraries[t.order[i]]
		if s.libraries[n] = l; l.numbers == nil {
			l.numbers = s.numbers(l.needed)
		}
	}
	return s.numbers(t.object.Needed)
}

// external lists what the selected tree needs from outside of the wheel under a policy
// (lddtree_external_references): the dependencies of its object except for the loader and the
// libraries that the policy allows, and their dependencies in turn. Libraries in the wheel are
// followed but not listed.
func (s *survey) external(t *tree, needs []int32, p *policy) ([]string, error) {
	var out []string
	s.run++
	s.todo = s.todo[:0]
	add := func(needed []int32) {
		for _, n := range needed {
			if s.seen[n] != s.run && !p.isAllowed(n, s.names) {
				s.seen[n] = s.run
				s.todo = append(s.todo, n)
			}
		}
	}
	add(needs)
	for len(s.todo) > 0 {
		n := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		if s.steps++; s.steps > maxSteps {
			return nil, crash("its objects need each other in more than %d ways", maxSteps)
		}
		l := s.libraries[n]
		switch {
		case l == nil:
			return nil, crash("%s: %s is needed and was lost on the way", t.path, s.names[n])
		case l.loader:
			return nil, crash("%s: it needs its own interpreter %s", t.path, s.names[n])
		case l.path == "":
			out = append(out, s.names[n])
		}
		add(l.numbers)
	}
	return out, nil
}

// isAllowed returns the cached result of allowed.
func (p *policy) isAllowed(n int32, names []string) bool {
	if int(n) >= len(p.known) {
		p.known = append(p.known, make([]allowance, len(names)-len(p.known))...)
	}
	if p.known[n] == undecided {
		p.known[n] = no
		if allowed(names[n], p) {
			p.known[n] = yes
		}
	}
	return p.known[n] == yes
}

type allowance uint8

const (
	undecided allowance = iota
	no
	yes
)

// allowed reports whether the platform provides a library: it is the loader, or the policy has it.
func allowed(name string, p *policy) bool {
	return strings.Contains(name, "ld-linux") || name == "ld64.so.1" || name == "ld64.so.2" ||
		p.whitelist[name] ||
		p.isAndroid() && libPython.MatchString(name)
}

func (p *policy) isAndroid() bool { return p.platform == nil }

// completeTrees completes the trees of objects that are not Python modules (_fixup_elf_trees). If
// such an object is also part of a fully resolved tree, missing libraries are copied from there.
func (s *survey) completeTrees() error {
	var resolved []*tree
	for _, list := range [][]*tree{s.modules, s.others} {
		for _, t := range list {
			if t.resolved() {
				resolved = append(resolved, t)
			}
		}
	}
	for _, t := range s.others {
		if t.resolved() {
			continue
		}
		from, err := s.treeWith(t, resolved)
		if err != nil {
			return err
		}
		if from != nil {
			t.completeFrom(from)
		}
	}
	return nil
}

func (t *tree) resolved() bool {
	for _, l := range t.libraries {
		if !l.found() {
			return false
		}
	}
	return true
}

// treeWith returns the first resolved tree that contains the object of t, or nil.
func (s *survey) treeWith(t *tree, resolved []*tree) (*tree, error) {
	for _, candidate := range resolved {
		for _, name := range candidate.order {
			if s.steps++; s.steps > maxSteps {
				return nil, crash("its objects need each other in more than %d ways", maxSteps)
			}
			l := candidate.libraries[name]
			if l.loader {
				return nil, crash("%s: its interpreter %s is not there", candidate.path, name)
			}
			if l.path == t.path {
				return candidate, nil
			}
		}
	}
	return nil, nil
}

// completeFrom copies missing libraries and their dependencies from another tree.
func (t *tree) completeFrom(from *tree) {
	for _, name := range t.order[:len(t.order):len(t.order)] {
		if t.libraries[name].found() || from.libraries[name] == nil {
			continue
		}
		t.libraries[name] = from.libraries[name]
		todo := append([]string(nil), t.libraries[name].needed...)
		for len(todo) > 0 {
			n := todo[0]
			todo = todo[1:]
			if t.libraries[n] == nil && from.libraries[n] != nil {
				t.add(n, from.libraries[n])
				todo = append(todo, from.libraries[n].needed...)
			}
		}
	}
}
