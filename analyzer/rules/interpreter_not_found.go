package rules

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

var interpreterNotFound = &analyzer.Rule{
	ID:       "interpreter-not-found",
	Title:    "A program's dynamic linker does not exist on the platform",
	Severity: analyzer.Error,
	Doc: `A program names its dynamic linker by path (PT_INTERP). If that file does not exist, the
kernel does not start the program and reports "No such file or directory". This happens to
programs of a system with other paths (/nix/store, /gnu/store), to musl programs on glibc, and to
glibc programs on musl.

Fix: build with a toolchain of the target system, or set the path with
` + "`patchelf --set-interpreter`" + `.

Severity: a warning in a wheel, whose programs may be started by a script that names the dynamic
linker.

Not detected: whether the file exists on a particular machine. Shared libraries that are also
executable are not checked.`,
	References: []string{"gABI, program interpreter", "execve(2), ENOENT"},
	Cause:      cause.Rule{Warns: "a script may start the program with another dynamic linker"},
	Check:      checkInterpreter,
}

func checkInterpreter(p *analyzer.Pass) {
	for _, v := range p.Views {
		if v.Interp == "" || v.SONAME != "" {
			continue
		}
		dir, file := path.Split(cmp.Or(p.Scenario.Interp[v.Path], v.Interp))
		musl := strings.HasPrefix(file, "ld-musl-")
		var why string
		switch {
		case !strings.HasPrefix(dir, "/lib") && !strings.HasPrefix(dir, "/usr/lib"):
			why = p.Platform.Name + " does not have that folder"
		case musl != (p.Platform.Libc == "musl"):
			why = fmt.Sprintf("%[2]s uses %[1]s", p.Platform.Libc, p.Platform.Name)
		default:
			continue
		}
		f := analyzer.Finding{
			Object:  v.Path,
			Library: file,
			Chain:   []string{v.Path, v.Interp},
			Message: fmt.Sprintf("%s needs the dynamic linker %s, but %s", v.Path, v.Interp, why),
		}
		if p.Facts.Kind == analyzer.KindWheel {
			f.Severity = analyzer.Warning
		}
		var fixes []fix.Candidate
		if usual := usualInterpreter(p); usual != "" && !musl {
			fixes = append(
				fixes,
				fix.Candidate{
					Fix: fix.Fix{
						Kind:    fix.KindPatchelf,
						Title:   fix.Titled("Set the standard dynamic linker"),
						Command: edit(p, v.Path, "patchelf --set-interpreter "+shellword.Quote(usual)),
					},
					Change: fix.SetInterp{Object: v.Path, Interp: usual},
				},
			)
		}
		p.Report(
			f,
			append(
				fixes,
				fix.Candidate{
					Fix: fix.Fix{
						Kind:  fix.KindRebuild,
						Title: fix.Titled("Build with a toolchain for %s", p.Platform.Libc),
					},
				},
			)...)
	}
}

// usualInterpreter returns the dynamic linker of glibc on an architecture, as its ABI defines it;
// "" for other platforms.
func usualInterpreter(p *analyzer.Pass) string {
	if p.Platform.Libc != "glibc" {
		return ""
	}
	return map[string]string{
		"x86_64":  "/lib64/ld-linux-x86-64.so.2",
		"aarch64": "/lib/ld-linux-aarch64.so.1",
		"i686":    "/lib/ld-linux.so.2",
		"armv7l":  "/lib/ld-linux-armhf.so.3",
		"ppc64le": "/lib64/ld64.so.2",
		"s390x":   "/lib/ld64.so.1",
		"riscv64": "/lib/ld-linux-riscv64-lp64d.so.1",
	}[p.Platform.Arch]
}
