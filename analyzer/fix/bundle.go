package fix

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/shellword"
)

// Bundler is a program that copies libraries of the system on which it runs into a wheel.
type Bundler string

// Bundlers for wheels of Linux, macOS and Windows.
const (
	Auditwheel Bundler = "auditwheel"
	Delocate   Bundler = "delocate-wheel"
	Delvewheel Bundler = "delvewheel"
)

// Wheelhouse is the folder to which auditwheel and delvewheel write if no option names another.
const Wheelhouse = "wheelhouse"

// Bundling is how a bundler is run for a wheel.
type Bundling struct {
	With Bundler // "" if only a new build can be changed so
	// Exclude are the SONAMEs of libraries that stay outside: of a driver, of the system, or of
	// packages that are installed with the wheel. Only auditwheel knows them.
	Exclude []string
	// Installed are the libraries of packages that are installed with the wheel. What is copied may
	// need them, although the wheel does not.
	Installed []string
	// KeepTags is set if auditwheel keeps the file name of the wheel.
	KeepTags bool
	// System are the packages that have the libraries, to install before the program is run; nil if
	// they are not known.
	System *SystemPackages
}

// keepTags is the option of auditwheel for a wheel that keeps its file name.
const keepTags = "--no-update-tags"

// Arguments returns the arguments of the program before the wheel. All programs also take "-w" and
// the folder to which they write.
func (b Bundling) Arguments() []string {
	switch b.With {
	case Delocate:
		return []string{"-v"}
	case Delvewheel:
		return []string{"repair"}
	}
	arguments := []string{"repair"}
	if b.KeepTags {
		arguments = append(arguments, keepTags)
	}
	for _, name := range b.Exclude {
		arguments = append(arguments, "--exclude", name)
	}
	return arguments
}

// Command returns the command for a wheel: that of the program, or of compat, which runs it, if
// there are many libraries to exclude.
func (b Bundling) Command(wheel shellword.Line) shellword.Line {
	if len(b.Exclude) > mostExcluded {
		return Write + " " + wheel
	}
	return shellword.Quoted(append([]string{string(b.With)}, b.Arguments()...)) + " " + wheel
}

const (
	mostExcluded = 3 // in a command
	familyPrefix = 4 // "libX"
)

// Families returns names of libraries. If there are many, those with the same beginning become a
// pattern, "libX*", unless it matches one of other names.
func Families(names, other []string) (out []string) {
	if len(names) <= mostExcluded {
		return names
	}
	prefix := func(name string) string { return name[:min(len(name), familyPrefix)] }
	count := map[string]int{}
	for _, n := range names {
		count[prefix(n)]++
	}
	for _, n := range other {
		count[prefix(n)] = 0
	}
	for _, n := range names {
		if p := prefix(n); count[p] > 1 && !strings.ContainsAny(p, "*?[") {
			n = p + "*"
		}
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
