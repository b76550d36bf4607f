package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
)

var wrongArchitecture = &analyzer.Rule{
	ID:       "wrong-architecture",
	Title:    "an object for another machine than the wheel's tag",
	Severity: analyzer.Warning,
	Doc: `A wheel whose tag names one architecture holds an object for another. The loader answers "cannot open shared object file" or "wrong ELF class".

It is an error for a module that Python imports, and a warning otherwise: some packages carry objects for several machines and pick one at run time.`,
	References: []string{"gABI, e_machine", "PEP 425, platform tag"},
	Check:      checkArchitecture,
}

func checkArchitecture(p *analyzer.Pass) {
	if p.Facts.Kind != analyzer.KindWheel || p.Asked {
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
				"%s is built for %s, and the wheel's tag names %s",
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
