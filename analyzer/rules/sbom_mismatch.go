package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/sbom"
)

var sbomMismatch = &analyzer.Rule{
	ID:        "sbom-mismatch",
	Title:     "An SBOM in the wheel does not match the wheel",
	Severity:  analyzer.Warning,
	Packaging: true,
	Doc: `A wheel can contain software bills of materials (SBOM) in the folder sboms of its dist-info
folder. auditwheel writes one with the packages of the distribution whose libraries it copied into
the wheel. Scanners read them to find known vulnerabilities, so what they list should be what the
wheel contains.

A warning: an SBOM is not valid JSON, or an object in it has a name twice, of which readers use
different ones; it describes another version of the project; it lists a library with another version
than the bundled file shows. The version is compared with a text in the library (OpenSSL, zlib,
libpng, libtiff, libjpeg-turbo, curl, libssh2), with the numbers in its file name where these are
the release (for example Zstandard, XZ, bzip2, GEOS), or with the versions of its symbols, which
cannot be newer than the library.

A note: auditwheel's SBOM does not list a library that it copied, because no package of the
distribution contains it, and no other SBOM in the wheel is about libraries. Libraries that were
built from source for the wheel are such.

A wheel without an SBOM has no finding.

Fix: run ` + "`auditwheel repair`" + ` again on the new build, and write an SBOM for the libraries
that are built from source.

Not detected: what is linked statically, SBOMs in XML, wheels for macOS and Windows except for
invalid files, versions of other libraries, and files over a limit (8 MiB, 10,000 components).`,
	Cause: cause.Rule{
		Kind:  cause.Build("regenerate the SBOM"),
		Warns: "it loads; only who reads the SBOM is affected",
	},
	References: []string{
		"PEP 770",
		"CycloneDX 1.4 to 1.7, SPDX 2.3",
		"auditwheel: sboms.py, repair.py (copylib)",
	},
	Check:   checkSBOM,
	Windows: checkSBOM,
	MacOS:   checkSBOM,
	Android: checkSBOM,
	IOS:     checkSBOM,
	Pyodide: checkSBOM,
}

func checkSBOM(p *analyzer.Pass) {
	in, name := p.Facts.Inside, p.Facts.Wheel
	if in == nil || name == nil || len(in.SBOMs) == 0 {
		return
	}
	var paths []string
	views := map[string]*analyzer.View{}
	for _, v := range p.Views {
		paths = append(paths, v.Path)
		views[v.Path] = v
	}
	files := sbom.NewFiles(paths)
	for _, s := range in.SBOMs {
		if s.Error != "" {
			p.Report(analyzer.Finding{
				Object:  s.Path,
				Message: fmt.Sprintf("%s is not a valid SBOM: %s", s.Path, s.Error),
			}, again("Regenerate %s", s.Path))
		}
		if s.Document != nil {
			checkSubject(p, s)
			checkVersions(p, s, files, views)
		}
	}
	checkListed(p, files)
}

// again returns a fix that writes an SBOM.
func again(format string, args ...any) fix.Candidate {
	return fix.Candidate{Fix: fix.Fix{Kind: fix.KindRebuild, Title: fix.Titled(format, args...)}}
}

// checkSubject compares what an SBOM describes with the wheel, if it is a Python project of its
// name.
func checkSubject(p *analyzer.Pass, s analyzer.SBOM) {
	subject, wheel := s.Document.Subject, p.Facts.Wheel
	if subject.Type() != "pypi" || pkgmeta.Normalize(subject.Name) != pkgmeta.Normalize(wheel.Name) {
		return
	}
	described, err := pkgmeta.ParseVersion(subject.Version)
	is, errIs := pkgmeta.ParseVersion(strings.ReplaceAll(wheel.Version, "_", "-"))
	// Builds with a local version ("2.8.0+cpu") are of the same source.
	if err != nil || errIs != nil || described.Public().Compare(is.Public()) == 0 {
		return
	}
	p.Report(analyzer.Finding{
		Object: s.Path,
		Message: fmt.Sprintf("%s describes %s %s, but the wheel is %s %s", s.Path, subject.Name,
			subject.Version, wheel.Name, wheel.Version),
	}, again("Write %s for this version", s.Path))
}

// checkVersions compares the versions of components with those that libraries show.
func checkVersions(
	p *analyzer.Pass,
	s analyzer.SBOM,
	files *sbom.Files,
	views map[string]*analyzer.View,
) {
	for _, c := range s.Document.Components {
		// One file of a project is enough: libcrypto and libssl have one version.
		for _, at := range files.Of(c) {
			v := views[at]
			shown := sbom.Shown{File: v.Path, Text: v.Release}
			for _, d := range v.VersionDefs {
				shown.Nodes = append(shown.Nodes, d.Name)
			}
			version, where := sbom.Differs(c, shown)
			if version == "" {
				continue
			}
			is := fmt.Sprintf("%s is version %s", v.Path, version)
			switch where {
			case sbom.ByText:
				is += ", as a text in it says"
			case sbom.ByName:
				is += ", as its file name says"
			case sbom.BySymbols:
				is = fmt.Sprintf("%s has symbols of version %s", v.Path, version)
			}
			p.Report(analyzer.Finding{
				Object:  v.Path,
				Message: fmt.Sprintf("%s lists %s %s, but %s", s.Path, c.Name, c.Version, is),
			}, again("Correct the version of %s in %s", c.Name, s.Path))
			break
		}
	}
}

// checkListed reports the libraries that auditwheel copied and no SBOM lists.
//
// auditwheel adds a component for each library that a package of the distribution contains, and
// identifies it by the path of the library. So if each such component is that of a library in the
// wheel, the other libraries are not listed. If another SBOM may be about libraries, it is not
// known which: names of projects are often not those of files.
func checkListed(p *analyzer.Pass, files *sbom.Files) {
	var own []analyzer.SBOM
	for _, s := range p.Facts.Inside.SBOMs {
		switch {
		case s.Document == nil:
			return
		case slices.Contains(s.Document.Tools, "auditwheel"):
			own = append(own, s)
		case len(s.Document.Components) > 0 || s.Document.Format != sbom.CycloneDX:
			return
		}
	}
	if len(own) != 1 {
		return
	}
	listed := map[string]bool{}
	for _, c := range own[0].Document.Components {
		of := files.Of(c)
		if of == nil {
			return
		}
		for _, at := range of {
			listed[at] = true
		}
	}
	var not []string
	for _, v := range p.Views {
		original := sbom.Original(v.Path)
		if original != "" && !listed[v.Path] && !ofProject(p, original) {
			not = append(not, v.Path)
		}
	}
	if len(not) == 0 {
		return
	}
	p.Report(analyzer.Finding{
		Object: own[0].Path, Severity: analyzer.Note,
		Message: fmt.Sprintf("No SBOM in the wheel lists %s. auditwheel lists only libraries of "+
			"installed packages", names(not, "library")),
	}, again("Add an SBOM for the libraries that are built from source"))
}

// ofProject reports whether a library is called like the project of the wheel.
func ofProject(p *analyzer.Pass, file string) bool {
	stem, _, _ := strings.Cut(file, ".")
	plain := func(s string) string {
		s = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s))
		return strings.TrimPrefix(s, "lib")
	}
	return plain(stem) == plain(p.Facts.Wheel.Name)
}
