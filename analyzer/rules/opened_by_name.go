package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/platform"
)

var openedByName = &analyzer.Rule{
	ID:       "opened-by-name",
	Title:    "An object may open libraries by name at run time",
	Severity: analyzer.Note,
	// Who installs packages cannot do anything about it, and their environments have dozens.
	Packaging: true,
	Doc: `The object calls dlopen, and its constants contain names of libraries that neither the
artifact, the platform nor an installed package provides. It may open them at run time: a driver
(libcuda.so.1), an optional feature, or an alternative name. They are not in DT_NEEDED, so neither
the loader nor auditwheel checks them.

Nothing is wrong if the code works without the library. If it does not, document what has to be
installed, or declare the package that provides the library.

The names are strings in .rodata that look like a SONAME. A name may be unused, and a name that is
put together at run time is not detected. Objects without section headers are not searched.`,
	References: []string{"dlopen(3)", "gABI, DT_NEEDED"},
	Check:      checkOpened,
}

func checkOpened(p *analyzer.Pass) {
	if !slices.ContainsFunc(p.Views, func(v *analyzer.View) bool { return len(v.Opens) > 0 }) {
		return
	}
	provided := map[string]bool{}
	for _, v := range p.Views {
		for _, n := range v.Library.Names() {
			provided[n] = true
		}
	}
	for r := range p.Packages.All() {
		for i := range r.Libraries {
			l := dynlink.Library{Path: r.Libraries[i].Path, SONAME: r.Libraries[i].SONAME}
			for _, n := range l.Names() {
				provided[n] = true
			}
		}
	}
	for _, v := range p.Views {
		var absent []string
		for _, n := range v.Opens {
			if provided[n] || p.Platform.Library(n) != nil || slices.Contains(v.Needed, n) {
				continue
			}
			if by, ok := platform.Known(n); ok {
				n += " (" + by + ")"
			}
			absent = append(absent, n)
		}
		if len(absent) > 0 {
			soname, _, _ := strings.Cut(absent[0], " ")
			p.Report(analyzer.Finding{Object: v.Path, Library: soname, Chain: []string{v.Path},
				Message: fmt.Sprintf(
					"%s may load %s with dlopen. Neither the artifact nor %s provides %s",
					v.Path,
					names(absent, "library"),
					p.Platform.Name,
					them(len(absent)),
				)})
		}
	}
}
