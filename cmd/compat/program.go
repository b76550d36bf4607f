package main

import (
	"os/exec"
	"path/filepath"
	"strings"
)

// install says how the commands of a text that was printed reach compat, if PATH has none: they
// name the program, and not the file that was started. "" if they work as they are.
func install(env environment, printed string) string {
	if _, err := exec.LookPath("compat"); err == nil || env.Program == "" ||
		!strings.Contains(printed, "compat fix ") {
		return ""
	}
	const need = "The printed commands need compat in PATH. "
	if builtByRun(env.Program) {
		return need + "In its source folder, go install ./cmd/compat writes it to the folder bin of " +
			"go env GOPATH."
	}
	return need + "Add the folder " + filepath.Dir(env.Program) + " to PATH."
}

// builtByRun reports whether a program is one that "go run" built, and removes afterwards.
func builtByRun(program string) bool {
	dir := filepath.ToSlash(filepath.Dir(program))
	return strings.Contains(dir, "/go-build") && strings.HasSuffix(dir, "/exe")
}
