package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/bionic"
	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/fix"
)

// missingLibrary is a library that a load of Android does not find, with the file that needs it.
type missingLibrary struct {
	bionic.Missing
	user *analyzer.AndroidObject
	root string // path of the file whose load it is
}

// missingAndroid returns the libraries that files of the wheel need and that are not found, once
// for each file and library.
func missingAndroid(p *analyzer.Pass) (out []missingLibrary) {
	seen := map[[2]string]bool{}
	for _, o := range p.Android.Objects {
		if o.Load == nil || o.ForLinux() {
			continue // wrong-architecture reports files for Linux
		}
		for _, m := range o.Load.Missing {
			user := p.Android.Of(m.NeededBy)
			if user == nil || seen[[2]string{user.Path, m.Name}] {
				continue
			}
			seen[[2]string{user.Path, m.Name}] = true
			out = append(out, missingLibrary{m, user, o.Load.Root.Path})
		}
	}
	return out
}

// severityAndroid returns Warning for a file that no module of a wheel with modules loads, and else
// a severity.
func severityAndroid(
	p *analyzer.Pass, o *analyzer.AndroidObject, s analyzer.Severity,
) analyzer.Severity {
	root := p.Android.Of(o.Load.Root)
	if root != nil && (root.Extension() || root.Program()) ||
		!slices.ContainsFunc(p.Facts.Android, (*analyzer.Object).Extension) {
		return s
	}
	return analyzer.Warning
}

// checkLibraryNotFoundAndroid reports libraries that are neither in the wheel nor part of Android.
func checkLibraryNotFoundAndroid(p *analyzer.Pass) {
	for _, m := range missingAndroid(p) {
		if len(m.Elsewhere) > 0 {
			continue // bundled-library-not-reachable reports it
		}
		f := analyzer.Finding{
			Object: m.user.Path, Library: m.Name, Chain: []string{m.user.Path, m.Name},
			Severity: severityAndroid(p, m.user, analyzer.Error),
			Message: fmt.Sprintf("%s needs %s, which is neither in the wheel nor a library of Android that "+
				"apps can load", m.user.Path, m.Name),
		}
		if m.Since > 0 {
			f.Version = fmt.Sprint(m.Since)
			f.Message = fmt.Sprintf("%s needs %s, which Android has from %s on, but %s %s", m.user.Path,
				m.Name, androidName(m.Since), claims(p), androidName(p.Android.Level))
			p.Report(f, append(retagAndroid(p, m.Since), forLevel(p))...)
			continue
		}
		p.Report(f, bundlingAndroid(p, m)...)
	}
}

// bundlingAndroid returns the fixes for a library that is not in the wheel.
func bundlingAndroid(p *analyzer.Pass, m missingLibrary) []fix.Candidate {
	switch {
	case strings.Contains(m.Name, "/"):
		return []fix.Candidate{relink(fix.Titled("Give the library a SONAME (-Wl,-soname,%s), and link "+
			"with it again", path.Base(m.Name)))}
	case p.Facts.Wheel == nil:
		return nil
	}
	out := []fix.Candidate{{Fix: fix.Fix{
		Kind: fix.KindRebuild, Title: fix.Titled("Bundle %s into the wheel", fix.Library(m.Name)),
		Command: "auditwheel repair --ldpaths " + quoted("DIR") + " " + quoted(p.Facts.Path),
	}}}
	if m.Name == "libc++_shared.so" {
		out[0].Fix.Title = fix.Titled("Bundle %s of the NDK into the wheel", fix.Library(m.Name))
		out = append(out, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindLinkFlag, Title: fix.Titled("Link the C++ library statically"),
			Command: "-static-libstdc++",
		}})
	}
	return out
}

