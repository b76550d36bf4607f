package rules

import (
	"fmt"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
)

var interpreterNotFound = &analyzer.Rule{
	ID:       "interpreter-not-found",
	Title:    "a program asks for a dynamic linker that the platform does not have",
	Severity: analyzer.Error,
	Doc: `A program names its dynamic linker by path (PT_INTERP). Where that file is not there, the kernel refuses to start the program, with the confusing "No such file or directory". It happens
to programs of a system that keeps the linker elsewhere (/nix/store, /gnu/store), to musl's on glibc, and to glibc's on musl.

It is a warning in a wheel, whose programs may be started by a script that names the linker.

To mend it, build with an ordinary toolchain, or set the path: patchelf --set-interpreter.

Not seen: whether the path is there on the very machine, and shared libraries that can be run as well, whose linker nobody asks for.`,
	References: []string{"gABI, program interpreter", "execve(2), ENOENT"},
	Check:      checkInterpreter,
}

func checkInterpreter(p *analyzer.Pass) {
	for _, v := range p.Views {
		if v.Interp == "" || v.SONAME != "" {
			continue
		}
		dir, file := path.Split(v.Interp)
		musl := strings.HasPrefix(file, "ld-musl-")
		var why string
		switch {
		case !strings.HasPrefix(dir, "/lib") && !strings.HasPrefix(dir, "/usr/lib"):
			why = "no " + p.Platform.Name + " has anything there"
		case musl != (p.Platform.Libc == "musl"):
			why = fmt.Sprintf(
				"that is the linker of another libc than the %s of %s",
				p.Platform.Libc,
				p.Platform.Name,
			)
		default:
			continue
		}
		f := analyzer.Finding{
			Object:  v.Path,
			Library: file,
			Chain:   []string{v.Path, v.Interp},
			Message: fmt.Sprintf("%s is started by %s, and %s", v.Path, v.Interp, why),
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
						Title:   "Name the usual dynamic linker",
						Command: "patchelf --set-interpreter " + usual + " " + quoted(v.Path),
					},
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
						Title: "Build with a toolchain for " + p.Platform.Libc,
					},
				},
			)...)
	}
}

// usualInterpreter is glibc's dynamic linker on an architecture, as its ABI fixes it; "" for
// others.
func usualInterpreter(p *analyzer.Pass) string {
	if p.Platform.Libc != "glibc" {
		return ""
	}
	return map[string]string{"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1", "i686": "/lib/ld-linux.so.2", "armv7l": "/lib/ld-linux-armhf.so.3",
		"ppc64le": "/lib64/ld64.so.2", "s390x": "/lib/ld64.so.1", "riscv64": "/lib/ld-linux-riscv64-lp64d.so.1"}[p.Platform.Arch]
}
