package rules

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/staticlink"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

var symbolVersionTooNew = &analyzer.Rule{
	ID:       "symbol-version-too-new",
	Title:    "The object needs a symbol version that the platform does not have",
	Severity: analyzer.Error,
	Doc: `An object imports a symbol with a version node (GLIBC_2.29, GLIBCXX_3.4.21) that the
platform's library does not define. The loader checks the version nodes of every library first,
and fails: "version ` + "`GLIBC_2.29'" + ` not found (required by …)".

The artifact was built on a newer system than its platform tag promises, or a conda package with
its dependency on __glibc: the linker binds to the newest version on the build machine.

Fix: build in the image of the tag, use a newer tag (conda: declare a newer __glibc), or, where the
symbol has an older version, use that one with ` + "`.symver`" + `.

Severity: a warning for a variant for a GPU stack that a program loads only with such a GPU, if
another variant works on the platform; for a tag older than manylinux2014 (manylinux1,
manylinux2010) if the wheel works on every system that is still supported; and where the platform of
the tag is replaced by others that the user named and that have the version.

On macOS symbols have no versions. The finding is about a symbol of libSystem or of the C++ library
that the macOS of the tag does not have yet, and the version is the first macOS that has it. The
load fails with "Symbol not found: _f", "built for macOS 14.0 which is newer than running OS". Fix:
set MACOSX_DEPLOYMENT_TARGET to the macOS of the tag and rebuild, or tag the wheel for the newer
one. Symbols whose age is not known, and weak imports, are not reported.

On Windows the finding is about an export of kernel32.dll, ntdll.dll or advapi32.dll that the oldest
Windows on which the Python of the tag runs does not have: Windows 7 for 3.8, Windows 8.1 for 3.9 to
3.12, Windows 10 since. The version is the first Windows that has it. The load fails with "The
specified procedure could not be found" (error 127). It is an error if Windows 10 does not have the
export, and a warning otherwise. Delay-loaded imports are not reported.

On Android the version is the API level that added the symbol to libc.so, libm.so, libdl.so, libz.so
or liblog.so, and the wheel's tag is for an older one. The load fails with "cannot locate symbol".
Fix: build for the API level of the tag, where the headers of the NDK do not declare the function,
or tag the wheel for the newer one. Weak imports are not reported.

Not detected: symbols that are looked up with dlsym, and versions that only a dependency of a
dependency needs.`,
	Cause: cause.Rule{
		Kind: cause.TooNew, Loader: cause.ReportsVersion,
		Warns: "only some of the systems that it is for are affected",
	},
	Explains: []string{"macos-symbol-not-found", "windows-procedure-not-found", "platform-tag"},
	References: []string{
		"System V gABI, symbol versioning: LSB Core 5.0, chapter 10.7",
		"glibc: elf/dl-version.c",
		"PEP 600",
	},
	Check:   checkSymbolVersion,
	MacOS:   checkVersionTooNewMacOS,
	Android: checkVersionTooNewAndroid,
	Windows: checkVersionTooNewWindows,
}

