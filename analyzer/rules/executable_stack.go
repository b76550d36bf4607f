package rules

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
)

var executableStack = &analyzer.Rule{
	ID:       "executable-stack",
	Title:    "A shared library requires an executable stack",
	Severity: analyzer.Error,
	Doc: `A shared library requires an executable stack: its PT_GNU_STACK header has the flag X, or
the header is missing on an architecture where that means the same (x86_64, i686, armv7l, s390x).
Since glibc 2.41 (Debian 13, Ubuntu 25.04, Fedora 42), dlopen fails, and so does the import:
"cannot enable executable stack as shared object requires: Invalid argument". Older systems make
the stack of the whole process executable, unless SELinux forbids it.

The usual cause is an assembler source without a .note.GNU-stack section.

Fix: add ` + "`.section .note.GNU-stack,\"\",@progbits`" + ` to the source, or link with
` + "`-Wl,-z,noexecstack`" + `. For a finished file, use ` + "`patchelf --clear-execstack`" + `.

Severity: an error on a platform with glibc 2.41 or newer that the tag or the settings name, and a
warning otherwise. musl ignores the header, and a program may have an executable stack; neither is
reported.

Not detected: code that makes the stack executable itself, and libraries that really need an
executable stack (nested functions of GCC whose address is taken).`,
	Cause: cause.Rule{
		Warns: "only systems with glibc 2.41 or newer refuse to load it",
		Kind:  cause.Build("link it without an executable stack"), Loader: cause.RefusesStack,
	},
	References: []string{
		"glibc: NEWS for 2.41, elf/dl-load.c, sysdeps/*/stackinfo.h",
		"ld: -z noexecstack",
	},
	Check: checkExecutableStack,
}

// stackByDefault are the architectures where a missing PT_GNU_STACK means an executable stack
// (glibc, DEFAULT_STACK_PERMS in sysdeps/*/stackinfo.h).
var stackByDefault = []string{"x86_64", "x32", "i686", "armv7l", "s390x", "s390"}

func checkExecutableStack(p *analyzer.Pass) {
	if p.Platform.Libc != "glibc" {
		return
	}
	for _, v := range p.Views {
		silent := v.ExecStack == "unsaid" && slices.Contains(stackByDefault, v.Arch())
		if v.Interp != "" || v.Type != "ET_DYN" || v.ExecStack != "yes" && !silent ||
			p.Scenario.NoStack[v.Path] {
			continue
		}
		f := analyzer.Finding{Object: v.Path, Chain: []string{v.Path}, Severity: analyzer.Warning}
		how := "its PT_GNU_STACK header has the flag X"
		if silent {
			how = "it has no PT_GNU_STACK header"
		}
		f.Message = fmt.Sprintf(
			"%s requires an executable stack (%s). With glibc 2.41 and later, dlopen of such a "+
				"library fails",
			v.Path,
			how,
		)
		if v.Host == analyzer.HostPython {
			f.Message += ", so Python cannot import it"
		}
		if claimed := p.Requested || p.Platform.Kind == platform.Policy; claimed &&
			!platform.Older(p.Platform.LibcVersion, "2.41") &&
			!v.Alternative {
			f.Severity = analyzer.Error
			f.Message += fmt.Sprintf(". %s has glibc %s", p.Platform.Name, p.Platform.LibcVersion)
		}
		p.Report(
			f,
			fix.Candidate{
				Fix: fix.Fix{
					Kind: fix.KindLinkFlag,
					Title: fix.Titled("Link without an executable stack and add .note.GNU-stack to the " +
						"assembler sources"),
					Command: "-Wl,-z,noexecstack",
				},
			},
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindPatchelf,
					Title:   fix.Titled("Clear the flag in the finished file"),
					Command: edit(p, v.Path, "patchelf --clear-execstack"),
				},
				Change: fix.ClearExecStack{Object: v.Path},
			},
		)
	}
}
