package analyzer

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// promoted are the libraries that a package opens with RTLD_GLOBAL when it is imported, by their
// SONAME. What else it loads is opened as Python opens a module, with RTLD_LOCAL. Of a package that
// is not here nothing is known, and all of its libraries count as global.
//
// torch: torch/__init__.py, _load_global_deps; the symbols of libtorch_global_deps.so are none, but
// those of what it lists are (CUDA, OpenMP).
var promoted = map[string][]string{"torch": {"libtorch_global_deps.so"}}

// importedFirst tells whether the user imports a package before the artifact.
func (c *check) importedFirst(name string, s fix.Scenario) bool {
	return !slices.Contains(s.Alone, name) &&
		slices.ContainsFunc(
			c.options.First,
			func(n string) bool { return pkgmeta.Normalize(n) == name },
		)
}

// imported are the libraries of packages that are imported before the artifact.
type imported struct {
	all    []*dynlink.Library
	local  map[*dynlink.Library]bool
	global []string // SONAMEs that are opened with RTLD_GLOBAL
}

func (i *imported) add(name string, brought []*dynlink.Library) {
	i.all = append(i.all, brought...)
	names, known := promoted[name]
	if !known {
		return
	}
	if i.local == nil {
		i.local = map[*dynlink.Library]bool{}
	}
	for _, l := range brought {
		i.local[l] = true
	}
	i.global = append(i.global, names...)
}

// loaded is what is in the process then, in the order of loading, and which of it is not in the
// global scope. What a package promotes brings all that it lists, also libraries of other packages.
func (i *imported) loaded(
	libraries []*dynlink.Library,
) (first []*dynlink.Library, local map[*dynlink.Library]bool) {
	if len(i.global) == 0 {
		return i.all, i.local
	}
	byName := map[string]*dynlink.Library{}
	for _, l := range libraries {
		if byName[l.SONAME] == nil && l.Kind == dynlink.FromPackage {
			byName[l.SONAME] = l
		}
	}
	seen := map[*dynlink.Library]bool{}
	queue := i.global
	for len(queue) > 0 {
		l := byName[queue[0]]
		queue = queue[1:]
		if l == nil || seen[l] {
			continue
		}
		seen[l] = true
		first = append(first, l)
		delete(i.local, l)
		queue = append(queue, l.Needed...)
	}
	for _, l := range i.all {
		if !seen[l] {
			first = append(first, l)
		}
	}
	return first, i.local
}

// order tells of each finding whether it is there only because a package was imported before the
// artifact, and offers the other order.
func (t *tries) order(fresh []judged) error {
	for _, name := range t.check.options.First {
		name = pkgmeta.Normalize(name)
		if !slices.ContainsFunc(fresh, func(x judged) bool { return x.Severity != Note }) {
			return nil
		}
		t.most = len(t.known) + 1
		w, err := t.run(fix.Before{Package: name}.Apply(t.scenario))
		if err != nil || w == nil {
			return err
		}
		for _, x := range fresh {
			if x.Severity == Note || w.left[x.Identity()] {
				continue
			}
			x.Message += fmt.Sprintf(
				"; it fails when %s was imported before, and works without",
				name,
			)
			offer := fix.Fix{
				Kind:  fix.KindEnvironment,
				Title: "Import it before " + name,
				Cost: []string{
					fmt.Sprintf(
						"what %s loads under the same names is then served by what the artifact loads",
						name,
					),
				},
			}
			if offer.Verified = t.mends(w, x); offer.Verified {
				x.Fixes = append(x.Fixes, offer)
			}
		}
	}
	return nil
}
