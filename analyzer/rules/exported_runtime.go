package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
)

var exportedRuntime = &analyzer.Rule{
	ID:        "exported-runtime",
	Title:     "A library exports symbols of a C++ runtime that is linked into it",
	Severity:  analyzer.Note,
	Packaging: true,
	Doc: `A library contains a static libstdc++, libc++abi or libgcc (-static-libstdc++,
-static-libgcc) and exports its functions (__cxa_throw, _Unwind_RaiseException, std::cout). Other
objects of the same load, or of the whole process if the library was opened with RTLD_GLOBAL, may
then call this copy and not their own runtime. The copy has another version and its own state:
exceptions are not boundTo, and streams are not initialised.

Fix: hide the symbols of static libraries with ` + "`-Wl,--exclude-libs,ALL`" + `, or with a
version script that has ` + "`local: *`" + `. Compile your own code with -fvisibility=hidden.

Severity: a warning where another object of the artifact loads both this library and the real
runtime, and binds such a function to this library. Otherwise it is a note.

Not detected: copies in other packages. A hidden runtime is correct and not reported, nor are the
runtimes themselves, nor operator new and delete, which memory allocators replace on purpose.`,
	References: []string{
		"ld: --exclude-libs, VERSION",
		"GCC: -static-libstdc++, -static-libgcc",
		"Itanium C++ ABI: exception handling",
	},
	Cause: cause.Rule{Warns: "it fails only where this runtime is used in place of the real one"},
	Check: checkExportedRuntime,
}

// ofRuntime reports whether only a C++ or unwinding runtime defines a symbol. It is called for
// every export of an artifact, so it is a switch and not a map.
func ofRuntime(symbol string) bool {
	switch symbol {
	case "__cxa_throw",
		"__cxa_begin_catch",
		"__cxa_allocate_exception",
		"__cxa_get_globals",
		"__gxx_personality_v0",
		"__dynamic_cast",
		"_Unwind_RaiseException",
		"_Unwind_Resume",
		"_ZSt4cout",
		"_ZNSt8ios_base4InitC1Ev",
		"_ZSt9terminatev":
		return true
	}
	return false
}

// runtimeStems are the libraries that are such a runtime.
var runtimeStems = []string{
	"libstdc++",
	"libc++",
	"libc++abi",
	"libgcc_s",
	"libunwind",
	"libsupc++",
	"libcxxrt",
}

func checkExportedRuntime(p *analyzer.Pass) {
	for _, v := range p.Views {
		if v.Interp != "" || isRuntime(v.SONAME) ||
			isRuntime(v.Path[strings.LastIndex(v.Path, "/")+1:]) {
			continue
		}
		var have []string
		for _, e := range v.Exports.All() {
			if ofRuntime(e.Name) && e.Kind != "notype" && !slices.Contains(have, e.Name) {
				have = append(have, e.Name)
			}
		}
		if len(have) == 0 {
			continue
		}
		slices.Sort(have)
		f := analyzer.Finding{Object: v.Path, Symbol: have[0], Chain: []string{v.Path}}
		f.Message = fmt.Sprintf(
			"%s exports symbols of a statically linked C++ runtime (%s). Other objects may bind to them",
			v.Path,
			names(have, "symbol"),
		)
		if u := boundTo(p, v); u != nil {
			f.Severity = analyzer.Warning
			f.Message += fmt.Sprintf(". %s loads both runtimes", u.Path)
		}
		p.Report(
			f,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindLinkFlag,
					Title:   fix.Titled("Hide the symbols of static libraries"),
					Command: "-Wl,--exclude-libs,ALL",
				},
			},
		)
	}
}

func isRuntime(name string) bool {
	return slices.ContainsFunc(runtimeStems, func(s string) bool {
		rest, ok := strings.CutPrefix(name, s)
		return ok && (strings.HasPrefix(rest, ".so") || strings.HasPrefix(rest, "-"))
	})
}

// boundTo returns another object that binds a function of the runtime to v, although it loads a
// runtime itself.
func boundTo(p *analyzer.Pass, v *analyzer.View) *analyzer.View {
	for _, u := range p.Views {
		if u == v ||
			!slices.ContainsFunc(
				u.Loading.Found,
				func(f dynlink.Found) bool { return isRuntime(f.Library.SONAME) },
			) {
			continue
		}
		for b := range u.Bindings().To(v.Library.Kind) {
			if b.Outcome == dynlink.Bound && b.Provider == v.Library && ofRuntime(b.Import.Name) {
				return u
			}
		}
	}
	return nil
}
