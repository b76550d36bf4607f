package platform

import (
	"cmp"
	"slices"
	"strings"
)

// nearest returns the three names on arch that are most similar to name, without the architecture.
func nearest(name, arch string) []string {
	list := Names(arch)
	for i, n := range list {
		list[i] = strings.TrimSuffix(n, "_"+arch)
	}
	slices.SortStableFunc(
		list,
		func(a, b string) int { return cmp.Compare(distance(name, a), distance(name, b)) },
	)
	return list[:min(3, len(list))]
}

// summary lists the platforms in short form: "manylinux_2_5 to manylinux_2_41, …, debian11,
// debian12".
func summary(all []*Platform) string {
	var tags, rest []string
	for _, p := range all {
		switch name := strings.TrimSuffix(p.Name, "_"+p.Arch); {
		case p.Kind == Policy && p.Libc == "glibc":
			tags = append(tags, name)
		default:
			rest = append(rest, name)
		}
	}
	if len(tags) > 1 {
		tags = []string{tags[0] + " to " + tags[len(tags)-1]}
	}
	return strings.Join(append(tags, rest...), ", ")
}

// distance returns the Levenshtein distance of two strings in bytes. Only the first 64 bytes are
// compared, which bounds the cost.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
