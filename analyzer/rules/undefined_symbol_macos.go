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
	"github.com/compat-app/compat/analyzer/packages"
)

// checkUndefinedSymbolMacOS reports imports that the named library does not export, and flat
// imports that no image of the load exports.
func checkUndefinedSymbolMacOS(p *analyzer.Pass) {
	for _, i := range ownImages(p) {
		for _, b := range p.MacOS.Failed(i) {
			if b.Outcome != dynlink.NoSymbol {
				continue
			}
			f := analyzer.Finding{
				Object:   i.Name,
				Symbol:   b.Import.Name,
				Library:  b.Library,
				Chain:    chainTo(p, i),
				Severity: macOSSeverity(p, i, analyzer.Error),
			}
			imports := i.Name + inSlice(p, i.Name) + " imports " + b.Import.Name
			var fixes []fix.Candidate
			switch {
			case b.Python:
				fixes = ofPythonMacOS(p, &f, imports)
			case b.Library != "":
				f.Message = fmt.Sprintf("%s from %s, which does not export it", imports, b.Library)
				if b.Found != nil && b.Found.Object == nil {
					f.Message = fmt.Sprintf("%s from %s, and no known release of macOS exports it",
						imports, b.Library)
					fixes = append(fixes, deploymentTarget(p, fix.Object(path.Base(i.Name))))
					break
				}
				if b.Found != nil && b.Found.Kind == dynlink.FromPackage {
					fixes = ofPackageMacOS(p, &f, b, imports)
					break
				}
				fixes = append(fixes, delocate(p,
					fix.Titled("Bundle the %s that %s was linked with",
						path.Base(b.Library), path.Base(i.Name))))
			case hostOfMacOS(p, i).Exports(strings.TrimPrefix(b.Import.Name, "_")):
				continue
			default:
				fixes = flatMacOS(p, &f, i, imports)
			}
			p.Report(f, fixes...)
		}
	}
}

// ofPackageMacOS describes a symbol that the library of another package does not export.
func ofPackageMacOS(
	p *analyzer.Pass, f *analyzer.Finding, b dyld.Binding, imports string,
) []fix.Candidate {
	f.Message = fmt.Sprintf("%s from %s of %s, which does not export it", imports, b.Library,
		b.Found.Origin)
	r, _ := installing(p, path.Base(b.Found.Path))
	if r == nil || r.ID().String() != b.Found.Origin {
		return nil
	}
	f.Package = r.Name
	return []fix.Candidate{p.Releases.OtherVersion(r, func(o *packages.Release) bool {
		return slices.ContainsFunc(o.Libraries, func(l packages.Library) bool {
			return path.Base(l.Path) == path.Base(b.Found.Path) &&
				slices.ContainsFunc(l.MachO, func(s machoobj.Slice) bool {
					_, exports := s.Object.Export(b.Import.Name)
					return s.Arch == p.Platform.Arch && exports
				})
		})
	})}
}

// ofPythonMacOS describes a symbol that Python does not export.
func ofPythonMacOS(p *analyzer.Pass, f *analyzer.Finding, imports string) []fix.Candidate {
	name := strings.TrimPrefix(f.Symbol, "_")
	f.Message = fmt.Sprintf("%s, which Python %s does not export", imports, p.MacOS.Python)
	f.Message += exportedBy(name)
	if strings.HasPrefix(name, "_Py") && f.Severity == analyzer.Error {
		f.Severity = analyzer.Warning
		f.Message += privateSymbol
	}
	return []fix.Candidate{{Fix: fix.Fix{Kind: fix.KindRebuild,
		Title: fix.Titled("Build the module with Python %s", p.MacOS.Python)}}}
}

// flatMacOS describes an import without a library.
func flatMacOS(
	p *analyzer.Pass, f *analyzer.Finding, i *dyld.Image, imports string,
) []fix.Candidate {
	f.Message = imports + " from any loaded library (flat namespace), but no library that it loads " +
		"exports it"
	link := fix.Candidate{Fix: fix.Fix{Kind: fix.KindLinkFlag,
		Title:   fix.Titled("Link the library that has it, without -undefined dynamic_lookup"),
		Command: "-Wl,-undefined,error"}}
	for _, other := range ownImages(p) {
		if _, ok := other.Object.Export(f.Symbol); ok && other != i {
			f.Severity = macOSSeverity(p, i, analyzer.Warning)
			f.Message += fmt.Sprintf(". %s has it, so it works only if that file was loaded first",
				other.Name)
			link.Fix.Title = fix.Titled("Link %s", path.Base(other.Name))
			return []fix.Candidate{link}
		}
	}
	switch host := hostOfMacOS(p, i); {
	case host.Unstable(strings.TrimPrefix(f.Symbol, "_")):
		f.Severity = analyzer.Warning
		f.Message = imports + ofNode
		return []fix.Candidate{rebuildForNode}
	case host == analyzer.HostUnknown && p.Facts.Kind != analyzer.KindWheel, p.Facts.Packaged():
		f.Severity = analyzer.Warning
		f.Message = imports + ". The program that loads the file must define the symbol"
		return []fix.Candidate{rebuildForHost}
	}
	if names := declared(p); names != "" {
		f.Severity = analyzer.Warning
		f.Message += ". " + names + ", which the wheel requires, may have loaded it before: compat " +
			"does not know what packages contain on macOS"
	}
	return []fix.Candidate{link, delocate(p, fix.Titled("Bundle the library that has it"))}
}

// hostOfMacOS returns the program that loads an image of the artifact.
func hostOfMacOS(p *analyzer.Pass, i *dyld.Image) analyzer.Host {
	return macOSFile(p, i.Name).Host()
}
