package rules

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
)

var isaLevel = &analyzer.Rule{
	ID:       "isa-level",
	Title:    "an object for newer processors than its architecture promises",
	Severity: analyzer.Warning,
	Doc: `A note in the object (GNU_PROPERTY_X86_ISA_1_NEEDED) says that it needs x86-64-v2, -v3 or -v4. From glibc 2.33 on the loader compares that with the processor, and refuses: "CPU ISA level is
lower than required". On older systems it loads, and the process may die of SIGILL. A wheel's tag and a package's architecture (x86_64) promise the baseline, and auditwheel gives such a wheel no manylinux tag.

To mend it, compile for the baseline (` + "`-march=x86-64`" + `, without ` + "`-Wl,-z,x86-64-v3`" + `) and pick faster code at run time, or ship the copy for newer processors in glibc-hwcaps/x86-64-v3/ beside one for all. A C
runtime of a distribution that itself starts at v2 or v3 (RHEL 9 and 10) may bring the note in with crt1.o or a static library.

It is a warning, since most machines have v2 and v3, and an error for v4, which most have not. Objects in a glibc-hwcaps folder, one of several alternatives, and tags that name the level are no finding.

Not seen: instructions without the note; compilers write none on their own. compat facts shows what a file says.`,
	References: []string{
		"x86-64 psABI: micro-architecture levels, program properties",
		"glibc: sysdeps/x86/dl-prop.h",
	},
	Check: checkISALevel,
}

func checkISALevel(p *analyzer.Pass) {
	for _, v := range p.Views {
		level := elfobj.ISALevel(v.ISA)
		if level == "" || v.Alternative || strings.Contains(v.Path, "glibc-hwcaps/") ||
			namesLevel(p, level) {
			continue
		}
		f := analyzer.Finding{Object: v.Path, Chain: []string{v.Path},
			Message: fmt.Sprintf(
				"%s says that it needs a processor of level %s, and %s promises only the baseline of x86_64: the loader of glibc 2.33 and newer refuses it on others",
				v.Path,
				level,
				p.Platform.Name,
			)}
		if v.ISA>>3 != 0 {
			f.Severity = analyzer.Error
		}
		p.Report(
			f,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindRebuild,
					Title:   "Compile for every x86_64 processor, and pick faster code at run time",
					Command: "-march=x86-64",
				},
			},
		)
	}
}

// namesLevel tells whether the wheel's tag asks for the level itself (linux_x86_64_v3).
func namesLevel(p *analyzer.Pass, level string) bool {
	if p.Facts.Wheel == nil {
		return false
	}
	for _, t := range p.Facts.Wheel.Tags {
		if i := strings.LastIndex(t.Platform, "x86_64_v"); i >= 0 &&
			t.Platform[i+len("x86_64_"):] >= strings.TrimPrefix(level, "x86-64-") {
			return true
		}
	}
	return false
}
