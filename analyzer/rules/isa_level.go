package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/processor"
	"github.com/compat-app/compat/internal/lazyregexp"
)

var isaLevel = &analyzer.Rule{
	ID:       "isa-level",
	Title:    "An object requires a newer processor than its architecture guarantees",
	Severity: analyzer.Warning,
	Doc: `Either a note in the object (GNU_PROPERTY_X86_ISA_1_NEEDED) requires x86-64-v2, -v3 or -v4, or
its code executes instructions of AVX, AVX2, FMA, BMI or AVX-512 whenever it is loaded or imported:
the code of its initializers, of ` + "`PyInit_`" + `, of the functions that ` + "`Py_mod_exec`" + ` names, or of
` + "`main`" + ` reaches them on every path on which the import succeeds, without reading first what the
processor has. That is usual after ` + "`-march=native`" + ` on the machine that builds. The process then ends
with SIGILL.

Of the note:
Since glibc 2.33 the loader checks the processor and fails: "CPU ISA level is lower than
required". Older systems load the object, and the process may end with SIGILL. The architecture
x86_64 of a wheel's tag or of a package guarantees only the baseline, and auditwheel gives such a
wheel no manylinux tag. A variant wheel (PEP 825, a draft) guarantees the level of its properties.

Fix: compile for the baseline (` + "`-march=x86-64`" + `, without ` + "`-Wl,-z,x86-64-v3`" + `)
and select faster code at run time. Or add a copy for newer processors in glibc-hwcaps/x86-64-v3/.
On a distribution that starts at v2 or v3 (RHEL 9 and 10) the note may come from crt1.o or a
static library.

Severity of a note: a warning, since most machines have v2 and v3, and an error for v4, which most
machines lack, and for a static program, of which the loader cannot select another copy. Of
instructions: an error for modules and programs and for libraries that they need, a warning for
other libraries, which code may open on some processors only, and a note for AVX alone, which few
processors of the last fifteen years lack. Objects in a
glibc-hwcaps folder, one of several variants, paths that name a processor, and wheels whose tag
names the level are not reported.

Not detected: instructions that some paths reach only, that follow a jump through a table or a
virtual function, or in an object of which only a part was compiled for newer processors.
` + "`compat facts`" + ` shows the note of a file.`,
	Cause: cause.Rule{
		Kind:  newerProcessor,
		Warns: "only older processors are affected",
	},
	References: []string{
		"x86-64 psABI: micro-architecture levels, program properties",
		"glibc: sysdeps/x86/dl-prop.h",
	},
	Check: checkISALevel,
}

// newerProcessor is the kind of causes that an object was compiled for newer processors.
var newerProcessor = func() *cause.Kind {
	k := cause.Build("compile for the CPUs that the platform allows")
	k.Title = func(t *cause.Text) string {
		return fmt.Sprintf("Loading %s %s", t.Objects(), t.First().Reason)
	}
	k.Short = func(t *cause.Text) string { return t.First().Reason }
	return k
}()

func checkISALevel(p *analyzer.Pass) {
	for _, v := range p.Views {
		if v.Alternative || strings.Contains(v.Path, "glibc-hwcaps/") {
			continue
		}
		if !requiresLevel(p, v) {
			executesLevel(p, v)
		}
	}
}

// requiresLevel reports an object with a note that requires a level.
func requiresLevel(p *analyzer.Pass, v *analyzer.View) bool {
	level := elfobj.ISALevel(v.ISA)
	if level == "" || namesLevel(p, level) {
		return false
	}
	f := analyzer.Finding{Object: v.Path, Chain: []string{v.Path},
		Reason: "needs a processor of level " + level,
		Message: fmt.Sprintf(
			"%s requires a processor of level %s, but %s. glibc 2.33 and later do not load it on older "+
				"processors",
			v.Path,
			level,
			guaranteed(p),
		)}
	if v.ISA>>3 != 0 || v.Static { // no loader selects another copy of a static program
		f.Severity = analyzer.Error
	}
	reportLevel(p, f)
	return true
}

// forProcessor matches paths of copies for some processors, one of which a program selects.
var forProcessor = lazyregexp.New(
	`(?i)(avx|sse[0-9]|fma|haswell|broadwell|skylake|icelake|cascadelake|sapphire|zen[1-9]|x86[-_]64[-_]v[2-4])`,
)

// executesLevel reports an object that executes instructions beyond the baseline whenever it is
// loaded, or imported.
func executesLevel(p *analyzer.Pass, v *analyzer.View) {
	levels := map[processor.Level]string{
		processor.AVX: "x86-64-v3", processor.AVX2: "x86-64-v3", processor.AVX512: "x86-64-v4",
	}
	need := v.Executes
	if need.Level == processor.Baseline || namesLevel(p, levels[need.Level]) ||
		forProcessor.MatchString(v.Path) || p.Platform.Baseline() >= levels[need.Level] {
		return
	}
	does := "is loaded"
	if v.Extension() {
		does = "is imported"
	} else if v.Program() {
		does = "starts"
	}
	f := analyzer.Finding{Object: v.Path, Chain: []string{v.Path},
		Reason: fmt.Sprintf("needs a processor with %s", need.Level),
		Message: fmt.Sprintf(
			"%s executes instructions of %s whenever it %s (at address %#x, in %s), but %s. On a "+
				"processor without them, the process ends with SIGILL",
			v.Path,
			need.Level,
			does,
			need.Addr,
			need.Entry,
			guaranteed(p),
		)}
	switch {
	case need.Level == processor.AVX: // only some small processors of the last fifteen years lack it
		f.Severity = analyzer.Note
	case starts(v), slices.ContainsFunc(v.Users, starts):
		f.Severity = analyzer.Error
	}
	reportLevel(p, f)
}

// starts reports whether an object is a program, or a module that Python imports on all processors.
func starts(v *analyzer.View) bool {
	return (v.Extension() || v.Program()) && !v.Alternative && !forProcessor.MatchString(v.Path)
}

// guaranteed says which processors a platform or a variant wheel guarantees.
func guaranteed(p *analyzer.Pass) string {
	if level := variantLevel(p.Facts); level != "" {
		return fmt.Sprintf("the properties of the variant %s guarantee only %s",
			p.Facts.VariantLabel, level)
	}
	return p.Platform.Name + " guarantees only the x86_64 baseline"
}

func reportLevel(p *analyzer.Pass, f analyzer.Finding) {
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

// namesLevel reports whether the wheel's tag includes the level (linux_x86_64_v3), or the wheel is
// a variant for it.
func namesLevel(p *analyzer.Pass, level string) bool {
	if p.Facts.Wheel == nil {
		return false
	}
	if variantLevel(p.Facts) >= level {
		return true
	}
	for _, t := range p.Facts.Wheel.Tags {
		tagged, ok := strings.CutPrefix(platform.ParseTag(t.Platform).Arch, "x86_64_")
		if ok && tagged >= strings.TrimPrefix(level, "x86-64-") {
			return true
		}
	}
	return false
}
