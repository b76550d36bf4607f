package main

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

// madeByUV matches the line that uv writes to pyvenv.cfg. Such an environment has no pip.
var madeByUV = lazyregexp.New(`(?m)^\s*uv\s*=`)

// installInto changes the commands of fixes so that they change a virtual environment, and not the
// one that the pip on PATH belongs to.
func installInto(r *analyzer.Report, venv string) {
	pip := shellword.Quote(filepath.ToSlash(filepath.Join(venv, "bin", "python"))) + " -m pip"
	var options shellword.Line // of uv
	config, err := os.ReadFile(filepath.Join(venv, "pyvenv.cfg"))
	if err == nil && madeByUV.Match(config) {
		pip, options = "uv pip", " --python "+shellword.Quote(filepath.ToSlash(venv))
	}
	step := func(step shellword.Line) shellword.Line {
		words := shellword.Words(step)
		at := slices.Index(words, "pip")
		if at < 0 || at+1 == len(words) ||
			at > 0 && !slices.Equal(words[:at], []shellword.Line{"python", "-m"}) {
			return step
		}
		arguments := words[at+2:]
		if options != "" {
			arguments = slices.DeleteFunc(arguments, func(w shellword.Line) bool {
				return w == "-y" // uv does not ask
			})
		}
		return pip + " " + words[at+1] + options + " " + shellword.Join(arguments, " ")
	}
	change := func(command *shellword.Line) {
		lines := shellword.Lines(*command)
		for i, line := range lines {
			steps := shellword.Steps(line)
			for n := range steps {
				steps[n] = step(steps[n])
			}
			lines[i] = shellword.Join(steps, " && ")
		}
		*command = shellword.Join(lines, "\n")
	}
	for i := range r.Findings {
		for n := range r.Findings[i].Fixes {
			change(&r.Findings[i].Fixes[n].Command)
		}
	}
	for i := range r.Causes {
		for n := range r.Causes[i].Fixes {
			change(&r.Causes[i].Fixes[n].Command)
		}
	}
	for i := range r.Plan.Fixes {
		change(&r.Plan.Fixes[i].Command)
	}
}
