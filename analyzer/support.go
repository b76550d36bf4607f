package analyzer

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// WheelFile is a wheel as far as it decides where it can be installed.
type WheelFile struct {
	Name           string // of the file
	RequiresPython string // "" = any, or not known
}

// Wheels returns the wheels among a report's artifacts.
func Wheels(r *Report) []WheelFile {
	list := []WheelFile{}
	for _, a := range r.Artifacts {
		if a.Wheel != nil {
			list = append(list, WheelFile{path.Base(a.Path), a.Wheel.RequiresPython})
		}
	}
	return list
}

// RuleSupportRemoved is the rule of the findings of AddLostSupport.
const RuleSupportRemoved = "support-removed"

// AddLostSupport adds a finding to a report with causes for each platform and Python for which the
// base has a wheel of a project and the report has wheels of the project, but none for these.
// before are the base's wheels; base is its name in messages, "" for "the base".
// Severities and acceptances are those of the options. A finding that is a note has no cause, so
// there is a note of the report for all of a project.
func (a *Analyzer) AddLostSupport(r *Report, before []WheelFile, base string, o Options) {
	now := Wheels(r)
	limited := limitedProjects(slices.Concat(before, now))
	had, has := supports(before, limited), supports(now, limited)
	lost := result.New(r.Tool.Version)
	lost.Artifacts = r.Artifacts
	for _, project := range slices.Sorted(maps.Keys(has)) {
		for _, what := range had[project].without(has[project]) {
			lost.Findings = append(lost.Findings, Finding{
				Rule: RuleSupportRemoved, Severity: Note, New: true,
				Artifact: wheelOf(r, project), Object: project, Package: project, Version: what,
				Message: lostSupport(project, what, base),
			})
		}
	}
	if len(lost.Findings) == 0 {
		return
	}
	// before the findings are sorted by text, because 3.9 is before 3.10
	order := slices.Clone(lost.Findings)
	conclude(lost, a.rules, o, nil)
	isNote := map[string]bool{}
	for i := range lost.Findings {
		isNote[lost.Findings[i].Identity()] = lost.Findings[i].Severity == Note
	}
	notes := map[string][]string{}
	for i := range order {
		if f := &order[i]; isNote[f.Identity()] {
			notes[f.Object] = append(notes[f.Object], f.Version)
		}
	}
	for _, project := range slices.Sorted(maps.Keys(notes)) {
		const shown = 8
		all := notes[project]
		r.AddNote(lostSupport(project, List(all, shown, len(all), "platform"), base))
	}
	lost.Artifacts = nil
	r.Merge(lost)
	slices.SortStableFunc(r.Causes, func(a, b Cause) int {
		return b.Severity.Rank() - a.Severity.Rank()
	})
}

// lostSupport returns the message about platforms.
func lostSupport(project, platforms, base string) string {
	return fmt.Sprintf("%s has no wheel for %s, but %s has; pip builds it from source there or "+
		"installs an older release", project, platforms, cmp.Or(base, "the base"))
}

// wheelOf returns the path of the first wheel of a project in a report.
func wheelOf(r *Report, project string) string {
	i := slices.IndexFunc(r.Artifacts, func(a Artifact) bool {
		w, err := pkgmeta.ParseWheelName(path.Base(a.Path))
		return err == nil && pkgmeta.Normalize(w.Name) == project
	})
	return r.Artifacts[i].Path
}

// supported is a Python on a system for which a wheel is built.
type supported struct{ python, system string }

func (x supported) compare(y supported) int {
	return cmp.Or(strings.Compare(x.system, y.system), strings.Compare(x.python, y.python))
}

// suits reports whether a wheel for x is also one for y.
func (x supported) suits(y supported) bool {
	_, ok := support{x: 0}.has(y.python, y.system)
	return ok
}

// support is what the wheels of a project are built for, with the oldest version of the system as
// major*1000+minor; 0 if the tag has none.
type support map[supported]int

// add adds a pair, unless it is there for an older version.
func (s support) add(x supported, version int) {
	if old, ok := s[x]; !ok || version < old {
		s[x] = version
	}
}

