package analyzer

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform/macos"
)

// Wheels returns the file names of the wheels among a report's artifacts.
func Wheels(r *Report) []string {
	names := []string{}
	for _, a := range r.Artifacts {
		if a.Wheel != nil {
			names = append(names, path.Base(a.Path))
		}
	}
	return names
}

// NoteLostSupport adds a note for each project with wheels in a report and in its base, if the
// base has a wheel for a platform or a Python for which the report has none. before are the file
// names of the base's wheels; base is its name in the note, "" for "the base".
//
// It compares systems with their architecture, not their versions: a rule checks those.
func NoteLostSupport(r *Report, before []string, base string) {
	had, has := supports(before), supports(Wheels(r))
	for _, project := range slices.Sorted(maps.Keys(has)) {
		lost := had[project].without(has[project])
		if len(lost) == 0 {
			continue
		}
		const shown = 8
		r.AddNote(fmt.Sprintf(
			"%s has no wheel for %s, but %s has; without a wheel, pip builds from source, or "+
				"if there is no sdist, installs an older release or fails",
			project, List(lost, shown, len(lost), "platform"), cmp.Or(base, "the base"),
		))
	}
}

// supported is a Python on a system for which a wheel is built.
type supported struct{ python, system string }

// support is what the wheels of a project are built for.
type support map[supported]bool

// Limits of what is compared; file names are not trusted. The newest Python that a tag may name
// is 3.99, and a project with more distinct pairs is not compared.
const (
	maxMinor     = 99
	maxSupported = 2_000
)

// supports returns what wheels are built for, by normalized project.
func supports(wheels []string) map[string]support {
	out := map[string]support{}
	for _, file := range wheels {
		w, err := pkgmeta.ParseWheelName(file)
		if err != nil {
			continue
		}
		name := pkgmeta.Normalize(w.Name)
		if out[name] == nil {
			out[name] = support{}
		}
		for _, t := range w.Tags {
			for _, system := range systemsOf(t.Platform) {
				if python := pythonOf(t); len(out[name]) <= maxSupported {
					out[name][supported{python, system}] = true
				}
			}
		}
	}
	return out
}

// anySystem is the system of wheels with the platform tag "any".
const anySystem = "any"

// systemsOf returns the systems of a platform tag, with their architectures but without versions.
func systemsOf(tag string) []string {
	if targets := macos.Targets(tag); targets != nil {
		var out []string
		for _, t := range targets {
			out = append(out, "macOS ("+t.Arch+")")
		}
		return out
	}
	switch tag {
	case "win32":
		return []string{"Windows (32-bit)"}
	case "win_amd64":
		return []string{"Windows (x86-64)"}
	case "win_arm64":
		return []string{"Windows (ARM64)"}
	}
	if arch, musl := packages.LinuxTag(tag); arch != "" {
		if musl {
			return []string{"Alpine Linux (" + arch + ")"}
		}
		return []string{"Linux (" + arch + ")"}
	}
	for _, s := range [][2]string{{"android_", "Android"}, {"ios_", "iOS"}} {
		rest, ok := strings.CutPrefix(tag, s[0])
		if arch := strings.TrimLeft(rest, "0123456789_"); ok && arch != "" {
			return []string{s[1] + " (" + arch + ")"}
		}
	}
	return []string{tag}
}

// pythonOf returns the Python of a tag: "cp312", "cp312t", "cp38-abi3", "py3", "pp310".
func pythonOf(t pkgmeta.Tag) string {
	switch {
	case t.ABI == "abi3":
		return t.Python + "-abi3"
	case strings.HasPrefix(t.Python, "cp") && t.ABI == t.Python+"t":
		return t.ABI
	}
	return t.Python
}

// minor returns the minor release of CPython 3 or Python 3 in a tag such as "cp312", "cp312t",
// "cp38-abi3" or "py39"; -1 for others.
func minor(python string) int {
	digits := strings.TrimSuffix(strings.TrimSuffix(python, "-abi3"), "t")
	if !strings.HasPrefix(digits, "cp3") && !strings.HasPrefix(digits, "py3") {
		return -1
	}
	n, err := strconv.Atoi(digits[3:])
	if err != nil || n < 0 || n > maxMinor {
		return -1
	}
	return n
}

// newest returns the newest minor release of Python 3 that wheels name.
func (s support) newest() int {
	n := 0
	for x := range s {
		n = max(n, minor(x.python))
	}
	return n
}

// expanded replaces wheels for the stable ABI by one for each CPython up to a minor release.
func (s support) expanded(newest int) support {
	out := support{}
	for x := range s {
		if !strings.HasSuffix(x.python, "-abi3") {
			out[x] = true
			continue
		}
		for n := minor(x.python); n >= 0 && n <= newest; n++ {
			out[supported{fmt.Sprintf("cp3%d", n), x.system}] = true
		}
	}
	return out
}

// has reports whether a wheel suits a Python on a system.
func (s support) has(python, system string) bool {
	for _, on := range []string{system, anySystem} {
		if s[supported{python, on}] || s[supported{"py3", on}] && python != "py2" {
			return true
		}
		for n := minor(python); n >= 0; n-- {
			if s[supported{fmt.Sprintf("py3%d", n), on}] || !strings.HasSuffix(python, "t") &&
				s[supported{fmt.Sprintf("cp3%d-abi3", n), on}] {
				return true
			}
		}
	}
	return false
}

// without lists what other wheels are not built for: a system, a Python, or a Python on a system.
func (s support) without(others support) []string {
	if len(s) > maxSupported || len(others) > maxSupported {
		return nil
	}
	all := s.expanded(max(s.newest(), others.newest()))
	lost := support{}
	for x := range all {
		if !others.has(x.python, x.system) {
			lost[x] = true
		}
	}
	var out []string
	// take names the pairs that a key selects, if all of them are lost.
	take := func(key func(supported) string) {
		kept := map[string]bool{}
		for x := range all {
			if !lost[x] {
				kept[key(x)] = true
			}
		}
		names := map[string]bool{}
		for x := range lost {
			if !kept[key(x)] {
				names[key(x)] = true
				delete(lost, x)
				delete(all, x)
			}
		}
		out = append(out, slices.SortedFunc(maps.Keys(names), func(a, b string) int {
			return cmp.Or(len(a)-len(b), strings.Compare(a, b)) // 3.9 before 3.10
		})...)
	}
	take(func(x supported) string { return systemTitle(x.system) })
	take(func(x supported) string { return pythonTitle(x.python) })
	take(func(x supported) string { return pythonTitle(x.python) + " on " + systemTitle(x.system) })
	return out
}

func systemTitle(system string) string {
	if system == anySystem {
		return "other systems"
	}
	return system
}

// pythonTitle returns the name of a Python: "CPython 3.12" for "cp312".
func pythonTitle(python string) string {
	for _, implementation := range [][2]string{
		{"cp", "CPython "}, {"pp", "PyPy "}, {"py", "Python "},
	} {
		version, ok := strings.CutPrefix(python, implementation[0])
		version, freeThreaded := strings.CutSuffix(version, "t")
		if !ok || version == "" || strings.Trim(version, "0123456789") != "" {
			continue
		}
		name := implementation[1] + version[:1]
		if len(version) > 1 {
			name += "." + version[1:]
		}
		if freeThreaded {
			name = "free-threaded " + name
		}
		return name
	}
	return python
}
