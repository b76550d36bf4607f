package comment

import (
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/mdsafe"
)

// DiffFile is an entry of GitHub's "List pull requests files". Patch is empty for binary and for
// very large changes.
type DiffFile struct {
	Path  string
	Patch string // hunks without file headers
}

// Diff maps paths to the hunks of the pull request's diff in the head's file. GitHub accepts
// review comments only on their lines.
type Diff map[string][]Hunk

// Hunk is a range of lines of the head's file, counted from 1, with the unchanged ones around what
// was changed.
type Hunk struct {
	First, Last int
	// Added are lines that the base does not have, with what they replace; "" = nothing.
	Added map[int]string
	// Removed are lines of the base that are gone, by the line that was before them.
	Removed map[int]string
}

// Has reports whether a line on the right side is part of the diff.
func (d Diff) Has(path string, line int) bool {
	return slices.ContainsFunc(d[path], func(h Hunk) bool {
		return h.First <= line && line <= h.Last
	})
}

// Change says what a pull request does to a line on the right side, as a clause about the line. old
// is the line of the base in its place, or which was removed after it; "" = none.
func (d Diff) Change(path string, line int) (clause, old string) {
	for _, h := range d[path] {
		was, added := h.Added[line]
		switch gone := h.Removed[line]; {
		case was != "":
			return "which this pull request changes", was
		case added:
			return "which this pull request adds", ""
		case gone != "":
			return "after which this pull request removes a line", gone
		}
	}
	return "which this pull request does not change", ""
}

// maxDiffLines limits the memory of a Diff, because a pull request can have 3,000 files.
// Suggestions are few, and nobody reads a diff of that size.
const maxDiffLines = 100_000

// ParseDiff parses patches up to 100,000 lines. Of a malformed patch it uses the lines before the
// error.
func ParseDiff(files []DiffFile) Diff {
	d := Diff{}
	left := maxDiffLines
	for _, f := range files {
		if hunks := rightHunks(f.Patch, left); len(hunks) > 0 {
			d[f.Path] = hunks
			for _, h := range hunks {
				left -= h.Last - h.First + 1
			}
		}
	}
	return d
}

// rightHunks returns the hunks of a patch that have lines on the right side, with at most most
// lines.
func rightHunks(patch string, most int) []Hunk {
	var hunks []Hunk
	at, left, open := 0, 0, false // the next line on the right; open = the last hunk has a line
	var removed []string          // lines of the base that nothing has replaced yet
	for l := range strings.SplitSeq(patch, "\n") {
		if left == 0 && open && strings.HasPrefix(l, "-") { // the file ended here
			if h := &hunks[len(hunks)-1]; h.Removed[at-1] == "" {
				h.Removed[at-1] = kept(l[1:])
			}
			continue
		}
		if left == 0 || strings.HasPrefix(l, "@@ ") {
			at, left, _ = hunkHeader(l)
			open, removed = false, nil
			continue
		}
		switch {
		case most == 0:
			return hunks
		case strings.HasPrefix(l, "+"), strings.HasPrefix(l, " "), l == "":
			if !open {
				hunks, open = append(hunks, Hunk{First: at, Added: map[int]string{},
					Removed: map[int]string{}}), true
			}
			h := &hunks[len(hunks)-1]
			h.Last = at
			switch added := strings.HasPrefix(l, "+"); {
			case added && len(removed) > 0:
				h.Added[at], removed = kept(removed[0]), removed[1:]
			case added:
				h.Added[at] = ""
			case len(removed) > 0:
				h.Removed[at-1], removed = kept(removed[0]), nil
			}
			at++
			left--
			most--
		case strings.HasPrefix(l, "-"):
			removed = append(removed, l[1:])
		case strings.HasPrefix(l, `\`):
		default:
			return hunks
		}
	}
	return hunks
}

// kept returns what of a removed line is kept, without the patch.
func kept(line string) string { return strings.Clone(mdsafe.Cut(line, 2*maxLineShown)) }

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
