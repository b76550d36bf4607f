package packages

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

//go:generate go run github.com/compat-app/compat/internal/gen/numpy -out data/numpy1.txt

// numpy1File has a line for each package, as internal/gen/numpy writes it, sorted by name:
//
//	NAME MODULE VERSION
//
// Installed with NumPy 2, which its metadata allows, VERSION is the last one of which MODULE cannot
// be imported: it was built against NumPy 1.
//
//go:embed data/numpy1.txt
var numpy1File string

type numpy1 struct {
	module string
	last   pkgmeta.Version
}

// numpy1Packages panics if the file is damaged, which is a build error; a test reads it.
var numpy1Packages = sync.OnceValue(func() map[string]numpy1 {
	all := map[string]numpy1{}
	for line := range strings.Lines(numpy1File) {
		words := strings.Fields(line)
		last, err := pkgmeta.ParseVersion(words[2])
		if err != nil {
			panic(err)
		}
		all[words[0]] = numpy1{words[1], last}
	}
	return all
})

// BuiltForNumPy1 returns the module of a release that cannot be imported with NumPy 2, or "".
func (Embedded) BuiltForNumPy1(id ID) string {
	p, ok := numpy1Packages()[id.Name]
	v, err := pkgmeta.ParseVersion(id.Version)
	if !ok || err != nil || v.Compare(p.last) > 0 {
		return ""
	}
	return p.module
}

// MayBeForNumPy1 reports whether a requirement excludes later versions of a package of which some
// releases cannot be imported with NumPy 2, and allows one of these.
func (Embedded) MayBeForNumPy1(q pkgmeta.Requirement) bool {
	p, ok := numpy1Packages()[pkgmeta.Normalize(q.Name)]
	s, err := pkgmeta.ParseSpec(q.Spec)
	if !ok || err != nil {
		return false
	}
	later, err := pkgmeta.ParseVersion("999999")
	if pin, pinned := s.Pin(); pinned {
		return pin.Compare(p.last) <= 0
	}
	return err == nil && !s.Contains(later)
}
