package rules

import (
	"fmt"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform/windows"
)

var cppRuntimeTooOld = &analyzer.Rule{
	ID:       "cpp-runtime-too-old",
	Title:    "A bundled msvcp140.dll is older than the code that uses its mutexes",
	Severity: analyzer.Error,
	Doc: `Since Visual Studio 2022 17.10 (toolset 14.40) the constructor of std::mutex is a constant,
and does not call ` + "`_Mtx_init_in_situ`" + `. A msvcp140.dll before 14.40 dereferences a null pointer at
the first lock of such a mutex: the process ends with an access violation, usually at import. All
of its symbols are found, so nothing fails before.

The version of the DLL and that of the code are those of the linker in their headers. Code that is
compiled with ` + "`_DISABLE_CONSTEXPR_MUTEX_CONSTRUCTOR`" + ` imports ` + "`_Mtx_init_in_situ`" + `, and works.

Fix: bundle the msvcp140.dll of the compiler that builds the package, under another name (delvewheel
does that), or define ` + "`_DISABLE_CONSTEXPR_MUTEX_CONSTRUCTOR`" + `.

Not detected: a msvcp140.dll that another package or program loaded before, under its own name.`,
	Cause:      cause.Rule{Kind: cause.Build("bundle a newer msvcp140.dll")},
	References: []string{"Visual Studio 2022 17.10: release notes of the STL, std::mutex"},
	Check:      func(*analyzer.Pass) {},
	Windows:    checkCppRuntime,
}

// constantMutex is the toolset from which the constructor of std::mutex is a constant.
const constantMutex = "14.40"

func checkCppRuntime(p *analyzer.Pass) {
	for _, o := range p.Windows.Objects {
		if !strings.EqualFold(path.Base(o.Path), "msvcp140.dll") || o.Linker == "" ||
			!windows.Older(o.Linker, constantMutex) {
			continue
		}
		for _, user := range o.Users {
			if windows.Older(user.Linker, constantMutex) || !locksConstantMutex(user) {
				continue
			}
			p.Report(analyzer.Finding{
				Object: user.Path, Library: path.Base(o.Path), Symbol: "_Mtx_lock",
				Chain: []string{user.Path, o.Path},
				Message: fmt.Sprintf(
					"%s was linked with toolset %s and locks mutexes without _Mtx_init_in_situ, which %s of "+
						"toolset %s does not support: the process ends with an access violation",
					user.Path, user.Linker, o.Path, o.Linker,
				),
			}, relink(fix.Titled("Bundle the %s of the toolset that %s was built with",
				fix.Library(path.Base(o.Path)), user.Path)))
		}
	}
}

// locksConstantMutex reports whether a file uses std::mutex and does not initialize it with a call.
func locksConstantMutex(o *analyzer.WindowsObject) bool {
	locks := false
	for _, dll := range o.Imports {
		if !strings.EqualFold(dll.Name, "msvcp140.dll") {
			continue
		}
		for _, s := range dll.Symbols {
			if s.Name == "_Mtx_init_in_situ" || s.Name == "_Mtx_init" {
				return false
			}
			locks = locks || s.Name == "_Mtx_lock" || s.Name == "_Mtx_trylock"
		}
	}
	return locks
}
