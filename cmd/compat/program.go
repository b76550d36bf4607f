package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/compat-app/compat/internal/shellword"
)

// calling returns how the commands of a report call compat: by its path if PATH has none; "" = by
// its name.
func calling(env environment) shellword.Line {
	if env.Program == "" || inPath() || builtByRun(env.Program) {
		return ""
	}
	file, err := filepath.Abs(env.Program)
	if err != nil {
		return ""
	}
	if _, err := os.Stat(file); err != nil {
		return "" // whoever started it gave it another name
	}
	return shellword.Quote(file)
}

func inPath() bool {
	_, err := exec.LookPath("compat")
	return err == nil
}

// builtByRun reports whether a program is one that "go run" built, and removes afterwards.
func builtByRun(program string) bool {
	dir := filepath.ToSlash(filepath.Dir(program))
	return strings.Contains(dir, "/go-build") && strings.HasSuffix(dir, "/exe")
}

// install says how to get a compat that stays, for the commands of a text that was printed; "" if
// they work.
func install(env environment, printed string) string {
	if env.Program == "" || !builtByRun(env.Program) || inPath() ||
		!strings.Contains(printed, "compat fix ") {
		return ""
	}
	return "The printed commands need compat in PATH. In its source folder, go install ./cmd/compat " +
		"writes it to the folder bin of go env GOPATH."
}
