// Package edits compares words that people typed with the words that they may have meant.
package edits

// Distance returns how different two words are, in bytes: change for each byte to insert, delete or
// replace, and swap for two neighbors that changed places (the Damerau-Levenshtein distance, in
// which both are 1). It costs the product of the lengths, which callers have to limit.
func Distance(a, b string, change, swap int) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = change * j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = change * (i + 1)
		for j := range len(b) {
			cost := change
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j+1]+change, next[j]+change, row[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+swap)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
