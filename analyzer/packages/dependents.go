package packages

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:generate go run github.com/compat-app/compat/internal/gen/dependents -out data/dependents.txt

// dependentsFile has a line for each package and each other one whose libraries it uses, as
// internal/gen/dependents writes it:
//
//	PROVIDER PACKAGE VERSION LIBRARY,… [FAMILY,…]
//
// VERSION is the release of PACKAGE that was read, the libraries are without versions, and the
// families are the namespaces, or beginnings of names, of most symbols that it imports from there.
//
//go:embed data/dependents.txt
var dependentsFile string

// Dependent is a package that uses libraries of another one.
type Dependent struct {
	Name      string
	Version   string   // that was read
	Libraries []string // that it needs, file names without versions; nil if it needs a C API only
	Families  []string // of the symbols that it imports; nil if they are not known
}

// dependentsOf are the rows of the table by provider.
var dependentsOf = sync.OnceValue(func() map[string][]Dependent {
	all := map[string][]Dependent{}
	for line := range strings.Lines(dependentsFile) {
		words := strings.Fields(line)
		d := Dependent{Name: words[1], Version: words[2], Libraries: strings.Split(words[3], ",")}
		if len(words) > 4 {
			d.Families = strings.Split(words[4], ",")
		}
		all[words[0]] = append(all[words[0]], d)
	}
	packages := numpy1Packages()
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		all["numpy"] = append(all["numpy"], Dependent{Name: name, Version: packages[name].last.String()})
	}
	return all
})

// Dependents returns packages that use the libraries of another one, whose name is normalized, or
// the C API of NumPy. There are others: the list is of packages that many people install.
func (Embedded) Dependents(name string) []Dependent { return dependentsOf()[name] }
