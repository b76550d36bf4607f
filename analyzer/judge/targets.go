package judge

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/debian"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/analyzer/unpack"
)

// Target is a platform that an artifact is checked on.
type Target struct {
	Platform  *platform.Platform
	Requested bool // the user named it
	// Promised is set if the user named other platforms instead, but pip installs the wheel here
	// because of its tag.
	Promised bool
	// Excluded is set if pip does not install the wheel here, because its tags are for newer
	// versions of the system or for the other C library.
	Excluded bool
}

// Key returns the platform's name with its architecture, as in fix.Scenario.
func (t Target) Key() string { return t.Platform.Name + "/" + t.Platform.Arch }

// Platforms are the platforms that the user specified. The zero value is none.
type Platforms struct {
	Instead []string // instead of those of the artifact's tags
	Also    []string // in addition
	// Root returns an unpacked system for an architecture, which is checked like one of Instead. It
	// returns an error if the system is not for that architecture. It may be nil.
	Root func(arch string) (*platform.Platform, error)
	// Published are the artifacts from which pip will choose. Nil: they are installed, so the tags
	// no longer matter.
	Published Published
}

// Targets returns the platforms of an artifact: those that the user specified, otherwise that of
// its tag or of the glibc that a conda package declares, otherwise every built-in one that has all
// versions that it needs. A specified one is left out if another published wheel is for it. Those
// of the tags follow the specified ones as Promised. skipped lists what is not checked on which
// platform, with the reason. Targets returns an error for a platform that supports none of the
// architectures. Libraries of others that it needs count as its own; nil: there are none.
func Targets(
	f *facts.Artifact,
	others Providers,
	o Platforms,
) (out []Target, skipped []string, err error) {
	archs := architectures(f)
	named := slices.Concat(o.Instead, o.Also)
	skip := func(format string, args ...any) {
		if why := fmt.Sprintf(format, args...); !slices.Contains(skipped, why) {
			skipped = append(skipped, why)
		}
	}
	switch { // files for other systems are errors there
	case len(f.Wasm) > 0:
		out = pyodideTargets(f, o, skip)
		return append(out, o.promised(f, out)...), skipped, nil
	case f.ForIOS() && len(f.MachO) > 0:
		out = iOSTargets(f, o, skip)
		return append(out, o.promised(f, out)...), skipped, nil
	}
	for _, arch := range archs {
		switch own := f.RootPlatform(arch); {
		case len(o.Instead) > 0 || o.Root != nil:
		case own != nil:
			out = append(out, Target{Platform: own})
		case f.Root() && hasLoader(f, archs):
			skip("its objects for %s, because it has no loader for them", arch)
		default:
			out = append(out, defaultTargets(f, others, arch)...)
		}
		for _, name := range named {
			if platform.SystemOf(name) != platform.Linux {
				continue
			}
			p, err := platform.Lookup(name, arch)
			switch {
			case err != nil && !slices.ContainsFunc(archs, func(a string) bool {
				_, err := platform.Lookup(name, a)
				return err == nil
			}):
				return nil, nil, err
			case err != nil:
				skip("its objects for %s, because compat has no data of %s for it", arch, name)
			case !slices.Contains(archs, p.Arch):
				skip("its objects, because none is for %s", p.Arch)
			case slices.ContainsFunc(out, func(t Target) bool {
				return t.Platform.Name == p.Name && t.Platform.Arch == p.Arch
			}):
			default:
				out = o.request(f, p, out, skip)
			}
		}
		if o.Root != nil {
			p, err := o.Root(arch)
			switch {
			case err == nil:
				out = append(out, Target{Platform: p, Requested: true})
			case len(archs) == 1:
				return nil, nil, err
			default:
				skip("its objects for %s in the root: %v", arch, err)
			}
		}
	}
	if len(f.Objects) > 0 && len(out) == 0 && len(skipped) == 0 && len(o.Instead) > 0 {
		var of []string
		for _, x := range f.Objects {
			of = append(of, x.Arch())
		}
		skip("%s", o.ofOthers("ELF", "Linux", of, "manylinux_2_28"))
	}
	out = append(out, windowsTargets(f, o, skip)...)
	out = append(out, macOSTargets(f, o, skip)...)
	out = append(out, androidTargets(f, o, skip)...)
	return append(out, o.promised(f, out)...), skipped, nil
}

// hasLoader reports whether a root has a loader for one of some architectures.
func hasLoader(f *facts.Artifact, archs []string) bool {
	return slices.ContainsFunc(archs, func(a string) bool { return f.RootPlatform(a) != nil })
}

