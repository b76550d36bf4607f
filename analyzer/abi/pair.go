package abi

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// Pairing is a pair of libraries of two packages. Old is nil for a library that was added, New for
// one that was removed.
type Pairing struct{ Old, New *Library }

// auditwheel adds eight hexadecimal digits of a file's digest to its name:
// libpng16-58efbb84.so.16.5.0.
var hashed = lazyregexp.New(`-[0-9a-f]{8}(\.so|\.[0-9])`)

// unhashed returns a file name without the digest that auditwheel adds.
func unhashed(name string) string { return hashed.ReplaceAllString(path.Base(name), "$1") }

var (
	afterSO      = lazyregexp.New(`\.so(\.[0-9A-Za-z_]+)*$`)
	beforeSO     = lazyregexp.New(`[-.]?[0-9]+(\.[0-9]+)*$`)
	extensionTag = lazyregexp.New(
		`\.(cpython-[0-9]+[a-z]*|cp[0-9]+|abi3|pypy[0-9]+-pp[0-9]+)(-[0-9A-Za-z_-]+)?$`,
	)
)

// stem returns the name of a library without versions: libfoo for libfoo-1.2.so.3, and _core for
// _core.cpython-312-x86_64-linux-gnu.so.
func stem(name string) string {
	s := afterSO.ReplaceAllString(unhashed(name), "")
	s = extensionTag.ReplaceAllString(s, "")
	return beforeSO.ReplaceAllString(s, "")
}

// SameStem reports whether two libraries have the same name without versions.
func SameStem(a, b *Library) bool { return stem(title(a)) == stem(title(b)) }

// Pair pairs the libraries of two packages: by path, then by SONAME, name and stem without digests
// and versions, then by build ID. Names that several libraries share are not used, unless these are
// copies: wheels have copies in place of symbolic links. If both packages have one library, these
// are paired.
func Pair(old, new []*Library) []Pairing {
	if len(old) == 1 && len(new) == 1 {
		return []Pairing{{old[0], new[0]}}
	}
	partner := make([]int, len(old))
	used := make([]bool, len(new))
	for i := range partner {
		partner[i] = -1
	}
	for _, key := range []func(*Library) string{
		func(l *Library) string { return l.Name },
		func(l *Library) string { return path.Dir(l.Name) + "/" + unhashed(l.SONAME) },
		func(l *Library) string { return path.Dir(l.Name) + "/" + unhashed(l.Name) },
		func(l *Library) string { return unhashed(l.SONAME) },
		func(l *Library) string { return path.Dir(l.Name) + "/" + stem(l.Name) },
		func(l *Library) string { return stem(l.Name) },
		func(l *Library) string { return l.BuildID },
	} {
		before, after := map[string][]int{}, map[string][]int{}
		for i, l := range old {
			if partner[i] < 0 {
				before[key(l)] = append(before[key(l)], i)
			}
		}
		for i, l := range new {
			if !used[i] {
				after[key(l)] = append(after[key(l)], i)
			}
		}
		for k, list := range before {
			if strings.Trim(path.Base(k), "./") == "" || !copies(old, list) || !copies(new, after[k]) {
				continue
			}
			for n, i := range list {
				partner[i] = after[k][min(n, len(after[k])-1)]
				used[partner[i]] = true
			}
		}
	}
	var out []Pairing
	for i, l := range old {
		p := Pairing{Old: l}
		if partner[i] >= 0 {
			p.New = new[partner[i]]
		}
		out = append(out, p)
	}
	for k, l := range new {
		if !used[k] {
			out = append(out, Pairing{New: l})
		}
	}
	return out
}

// copies reports whether some libraries of a list are one: there is only one, or all have the same
// folder and SONAME.
func copies(all []*Library, some []int) bool {
	return len(some) > 0 && !slices.ContainsFunc(some[1:], func(i int) bool {
		a, b := all[some[0]], all[i]
		return b.SONAME == "" || b.SONAME != a.SONAME || path.Dir(b.Name) != path.Dir(a.Name)
	})
}

// isVendored reports whether a wheel bundles a library for its own use: programs do not link
// against it.
func isVendored(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool {
		return strings.HasSuffix(dir, ".libs") || dir == ".dylibs"
	})
}

// systemLibrary matches a library in a folder that ldconfig or the loader searches, or in one that
// the alternatives system of a distribution or the loader adds. libraryFolder also matches those in
// other folders of a system.
var (
	libraryFolder = lazyregexp.New(`(^|/)((usr/(local/)?)?lib(32|64|x32|exec)?/.*)$`)
	systemLibrary = lazyregexp.New(`^(usr/(local/)?)?lib(32|64|x32)?/([a-z0-9_]+-linux-[a-z0-9]+/)?` +
		`((blas|lapack|atlas|openblas[a-z0-9-]*|mesa|nvidia|tls|glibc-hwcaps/[^/]+)/)*[^/]+$`)
)

// private reports whether a path is in a folder of a system that no loader searches.
func private(name string) bool {
	m := libraryFolder.FindStringSubmatch(name)
	return m != nil && !systemLibrary.MatchString(m[2])
}

// isPrivateFile reports whether a library of a package of a distribution is in a folder that no
// loader searches: a plug-in that a program opens, or a library for files of the same package.
func isPrivateFile(l *Library) bool {
	name := strings.TrimLeft(l.Name, "./")
	return l.Packaged && private(name) && libraryFolder.FindStringIndex(name)[0] == 0
}

// plugin reports whether programs open the library, but are not linked with it: no other library
// needs it, and it has no SONAME, or no loader finds it where it is. In a folder of a build, its
// name decides: ldconfig and the option -l of linkers only find names with lib at the start.
func (c *comparison) plugin() bool {
	if c.old.SONAME == "" {
		return true
	}
	if c.linked != nil && c.linked(c.old.SONAME) {
		return false
	}
	return private(c.new.Name) || !strings.HasPrefix(c.old.SONAME, "lib")
}

