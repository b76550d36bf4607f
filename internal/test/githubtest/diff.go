package githubtest

import (
	"fmt"
	"strings"
)

// around is how many unchanged lines git shows around a change.
const around = 3

type step struct {
	kind     byte // ' ', '-' or '+', as in a patch
	text     string
	old, new int // line numbers in both files, of the line or of the one before it
}

// diff compares two small files by their longest common subsequence and gives the patch as GitHub
// does: hunks only, without a header.
func diff(old, new []string) change {
	c := change{left: map[int]int{}, right: map[int]int{}}
	steps := script(old, new)
	var patch strings.Builder
	hunk := 0
	for i := 0; i < len(steps); {
		first, last, ok := nextHunk(steps, i)
		if !ok {
			break
		}
		hunk++
		part := steps[first:last]
		i = last
		var body strings.Builder
		olds, news := 0, 0
		for _, s := range part {
			fmt.Fprintf(&body, "\n%c%s", s.kind, s.text)
			if s.kind != '+' {
				olds++
				c.left[s.old] = hunk
			}
			if s.kind != '-' {
				news++
				c.right[s.new] = hunk
			}
			switch s.kind {
			case '+':
				c.added++
			case '-':
				c.gone++
			}
		}
		if hunk > 1 {
			patch.WriteByte('\n')
		}
		fmt.Fprintf(
			&patch,
			"@@ -%s +%s @@%s",
			span(start(part, '+'), olds),
			span(start(part, '-'), news),
			body.String(),
		)
	}
	c.patch = patch.String()
	return c
}

// start is the first line of a hunk in the file that has no lines of the other kind; 0 where it has
// none at all.
func start(part []step, other byte) int {
	for _, s := range part {
		if s.kind != other {
			if other == '+' {
				return s.old
			}
			return s.new
		}
	}
	if other == '+' {
		return part[0].old
	}
	return part[0].new
}

func span(from, count int) string {
	if count == 1 {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d,%d", from, count)
}

// nextHunk finds the next steps with a change in them and their context; changes that are near each
// other share a hunk.
func nextHunk(steps []step, from int) (first, last int, ok bool) {
	i := from
	for i < len(steps) && steps[i].kind == ' ' {
		i++
	}
	if i == len(steps) {
		return 0, 0, false
	}
	first, last = max(from, i-around), i
	for same := 0; i < len(steps) && same <= 2*around; i++ {
		if steps[i].kind == ' ' {
			same++
			continue
		}
		same, last = 0, i+1
	}
	return first, min(last+around, len(steps)), true
}

// script is the shortest edit from old to new, removals before additions.
func script(old, new []string) []step {
	common := make([][]int, len(old)+1)
	for i := range common {
		common[i] = make([]int, len(new)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(new) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if old[i] == new[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var out []step
	i, j := 0, 0
	for i < len(old) || j < len(new) {
		switch {
		case i < len(old) && j < len(new) && old[i] == new[j]:
			i, j = i+1, j+1
			out = append(out, step{' ', old[i-1], i, j})
		case j == len(new) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			i++
			out = append(out, step{'-', old[i-1], i, j})
		default:
			j++
			out = append(out, step{'+', new[j-1], i, j})
		}
	}
	return out
}
