package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// checkMachine is wrong-architecture on Windows. A DLL for another machine that no file of the
// wheel needs is not reported, because it may belong to a program that the package starts. A wheel
// whose tag names no platform may have a module for each.
func checkMachine(p *analyzer.Pass) {
	if p.Facts.Kind != analyzer.KindWheel || p.Requested {
		return
	}
	machine := p.Windows.Machine
	for _, o := range p.Windows.Objects {
		if o.Machine == machine && o.Extension() && slices.ContainsFunc(
			o.Exports, func(e peobj.Export) bool { return isHook(e.Name) }) {
			reportAnyTag(p, o.Path, "Windows on "+machine)
		}
	}
	promised := slices.ContainsFunc(p.Facts.Wheel.Tags, func(t pkgmeta.Tag) bool {
		return t.Platform == p.Platform.Name
	})
	fits := func(o *analyzer.WindowsObject) bool { return o.RunsOn(machine) }
	any := slices.ContainsFunc(p.Windows.Objects, func(o *analyzer.WindowsObject) bool {
		return o.DLL && fits(o)
	})
	for _, o := range p.Windows.Objects {
		if fits(o) || !o.DLL || taggedMachine(p, o) {
			continue
		}
		var user *analyzer.WindowsObject // the file that needs it
		if len(o.Users) > 0 {
			user = o.Users[0]
		}
		if user == nil && (!promised || !o.Extension() && any) {
			continue
		}
		what := fmt.Sprintf("built for %s, but the wheel's tag is %s", machineName(o), p.Platform.Name)
		if !promised {
			what = fmt.Sprintf("built for %s, but %s, which needs it, for %s", machineName(o), user.Path,
				machineNames[machine])
		}
		f := builtForOther(o.Path, what)
		f.Severity = analyzer.Error
		if user != nil {
			f.Chain = []string{user.Path, o.Path}
		}
		fixes := []fix.Candidate{relink(
			fix.Titled("Build %s for %s", o.Path, machineNames[machine]))}
		if other := platform.ForWindows(o.Machine); other != nil && !any &&
			namesFit(p, pkgmeta.Tag{Platform: other.Name}) {
			fixes = append(fixes, retagTo(p, other))
		}
		p.Report(f, fixes...)
	}
}

// namesFit reports whether Python imports the modules of a wheel for Windows by their file names
// with another tag, of which the fields that are set replace those of the wheel's tags.
func namesFit(p *analyzer.Pass, to pkgmeta.Tag) bool {
	for _, t := range p.Facts.Wheel.Tags {
		t.Python = cmp.Or(to.Python, t.Python)
		t.ABI = cmp.Or(to.ABI, t.ABI)
		t.Platform = cmp.Or(to.Platform, t.Platform)
		if slices.ContainsFunc(p.Windows.Objects, func(o *analyzer.WindowsObject) bool {
			m, ok := parsePYD(o.Path)
			return ok && !m.imports(t, "")
		}) {
			return false
		}
	}
	return true
}

// taggedMachine reports whether a tag of the wheel is for the machine of a file.
func taggedMachine(p *analyzer.Pass, o *analyzer.WindowsObject) bool {
	other := platform.ForWindows(o.Machine)
	for _, t := range p.Facts.Wheel.Tags {
		if other != nil && t.Platform == other.Name && o.Machine != p.Windows.Machine {
			return true
		}
	}
	return false
}

var machineNames = map[string]string{
	"x86":   "32-bit x86",
	"amd64": "x86-64",
	"arm64": "ARM64",
	"arm":   "32-bit ARM",
}

// machineName returns the usual name of a file's machine.
func machineName(o *analyzer.WindowsObject) string {
	name := machineNames[o.Machine]
	if name == "" {
		name = "machine " + o.Machine
	}
	if o.Hybrid != "" {
		name += " (" + strings.ToUpper(o.Hybrid) + ")"
	}
	return name
}