func checkSymbolVersion(p *analyzer.Pass) {
	retag := sync.OnceValue(func() []fix.Candidate { return retagging(p) })
	retagFor := func(library string) []fix.Candidate {
		if p.Facts.Conda() && platform.LibcOf(library) == "" {
			return []fix.Candidate{{Fix: fix.Fix{
				Kind: fix.KindDependency,
				Title: fix.Titled("Declare the dependency that contains %s, so that the library of "+
					"the system is not used", fix.Library(library)),
			}}}
		}
		return retag()
	}
	described := map[node]string{} // an object with thousands of imports needs few nodes
	firstIn := func(n node) string {
		if _, ok := described[n]; !ok {
			described[n] = since(n.Version, platform.First(p.Platform.Arch, n.Library, n.Version)...)
		}
		return described[n]
	}
	for _, v := range p.Views {
		only := sync.OnceValue(func() string { return onlyWith(p, v) })
		for b := range v.Bindings().Failed() {
			if b.Provider == nil || b.Provider.Kind != dynlink.FromPlatform ||
				b.Outcome != dynlink.NoVersion && b.Outcome != dynlink.NoSymbol {
				continue
			}
			i := b.Import
			if private(p, b) {
				continue // undefined-symbol reports it
			}
			f := analyzer.Finding{
				Object:  v.Path,
				Symbol:  i.Name,
				Version: i.Version,
				Library: i.Library,
				Chain:   analyzer.Chain(append(v.Loading.Chain(v.Library), b.Provider)...),
			}
			if c := copyOfGlibc(v); c != "" && i.Version == "GLIBC_PRIVATE" {
				reportCopyOfGlibc(p, f, c)
				continue
			}
			older := b.Provider.VersionsOf(i.Name)
			f.Message = fmt.Sprintf(
				"%s needs %s, which %s of %s does not provide%s",
				v.Path,
				analyzer.Versioned(i.Name, i.Version),
				b.Provider.Names()[0],
				p.Platform.Name,
				firstIn(node{i.Library, i.Version}),
			)
			f.Headline = f.Message
			if len(older) > 0 {
				f.Message += fmt.Sprintf(
					". %s only has %s",
					p.Platform.Name,
					analyzer.Versioned(i.Name, older[len(older)-1]),
				)
			}
			f.Message += builtWith(v)
			if p.Facts.Glibc == p.Platform.LibcVersion {
				f.Message += ". The package allows glibc " + p.Facts.Glibc
			}
			if !p.Requested && onlyExtinct(p.Platform, i) {
				f.Severity = analyzer.Warning
				f.Message += ". No supported system is that old, but the tag is still wrong"
			} else {
				asVariant(&f, only())
			}
			p.Report(
				f,
				slices.Concat(
					retagFor(i.Library),
					symver(v, i, older),
					fromHeaders(v, i),
					lowering(p, v, i),
				)...)
		}
		for _, n := range bareNodes(v) {
			if !lacksNode(p, n) {
				continue
			}
			f := analyzer.Finding{
				Object:  v.Path,
				Version: n.Version,
				Library: n.Library,
				Chain:   []string{v.Path, n.Library},
				Message: fmt.Sprintf(
					"%s needs the version %s, which %s of %s does not provide%s",
					v.Path,
					n.Version,
					n.Library,
					p.Platform.Name,
					firstIn(n),
				),
			}
			asVariant(&f, only())
			p.Report(
				f,
				slices.Concat(
					retagFor(n.Library),
					packed(n.Version),
					lowering(p, v, elfobj.Import{Version: n.Version, Library: n.Library}),
				)...)
		}
		checkVersionsOfSystem(p, v)
	}
}

// checkVersionsOfSystem reports the versions that libraries of an unpacked system, which an object
// loads, need and that other libraries of the system do not define. Of an image each of them is an
// object itself.
func checkVersionsOfSystem(p *analyzer.Pass, v *analyzer.View) {
	if p.Platform.Kind != platform.System || p.Facts.Root() {
		return
	}
	for _, f := range v.Loading.Found {
		l := p.Platform.Library(f.Library.SONAME)
		if f.Library.Kind != dynlink.FromPlatform || l == nil {
			continue
		}
		o := p.Platform.Open(l.Path)
		if o == nil {
			continue
		}
		for _, need := range o.VersionNeeds {
			in := p.Platform.Library(need.Library)
			for _, n := range need.Versions {
				// the loader only warns where a library has no versions at all
				if in == nil || len(in.Versions) == 0 || n.Weak || in.HasVersion(n.Name) {
					continue
				}
				p.Report(analyzer.Finding{
					Object:  v.Path,
					Version: n.Name,
					Library: need.Library,
					Chain:   append(analyzer.Chain(v.Loading.Chain(f.Library)...), need.Library),
					Message: fmt.Sprintf("%s, which %s loads, needs the version %s, which %s of %s does "+
						"not provide%s", l.SONAME, v.Path, n.Name, need.Library, p.Platform.Name,
						since(n.Name, platform.First(p.Platform.Arch, need.Library, n.Name)...)),
				})
			}
		}
	}
}

