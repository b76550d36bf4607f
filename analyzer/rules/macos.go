package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dyld"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/macos"
	"github.com/compat-app/compat/internal/shellword"
)

// macOSName returns the platform's name for messages: "macOS 11.0".
func macOSName(p *analyzer.Pass) string { return "macOS " + p.Platform.LibcVersion }

// macOSFile returns the Mach-O file of the artifact at a path, or nil.
func macOSFile(p *analyzer.Pass, name string) *analyzer.MachObject {
	i := slices.IndexFunc(p.Facts.MachO, func(m *analyzer.MachObject) bool { return m.Path == name })
	if i < 0 {
		return nil
	}
	return p.Facts.MachO[i]
}

// onTag reports whether the platform is that of the artifact's tags. The user may have named
// another one.
func onTag(p *analyzer.Pass) bool {
	return !p.Requested || slices.ContainsFunc(p.Facts.PlatformTags(), func(tag string) bool {
		named := func(t macos.Target) bool {
			return p.MacOS != nil && t.Arch == p.Platform.Arch && t.Oldest == p.MacOS.OS
		}
		return tag == p.Platform.Name || slices.ContainsFunc(platform.ParseTag(tag).MacOS(), named)
	})
}

// inSlice returns the architecture of a file that has several: " (x86_64 slice)".
func inSlice(p *analyzer.Pass, name string) string {
	if m := macOSFile(p, name); m != nil && len(m.Slices) > 1 {
		return " (" + p.Platform.Arch + " slice)"
	}
	return ""
}

// ownImages lists the images of the artifact itself, sorted by path.
func ownImages(p *analyzer.Pass) []*dyld.Image {
	var out []*dyld.Image
	for _, i := range p.MacOS.Images() {
		if i.Kind == dynlink.FromArtifact {
			out = append(out, i)
		}
	}
	return out
}

// imageChain lists the paths of images for a finding.
func imageChain(images []*dyld.Image, more ...string) []string {
	var out []string
	for _, i := range images {
		out = append(out, i.Name)
	}
	return append(out, more...)
}

// chainTo returns the chain that loads an image, in the first load that contains it.
func chainTo(p *analyzer.Pass, i *dyld.Image) []string {
	for _, l := range p.MacOS.Loads {
		if c := l.Chain(i); c != nil {
			return imageChain(c)
		}
	}
	return []string{i.Name}
}

// macOSSeverity lowers the severity of an error in a file that no module of the artifact loads: a
// plug-in or a program that may never be used.
func macOSSeverity(p *analyzer.Pass, i *dyld.Image, s analyzer.Severity) analyzer.Severity {
	if s == analyzer.Error && !p.MacOS.Primary[i] {
		return analyzer.Warning
	}
	return s
}

// delocate returns the fix that bundles the libraries of a wheel.
func delocate(p *analyzer.Pass, title fix.Title) fix.Candidate {
	x := fix.Fix{Kind: fix.KindRebuild, Title: title}
	if p.Facts.Kind == analyzer.KindWheel {
		x.Bundling = &fix.Bundling{With: fix.Delocate}
		x.Command = x.Bundling.Command(quoted(p.Facts.Path))
	}
	return fix.Candidate{Fix: x}
}

// deploymentTarget returns the fix that builds for the macOS of the platform: what is an object or
// the wheel.
func deploymentTarget(p *analyzer.Pass, what any) fix.Candidate {
	v := p.Platform.LibcVersion
	x := fix.Fix{Kind: fix.KindRebuild,
		Title:   fix.Titled("Rebuild %s for macOS %s: export MACOSX_DEPLOYMENT_TARGET=%s", what, v, v),
		Command: "export MACOSX_DEPLOYMENT_TARGET=" + shellword.Quote(v)}
	if p.Facts.Wheel != nil && onTag(p) {
		x.Cost = []string{"a rebuild, of bundled libraries too; pip still installs it on macOS " + v}
	}
	return fix.Candidate{Fix: x}
}

// bigSur is the first macOS whose tags have no minor version.
const bigSur = 11

// betweenTags reports whether no tag is for a version of macOS, but only for the one before and the
// one after it.
func betweenTags(v machoobj.Version) bool { return v>>16 >= bigSur && v>>8&0xff > 0 }

