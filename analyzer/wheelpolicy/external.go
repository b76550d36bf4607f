package wheelpolicy

import "strings"

// external lists what a tree needs from outside of the wheel on a policy (lddtree_external_references): its needs without the loader and what the policy promises,
// and the needs of those. What lies in the wheel is followed and not listed.
func (s *survey) external(t *tree, p *policy) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	var todo []string
	add := func(needed []string) {
		for _, n := range needed {
			if !seen[n] && !promised(n, p) {
				seen[n] = true
				todo = append(todo, n)
			}
		}
	}
	add(t.object.Needed)
	for len(todo) > 0 {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.steps++; s.steps > maxSteps {
			return nil, crash("its objects need each other in more than %d ways", maxSteps)
		}
		l := t.libraries[name]
		switch {
		case l == nil:
			return nil, crash("%s: %s is needed and was lost on the way", t.path, name)
		case l.loader:
			return nil, crash("%s: it needs its own interpreter %s", t.path, name)
		case l.path == "":
			out = append(out, name)
		}
		add(l.needed)
	}
	return out, nil
}

// promised tells whether a need is no matter of the wheel's: the loader, and what the policy has.
func promised(name string, p *policy) bool {
	return strings.Contains(name, "ld-linux") || name == "ld64.so.1" || name == "ld64.so.2" || p.whitelist[name] || p.isAndroid() && libPython.MatchString(name)
}

func (p *policy) isAndroid() bool { return p.platform == nil }

// borrow completes the trees of objects that are no Python modules (_fixup_elf_trees): what such an object does not find, and a fully resolved tree that it is part of does,
// is taken from there.
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
