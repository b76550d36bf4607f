package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/shellword"
)

// install says how the commands of a report reach compat, if PATH has none: they name the program,
// and not the file that was started. "" if they work as they are.
func install(env environment, r *analyzer.Report) string {
	if _, err := exec.LookPath("compat"); err == nil || env.Program == "" || !callsCompat(r) {
		return ""
	}
	const need = "The printed commands need compat in PATH. "
	if builtByRun(env.Program) {
		return need + "In its source folder, go install ./cmd/compat writes it to the folder bin of " +
			"go env GOPATH."
	}
	return need + "Add the folder " + filepath.Dir(env.Program) + " to PATH."
}

// callsCompat reports whether a command of a report runs compat.
func callsCompat(r *analyzer.Report) bool {
	calls := func(command shellword.Line) bool {
		return slices.ContainsFunc(shellword.Steps(command), func(step shellword.Line) bool {
			return shellword.Words(step)[0] == "compat"
		})
	}
	return r.Plan.Command != "" && calls(r.Plan.Command) ||
		slices.ContainsFunc(r.Causes, func(c analyzer.Cause) bool {
			return slices.ContainsFunc(c.Fixes, func(x analyzer.CauseFix) bool {
				return x.Command != "" && calls(x.Command)
			})
		})
}

// builtByRun reports whether a program is one that "go run" built, and removes afterwards.
func builtByRun(program string) bool {
	dir := filepath.ToSlash(filepath.Dir(program))
	return strings.Contains(dir, "/go-build") && strings.HasSuffix(dir, "/exe")
}
