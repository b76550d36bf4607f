package table

import (
	"cmp"
	"strconv"
	"strings"
)

// CompareNodes orders version nodes: first those without a version, then by family (GLIBC_,
// GLIBCXX_ …), then by number, with 2.9 before 2.10. Names without a number (GLIBC_PRIVATE,
// CXXABI_TM_1) come last in their family.
func CompareNodes(a, b string) int {
	familyA, restA := split(a)
	familyB, restB := split(b)
	if c := cmp.Compare(familyA, familyB); c != 0 {
		return c
	}
	for restA != "" && restB != "" {
		var wordA, wordB string
		wordA, restA, _ = strings.Cut(restA, ".")
		wordB, restB, _ = strings.Cut(restB, ".")
		nA, errA := strconv.Atoi(wordA)
		nB, errB := strconv.Atoi(wordB)
		switch {
		case errA == nil && errB == nil && nA != nB:
			return cmp.Compare(nA, nB)
		case errA == nil && errB != nil:
			return -1
		case errA != nil && errB == nil:
			return 1
		case wordA != wordB && errA != nil:
			return cmp.Compare(wordA, wordB)
		}
	}
	return cmp.Or(cmp.Compare(len(restA), len(restB)), cmp.Compare(a, b))
}

// SameFamily reports whether two nodes differ only in their numbers.
func SameFamily(a, b string) bool {
	familyA, _ := split(a)
	familyB, _ := split(b)
	return familyA == familyB
}

// split returns the family and the number of a node: "GLIBC_2.17" is "GLIBC" and "2.17".
func split(node string) (family, rest string) {
	i := strings.IndexByte(node, '_')
	if i < 0 {
		return node, ""
	}
	return node[:i], node[i+1:]
}
