package packages

import (
	"cmp"
	"container/heap"
	"math"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// turn is when a package is chosen; see search.next.
type turn struct {
	class int // -1 if the user pins it, else the least tightness of what is required of it
	place int // in search.names, or the greatest number if the user does not require it
	name  string
}

// turns is a heap of turns. One that changed stays in it.
type turns []turn

func (t turns) Len() int           { return len(t) }
func (t turns) Less(i, j int) bool { return t[i].before(t[j]) }
func (t turns) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *turns) Push(x any)        { *t = append(*t, x.(turn)) }

func (t *turns) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

func (t turn) before(u turn) bool {
	return cmp.Or(cmp.Compare(t.class, u.class), cmp.Compare(t.place, u.place),
		cmp.Compare(t.name, u.name)) < 0
}

// next returns the package to choose next, "" if all are chosen. As in pip, those of which few
// versions fit come first: pinned, with an upper bound, with another one; then those that the user
// requires, in their order; and then the others by name.
func (s *search) next() string {
	for len(s.turns) > 0 {
		first := s.turns[0]
		if now, waits := s.turn(first.name); waits && now == first {
			return first.name
		}
		heap.Pop(&s.turns)
	}
	return ""
}

// queue adds the turn of a package, if it waits for one. It is called whenever a turn changes.
func (s *search) queue(name string) {
	if t, waits := s.turn(name); waits {
		heap.Push(&s.turns, t)
	}
}

// turn returns the turn of a package. waits is false for one that is chosen, or not to be chosen.
func (s *search) turn(name string) (t turn, waits bool) {
	wants := s.wants[name]
	if len(wants) == 0 || s.chosen[name] != nil || s.lookUp != nil && !s.lookUp[name] {
		return turn{}, false
	}
	t = turn{class: 3, place: math.MaxInt, name: name}
	if _, given := s.given[name]; given {
		t.place = s.place[name]
	}
	if _, pinned := s.pin(name); pinned {
		t.class = -1
		return t, true
	}
	for _, w := range wants {
		t.class = min(t.class, tightness(w.spec))
	}
	return t, true
}

// tightness is 0 for a specifier that pins a version, 1 for one with an upper bound, 2 for another
// one, and 3 for none.
func tightness(s pkgmeta.Spec) int {
	text := s.String()
	if _, pinned := s.Pin(); pinned {
		return 0
	}
	switch {
	case strings.Contains(text, "<") || strings.Contains(text, "~=") || strings.Contains(text, ".*"):
		return 1
	case text != "":
		return 2
	}
	return 3
}
