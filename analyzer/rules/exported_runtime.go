package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
)

var exportedRuntime = &analyzer.Rule{
	ID:       "exported-runtime",
	Title:    "a C++ runtime that was linked in statically and is exported",
	Severity: analyzer.Note,
	Doc: `A library has a static libstdc++, libc++abi or libgcc inside (-static-libstdc++, -static-libgcc) and exports its functions (__cxa_throw, _Unwind_RaiseException, std::cout). What another object of the same load, or any
object when the library was opened with RTLD_GLOBAL, asks of its own C++ runtime may then be answered by this copy, which is of another version and has state of its own: exceptions that nobody catches, streams that were never
initialised.

It is a warning where an object of the artifact loads both this library and the real runtime, and gets such a function from this one. Otherwise it is a note.

Hide what was linked in: ` + "`-Wl,--exclude-libs,ALL`" + ` or a version script with ` + "`local: *`" + `, with -fvisibility=hidden for one's own code.

Not seen: a runtime whose symbols are hidden (that is right), and copies in other packages. The runtimes themselves are no finding, nor are operator new and delete, which memory allocators replace on purpose.`,
	References: []string{
		"ld: --exclude-libs, VERSION",
		"GCC: -static-libstdc++, -static-libgcc",
		"Itanium C++ ABI: exception handling",
	},
	Check: checkExportedRuntime,
}

// ofRuntime tells of a symbol whether a C++ or unwinding runtime defines it, and nothing else does.
// Every export of an artifact is asked for.
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
			"%s exports a C++ runtime that was linked into it (%s), which may take the place of the real one in other objects",
			v.Path,
			names(have),
		)
		if u := caught(p, v); u != nil {
			f.Severity = analyzer.Warning
			f.Message += fmt.Sprintf("; %s loads both", u.Path)
		}
		p.Report(
			f,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindLinkFlag,
					Title:   "Hide what comes from static libraries",
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

// caught finds another object that gets a function of the runtime from v, though it loads a runtime
// itself.
func caught(p *analyzer.Pass, v *analyzer.View) *analyzer.View {
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