// has reports whether a library of the new package is loaded by a name.
func has(pairs []Pairing, soname string) bool {
	return slices.ContainsFunc(pairs, func(p Pairing) bool {
		return p.New != nil && (p.New.SONAME == soname || path.Base(p.New.Name) == soname)
	})
}

// linked reports whether a library of the two packages needs one of a name.
func linked(pairs []Pairing, soname string) bool {
	return slices.ContainsFunc(pairs, func(p Pairing) bool {
		return p.Old != nil && slices.Contains(p.Old.Needed, soname) ||
			p.New != nil && slices.Contains(p.New.Needed, soname)
	})
}

// gone makes the change of a SONAME a break: the package no longer has a library of the old name.
func (r *Result) gone(old *Library) {
	i := slices.IndexFunc(r.Changes, func(c Change) bool { return c.Rule == RuleSoname })
	c := &r.Changes[i]
	c.Severity, c.Affects = Error, len(old.Symbols)
	c.Detail = fmt.Sprintf("The SONAME changed from %s to %s, and the package no longer has %s.",
		old.SONAME, r.NewSONAME, old.SONAME)
	c.Effect = fmt.Sprintf(
		"A program that needs it does not start: %s: cannot open shared object file.", old.SONAME)
	c.Fix = fmt.Sprintf(KeepShipping, old.SONAME) + ", or rebuild what needs it."
	r.Broken = len(old.Symbols)
	r.finish()
}

// isModule reports whether Python imports a library by its file name: programs do not link against
// it.
func isModule(name string) bool {
	return extensionTag.MatchString(afterSO.ReplaceAllString(path.Base(name), ""))
}

// KeepShipping is the fix for a removed library, with its name.
const KeepShipping = "Keep shipping %s, for example as an empty library with a DT_NEEDED entry " +
	"for its replacement"

// ComparePairs compares two packages: each pair, and the removed libraries. The evidence of whole
// is the least detailed of all pairs.
func ComparePairs(
	pairs []Pairing,
	options func(new *Library) Options,
) (whole *Result, each []*Result) {
	whole = &Result{Changes: []Change{}, Blind: []string{}}
	for _, p := range pairs {
		switch {
		case p.New == nil:
			c := Change{
				Rule:     RuleLibraryRemoved,
				Severity: Error,
				Library:  p.Old.Name,
				Affects:  len(p.Old.Symbols),
				Detail: fmt.Sprintf(
					"%s is gone, with its %s.",
					title(p.Old),
					counted(len(p.Old.Symbols), "exported symbol"),
				),
				Effect: fmt.Sprintf(
					"A program that needs it does not start: %s: cannot open shared object file.",
					title(p.Old),
				),
				Fix: fmt.Sprintf(KeepShipping, title(p.Old)) + ".",
			}
			if isVendored(p.Old.Name) || isModule(p.Old.Name) || isPrivateFile(p.Old) {
				c.Severity, c.Affects, c.Fix = Note, 0, ""
				c.Effect = "Only files of the same package load it."
			}
			whole.Interfaces += len(p.Old.Symbols)
			whole.Changes = append(whole.Changes, c)
			if c.Severity == Error {
				whole.Broken += len(p.Old.Symbols)
			}
		case p.Old == nil:
			whole.Changes = append(
				whole.Changes,
				Change{
					Rule:     RuleLibraryAdded,
					Severity: Note,
					Library:  p.New.Name,
					Detail:   title(p.New) + " is new.",
				},
			)
		default:
			o := options(p.New)
			o.linked = func(soname string) bool { return linked(pairs, soname) }
			r := Compare(p.Old, p.New, o)
			switch {
			case isVendored(p.Old.Name) && isVendored(p.New.Name),
				isPrivateFile(p.Old) && isPrivateFile(p.New):
				r.lowerSeverities()
			case r.NewSONAME != "" && p.Old.Packaged && p.New.Packaged && !has(pairs, p.Old.SONAME):
				r.gone(p.Old)
			}
			each = append(each, r)
			whole.merge(r, len(pairs) > 1)
		}
	}
	whole.finish()
	return whole, each
}

// lowerSeverities lowers the severity of changes in a library that programs do not link against.
func (r *Result) lowerSeverities() {
	for i := range r.Changes {
		if r.Changes[i].Severity == Error {
			r.Changes[i].Severity = Note
		}
	}
	r.Broken = 0
	r.finish()
}

// merge adds the result of a pair to that of the package.
func (r *Result) merge(one *Result, several bool) {
	if r.Evidence.Old == "" {
		r.Evidence, r.Library, r.NewSONAME = one.Evidence, one.Library, one.NewSONAME
		r.files = one.files
	}
	if one.Evidence.Old == EvidenceSymbols {
		r.Evidence.Old = EvidenceSymbols
	}
	if one.Evidence.New == EvidenceSymbols {
		r.Evidence.New = EvidenceSymbols
	}
	for _, c := range one.Changes {
		if several {
			c.Library, c.files = one.Library, one.files
		}
		r.Changes = append(r.Changes, c)
	}
	r.Interfaces += one.Interfaces
	r.Broken += one.Broken
	r.PrivateTypes += one.PrivateTypes
	r.Problems = append(r.Problems, one.Problems...)
	for _, sentence := range one.Blind {
		if several {
			sentence = one.Library + ": " + sentence
		}
		r.Blind = append(r.Blind, sentence)
	}
}

// title returns the SONAME of a library, or its path.
func title(l *Library) string {
	if l.SONAME != "" {
		return l.SONAME
	}
	return l.Name
}