// partOfGlibc matches the name that auditwheel gives to a copy of a library of glibc.
var partOfGlibc = lazyregexp.New(
	`^(lib(?:mvec|m|c|dl|rt|pthread|resolv|util|anl|nsl|nss_\w+|thread_db))-[-0-9a-f.]+\.so`)

// copyOfGlibc returns the library of glibc that an object is a copy of: libmvec; "" for others.
func copyOfGlibc(v *analyzer.View) string {
	if m := partOfGlibc.FindStringSubmatch(path.Base(v.Path)); m != nil {
		return m[1]
	}
	return ""
}

// reportCopyOfGlibc reports a copy of a library of glibc. It is loaded, because all releases have
// the internal symbols, but may misread the data of another release.
func reportCopyOfGlibc(p *analyzer.Pass, f analyzer.Finding, library string) {
	f.Severity = analyzer.Warning
	f.Message = fmt.Sprintf("%s needs %s of %s, which is internal to glibc and matches only one "+
		"build of it. The file is a copy of %s, which is part of glibc and must not be bundled",
		f.Object, analyzer.Versioned(f.Symbol, f.Version), f.Library, library)
	x := fix.Fix{
		Kind: fix.KindRebuild,
		Title: fix.Titled("Run auditwheel again on the wheel that the build wrote, and exclude %s: "+
			"each system has its own", library),
	}
	if built := builtWheel(p); built != "" {
		x.Command = "auditwheel repair --exclude " + shellword.Quote(library+".so*") + " " + built
	}
	p.Report(f, fix.Candidate{Fix: x})
}

// node is a needed version of a library.
type node struct{ Library, Version string }

// bareNodes are needed versions that no import carries, such as GLIBC_ABI_DT_RELR.
func bareNodes(v *analyzer.View) []node {
	carried := map[node]bool{}
	for _, i := range v.Imports.All() {
		if i.Library != "" || i.Version != "" {
			carried[node{i.Library, i.Version}] = true
		}
	}
	var out []node
	for _, need := range v.VersionNeeds {
		for _, n := range need.Versions {
			if x := (node{need.Library, n.Name}); !n.Weak && !carried[x] {
				out = append(out, x)
			}
		}
	}
	return out
}

// packed returns the flag that disables packed relative relocations and the version that marks
// them.
func packed(version string) []fix.Candidate {
	if version != relrVersion {
		return nil
	}
	return []fix.Candidate{
		{
			Fix: fix.Fix{
				Kind:    fix.KindLinkFlag,
				Title:   fix.Titled("Link without packed relative relocations"),
				Command: "-Wl,-z,nopack-relative-relocs",
			},
		},
	}
}

// onlyExtinct reports whether a platform is older than every supported one, and the oldest of those
// has the import: such manylinux1 and manylinux2010 wheels work wherever they are installed.
func onlyExtinct(p *platform.Platform, i elfobj.Import) bool {
	if !p.Extinct() {
		return false
	}
	living, err := platform.Lookup("manylinux_2_17", p.Arch)
	return err == nil && anywhere(living, i)
}

// since describes the release that added a version, and the oldest systems that have it. It is ""
// for unknown versions.
func since(version string, systems ...string) string {
	s := platform.Describe(version)
	if s == "" {
		return ""
	}
	if len(systems) > 0 {
		s += "; the oldest known systems with it: " + strings.Join(systems, ", ")
	}
	return ". " + s
}

// builtWith names the compiler in .comment, since the build image is the usual cause.
func builtWith(v *analyzer.View) string {
	if len(v.Comment) == 0 {
		return ""
	}
	last := v.Comment[len(v.Comment)-1]
	text, gcc := strings.CutPrefix(last, "GCC: (")
	vendor, version, found := strings.Cut(text, ") ")
	switch {
	case gcc && found && vendor == "GNU":
		return ". Built with GCC " + version
	case gcc && found:
		return ". Built with GCC " + version + " (" + vendor + ")"
	}
	return ". Compiler: " + last
}

