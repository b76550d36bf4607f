package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
)

var libxml2Mismatch = &analyzer.Rule{
	ID:       "libxml2-mismatch",
	Title:    "A module and the installed lxml contain different releases of libxml2",
	Severity: analyzer.Error,
	Doc: `xmlsec works on the trees of lxml, and both wheels contain a libxml2 of their own. Its
structures differ between releases, so xmlsec compares the release that it contains with that of
lxml when it is imported, without the last number (2.12 and 2.14 differ, 2.14.4 and 2.14.6 do not):
"xmlsec.InternalError: (-1, 'lxml & xmlsec libxml2 library version mismatch')". The requirement of
xmlsec 1.3.14, lxml>=3.8, allows lxml 6, with which its import fails.

Fix: require the releases of lxml whose wheels contain the same libxml2, or build both from source
with one libxml2.

Severity: an error with the release that an installation gets today.

Not detected: an lxml that takes libxml2 from a shared library; wheels for macOS and Windows;
other modules that exchange structures of a library of which each has a copy.`,
	Cause: cause.Rule{
		Warns:   "only older releases fail, and pip does not choose them today",
		Kind:    cause.WrongPackage,
		Subject: func(f *analyzer.Finding) (string, bool) { return f.Package, false },
	},
	Explains:   []string{"libxml2-mismatch"},
	References: []string{"xmlsec, src/lxml.c, PyXmlSec_CheckLxmlLibraryVersion"},
	Check:      checkLibxml2,
}

func checkLibxml2(p *analyzer.Pass) {
	for _, v := range p.Views {
		if !v.ComparesLibxml2 {
			continue
		}
		same := func(r *packages.Release) bool { // without the last number
			return r.Libxml2(analyzer.Lxml)/100 == v.Libxml2/100
		}
		for r := range p.Packages.All() {
			has := r.Libxml2(analyzer.Lxml)
			if has == 0 || same(r) {
				continue
			}
			p.Report(
				analyzer.Finding{
					Object: v.Path, Package: r.Name, Chain: []string{v.Path, r.Name},
					BuiltWith: fmt.Sprintf("an lxml with libxml2 %d.%d", v.Libxml2/10000, v.Libxml2/100%100),
					FailsWith: r.ID().String(),
					Raises:    "xmlsec.InternalError: (-1, 'lxml & xmlsec libxml2 library version mismatch')",
					Message: fmt.Sprintf("%s contains libxml2 %s, and %s contains libxml2 %s. Its import fails: "+
						`"lxml & xmlsec libxml2 library version mismatch"`,
						v.Path, libxml2(v.Libxml2), r.ID(), libxml2(has)),
				},
				p.Releases.OtherVersion(r, same),
				fix.Candidate{Fix: fix.Fix{
					Kind:  fix.KindRebuild,
					Title: fix.Titled("Build it with libxml2 %s, the one of %s", libxml2(has), r.ID()),
				}},
			)
		}
	}
}

// libxml2 returns the name of a release of libxml2: 20914 is 2.9.14.
func libxml2(n int) string { return fmt.Sprintf("%d.%d.%d", n/10000, n/100%100, n%100) }
