package comment

import (
	"strconv"
	"strings"
)

// DiffFile is an entry of GitHub's "List pull requests files". Patch is empty for binary and for
// very large changes.
type DiffFile struct {
	Path  string
	Patch string // hunks without file headers
}

// Diff maps paths and lines of the head's files that are in the pull request's diff to the number
// of the hunk, from 1. GitHub accepts review comments only on such lines, and comments on several
// lines only within one hunk.
type Diff map[string]map[int]int

// Has reports whether a line on the right side is part of the diff.
func (d Diff) Has(path string, line int) bool { return d[path][line] != 0 }

// maxDiffLines limits the memory of a Diff, because a pull request can have 3,000 files.
// Suggestions are few, and nobody reads a diff of that size.
const maxDiffLines = 100_000

// ParseDiff parses patches up to 100,000 lines. Of a malformed patch it uses the lines before the
// error.
func ParseDiff(files []DiffFile) Diff {
	d := Diff{}
	left := maxDiffLines
	for _, f := range files {
		if lines := rightLines(f.Patch, left); len(lines) > 0 {
			d[f.Path] = lines
			left -= len(lines)
		}
	}
	return d
}

// rightLines returns the lines of a patch on the right side, at most most.
func rightLines(patch string, most int) map[int]int {
	lines := map[int]int{}
	hunk, at, left := 0, 0, 0
	for l := range strings.SplitSeq(patch, "\n") {
		if left == 0 || strings.HasPrefix(l, "@@ ") {
			var ok bool
			if at, left, ok = hunkHeader(l); ok {
				hunk++
			}
			continue
		}
		switch {
		case len(lines) == most:
			return lines
		case strings.HasPrefix(l, "+"), strings.HasPrefix(l, " "), l == "":
			lines[at] = hunk
			at++
			left--
		case strings.HasPrefix(l, "-"), strings.HasPrefix(l, `\`):
		default:
			return lines
		}
	}
	return lines
}

// hunkHeader parses "@@ -1,7 +1,8 @@ context" into the first line on the right and the number of
// lines. left is 0 if it is not a header.
func hunkHeader(l string) (at, left int, ok bool) {
	rest, ok := strings.CutPrefix(l, "@@ -")
	if !ok {
		return 0, 0, false
	}
	_, rest, ok = strings.Cut(rest, " +")
	if !ok {
		return 0, 0, false
	}
	right, _, ok := strings.Cut(rest, " @@")
	if !ok {
		return 0, 0, false
	}
	first, count, several := strings.Cut(right, ",")
	if at, ok = number(first); !ok {
		return 0, 0, false
	}
	if left = 1; several {
		if left, ok = number(count); !ok {
			return 0, 0, false
		}
	}
	return at, left, true
}

func number(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n < 1<<31
}
