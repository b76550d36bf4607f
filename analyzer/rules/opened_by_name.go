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
	Title:    "libraries that an object may open by name at run time",
	Severity: analyzer.Note,
	Doc: `The object calls dlopen, and names of libraries stand among its constants that neither the artifact nor the platform nor a package beside it brings. It may open them at run time: a driver (libcuda.so.1), an optional
feature, or another name for something that it has found by then. DT_NEEDED says nothing of them, so neither the loader nor auditwheel asks for them.

Nothing is wrong with that where the code goes on without the library. Where it does not, say in the package's documentation what has to be installed, or declare the package that brings it.

It goes by strings in .rodata that look like a SONAME, so it is a hint: a name may never be used, and one that is put together at run time is not seen. Objects without section headers are not looked through.`,
	References: []string{"dlopen(3)", "gABI, DT_NEEDED"},
	Check:      checkOpened,
}

func checkOpened(p *analyzer.Pass) {
	brought := map[string]bool{}
	for _, v := range p.Views {
		for _, n := range v.Library.Names() {
			brought[n] = true
		}
	}
	for _, r := range p.Packages.Releases {
		for i := range r.Libraries {
			for _, n := range dynlink.OfPackage(r, &r.Libraries[i]).Names() {
				brought[n] = true
			}
		}
	}
	for _, v := range p.Views {
		var absent []string
		for _, n := range v.Opens {
			if brought[n] || p.Platform.Library(n) != nil || slices.Contains(v.Needed, n) {
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
					"%s may open %s at run time, which neither the artifact nor %s brings",
					v.Path,
					names(absent),
					p.Platform.Name,
				)})
		}
	}
}
