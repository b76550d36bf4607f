package judge

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dyld"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/macos"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// MacOSLoad is how the Mach-O files of an artifact load on one architecture of macOS.
type MacOSLoad struct {
	*dyld.Environment
	Loads []*dyld.Loading
	// Primary are the images that must load: modules that Python imports and programs, with their
	// dependencies, or in an artifact without modules all images.
	Primary map[*dyld.Image]bool

	bindings map[*dyld.Image][]dyld.Binding
}

// Failed returns the imports of an image that are not bound.
func (m *MacOSLoad) Failed(i *dyld.Image) []dyld.Binding {
	out, ok := m.bindings[i]
	if !ok {
		for b := range m.Bind(i) {
			if b.Outcome != dynlink.Bound {
				out = append(out, b)
			}
		}
		m.bindings[i] = out
	}
	return out
}

// installed returns the path of a member of an artifact after installation.
func installed(f *facts.Artifact, member string) string {
	if f.Kind != facts.KindWheel {
		return path.Join("/"+dynlink.Prefix, member)
	}
	return dynlink.Installed("/"+dynlink.Site, member)
}

// loadMacOS loads the Mach-O files of an artifact, of other inputs and of packages, with the
// changes of a scenario.
func (s *Session) loadMacOS(c Case, with *packages.Set) *MacOSLoad {
	os, err := machoobj.ParseVersion(c.Target.Platform.LibcVersion)
	if err != nil {
		os = 0 // a platform without a version has everything; Lookup returns none
	}
	var files []dyld.File
	together := append([]*facts.Artifact{c.Artifact},
		s.alongside(c.Artifact, c.Target.Platform, with)...)
	for _, f := range together {
		for _, m := range f.MachO {
			file := dyld.File{Path: installed(f, m.Path), Name: m.Path, Slices: m.Slices,
				Kind: dynlink.FromArtifact}
			if f != c.Artifact {
				file.Kind, file.Origin = dynlink.FromPackage, f.Path
			} else {
				file.Slices = edited(m, c.Scenario)
			}
			files = append(files, file)
		}
		for _, p := range f.UnreadMachO {
			files = append(files, dyld.File{Path: installed(f, p), Name: p, Unread: true,
				Kind: dynlink.FromArtifact})
		}
	}
	imported := s.imports(c.Artifact, with)
	for r := range with.All() {
		for _, l := range r.Libraries {
			files = append(files, dyld.File{Path: path.Join("/"+dynlink.Site, l.Path), Name: l.Path,
				Slices: l.MachO, Unread: l.MachO == nil, Kind: dynlink.FromPackage, Origin: r.ID().String(),
				Imported: imported[r.Name]})
		}
	}
	m := &MacOSLoad{Environment: dyld.NewEnvironment(c.Target.Platform.Arch, os, files),
		Primary: map[*dyld.Image]bool{}, bindings: map[*dyld.Image][]dyld.Binding{}}
	m.Python = macOSPython(c.Artifact)
	m.Preloaded = func(root *dyld.Image) []string {
		if root.Kind != dynlink.FromArtifact || !root.Module() {
			return nil
		}
		return preloaded(c.Artifact, strings.TrimPrefix(root.Path, "/"+dynlink.Site+"/"))
	}
	m.Loads = slices.DeleteFunc(slices.Clone(m.LoadAll()), func(l *dyld.Loading) bool {
		return l.Root.Kind != dynlink.FromArtifact
	})
	modules := slices.ContainsFunc(m.Loads, func(l *dyld.Loading) bool { return l.Root.Module() })
	for _, l := range m.Loads {
		if !modules || l.Root.Module() {
			for _, f := range l.Found {
				m.Primary[f.Image] = true
			}
		}
	}
	return m
}

// preloaded returns the files that the Python sources of an artifact load before one of its
// modules, by the module's path relative to site-packages.
func preloaded(f *facts.Artifact, module string) []string {
	var out []string
	for _, p := range f.Startup.Of(module).Preloaded {
		at := path.Join("/"+dynlink.Site, p)
		if folder, all := strings.CutSuffix(at, "/*"); all {
			for _, m := range f.MachO {
				if to := installed(f, m.Path); path.Dir(to) == folder {
					out = append(out, to)
				}
			}
			continue
		}
		out = append(out, at)
	}
	return out
}

// edited returns the slices of a file with the changes of a scenario to its load commands.
func edited(m *facts.MachObject, s fix.Scenario) []machoobj.Slice {
	more, changed := fix.Folders(s.RunPath[m.Path]), s.Paths[m.Path]
	if more == nil && changed == nil {
		return m.Slices
	}
	out := slices.Clone(m.Slices)
	for n := range out {
		if out[n].Object == nil {
			continue
		}
		o := *out[n].Object
		o.RunPaths = slices.Concat(o.RunPaths, more)
		o.Needed = slices.Clone(o.Needed)
		for k := range o.Needed {
			if to, ok := changed[o.Needed[k].Path]; ok {
				o.Needed[k].Path = to
			}
		}
		out[n].Object = &o
	}
	return out
}

