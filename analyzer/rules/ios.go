package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/macos"
)

// checkArchitectureIOS reports files without a slice for the architecture and the SDK of the tag.
func checkArchitectureIOS(p *analyzer.Pass) {
	build := relink(fix.Titled("Build it for %s (CIBW_PLATFORM=ios of cibuildwheel)", p.Platform.Name))
	report := func(file, built string, s analyzer.Severity) {
		f := builtForOther(file, fmt.Sprintf("built for %s, but the wheel's tag is for %s", built,
			p.Platform.Name))
		f.Severity = s
		p.Report(f, build)
	}
	for _, o := range p.IOS.Objects {
		if o.Slice != nil {
			continue
		}
		s := analyzer.Warning
		if o.Extension() {
			s = analyzer.Error
		}
		report(o.Path, strings.Join(slicesOf(o), " and "), s)
	}
	for _, o := range p.Facts.Objects {
		report(o.Path, "Linux on "+o.BuiltFor(), analyzer.Error)
	}
}

// slicesOf lists the platforms and architectures of a file's slices: "macOS on arm64".
func slicesOf(o *analyzer.IOSObject) (out []string) {
	names := map[machoobj.Platform]string{
		machoobj.MacOS: "macOS", machoobj.IOS: "iOS", machoobj.IOSSimulator: "the iOS simulator",
		"": "an unknown platform",
	}
	for _, s := range o.Slices {
		if s.Object == nil {
			continue
		}
		name, ok := names[s.Object.Platform]
		if !ok {
			name = string(s.Object.Platform)
		}
		out = append(out, name+" on "+s.Arch)
	}
	return out
}

// firstARMSimulator is the oldest iOS of a simulator on arm64.
var firstARMSimulator = machoobj.Make(14, 0)

// checkMinimumIOS is minimum-os-too-new for iOS.
func checkMinimumIOS(p *analyzer.Pass) {
	oldest := p.IOS.Version
	if p.IOS.Arch == "arm64" && p.IOS.SDK == platform.Simulator {
		oldest = max(oldest, firstARMSimulator)
	}
	for _, o := range p.IOS.Objects {
		if o.Slice == nil || o.Slice.MinOS>>8 <= oldest>>8 {
			continue
		}
		built := o.Slice.MinOS
		text := fmt.Sprintf("%s is built for iOS %v, but %s iOS %s", o.Path, built, claims(p),
			p.Platform.LibcVersion)
		f := analyzer.Finding{
			Object: o.Path, Version: built.String(), Chain: []string{o.Path}, Headline: text,
			Message: text, Reason: "built for iOS " + built.String(),
		}
		var fixes []fix.Candidate
		if p.Facts.Wheel != nil && onTag(p) {
			to := platform.OfIOS(fmt.Sprintf("%d.%d", built>>16, built>>8&0xff), p.Platform.Arch)
			fixes = []fix.Candidate{{
				Fix: retagged(p, pkgmeta.Tag{Platform: to.Name}, fix.Fix{
					Kind: fix.KindPlatformTag, Title: fix.Tagging(to.Name),
					Cost: []string{"pip no longer installs it in apps for iOS before " + to.LibcVersion},
				}),
				Change: fix.Retag{Platform: to.Name + "/" + to.Arch},
			}}
		}
		p.Report(f, append(fixes, fix.Candidate{Fix: fix.Fix{
			Kind:    fix.KindRebuild,
			Title:   fix.Titled("Rebuild %s for iOS %s", path.Base(o.Path), p.Platform.LibcVersion),
			Command: "export IPHONEOS_DEPLOYMENT_TARGET=" + quoted(p.Platform.LibcVersion),
		}})...)
	}
}

// eachNeededIOS visits the libraries that the modules of a wheel need, without that of Python.
func eachNeededIOS(p *analyzer.Pass, visit func(o *analyzer.IOSObject, n machoobj.Needed)) {
	for _, o := range p.IOS.Objects {
		if o.Slice == nil || path.Ext(o.Path) != ".so" {
			continue
		}
		for _, n := range o.Slice.Needed {
			if n.Path != analyzer.PythonFramework && !n.Weak {
				visit(o, n)
			}
		}
	}
}

// ownIOS returns the file of the wheel with the name of a needed library; "" without one.
func ownIOS(p *analyzer.Pass, needed string) string {
	for _, o := range p.IOS.Objects {
		if path.Base(o.Path) == path.Base(needed) && !macos.System(needed) {
			return o.Path
		}
	}
	return ""
}