// retagMacOS returns the fix that tags the wheel for a newer macOS; nil for an artifact without
// tags.
func retagMacOS(p *analyzer.Pass, since machoobj.Version) []fix.Candidate {
	if p.Facts.Wheel == nil || !onTag(p) {
		return nil
	}
	c, release := tagMacOS(p, since)
	cost := "pip no longer installs it on macOS before " + release
	if betweenTags(since) {
		cost += ", because tags have no minor version since macOS 11"
	}
	c.Fix.Cost = []string{cost}
	return []fix.Candidate{c}
}

// tagMacOS returns the fix that gives the wheel a tag for the releases of macOS from one on, and
// that release: "14.0".
func tagMacOS(p *analyzer.Pass, oldest machoobj.Version) (c fix.Candidate, release string) {
	major, minor := oldest>>16, oldest>>8&0xff
	arch := p.Platform.Arch
	for _, t := range p.Facts.Wheel.Tags {
		if tag := platform.ParseTag(t.Platform); tag.Arch == "universal2" {
			arch = tag.Arch
		}
	}
	const sequoia, tahoe = 15, 26
	if betweenTags(oldest) {
		major, minor = major+1, 0
	}
	if major > sequoia && major < tahoe { // macOS 26 followed 15
		major = tahoe
	}
	tag := fmt.Sprintf("macosx_%d_%d_", major, minor)
	return fix.Candidate{
		Fix: retagged(p, pkgmeta.Tag{Platform: tag + arch}, fix.Fix{
			Kind:  fix.KindPlatformTag,
			Title: fix.Tagging(tag + arch),
		}),
		Change: fix.Retag{Platform: tag + p.Platform.Arch + "/" + p.Platform.Arch},
	}, fmt.Sprintf("%d.%d", major, minor)
}

// sign signs a file for arm64 again, since each edit breaks its signature. It is for edit.
const sign shellword.Line = "codesign -f -s -"

// loaderPath returns the folder of a file of the artifact, relative to the folder of another.
func loaderPath(from, to string) string {
	rel := relativeFolder(path.Dir(from), path.Dir(to))
	if rel == "." {
		return "@loader_path"
	}
	return "@loader_path/" + rel
}

// relativeFolder returns a folder of the artifact relative to another.
func relativeFolder(from, to string) string {
	a, b := parts(from), parts(to)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	rel := strings.Repeat("../", len(a)) + strings.Join(b, "/")
	if rel == "" {
		return "."
	}
	return strings.TrimSuffix(rel, "/")
}

func parts(dir string) []string {
	if dir == "." {
		return nil
	}
	return strings.Split(dir, "/")
}

// changePath returns the fix that changes the path in a load command of a built file.
func changePath(p *analyzer.Pass, object, from, to string) fix.Candidate {
	return fix.Candidate{
		Fix: fix.Fix{Kind: fix.KindPatchelf, Title: fix.Titled("Change the path of the library to %s",
			to),
			Command: edit(p, object, "install_name_tool -change "+shellword.Quote(from)+" "+
				shellword.Quote(to), sign)},
		Change: fix.ChangePath{Object: object, From: from, To: to},
	}
}

// addRunPath returns the fix that adds a run path to a built file.
func addRunPath(p *analyzer.Pass, object, to string) fix.Candidate {
	return fix.Candidate{
		Fix: fix.Fix{Kind: fix.KindPatchelf, Title: fix.Titled("Add the run path %s", to),
			Command: edit(p, object, "install_name_tool -add_rpath "+shellword.Quote(to), sign)},
		Change: fix.SetRunPath{Object: object, RunPath: to},
	}
}

// declared lists the packages that the artifact requires, since they may provide a library or
// symbol; "" for none. The contents of packages for macOS are not known.
func declared(p *analyzer.Pass) string {
	if p.Facts.Metadata == nil {
		return ""
	}
	var names []string
	for _, q := range p.Facts.Metadata.Requires {
		if !strings.Contains(q.Raw, "extra ") && !strings.Contains(q.Raw, "extra=") &&
			!slices.Contains(names, q.Name) {
			names = append(names, q.Name)
		}
	}
	return strings.Join(names, ", ")
}