// NotJudged returns why a wheel is not checked, or "": nobody knows which systems pip installs it
// on if none of its platform tags is known. The tags of a wheel that is installed, or is checked on
// platforms that the user named, do not matter.
func NotJudged(f *facts.Artifact, o Platforms) string {
	tags := f.PlatformTags()
	if len(tags) == 0 || o.Published == nil || len(o.Instead) > 0 || o.Root != nil {
		return ""
	}
	for _, t := range tags {
		switch tag := platform.ParseTag(t); tag.System {
		case platform.TagUnknown:
		case platform.TagAndroid:
			if tag.Android() != nil {
				return ""
			}
		case platform.TagIOS:
			if tag.IOS() != nil || len(f.MachO) == 0 {
				return ""
			}
		case platform.TagWebAssembly:
			if tag.Pyodide() != nil || len(f.Wasm) == 0 {
				return ""
			}
		case platform.TagLinux:
			// armv6l and armv8l have the libraries of armv7l, and x86_64_v3 those of x86_64
			if strings.HasPrefix(tag.Arch, "armv") ||
				slices.ContainsFunc(platform.Architectures(), func(a string) bool {
					return strings.HasPrefix(tag.Arch, a)
				}) {
				return ""
			}
		default:
			return ""
		}
	}
	return fmt.Sprintf("compat does not check wheels with the platform tag %s", tags[0])
}

// ofOthers says that files for a system are not checked, because the user named platforms of
// others. archs are those of the files, and example is a platform of their system.
func (o *Platforms) ofOthers(files, system string, archs []string, example string) string {
	slices.Sort(archs)
	why := "the root is a Linux system"
	switch len(o.Instead) {
	case 0:
	case 1:
		other := map[string]string{
			platform.Linux: "Linux", platform.MacOS: "macOS", platform.Windows: "Windows",
			platform.Android: "Android", platform.Emscripten: "Pyodide",
			platform.IOS: "iOS",
		}[platform.SystemOf(o.Instead[0])]
		why = o.Instead[0] + " is a platform of " + other
	default:
		why = result.List(o.Instead, 3, len(o.Instead), "platform") + " are for other systems"
	}
	return fmt.Sprintf(
		"its %s files for %s %s, because %s; name one of %s, such as %s, or no platform",
		files, system, strings.Join(slices.Compact(archs), ", "), why, system, example,
	)
}

// request appends a platform that the user named, unless another published wheel is for it.
func (o *Platforms) request(
	f *facts.Artifact,
	p *platform.Platform,
	to []Target,
	skip func(format string, args ...any),
) []Target {
	if other := o.Published.instead(f, p); other != nil {
		skip("on %s, because %s is for it", p.Name, path.Base(other.Path))
		return to
	}
	return append(to, Target{
		Platform:  p,
		Requested: true,
		Excluded:  o.Published != nil && f.Wheel != nil && excludes(f.Wheel.Tags, p),
	})
}

// promised returns the platforms of a wheel's tags that the user replaced by others.
func (o *Platforms) promised(f *facts.Artifact, requested []Target) (out []Target) {
	if len(o.Instead) == 0 || o.Published == nil {
		return nil
	}
	var archs []string
	for _, t := range requested {
		if a := t.Platform.Arch; !slices.Contains(archs, a) {
			archs = append(archs, a)
		}
	}
	for _, arch := range archs {
		for _, p := range slices.Concat(
			claimed(f, arch), claimedMacOS(f, arch), claimedAndroid(f, arch), claimedIOS(f, arch),
			claimedPyodide(f),
		) {
			if !slices.ContainsFunc(requested, func(t Target) bool {
				return t.Key() == Target{Platform: p}.Key()
			}) {
				out = append(out, Target{Platform: p, Promised: true})
			}
		}
	}
	return out
}

// defaultTargets returns the platforms of an architecture if the user specified none.
func defaultTargets(f *facts.Artifact, others Providers, arch string) []Target {
	var out []Target
	for _, p := range claimed(f, arch) {
		out = append(out, Target{Platform: p})
	}
	if p := declared(f, arch); p != nil {
		out = append(out, Target{Platform: p})
	}
	if out != nil {
		return out
	}
	loaded, all := others.loaded(f), distributionsOf(f, arch)
	for _, libc := range f.Libcs(arch) {
		var newest *platform.Platform
		before := len(out)
		for _, p := range all {
			if p.Libc != libc {
				continue
			}
			newest = p
			if !p.Extinct() && !lacksSymbol(p, all, loaded) &&
				!slices.ContainsFunc(loaded, func(a *facts.Artifact) bool {
					return len(missingVersions(p, a, arch)) > 0
				}) {
				out = append(out, Target{Platform: p})
			}
		}
		if len(out) == before && newest != nil {
			out = append(out, Target{Platform: newest})
		}
	}
	return out
}