// Counterparts returns those of the earlier wheels that suit the Pythons and systems of wheels of
// the same project, in the order of before: one for each pair of Python and system. All are file
// names.
func Counterparts(wheels, before []string) []string {
	at := map[string]map[supported]string{} // by project
	for _, file := range before {
		for project, pairs := range supports([]WheelFile{{Name: file}}, nil) {
			if at[project] == nil {
				at[project] = map[supported]string{}
			}
			for x := range pairs {
				if len(at[project]) <= maxSupported {
					at[project][x] = cmp.Or(at[project][x], file)
				}
			}
		}
	}
	chosen := map[string]bool{}
	var list []WheelFile
	for _, file := range wheels {
		list = append(list, WheelFile{Name: file})
	}
	for project, now := range supports(list, nil) {
		pairs := slices.SortedFunc(maps.Keys(at[project]), supported.compare)
		for x := range now {
			y := x
			if at[project][x] == "" { // wheels for the stable ABI and for any Python or system
				i := slices.IndexFunc(pairs, func(y supported) bool { return x.suits(y) || y.suits(x) })
				if i < 0 {
					continue
				}
				y = pairs[i]
			}
			chosen[at[project][y]] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(before), func(file string) bool { return !chosen[file] })
}

// Limits of what is compared; file names are not trusted. The newest Python that a tag may name
// is 3.99, and a project with more distinct pairs is not compared.
const (
	maxMinor     = 99
	maxSupported = 2_000
)

// limitedProjects returns the projects, by normalized name, of which all wheels have a
// Requires-Python that can be read. Without one it is not known which Pythons a wheel is for.
func limitedProjects(wheels []WheelFile) map[string]bool {
	out := map[string]bool{}
	for _, x := range wheels {
		w, err := pkgmeta.ParseWheelName(x.Name)
		if err != nil {
			continue
		}
		name := pkgmeta.Normalize(w.Name)
		spec, err := pkgmeta.ParseSpec(x.RequiresPython)
		known := err == nil && spec.String() != "" && packages.Interpreters(x.RequiresPython)[0] != ""
		if before, seen := out[name]; seen {
			known = known && before
		}
		out[name] = known
	}
	return out
}

// supports returns what wheels are built for, by normalized project. Of limited projects only what
// Requires-Python allows counts.
func supports(wheels []WheelFile, limited map[string]bool) map[string]support {
	out := map[string]support{}
	for _, x := range wheels {
		w, err := pkgmeta.ParseWheelName(x.Name)
		if err != nil {
			continue
		}
		name := pkgmeta.Normalize(w.Name)
		if out[name] == nil {
			out[name] = support{}
		}
		for _, t := range w.Tags {
			pythons := []string{pythonOf(t)}
			if limited[name] {
				pythons = allowed(pythons[0], x.RequiresPython)
			}
			for _, on := range systemsOf(t.Platform) {
				for _, python := range pythons {
					if len(out[name]) <= maxSupported {
						out[name].add(supported{python, on.name}, on.version)
					}
				}
			}
		}
	}
	return out
}

// allowed returns which of the Pythons of a tag, as in pythonOf, a Requires-Python allows: "cp312",
// one of these for each of "cp38-abi3", and "3.12", any implementation, for each of "py3".
func allowed(python, requires string) []string {
	format, oldest := "", minor(python)
	switch {
	case strings.HasSuffix(python, "-abi3"):
		format = "cp3%d"
	case python == "py3" || strings.HasPrefix(python, "py3") && oldest >= 0:
		format = "3.%d"
	}
	if format == "" {
		version := strings.TrimLeft(strings.TrimSuffix(python, "t"), "abcdefghijklmnopqrstuvwxyz")
		switch {
		case len(version) > 1:
			version = version[:1] + "." + version[1:]
		case version == "2":
			version = "2.7"
		}
		_, err := pkgmeta.ParseVersion(version)
		if err == nil && !packages.AdmitsPython(requires, version) &&
			!packages.AdmitsPython(requires, version+".0") {
			return nil
		}
		return []string{python}
	}
	var out []string
	for _, known := range packages.Interpreters(requires) {
		n, err := strconv.Atoi(strings.TrimPrefix(known, "3."))
		if err == nil && n >= oldest {
			out = append(out, fmt.Sprintf(format, n))
		}
	}
	return out
}

// anySystem is the system of wheels with the platform tag "any".
const anySystem = "any"

// system is a system with its architecture, and the oldest version of it or of its libc as
// major*1000+minor; 0 if the tag has none.
type system struct {
	name    string
	version int
}

// windowsNames are the names of architectures of Windows by platform tag.
var windowsNames = map[string]string{"x86": "32-bit", "amd64": "x86-64", "arm64": "ARM64"}

// systemsOf returns the systems of a platform tag. An unknown tag is a system of its own.
func systemsOf(tag string) []system {
	t := platform.ParseTag(tag)
	name, arch := t.System.Name(), t.Arch
	var out []system
	switch t.System {
	case platform.TagMacOS:
		for _, x := range t.MacOS() {
			version := int(x.Oldest>>16)*1000 + int(x.Oldest>>8&0xff)
			out = append(out, system{name + " (" + x.Arch + ")", version})
		}
	case platform.TagWindows:
		arch = windowsNames[arch]
	case platform.TagLinux:
		if t.Libc == "musl" {
			name = "Alpine Linux"
		}
	}
	switch {
	case out != nil:
		return out
	case name == "" || arch == "" || t.System == platform.TagMacOS:
		return []system{{tag, 0}}
	}
	return []system{{name + " (" + arch + ")", t.Ordinal()}}
}

// before names the versions of a system that are older than one: "Linux (x86_64) with glibc before
// 2.28".
func before(name string, version int) string {
	text := fmt.Sprintf("%d.%d", version/1000, version%1000)
	switch {
	case strings.HasPrefix(name, "Linux"):
		return name + " with glibc before " + text
	case strings.HasPrefix(name, "Alpine"):
		return name + " with musl before " + text
	case strings.HasPrefix(name, "Android"):
		return fmt.Sprintf("%s before API level %d", name, version/1000)
	}
	return name + " before " + text
}

// pythonOf returns the Python of a tag: "cp312", "cp312t", "cp38-abi3", "py3", "pp310". Another
// form, "3.12", is that of allowed.
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
// "cp38-abi3" or "py39", and in "3.12"; -1 for others.
func minor(python string) int {
	digits := strings.TrimSuffix(strings.TrimSuffix(python, "-abi3"), "t")
	if rest, ok := strings.CutPrefix(digits, "3."); ok {
		digits = "py3" + rest
	}
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
	for x, version := range s {
		if !strings.HasSuffix(x.python, "-abi3") {
			out.add(x, version)
			continue
		}
		for n := minor(x.python); n >= 0 && n <= newest; n++ {
			out.add(supported{fmt.Sprintf("cp3%d", n), x.system}, version)
		}
	}
	return out
}

// has reports whether a wheel suits a Python on a system, and from which version of the system on.
func (s support) has(python, system string) (oldest int, ok bool) {
	oldest = math.MaxInt
	try := func(x supported) {
		if version, has := s[x]; has {
			oldest, ok = min(oldest, version), true
		}
	}
	for _, on := range []string{system, anySystem} {
		try(supported{python, on})
		if python != "py2" {
			try(supported{"py3", on})
		}
		// Where Requires-Python is compared, "3.12" is what wheels of Python 3 are for. Those of CPython
		// are for it too, because most who run it run CPython.
		if n := minor(strings.Replace(python, "pp3", "py3", 1)); n >= 0 {
			try(supported{fmt.Sprintf("3.%d", n), on})
			if strings.HasPrefix(python, "3.") {
				try(supported{fmt.Sprintf("cp3%d", n), on})
			}
		}
		for n := minor(python); n >= 0; n-- {
			try(supported{fmt.Sprintf("py3%d", n), on})
			if !strings.HasSuffix(python, "t") {
				try(supported{fmt.Sprintf("cp3%d-abi3", n), on})
			}
		}
	}
	return oldest, ok
}

// without lists what other wheels are not built for: a system, a Python, a Python on a system, or
// older versions of a system.
func (s support) without(others support) []string {
	if len(s) > maxSupported || len(others) > maxSupported {
		return nil
	}
	newest := max(s.newest(), others.newest())
	all, now := s.expanded(newest), others.expanded(newest)
	lost, raised := map[supported]bool{}, map[supported]int{}
	for x, version := range all {
		oldest, ok := others.has(x.python, x.system)
		switch {
		case !ok:
			lost[x] = true
		case version > 0 && oldest > version:
			raised[x] = oldest
		}
	}
	var out []string
	// take names the pairs that a key selects, if all of them are lost and no wheel is for another.
	take := func(key func(supported) string) {
		kept := map[string]bool{}
		for x := range now {
			kept[key(x)] = true
		}
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
	kept := map[string]bool{} // systems on which a Python has wheels for the same versions as before
	for x := range all {
		kept[x.system] = kept[x.system] || raised[x] == 0
	}
	names := map[string]bool{}
	for x, version := range raised {
		name := before(x.system, version)
		if kept[x.system] {
			name = pythonTitle(x.python) + " on " + name
		}
		names[name] = true
	}
	return append(out, slices.Sorted(maps.Keys(names))...)
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
	if minor(python) >= 0 {
		return "Python " + python
	}
	return python
}