// macOSPython returns the release of CPython that loads the modules of an artifact, or "" if
// there are several or none is named.
func macOSPython(f *facts.Artifact) string {
	releases := map[string]bool{}
	if f.Wheel != nil {
		for _, t := range f.Wheel.Tags {
			v, ok := strings.CutPrefix(t.Python, "cp3")
			if !ok || v == "" || t.ABI == "abi3" || t.ABI == "none" ||
				strings.HasSuffix(t.ABI, "t") {
				return ""
			}
			releases["3."+v] = true
		}
	} else {
		for _, m := range f.MachO {
			if v := machModule.FindStringSubmatch(m.Path); v != nil {
				releases["3."+v[1]] = true
			}
		}
	}
	if len(releases) != 1 {
		return ""
	}
	for r := range releases {
		return r
	}
	return ""
}

// machModule matches a module for one release of CPython without variants.
var machModule = lazyregexp.New(`\.cpython-3(\d+)-darwin\.so$`)

// macOSTargets returns the versions of macOS on which an artifact is checked, one per
// architecture: those that the user named, otherwise those of its tags, otherwise the newest
// that a file was built for. skip is called with what is not checked, and why.
func macOSTargets(
	f *facts.Artifact,
	o Platforms,
	skip func(format string, args ...any),
) (out []Target) {
	if len(f.MachO) == 0 {
		return nil
	}
	own := builtFor(f)
	named := map[string]bool{} // architectures
	for _, name := range slices.Concat(o.Instead, o.Also) {
		if platform.SystemOf(name) != platform.MacOS {
			continue
		}
		for _, t := range own {
			p, err := platform.Lookup(name, t.Arch)
			if err == nil && p.OS == platform.MacOS && p.Arch == t.Arch {
				named[t.Arch] = true
				out = o.request(f, p, out, skip)
			}
		}
	}
	if len(o.Instead) > 0 || o.Root != nil {
		var of []string
		for _, t := range own {
			of = append(of, t.Arch)
		}
		for _, t := range own {
			switch {
			case len(named) == 0 && !slices.ContainsFunc(o.Instead, func(name string) bool {
				return platform.SystemOf(name) == platform.MacOS
			}):
				skip("%s", o.ofOthers("Mach-O", "macOS", of, "macos14"))
			case !named[t.Arch]:
				skip("its Mach-O files for %s, because no macOS version was named for it; name one, "+
					"such as macos14, or no platform", t.Arch)
			}
		}
		return out
	}
	tagged, others := macOSTags(f)
	switch {
	case tagged != nil:
		own = macos.Merge(tagged)
	case others != nil:
		skip("its Mach-O files, because its tags are for other systems (%s)",
			strings.Join(others, ", "))
		return out
	}
	for _, t := range own {
		out = append(out, Target{Platform: platform.OfMacOS(t.Oldest.String(), t.Arch)})
	}
	return out
}

// macOSTags returns what the tags of a wheel promise on macOS, and the platforms of other systems
// among them.
func macOSTags(f *facts.Artifact) (tagged []macos.Target, others []string) {
	if f.Wheel == nil {
		return nil, nil
	}
	for _, t := range f.Wheel.Tags {
		promised := platform.ParseTag(t.Platform).MacOS()
		tagged = append(tagged, promised...)
		if promised == nil && t.Platform != "any" {
			others = append(others, t.Platform)
		}
	}
	return tagged, others
}

// claimedMacOS is claimed for macOS: at most one platform, the oldest of the architecture.
func claimedMacOS(f *facts.Artifact, arch string) (oldest []*platform.Platform) {
	if len(f.MachO) == 0 {
		return nil
	}
	tagged, _ := macOSTags(f)
	for _, t := range macos.Merge(tagged) {
		if t.Arch == arch {
			oldest = append(oldest, platform.OfMacOS(t.Oldest.String(), t.Arch))
		}
	}
	return oldest
}

// builtFor returns the newest macOS version in the files of each architecture.
func builtFor(f *facts.Artifact) []macos.Target {
	newest := map[string]machoobj.Version{}
	for _, m := range f.MachO {
		for _, s := range m.Slices {
			if s.Object != nil && s.Object.Type.Loadable() {
				newest[s.Arch] = max(newest[s.Arch], s.Object.MinOS)
			}
		}
	}
	var out []macos.Target
	for arch, os := range newest {
		out = append(out, macos.Target{Arch: arch, Oldest: os})
	}
	return macos.Merge(out)
}