// lacksSymbol reports whether a platform with musl is too old for artifacts: their objects need a
// symbol of a library that the newest one has and this one does not. Symbols have no versions
// there, which would say so. A policy is as old as the oldest release with its libc.
func lacksSymbol(p *platform.Platform, all []*platform.Platform, loaded []*facts.Artifact) bool {
	if p.Libc != "musl" {
		return false
	}
	var newest *platform.Platform
	for _, q := range all {
		if q.Libc != "musl" || q.Kind != platform.Distribution {
			continue
		}
		if p.Kind == platform.Policy && strings.HasPrefix(q.LibcVersion, p.LibcVersion+".") {
			p = q
		}
		newest = q
	}
	if newest == nil {
		return false
	}
	lacks := func(o *facts.Object, name string) bool {
		return slices.ContainsFunc(o.Needed, func(n string) bool {
			now, then := newest.Library(n), p.Library(n)
			return now != nil && then != nil && then.Known && now.Has(name, "") && !then.Has(name, "")
		})
	}
	return slices.ContainsFunc(loaded, func(a *facts.Artifact) bool {
		return slices.ContainsFunc(a.Objects, func(o *facts.Object) bool {
			return o.Arch() == p.Arch && o.Musl() &&
				o.Imports.Any(func(name string) bool { return lacks(o, name) })
		})
	})
}

// packagesOf are the names of the distributions, without release, whose packages have a format.
var packagesOf = map[string][]string{
	unpack.FormatDeb: {"debian", "ubuntu"},
	unpack.FormatRPM: {"rhel", "amazonlinux", "sles"},
	unpack.FormatAPK: {"alpine"},
}

// distributionsOf returns the platforms of an architecture that an artifact may be for: all, or of
// a package those of its distributions, if they are known. A deb is for the releases that have the
// packages which it depends on: libssl3 is in Debian 12, and libssl3t64 in Debian 13.
func distributionsOf(f *facts.Artifact, arch string) (on []*platform.Platform) {
	all, family := platform.All(arch), packagesOf[f.Format]
	for _, p := range all {
		if slices.Contains(family, strings.TrimRight(p.Name, "0123456789.")) {
			on = append(on, p)
		}
	}
	if on == nil {
		return all
	}
	if f.Format != unpack.FormatDeb {
		return on
	}
	fits := slices.DeleteFunc(slices.Clone(on), func(p *platform.Platform) bool {
		own := p.Packages()
		return own == nil || slices.ContainsFunc(f.Depends, func(d string) bool {
			return !slices.Contains(own, d) && slices.ContainsFunc(own, func(other string) bool {
				return debian.Releases(other, d)
			})
		})
	})
	if len(fits) > 0 {
		return fits
	}
	return on
}

// Lacking are systems that do not have a symbol version, the newest first.
type Lacking struct {
	Version string
	Systems []string // titles
}

// TooOld returns the systems that the default targets of a wheel leave out because they do not have
// its symbol versions, by the version that they lack: that of the libc, if they lack it. There are
// none if its tag names a system, or the user does.
func TooOld(f *facts.Artifact, others Providers, targets []Target) []Lacking {
	var out []Lacking
	if f.Wheel == nil || len(f.Wasm) > 0 || f.ForIOS() ||
		slices.ContainsFunc(targets, func(t Target) bool { return t.Requested }) {
		return nil
	}
	loaded := others.loaded(f)
	for _, arch := range architectures(f) {
		if len(claimed(f, arch)) > 0 {
			continue
		}
		for _, p := range slices.Backward(platform.All(arch)) {
			if !slices.Contains(f.Libcs(arch), p.Libc) || p.Kind == platform.Policy || p.Extinct() ||
				slices.ContainsFunc(targets, func(t Target) bool { return t.Platform == p }) {
				continue
			}
			version := newestMissing(p, loaded, arch)
			if version == "" {
				continue
			}
			i := slices.IndexFunc(out, func(l Lacking) bool { return l.Version == version })
			if i < 0 {
				i = len(out)
				out = append(out, Lacking{Version: version})
			}
			out[i].Systems = append(out[i].Systems, platform.Title(p.Name))
		}
	}
	slices.SortStableFunc(out, func(a, b Lacking) int { return len(b.Systems) - len(a.Systems) })
	return out
}

// newestMissing returns the newest version of the libc that a platform lacks, else the first that
// it lacks of another library; "" if it lacks none.
func newestMissing(p *platform.Platform, loaded []*facts.Artifact, arch string) string {
	libc, other := "", ""
	for _, a := range loaded {
		for _, v := range missingVersions(p, a, arch) {
			number, of := strings.CutPrefix(v, "GLIBC_")
			switch {
			case !of || !strings.HasPrefix(number, "2."): // GLIBC_ABI_DT_RELR is no number
				other = cmp.Or(other, v)
			case libc == "" || platform.Older(strings.TrimPrefix(libc, "GLIBC_"), number):
				libc = v
			}
		}
	}
	return cmp.Or(libc, other)
}

