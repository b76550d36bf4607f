package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// brokenInstallation has the findings of a check of files, and those about installed wheels that
// the analyzer finds to be due to lost or changed files.
var brokenInstallation = &analyzer.Rule{
	ID:       analyzer.RuleBroken,
	Title:    "The files of an installed package are not those that this Python needs",
	Severity: analyzer.Error,
	Doc: `A package of an environment is installed, and its metadata is complete, but the Python of the
environment cannot import it:

- its modules are for another architecture, another system or another version of Python.
  ` + "`pip install --platform`" + ` and copies of an environment from another machine cause this. The
  import fails: "No module named lxml.etree".
- a module in its RECORD is missing, or the __init__.py of its package. pip removes files by name:
  who installs opencv-python and opencv-python-headless and removes one of them has neither.
- a library that its modules need is listed in its RECORD and missing.
- a file is not the one that RECORD describes, and needs a library or a symbol that the package does
  not have: a file of another version was copied over it.
- two versions of one project are installed in one folder. ` + "`pip install --upgrade --target`" + ` leaves the
  metadata of the old version behind. compat checks the version whose RECORD fits the files; pip and
  importlib.metadata may report the other one.

Fix: install the package again with the pip of the environment, or remove the folder of the version
that is left over. To check an environment that is meant for another machine, name that machine:
` + "`--platform al2023/aarch64`" + `, and ` + "`--python`" + ` for another Python.

Severity: an error, and a warning for a module that may be left over from another build and for two
versions of one project, and if other modules of the package are there.

Not detected: files that were removed or changed and that no loader needs (tests that were deleted,
libraries that were stripped), changed Python sources, and another architecture if the Python of the
environment cannot be read.`,
	Cause: cause.Rule{
		Warns: "the package may work without the file",
		Kind:  brokenFiles,
		// One command installs all packages again that are installed for the same other system.
		Subject: func(f *analyzer.Finding) (string, bool) { return f.InstalledFor, f.InstalledFor != "" },
	},
	Environment: checkInstallation,
	References: []string{
		"PyPA: Recording installed projects",
		"CPython: Python/dynload_shlib.c",
		"pip install --platform",
	},
}

// checkInstallation reports installed packages whose files are not those that the interpreter
// needs. Those that are installed for the same other system have one fix.
func checkInstallation(p *analyzer.EnvironmentPass) {
	if len(p.Broken) == 0 {
		return
	}
	again := map[string][]string{} // NAME==VERSION by Broken.For
	for _, b := range p.Broken {
		again[b.For] = append(again[b.For], b.Package+"=="+b.Version)
	}
	on := p.Targets()
	for _, b := range p.Broken {
		ids := again[b.For]
		if b.For == "" {
			ids = []string{b.Package + "==" + b.Version}
		}
		f := analyzer.Finding{
			Artifact: b.File, Object: b.Object, Package: pkgmeta.Normalize(b.Package),
			InstalledFor: b.For, On: on, Headline: b.Reason, Message: b.Reason,
		}
		if b.But != "" {
			f.Reason = b.For + ", but " + b.But
		}
		if b.Optional {
			f.Severity = analyzer.Warning
		}
		x := fix.Reinstall(ids, b.Conda)
		if b.Remove != "" {
			x = fix.Fix{
				Kind: fix.KindEnvironment, Title: fix.Titled("Remove %s", b.Remove), Cost: []string{},
			}
		}
		p.Report(f, x)
	}
}

// brokenFiles is the kind of causes of installed packages with the wrong files.
var brokenFiles = &cause.Kind{
	Title: func(t *cause.Text) string {
		f := t.First()
		if names := t.Failing(); len(names) > 1 && f.Reason != "" {
			return cause.Listed(names, 3, 40, "package") + " are installed for " + f.Reason
		}
		return f.Headline
	},
	Advice: firstFix,
}

// firstFix is the advice to do what the first fix does.
func firstFix(t *cause.Text, _ string) string { return t.Fixes()[0].Title.String() + "." }
