package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
)

// relrVersion is the version of libc.so.6 that marks objects with packed relative relocations.
const relrVersion = "GLIBC_ABI_DT_RELR"

var relrWithoutVersion = &analyzer.Rule{
	ID:       "relr-without-version",
	Title:    "Packed relative relocations without the version GLIBC_ABI_DT_RELR",
	Severity: analyzer.Error,
	Doc: `An object has packed relative relocations (DT_RELR) and needs versions of libc.so.6, but
not GLIBC_ABI_DT_RELR. Since glibc 2.36 the loader fails: "DT_RELR without GLIBC_ABI_DT_RELR
dependency". An older loader does not process such relocations, and the program crashes at the
first pointer that was not relocated.

GNU ld adds the version with -z pack-relative-relocs. Another linker, or a tool that rewrote the
file, omitted it.

Fix: link without packed relocations, or with a linker that adds the version.

An object that needs no version of libc.so.6 is loaded by every glibc. For one it is an error only
on systems older than glibc 2.36.

Not reported on musl, which has no symbol versions and supports DT_RELR since 1.2.4.`,
	Cause: cause.Rule{
		Kind: cause.TooNew, Loader: cause.ReportsVersion,
		Warns: "only some of the systems that it is for are affected",
	},
	References: []string{"glibc: elf/dl-version.c, NEWS for 2.36", "ld: -z pack-relative-relocs"},
	Check:      checkRelrVersion,
}

func checkRelrVersion(p *analyzer.Pass) {
	if p.Platform.Libc != "glibc" {
		return
	}
	for _, v := range p.Views {
		guarded := func(n elfobj.NeededVersion) bool { return n.Name == relrVersion }
		libc := slices.IndexFunc(
			v.VersionNeeds,
			func(n elfobj.VersionNeed) bool { return strings.HasPrefix(n.Library, "libc.so.") },
		)
		old := platform.Older(p.Platform.LibcVersion, "2.36")
		if !v.RelR || libc < 0 && !old ||
			slices.ContainsFunc(
				v.VersionNeeds,
				func(n elfobj.VersionNeed) bool { return slices.ContainsFunc(n.Versions, guarded) },
			) {
			continue
		}
		f := analyzer.Finding{
			Object:  v.Path,
			Version: relrVersion,
			Library: "libc.so.6",
			Chain:   []string{v.Path},
			Message: v.Path + " has packed relative relocations (DT_RELR)",
		}
		if libc >= 0 {
			f.Library = v.VersionNeeds[libc].Library
			f.Chain = append(f.Chain, f.Library)
			f.Message += fmt.Sprintf(" without the required dependency on %s of %s. glibc 2.36 and later "+
				"refuse to load it", relrVersion, f.Library)
		}
		if old {
			f.Message += fmt.Sprintf(
				". %s (glibc %s) does not apply the relocations, and the library crashes",
				p.Platform.Name,
				p.Platform.LibcVersion,
			)
		}
		if v.Alternative {
			f.Severity = analyzer.Warning
		}
		p.Report(f, packed(relrVersion)...)
	}
}
