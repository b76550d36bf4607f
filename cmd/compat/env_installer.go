package main

import (
	"os"
	"path/filepath"

	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

// madeByUV matches the line that uv writes to pyvenv.cfg. Such an environment has no pip.
var madeByUV = lazyregexp.New(`(?m)^\s*uv\s*=`)

// installInto changes the commands of fixes so that they change a virtual environment, and not the
// one that the pip on PATH belongs to.
func installInto(r *analyzer.Report, venv string) {
	python := shellword.Quote(filepath.ToSlash(filepath.Join(venv, "bin", "python")))
	pip := string(python) + " -m pip "
	var options string // of uv
	config, err := os.ReadFile(filepath.Join(venv, "pyvenv.cfg"))
	if err == nil && madeByUV.MatchString(string(config)) {
		pip, options = "uv pip ", " --python "+string(shellword.Quote(filepath.ToSlash(venv)))
	}
	change := func(line *shellword.Line) {
		parts := strings.Split(string(*line), " && ")
		for i, part := range parts {
			rest, ok := strings.CutPrefix(part, "python -m pip ")
			if !ok {
				rest, ok = strings.CutPrefix(part, "pip ")
			}
			if !ok {
				continue
			}
			verb, arguments, _ := strings.Cut(rest, " ")
			if options != "" {
				arguments = strings.TrimPrefix(arguments, "-y ") // uv does not ask
			}
			parts[i] = pip + verb + options + " " + arguments
		}
		*line = shellword.Line(strings.Join(parts, " && "))
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
