package analyzer

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// condaIndex is where a conda package says what it depends on.
const condaIndex = "info/index.json"

func isDepends(p string) bool { return p == unpack.DebianControl || p == condaIndex }

// relation matches the name that begins each alternative of a relation: "libc6 (>= 2.36) | libc6.1"
// has two.
var relation = lazyregexp.New(`(?:^|[,|])\s*([A-Za-z0-9][A-Za-z0-9+._-]*)`)

// depends reads the names of the packages that a deb's control file or a conda package's index asks
// for. What it recommends counts: a plug-in may need it.
func depends(p string, text []byte) []string {
	var out []string
	if p == condaIndex {
		var index struct{ Depends []string }
		if json.Unmarshal(text, &index) != nil {
			return nil
		}
		for _, d := range index.Depends {
			name, _, _ := strings.Cut(d, " ")
			out = append(out, name)
		}
		return out
	}
	in := false
	for line := range bytes.Lines(text) {
		field, value, ok := strings.Cut(string(line), ":")
		switch {
		case strings.HasPrefix(field, " ") || strings.HasPrefix(field, "\t"):
			value = string(line) // folded
		case ok:
			in = slices.Contains(
				[]string{"Depends", "Pre-Depends", "Recommends", "Suggests"},
				field,
			)
		}
		if in {
			for _, m := range relation.FindAllStringSubmatch(strings.TrimSpace(value), -1) {
				out = append(out, m[1])
			}
		}
	}
	return out
}

// systemOnly are packages whose libraries every platform's table has.
var systemOnly = []string{
	"libc6",
	"libgcc-s1",
	"libstdc++6",
	"musl",
	"python",
	"python3",
	"__glibc",
	"debconf",
	"init-system-helpers",
	"adduser",
}

// Promise tells whether the packages that a package depends on bring a library: certainly by its
// name, or perhaps, where something is there that may. Neither for what is no package of a
// distribution.
func (f *Facts) Promise(soname string) (certain, perhaps bool) {
	stem, _, _ := strings.Cut(strings.ToLower(path.Base(soname)), ".so")
	for _, d := range f.Depends {
		switch rest, ok := strings.CutPrefix(strings.ToLower(d), stem); {
		case f.Format == unpack.FormatRPM && (d == soname || strings.HasPrefix(d, soname+"(")):
			return true, true
		case f.Format != unpack.FormatRPM && ok && (rest == "" || strings.Contains("0123456789-.", rest[:1])):
			return true, true
		}
		perhaps = perhaps || !slices.Contains(systemOnly, d)
	}
	return false, perhaps
}

// Packaged tells what a distribution built against the rest of itself: what no library has, the
// programs that load the object bring.
func (f *Facts) Packaged() bool {
	return f.Format == unpack.FormatDeb || f.Format == unpack.FormatRPM ||
		f.Format == unpack.FormatConda ||
		f.conda
}
