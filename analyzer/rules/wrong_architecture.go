package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
)

var wrongArchitecture = &analyzer.Rule{
	ID:       "wrong-architecture",
	Title:    "An object is built for another architecture than the wheel's tag",
	Severity: analyzer.Warning,
	Doc: `A wheel whose tag names one architecture contains an object for another. The loader fails
with "cannot open shared object file" or "wrong ELF class".

Fix: build the object for the architecture of the tag, or remove it from the wheel.

On macOS a file may have slices for several architectures, and each architecture of the tag needs
one: universal2 promises x86_64 and arm64. Fix: build each slice and join them (` + "`lipo`" + `,
` + "`delocate-merge`" + `), or tag the wheel for one architecture. It is also an error for a
library that a module loads.

On Windows a file for another machine fails with "%1 is not a valid Win32 application" (error
193). A DLL that no module of the wheel needs is not reported where others fit the tag, and
programs and .NET files of intermediate code never are.

Severity: an error for a module that Python imports, and a warning otherwise: some packages
contain objects for several architectures and select one at run time.`,
	References: []string{"gABI, e_machine", "PEP 425, platform tag"},
	Check:      checkArchitecture,
	Windows:    checkMachine,
	MacOS:      checkArchitectureMacOS,
}

func checkArchitecture(p *analyzer.Pass) {
	if p.Facts.Kind != analyzer.KindWheel || p.Requested {
		return
	}
	for _, o := range p.Facts.Objects {
		if o.Arch() == p.Platform.Arch || p.Facts.Tagged(o.Arch()) ||
			!p.Facts.Tagged(p.Platform.Arch) {
			continue
		}
		f := analyzer.Finding{
			Object: o.Path,
			Chain:  []string{o.Path},
			Message: fmt.Sprintf(
				"%s is built for %s, but the wheel's tag is for %s",
				o.Path,
				o.Arch(),
				p.Platform.Arch,
			),
		}
		if o.Extension() {
			f.Severity = analyzer.Error
		}
		p.Report(f)
	}
}