// checkReachableAndroid reports libraries of the wheel to which no DT_RUNPATH of their users leads.
func checkReachableAndroid(p *analyzer.Pass) {
	for _, m := range missingAndroid(p) {
		if len(m.Elsewhere) == 0 {
			continue
		}
		at := m.Elsewhere[0].Path
		f := analyzer.Finding{
			Object: m.user.Path, Library: m.Name, Chain: []string{m.user.Path, at},
			Severity: severityAndroid(p, m.user, analyzer.Error),
		}
		to := relativeFolder(path.Dir(m.user.File.Path), path.Dir(at))
		why := "no DT_RUNPATH leads to it"
		switch {
		case p.Android.Level < firstRunPath:
			why = "the linker uses DT_RUNPATH from " + androidName(firstRunPath) + " on"
		case m.user.RunPath == "" && m.user.RPath != "":
			why = "Android ignores DT_RPATH"
		case path.Base(at) != m.Name:
			why = fmt.Sprintf("only under the file name %s, and Android finds a library by its SONAME",
				path.Base(at))
		}
		f.Message = fmt.Sprintf("%s needs %s, which the wheel has in %s, but %s", m.user.Path, m.Name,
			path.Dir(at), why)
		if p.Facts.MayPreload(m.user.Path, m.Name, at) {
			f.Severity = analyzer.Warning
			f.Message += ". The Python code of the wheel may load it first"
		}
		if p.Android.Level < firstRunPath {
			p.Report(f, retagAndroid(p, firstRunPath)...)
			continue
		}
		if path.Base(at) != m.Name {
			p.Report(f, relink(fix.Titled("Rename the file to %s", fix.Library(m.Name))))
			continue
		}
		p.Report(f, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindPatchelf, Title: fix.Titled("Set a DT_RUNPATH that leads to the library"),
			Command: edit(p, m.user.Path, setRunPath(p, "$ORIGIN/"+to)),
		}})
	}
}

// firstRunPath is the first API level whose linker uses DT_RUNPATH.
const firstRunPath = 24

// checkPythonLibraryAndroid reports modules that link the libpython of another release than that of
// their tag, or that of one release with a tag for several.
func checkPythonLibraryAndroid(p *analyzer.Pass) {
	if p.Facts.Wheel == nil {
		return
	}
	for _, o := range p.Android.Objects {
		if o.Load == nil || !o.Extension() {
			continue
		}
		for _, name := range o.Needed {
			rest, ok := strings.CutPrefix(name, "libpython")
			release, tagged := strings.TrimSuffix(rest, ".so"), androidPythons(p)
			if !ok || !strings.Contains(release, ".") || slices.Contains(tagged, release) {
				continue
			}
			f := analyzer.Finding{Object: o.Path, Library: name, Chain: []string{o.Path, name}}
			if slices.Contains(tagged, "") {
				f.Message = fmt.Sprintf("%s is linked with %s, which only Python %s has, but the wheel's tag "+
					"is for several releases", o.Path, name, release)
				p.Report(f, fix.Candidate{Fix: fix.Fix{
					Kind: fix.KindLinkFlag, Title: fix.Titled("Link libpython3.so, which all releases have"),
					Command: "-lpython3",
				}})
				continue
			}
			f.Message = fmt.Sprintf("%s is linked with %s, but the wheel's tag is for Python %s", o.Path,
				name, strings.Join(tagged, ", "))
			p.Report(f, relink(fix.Titled("Build the module with the Python of the tag")))
		}
	}
}

// androidPythons returns the releases of the tags, as in the name of libpython: "3.13", "3.14t"; ""
// for a tag of several releases.
func androidPythons(p *analyzer.Pass) (out []string) {
	for _, t := range p.Facts.Wheel.Tags {
		release := ""
		if digits, ok := strings.CutPrefix(t.Python, "cp3"); ok && digits != "" &&
			!cpython.StableABI(t.ABI) && t.ABI != "none" {
			release = "3." + digits
			if strings.HasSuffix(t.ABI, "t") {
				release += "t"
			}
		}
		if !slices.Contains(out, release) {
			out = append(out, release)
		}
	}
	return out
}
