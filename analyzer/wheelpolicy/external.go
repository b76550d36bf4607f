package wheelpolicy

import "strings"

// numbering gives each name that is needed a number: with hundreds of objects and a dozen policies,
// external asks the same names a million times.
type numbering struct {
	number map[string]int32
	names  []string
	seen   []int32    // by number: the last question in which the name came up
	of     []*library // by number: what the name is in the tree that was entered
	held   []int32    // numbers that have something in of
	asked  int32      // questions so far
	todo   []int32
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
			s.names, s.seen, s.of = append(s.names, name), append(s.seen, 0), append(s.of, nil)
		}
		out[i] = n
	}
	return out
}

// enter makes a tree the one that external asks about, and gives the numbers of what its object
// needs.
func (s *numbering) enter(t *tree) []int32 {
	for _, n := range s.held {
		s.of[n] = nil
	}
	s.held = s.numbers(t.order)
	for i, n := range s.held {
		l := t.libraries[t.order[i]]
		if s.of[n] = l; l.numbers == nil {
			l.numbers = s.numbers(l.needed)
		}
	}
	return s.numbers(t.object.Needed)
}

// external lists what a tree, which was entered, needs from outside of the wheel on a policy
// (lddtree_external_references): its needs without the loader and what the policy promises, and the
// needs of those. What lies in the wheel is followed and not listed.
func (s *survey) external(t *tree, needs []int32, p *policy) ([]string, error) {
	var out []string
	s.asked++
	s.todo = s.todo[:0]
	add := func(needed []int32) {
		for _, n := range needed {
			if s.seen[n] != s.asked && !p.promised(n, s.names) {
				s.seen[n] = s.asked
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
		l := s.of[n]
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

// promised tells the same as the function, and remembers it.
func (p *policy) promised(n int32, names []string) bool {
	if int(n) >= len(p.known) {
		p.known = append(p.known, make([]answer, len(names)-len(p.known))...)
	}
	if p.known[n] == unasked {
		p.known[n] = no
		if promised(names[n], p) {
			p.known[n] = yes
		}
	}
	return p.known[n] == yes
}

type answer uint8

const (
	unasked answer = iota
	no
	yes
)

// promised tells whether a need is no matter of the wheel's: the loader, and what the policy has.
func promised(name string, p *policy) bool {
	return strings.Contains(name, "ld-linux") || name == "ld64.so.1" || name == "ld64.so.2" ||
		p.whitelist[name] ||
		p.isAndroid() && libPython.MatchString(name)
}

func (p *policy) isAndroid() bool { return p.platform == nil }

// borrow completes the trees of objects that are no Python modules (_fixup_elf_trees): what such an
// object does not find, and a fully resolved tree that it is part of does, is taken from there.
func (s *survey) borrow() error {
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
		from, err := s.lender(t, resolved)
		if err != nil {
			return err
		}
		if from != nil {
			t.take(from)
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

// lender is the first of the resolved trees that an object is part of.
func (s *survey) lender(t *tree, resolved []*tree) (*tree, error) {
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

// take fills what is missing in a tree from another one, with what that needs in turn.
func (t *tree) take(from *tree) {
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
