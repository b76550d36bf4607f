package rules

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
)

var isaLevel = &analyzer.Rule{
	ID:       "isa-level",
	Title:    "An object requires a newer processor than its architecture guarantees",
	Severity: analyzer.Warning,
	Doc: `A note in the object (GNU_PROPERTY_X86_ISA_1_NEEDED) requires x86-64-v2, -v3 or -v4.
Since glibc 2.33 the loader checks the processor and fails: "CPU ISA level is lower than
required". Older systems load the object, and the process may end with SIGILL. The architecture
x86_64 of a wheel's tag or of a package guarantees only the baseline, and auditwheel gives such a
wheel no manylinux tag.

Fix: compile for the baseline (` + "`-march=x86-64`" + `, without ` + "`-Wl,-z,x86-64-v3`" + `)
and select faster code at run time. Or add a copy for newer processors in glibc-hwcaps/x86-64-v3/.
On a distribution that starts at v2 or v3 (RHEL 9 and 10) the note may come from crt1.o or a
static library.

Severity: a warning, since most machines have v2 and v3, and an error for v4, which most machines
lack, and for a static program, of which the loader cannot select another copy. Objects in a
glibc-hwcaps folder, one of several variants, and wheels whose tag names the level are not reported.

Not detected: such instructions without the note; compilers do not write the note by default.
` + "`compat facts`" + ` shows the note of a file.`,
	Cause: cause.Rule{Kind: cause.Build("compile for the CPUs that the platform allows")},
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
				"%s requires a processor of level %s, but %s guarantees only the x86_64 "+
					"baseline. glibc 2.33 and later do not load it on older processors",
				v.Path,
				level,
				p.Platform.Name,
			)}
		if v.ISA>>3 != 0 || v.Static { // no loader selects another copy of a static program
			f.Severity = analyzer.Error
		}
		p.Report(
			f,
			fix.Candidate{
				Fix: fix.Fix{
					Kind: fix.KindRebuild,
					Title: fix.Titled("Compile for every x86_64 processor and select faster code at run " +
						"time"),
					Command: "-march=x86-64",
				},
			},
		)
	}
}

// namesLevel reports whether the wheel's tag includes the level (linux_x86_64_v3).
func namesLevel(p *analyzer.Pass, level string) bool {
	if p.Facts.Wheel == nil {
		return false
	}
	for _, t := range p.Facts.Wheel.Tags {
		tagged, ok := strings.CutPrefix(platform.ParseTag(t.Platform).Arch, "x86_64_")
		if ok && tagged >= strings.TrimPrefix(level, "x86-64-") {
			return true
		}
	}
	return false
}
