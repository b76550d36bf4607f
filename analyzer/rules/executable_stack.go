package rules

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
)

var executableStack = &analyzer.Rule{
	ID:       "executable-stack",
	Title:    "a library that asks for an executable stack",
	Severity: analyzer.Error,
	Doc: `A shared library asks for an executable stack: its PT_GNU_STACK header has the flag X, or it has no such header on an architecture where that means the same (x86_64, i686, armv7l, s390x).
From glibc 2.41 on (Debian 13, Ubuntu 25.04, Fedora 42), dlopen refuses it, and so does every import: "cannot enable executable stack as shared object requires: Invalid argument". Older systems
make the stack of the whole process executable, unless SELinux forbids that.

The cause is nearly always one assembler source without a .note.GNU-stack section. Add ` + "`.section .note.GNU-stack,\"\",@progbits`" + ` to it, or link with ` + "`-Wl,-z,noexecstack`" + `; a finished file is mended with patchelf.

It is an error on a platform that was asked for or that the tag names and whose glibc is 2.41 or newer, and a warning otherwise. musl does not look at the header, and a program may ask for such a stack for itself: neither is a finding.

Not seen: code that makes the stack executable itself, and libraries that really need it (nested functions of GCC whose address is taken).`,
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
		if v.Interp != "" || v.Type != "ET_DYN" || v.ExecStack != "yes" && !silent {
			continue
		}
		f := analyzer.Finding{Object: v.Path, Chain: []string{v.Path}, Severity: analyzer.Warning}
		how := "its PT_GNU_STACK header has the flag X"
		if silent {
			how = "it has no PT_GNU_STACK header"
		}
		f.Message = fmt.Sprintf(
			"%s asks for an executable stack (%s), and glibc refuses to load such a library from 2.41 on",
			v.Path,
			how,
		)
		if claimed := p.Asked || p.Platform.Kind == platform.Policy; claimed &&
			!analyzer.OlderRelease(p.Platform.LibcVersion, "2.41") &&
			!v.Alternative {
			f.Severity = analyzer.Error
			f.Message += fmt.Sprintf("; %s has %s", p.Platform.Name, p.Platform.LibcVersion)
		}
		p.Report(
			f,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindLinkFlag,
					Title:   "Link without an executable stack, and mark the assembler sources",
					Command: "-Wl,-z,noexecstack",
				},
			},
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindPatchelf,
					Title:   "Take the flag from the finished file",
					Command: "patchelf --clear-execstack " + quoted(v.Path),
				},
			},
		)
	}
}