// retagging returns the oldest policy that has every symbol, and the build image of the tag. For a
// conda package it returns what to declare of glibc, and the sysroot.
func retagging(p *analyzer.Pass) []fix.Candidate {
	conda := p.Facts.Glibc != ""
	switch {
	case !conda && p.Facts.Kind != analyzer.KindWheel:
		return nil
	case p.Platform.Kind == platform.Policy:
	case p.Platform.Kind == platform.Distribution && !conda:
		return olderImage(p, "") // a tag does not name it
	default:
		return nil
	}
	var unversioned []string
	later := newLaterSymbols(p.Platform)
	for _, v := range p.Views {
		for b := range undefined(p, v) {
			if n := later.node(b.Import); n != (node{}) && !slices.Contains(unversioned, n.Version) {
				unversioned = append(unversioned, n.Version)
			}
		}
	}
	oldest := platform.OldestTag(p.Facts.PlatformTags(), p.Platform.Arch, p.Platform.Libc)
	var out []fix.Candidate
	reason := "" // a version that the next older tag lacks
	for _, q := range platform.All(p.Platform.Arch) {
		if q.Kind != platform.Policy || q.Libc != p.Platform.Libc {
			continue
		}
		lacks := func(version string) bool { return !q.HasVersion(version) }
		lacking := newestMissing(p, q)
		if i := slices.IndexFunc(unversioned, lacks); lacking == "" && i >= 0 {
			lacking = unversioned[i]
		}
		if lacking != "" {
			reason = ", the oldest tag that auditwheel knows with " + lacking
			continue
		}
		if oldest != nil && !platform.Older(oldest.LibcVersion, q.LibcVersion) ||
			conda && !platform.Older(p.Facts.Glibc, q.LibcVersion) {
			break // it is tagged so; the user specified an older platform
		}
		if conda {
			out = append(out, fix.Candidate{
				Fix: fix.Fix{
					Kind:  fix.KindDependency,
					Title: fix.Titled("Declare the dependency __glibc >=%s", q.LibcVersion),
					Cost: []string{
						"conda no longer installs it where glibc is older than " + q.LibcVersion,
					},
				},
				Change: fix.Retag{Platform: q.Name + "/" + q.Arch},
			})
			break
		}
		out = append(out, fix.Candidate{
			Fix: retagged(p, pkgmeta.Tag{Platform: q.Name}, fix.Fix{
				Kind:  fix.KindPlatformTag,
				Title: fix.Tagging(q.Name + alsoCalled(q) + reason),
				Cost: []string{fmt.Sprintf("pip no longer installs it where %s is older than %s",
					q.Libc, q.LibcVersion)},
			}),
			Change: fix.Retag{Platform: q.Name + "/" + q.Arch},
		})
		break
	}
	if conda {
		return append(out, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindRebuild,
			Title: fix.Titled("Compile with the sysroot package of glibc %s"+
				" (c_stdlib_version in conda_build_config.yaml)", p.Platform.LibcVersion),
		}})
	}
	return append(out, olderImage(p, "")...)
}

// olderImage returns the fix that builds the wheel in the image for the platform; nil if there is
// none. with is the library of which the build may have used another one than that of the image, a
// newer one that it compiled; "" = it is one of glibc or GCC.
func olderImage(p *analyzer.Pass, with string) []fix.Candidate {
	image := platform.BuildImage(p.Platform)
	if image == "" || p.Platform.Libc != "glibc" {
		return nil
	}
	title := fix.Titled("Build in the %s image (pipx run cibuildwheel, with this variable)", image)
	if names := without(p); with != "" {
		title = fix.Titled("Build in the %s image against its own %s, not a newer one", image,
			fix.Library(with))
	} else if len(names) > 0 {
		title = fix.Titled("Build in the %s image, which has no %s", image,
			cause.Listed(names, 1, 30, "function"))
	}
	x := fix.Fix{Kind: fix.KindImage, Title: title}
	if with == "" { // else it may be built there already, and the library is newer
		x.Command = buildImage("MANYLINUX", p.Platform.Arch, image)
	}
	return []fix.Candidate{{Fix: x}}
}

