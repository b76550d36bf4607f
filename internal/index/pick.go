package index

import (
	"cmp"
	"strconv"

	"github.com/compat-app/compat/analyzer/packages"
)

// pick chooses a wheel. For several interpreters it is that of the first one that a wheel is for:
// what runs on Python 3.9 and later can be installed with a release that needs 3.10. fits is false
// if no wheel is compatible; then best is any wheel, whose requirements are used. best is nil if
// there is no wheel.
func pick(files []file, on packages.Target) (best *file, fits bool) {
	best, fits = pickFor(files, on)
	if fits || on.Pythons == "" {
		return best, fits
	}
	for _, on.Python = range packages.Interpreters(on.Pythons) {
		if x, fits := pickFor(files, on); fits {
			return x, true
		}
	}
	return best, false
}

// pickFor is pick for one interpreter.
func pickFor(files []file, on packages.Target) (best *file, fits bool) {
	var top packages.Rank
	build := 0
	for n := range files {
		f := &files[n]
		takes := packages.AdmitsPython(f.requiresPython, on.Python)
		for _, tag := range f.tags {
			r, ok := packages.Rate(tag, on)
			if !ok || !takes {
				if best == nil {
					best = f
				}
				continue
			}
			b := leadingNumber(f.build)
			if !fits || cmp.Or(r.Compare(top), cmp.Compare(b, build)) > 0 {
				best, top, build, fits = f, r, b, true
			}
		}
	}
	return best, fits
}

// leadingNumber returns the number at the start of a build tag, 0 without one.
func leadingNumber(s string) int {
	end := 0
	for end < len(s) && end < 9 && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, _ := strconv.Atoi(s[:end])
	return n
}
