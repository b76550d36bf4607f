package buildlog

// set is a set of patterns by index.
type set [4]uint64

func (s *set) add(i int)     { s[i/64] |= 1 << (i % 64) }
func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 == 1 }

func (s *set) join(o set) {
	for i := range s {
		s[i] |= o[i]
	}
}

func (s set) without(o set) set {
	for i := range s {
		s[i] &^= o[i]
	}
	return s
}
func (s set) empty() bool { return s == set{} }

// automaton finds the needles of all patterns in one pass (Aho and Corasick), with one table
// lookup per byte. The states that end a needle have the highest numbers. States are stored
// multiplied by the row width.
type automaton struct {
	class [256]uint8 // bytes that are in no needle have class 0
	next  []uint32
	width uint32
	final uint32 // states from here on end a needle
	ends  []set  // for final states, in order
}

func newAutomaton(needles map[string]set) *automaton {
	a := &automaton{width: 1}
	for n := range needles {
		for i := range len(n) {
			if a.class[n[i]] == 0 {
				a.class[n[i]] = uint8(a.width)
				a.width++
			}
		}
	}
	w := int(a.width)
	trie, ends := make([]int, w), []set{{}}
	for n, patterns := range needles {
		at := 0
		for i := range len(n) {
			to := &trie[at*w+int(a.class[n[i]])]
			if *to == 0 {
				*to = len(ends)
				trie, ends = append(trie, make([]int, w)...), append(ends, set{})
				at = len(ends) - 1
				continue
			}
			at = *to
		}
		ends[at].join(patterns)
	}
	// Breadth first: a missing edge leads to the state of the longest proper suffix.
	fail, order := make([]int, len(ends)), make([]int, 0, len(ends))
	for c := range w {
		if to := trie[c]; to != 0 {
			order = append(order, to)
		}
	}
	for i := 0; i < len(order); i++ {
		at := order[i]
		ends[at].join(ends[fail[at]])
		for c := range w {
			if to := trie[at*w+c]; to != 0 {
				fail[to] = trie[fail[at]*w+c]
				order = append(order, to)
			} else {
				trie[at*w+c] = trie[fail[at]*w+c]
			}
		}
	}
	number := make([]uint32, len(ends))
	var n uint32
	for pass := range 2 {
		for at := range ends {
			if ends[at].empty() != (pass == 0) {
				continue
			}
			if pass == 1 {
				a.ends = append(a.ends, ends[at])
			}
			number[at] = n * a.width
			n++
		}
		if pass == 0 {
			a.final = n * a.width
		}
	}
	a.next = make([]uint32, len(trie))
	for at := range ends {
		for c := range w {
			a.next[int(number[at])+c] = number[trie[at*w+c]]
		}
	}
	return a
}

// find returns the index after the first needle in b, or -1.
func (a *automaton) find(b []byte) int {
	var at uint32
	for i, c := range b {
		at = a.next[at+uint32(a.class[c])]
		if at >= a.final {
			return i + 1
		}
	}
	return -1
}

// all returns the patterns whose needles are in b.
func (a *automaton) all(b []byte) set {
	var at uint32
	var s set
	for _, c := range b {
		at = a.next[at+uint32(a.class[c])]
		if at >= a.final {
			s.join(a.ends[(at-a.final)/a.width])
		}
	}
	return s
}
