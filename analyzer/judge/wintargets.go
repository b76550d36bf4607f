package judge

import (
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/windows"
	"github.com/compat-app/compat/analyzer/winload"
)

// windowsTargets returns the platforms of an artifact with PE files: those that the user
// specified, otherwise those of its tags, otherwise one for each machine of its files. skip is
// called with what is not checked, and why.
func windowsTargets(
	f *facts.Artifact,
	o Platforms,
	skip func(format string, args ...any),
) (out []Target) {
	if len(f.PE) == 0 {
		return nil
	}
	known := func(p *platform.Platform) bool {
		return slices.ContainsFunc(out, func(t Target) bool { return t.Platform == p })
	}
	named := false
	for _, name := range slices.Concat(o.Instead, o.Also) {
		if platform.SystemOf(name) != platform.Windows {
			continue
		}
		named = true
		if p, err := platform.Lookup(name, ""); err == nil && !known(p) {
			out = o.request(f, p, out, skip)
		}
	}
	if len(o.Instead) > 0 {
		if !named {
			var of []string
			example := "win_amd64"
			for _, x := range f.PE {
				if p := platform.ForWindows(x.Machine); p != nil {
					of, example = append(of, p.Arch), p.Name
				}
			}
			skip("%s", o.ofOthers("PE", "Windows", of, example))
		}
		return out
	}
	add := func(p *platform.Platform) {
		if p != nil && !known(p) {
			out = append(out, Target{Platform: p})
		}
	}
	if f.Wheel != nil {
		for _, t := range f.Wheel.Tags {
			if p, err := platform.Lookup(t.Platform, ""); err == nil && p.OS == platform.Windows {
				add(p)
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, x := range f.PE {
		add(platform.ForWindows(x.Machine))
	}
	// Only intermediate code, or machines that Windows no longer supports.
	if len(out) == 0 {
		add(platform.ForWindows(peobj.Amd64))
	}
	return out
}

// latestPython is the minor version that stands for this release and all later ones.
const latestPython = 13

// pythonOf returns the interpreter that imports a module on Windows: that of the module's file
// name, otherwise that of the wheel's tag.
func pythonOf(f *facts.Artifact, o *facts.PEObject) winload.Python {
	open := winload.Python{
		Interpreter: windows.Interpreter{Minor: latestPython},
		AnyRelease:  true,
	}
	if version, ok := ofSuffix(o.Path); ok { // no other Python imports it
		return exactPython(version, strings.HasSuffix(version, "t"))
	}
	if f.Wheel == nil {
		return open
	}
	for _, t := range f.Wheel.Tags {
		version, ok := strings.CutPrefix(t.Python, "cp")
		switch {
		case !ok:
		case cpython.StableABI(t.ABI):
			return stablePython(f.Wheel.Tags)
		case len(version) > 1:
			return exactPython(version, strings.HasPrefix(t.ABI, "cp") && strings.HasSuffix(t.ABI, "t"))
		}
	}
	return open
}

// stablePython returns the interpreter that stands for those of a wheel for the stable ABI. A
// free-threaded one, if the wheel is for it too, has only python3t.dll.
func stablePython(tags []pkgmeta.Tag) winload.Python {
	out := windows.Interpreter{Minor: latestPython}
	for _, t := range tags {
		if r, ok := cpython.OfTag(t.Python, t.ABI); ok {
			out.Minor = max(out.Minor, r.Minor)
			out.FreeThreaded = out.FreeThreaded || t.ABI == "abi3t"
		}
	}
	return winload.Python{Interpreter: out}
}

// exactPython returns a release by its digits: "312", "27".
func exactPython(version string, freeThreaded bool) winload.Python {
	minor, err := strconv.Atoi(strings.TrimRight(version[1:], "tdmu"))
	if err != nil || version[0] != '3' {
		minor = 0
	}
	return winload.Python{
		Interpreter: windows.Interpreter{Minor: minor, FreeThreaded: freeThreaded},
	}
}

// ofSuffix returns the release in the file name of a module: "312" for "x.cp312-win_amd64.pyd".
func ofSuffix(path string) (string, bool) {
	parts := strings.Split(path[strings.LastIndexByte(path, '/')+1:], ".")
	if len(parts) < 3 {
		return "", false
	}
	version, _, _ := strings.Cut(parts[len(parts)-2], "-")
	version, ok := strings.CutPrefix(version, "cp")
	return version, ok && len(version) > 1 && strings.Trim(version, "0123456789t") == ""
}