// without returns the functions of the C library that the source code calls and that the platform
// has in no version, so that an older image alone may not help. Names with underscores and those
// for large files are made by headers: __isoc23_strtol is strtol in an older image, and fcntl64 is
// fcntl.
func without(p *analyzer.Pass) (names []string) {
	for _, v := range p.Views {
		for b := range v.Bindings().To(dynlink.FromPlatform) {
			i := b.Import
			if i.Version == "" || slices.Contains(names, i.Name) ||
				strings.HasPrefix(i.Name, "_") || strings.HasSuffix(i.Name, "64") ||
				platform.LibcOf(i.Library) == "" || staticlink.InNonshared(p.Platform, i.Name) ||
				slices.ContainsFunc(p.Platform.Libraries(), func(l *platform.Library) bool {
					return l.Has(i.Name, "")
				}) {
				continue
			}
			names = append(names, i.Name)
		}
	}
	slices.Sort(names)
	return names
}

// alsoCalled returns " (manylinux2014)" for a tag of PEP 600 that has an older name, or "".
func alsoCalled(q *platform.Platform) string {
	if title := platform.Title(q.Name); !strings.HasPrefix(q.Name, title) {
		return " (" + title + ")"
	}
	return ""
}

// missingVersions iterates over the symbol versions that the artifact imports and a platform does
// not have. They may be repeated.
func missingVersions(p *analyzer.Pass, q *platform.Platform) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, v := range p.Views {
			for b := range v.Bindings().To(dynlink.FromPlatform) {
				i := b.Import
				if i.Version == "" || p.Facts.Conda() && platform.LibcOf(i.Library) == "" {
					continue
				}
				l := q.Library(i.Library)
				if l != nil && (!l.Known || l.Has(i.Name, i.Version) || anywhere(q, i)) {
					continue
				}
				if !yield(i.Version) {
					return
				}
			}
			for _, n := range bareNodes(v) {
				l := q.Library(n.Library)
				if l != nil && l.Known && !l.HasVersion(n.Version) && !yield(n.Version) {
					return
				}
			}
		}
	}
}

// anyMissing reports whether a platform does not have a symbol version that the artifact imports.
func anyMissing(p *analyzer.Pass, q *platform.Platform) bool {
	for range missingVersions(p, q) {
		return true
	}
	return false
}

// newestMissing returns the symbol version of missingVersions that is named as the reason for a
// tag: of glibc the newest, otherwise the first; "" if there is none.
func newestMissing(p *analyzer.Pass, q *platform.Platform) string {
	const glibc = "GLIBC_"
	found := ""
	for version := range missingVersions(p, q) {
		of, ok := strings.CutPrefix(version, glibc)
		before, again := strings.CutPrefix(found, glibc)
		if found == "" || ok && (!again || platform.Older(before, of)) {
			found = version
		}
	}
	return found
}

// anywhere searches every library of a platform for a symbol. Since glibc 2.30 the loader does not
// check which library provides it.
func anywhere(q *platform.Platform, i elfobj.Import) bool {
	for _, l := range q.Libraries() {
		if l.Known && l.Has(i.Name, i.Version) {
			return true
		}
	}
	return false
}

// symver returns the fix that binds to the newest version of the symbol on the platform.
func symver(v *analyzer.View, i elfobj.Import, older []string) []fix.Candidate {
	if len(older) == 0 || older[len(older)-1] == "" || strings.HasPrefix(i.Name, "_Z") {
		return nil
	}
	to := older[len(older)-1]
	return []fix.Candidate{{
		Fix: fix.Fix{
			Kind: fix.KindSymver,
			Title: fix.Titled(
				"Use the older %s@%s: add this line to a header that every source file includes",
				i.Name,
				to,
			),
			Command: shellword.Bare(`__asm__(".symver %s,%s@%s");`, i.Name, i.Name, to),
			Cost:    []string{"you get the behaviour of the older function"},
		},
		Change: fix.BindOlder{
			Reference: fix.Reference{Object: v.Path, Symbol: i.Name, Version: i.Version},
			Version:   to,
		},
	}}
}

// buildImage returns the setting of cibuildwheel that names an image ("MANYLINUX" or "MUSLLINUX").
func buildImage(builder, arch, image string) shellword.Line {
	return shellword.Bare("CIBW_%s_%s_IMAGE=%s", builder, strings.ToUpper(arch), image)
}