// Providers are the artifacts of a check by the libraries that they contain, with the SONAME or
// else the name of the file as key.
type Providers map[string][]*facts.Artifact

// ProvidersOf returns the providers among artifacts that see each other.
func ProvidersOf(artifacts []*facts.Artifact) Providers {
	out := Providers{}
	for _, a := range artifacts {
		for _, o := range a.Objects {
			name := o.SONAME
			if name == "" {
				name = path.Base(o.Path)
			}
			out[name] = append(out[name], a)
		}
	}
	return out
}

// loaded returns an artifact and those with a library that it needs, or that one of them needs in
// turn.
func (x Providers) loaded(f *facts.Artifact) []*facts.Artifact {
	all, seen := []*facts.Artifact{f}, map[*facts.Artifact]bool{f: true}
	for i := 0; i < len(all); i++ {
		for _, o := range all[i].Objects {
			for _, name := range o.Needed {
				for _, a := range x[name] {
					if !seen[a] {
						seen[a], all = true, append(all, a)
					}
				}
			}
		}
	}
	return all
}

// claimed returns the oldest platforms among the wheel's tags for an architecture, which
// determine where pip installs the wheel: one for each libc, in the order of the tags. There are
// none if no tag names one.
func claimed(f *facts.Artifact, arch string) (oldest []*platform.Platform) {
	if f.Wheel == nil {
		return nil
	}
	for _, t := range f.Wheel.Tags {
		if tag := platform.ParseTag(t.Platform); tag.Libc == "" || tag.Arch != arch {
			continue
		}
		p, err := platform.Lookup(t.Platform, arch)
		if err != nil {
			continue
		}
		oldest = withOldest(oldest, p)
	}
	return oldest
}

// withOldest adds a platform to a list, in which it replaces a newer one with the same C library
// and architecture, or is left out for an older one.
func withOldest(list []*platform.Platform, p *platform.Platform) []*platform.Platform {
	at := slices.IndexFunc(list, func(q *platform.Platform) bool {
		return q.Libc == p.Libc && q.Arch == p.Arch
	})
	switch {
	case at < 0:
		return append(list, p)
	case platform.Older(p.LibcVersion, list[at].LibcVersion):
		list[at] = p
	}
	return list
}

// declared returns the platform with the oldest glibc that a conda package allows, or nil if it
// names none that is still supported.
func declared(f *facts.Artifact, arch string) *platform.Platform {
	if f.Glibc == "" {
		return nil
	}
	p, err := platform.Lookup("manylinux_"+strings.Replace(f.Glibc, ".", "_", 1), arch)
	if err != nil || p.Extinct() {
		return nil
	}
	return p
}

// architectures returns the architectures of the objects; for a wheel, those that its tags
// name, if any. If a wheel has no object for them, they are those of its tags for Linux, on which
// its objects are then not found.
func architectures(f *facts.Artifact) []string {
	var out []string
	for _, o := range f.Objects {
		if a := o.Arch(); !slices.Contains(out, a) && platform.All(a) != nil {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	if f.Wheel == nil {
		return out
	}
	tagged := slices.DeleteFunc(slices.Clone(out), func(a string) bool { return !f.Tagged(a) })
	if len(tagged) > 0 || len(out) == 0 {
		return tagged
	}
	for _, arch := range platform.Architectures() {
		if slices.ContainsFunc(f.Wheel.Tags, func(t pkgmeta.Tag) bool {
			tag := platform.ParseTag(t.Platform)
			return tag.System == platform.TagLinux && tag.Arch == arch
		}) {
			tagged = append(tagged, arch)
		}
	}
	if len(tagged) > 0 {
		return tagged
	}
	return out
}

// missingVersions returns the versions that the objects need from a platform's libraries and that
// these do not have.
func missingVersions(p *platform.Platform, f *facts.Artifact, arch string) (missing []string) {
	for _, o := range f.Objects {
		if o.Arch() != arch || f.ForOtherLibc(o, p.Libc) {
			continue
		}
		for _, need := range o.VersionNeeds {
			l := p.Library(need.Library)
			if l == nil || !l.Known || f.ReplacesSystem(need.Library) {
				continue
			}
			for _, v := range need.Versions {
				if !l.HasVersion(v.Name) && !v.Weak {
					missing = append(missing, v.Name)
				}
			}
		}
	}
	return missing
}
