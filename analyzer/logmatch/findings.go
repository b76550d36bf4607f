package logmatch

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
)

// byFindings handles a message of dyld or of Windows with the findings of the rules for those
// systems. It returns false if no given file is the one in the log. Windows names the module that
// was imported, but not the DLL that fails.
func (w *matcher) byFindings(
	d *buildlog.Diagnosis,
	out *buildlog.Analysis,
	report *analyzer.Report,
) bool {
	system, ok := systemOf(d.Rule)
	if !ok {
		return false
	}
	if !w.known(d.Rule) {
		out.Why = "This cannot be checked from a file"
		return true
	}
	var fixes []fix.Fix
	for i := range report.Findings {
		f := &report.Findings[i]
		if !w.explains(f, d.Rule) || platform.TargetSystem(f.Target) != system || !explains(d, f) {
			continue
		}
		if out.Verdict != buildlog.Confirmed {
			out.Verdict, out.Object, out.Library, out.Why = buildlog.Confirmed, f.Object, f.Library,
				f.Message
		}
		out.Targets, out.Rules = with(out.Targets, f.Target), with(out.Rules, f.Rule)
		fixes = merge(fixes, f.Fixes)
	}
	if out.Verdict == buildlog.Confirmed {
		d.Fixes = merge(fixes, d.Fixes)
		d.Fixes = d.Fixes[:min(len(d.Fixes), maxFixes)]
		return true
	}
	var targets []string // on which the artifacts were checked
	for _, t := range report.Targets {
		if platform.TargetSystem(t.Name) == system {
			targets = with(targets, t.Name)
		}
	}
	for _, a := range report.Artifacts {
		for _, n := range a.Needs {
			if len(targets) == 0 || !isObject(d.Object, n.Object) {
				continue
			}
			out.Object = n.Object
			out.Why = fmt.Sprintf("compat finds no such error in %s%s", n.Object, on(targets))
			if report.Verdict != analyzer.Unchecked && found(d, n.Libraries) {
				out.Verdict = buildlog.Contradicted
				out.Why += ": the log may be from another build or environment"
			}
			return true
		}
	}
	return false
}

// found reports whether the absence of a finding shows that the loader finds what a message is
// about: a library that the object lists, or all of its libraries if the message names none. Where
// a symbol is found is not part of the report.
func found(d *buildlog.Diagnosis, libraries []string) bool {
	return d.Symbol == "" && (d.Library == "" || slices.ContainsFunc(libraries, func(l string) bool {
		return strings.EqualFold(path.Base(l), d.Library[strings.LastIndexAny(d.Library, `/\`)+1:])
	}))
}

// known reports whether a rule explains a message. Others, such as a failed initialization, cannot
// be explained from a file.
func (w *matcher) known(message string) bool {
	for _, r := range w.rules {
		if slices.Contains(r.Explains, message) {
			return true
		}
	}
	return false
}

// with adds a name to a list that does not contain it yet.
func with(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// systemOf returns the system that a message of dyld or Windows is about; ok is false for other
// messages.
func systemOf(message string) (system platform.TagSystem, ok bool) {
	switch {
	case strings.HasPrefix(message, "macos-"):
		return platform.TagMacOS, true
	case strings.HasPrefix(message, "windows-"):
		return platform.TagWindows, true
	}
	return platform.TagUnknown, false
}

// explains reports whether a finding is about the object, symbol and library of a message.
func explains(d *buildlog.Diagnosis, f *analyzer.Finding) bool {
	object := d.Object
	if object == "" {
		object = d.Library // of WinError 126, the DLL that ctypes loads
	}
	if !isObject(object, f.Object) &&
		!slices.ContainsFunc(f.Chain, func(c string) bool { return isObject(object, c) }) {
		return false
	}
	// Mach-O puts "_" before each name, which the log has lost once.
	if d.Symbol != "" && f.Symbol != d.Symbol && f.Symbol != "_"+d.Symbol {
		return false
	}
	return d.Object == "" || d.Library == "" || f.Library == "" || d.Symbol != "" ||
		path.Base(d.Library) == path.Base(f.Library)
}

// isObject reports whether a path of a log or the name of a module, such as "ext" or "pkg.ext", is
// a file of an artifact.
func isObject(logged, file string) bool {
	if logged == "" {
		return false
	}
	base := path.Base(file)
	logged = logged[strings.LastIndexAny(logged, `/\`)+1:]
	if strings.EqualFold(logged, base) {
		return true
	}
	module, _, ok := strings.Cut(base, ".")
	return ok && strings.HasSuffix(base, ".pyd") &&
		logged[strings.LastIndexByte(logged, '.')+1:] == module
}