// checkLibraryNotFoundIOS reports libraries that are neither in the wheel nor part of iOS.
func checkLibraryNotFoundIOS(p *analyzer.Pass) {
	eachNeededIOS(p, func(o *analyzer.IOSObject, n machoobj.Needed) {
		f := analyzer.Finding{Object: o.Path, Library: n.Path, Chain: []string{o.Path, n.Path}}
		switch {
		case ownIOS(p, n.Path) != "":
			return // bundled-library-not-reachable reports it
		case macos.System(n.Path) && strings.Contains(n.Path, ".framework/Versions/"):
			f.Message = fmt.Sprintf("%s needs %s, which is a macOS path: iOS frameworks have no "+
				"versions", o.Path, n.Path)
		case macos.System(n.Path):
			return
		default:
			f.Message = fmt.Sprintf("%s needs %s, which is neither in the wheel nor part of iOS", o.Path,
				n.Path)
		}
		p.Report(f, relink(fix.Titled("Build for iOS, and link %s statically", path.Base(n.Path))))
	})
}

// checkReachableIOS reports modules that need another file of the wheel, which is not next to them
// in an app, and other dynamic libraries.
func checkReachableIOS(p *analyzer.Pass) {
	needed := map[string]bool{}
	eachNeededIOS(p, func(o *analyzer.IOSObject, n machoobj.Needed) {
		own := ownIOS(p, n.Path)
		if own == "" || own == o.Path {
			return
		}
		needed[own] = true
		p.Report(analyzer.Finding{
			Object: o.Path, Library: n.Path, Chain: []string{o.Path, own}, Severity: analyzer.Error,
			Message: fmt.Sprintf("%s needs %s, which the wheel has as %s. The build of an app moves each "+
				"module to a framework of its own, where it does not find other files", o.Path, n.Path, own),
		}, relink(fix.Titled("Link %s statically", path.Base(own))))
	})
	for _, o := range p.IOS.Objects {
		if path.Ext(o.Path) != ".dylib" || needed[o.Path] {
			continue
		}
		text := o.Path + " is a dynamic library outside of a framework, which the App Store rejects"
		p.Report(analyzer.Finding{
			Object: o.Path, Chain: []string{o.Path}, Severity: analyzer.Warning, Headline: text,
			Reason: "a dynamic library outside of a framework", Message: text,
		}, relink(fix.Titled("Link %s statically, or leave it out of the wheel", path.Base(o.Path))))
	}
}

// checkUndefinedSymbolIOS reports functions that the Python of the tag does not export. The symbols
// of iOS are not known.
func checkUndefinedSymbolIOS(p *analyzer.Pass) {
	if !cpython.Known(p.IOS.Python) {
		return
	}
	for _, o := range p.IOS.Objects {
		if o.Slice == nil {
			continue
		}
		for _, i := range o.Slice.Imports {
			name := strings.TrimPrefix(i.Name, "_")
			if i.Weak || o.Provider(i) != analyzer.PythonFramework || !abi3.Names(name) ||
				slices.Contains(cpython.Releases(name), p.IOS.Python) {
				continue
			}
			f := analyzer.Finding{
				Object: o.Path, Symbol: i.Name, Library: analyzer.PythonFramework, Chain: []string{o.Path},
				Message: fmt.Sprintf("%s imports %s, which Python %s does not export", o.Path, name,
					p.IOS.Python),
			}
			f.Message += exportedBy(name)
			if strings.HasPrefix(name, "_Py") {
				f.Severity = analyzer.Warning
				f.Message += privateSymbol
			}
			p.Report(f, relink(fix.Titled("Build the module with the Python of the tag")))
		}
	}
}

// checkABI3IOS reports functions of Python that a module for the stable ABI imports and that its
// tag does not guarantee.
func checkABI3IOS(p *analyzer.Pass) {
	if p.Facts.ABI3 == nil || p.Facts.Wheel == nil {
		return
	}
	for _, o := range p.IOS.Objects {
		if o.Slice == nil || !o.Extension() || ofOnePython.MatchString(o.Path) {
			continue
		}
		for _, i := range o.Slice.Imports {
			if !i.Weak {
				checkStableSymbol(p, o.Path, strings.TrimPrefix(i.Name, "_"))
			}
		}
	}
}
