package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
)

// relrVersion is the node of libc.so.6 by which an object says that its loader has to understand
// packed relative relocations.
const relrVersion = "GLIBC_ABI_DT_RELR"

var relrWithoutVersion = &analyzer.Rule{
	ID:       "relr-without-version",
	Title:    "packed relative relocations that no version guards",
	Severity: analyzer.Error,
	Doc: `An object has packed relative relocations (DT_RELR), needs versions of libc.so.6, and does not need GLIBC_ABI_DT_RELR among them. From glibc 2.36 on the loader refuses it: "DT_RELR without
GLIBC_ABI_DT_RELR dependency". An older one knows nothing of such relocations, leaves them out, and the program dies of the first pointer that was not relocated.

GNU ld adds the version with -z pack-relative-relocs; a linker of another project, or a tool that rewrote the file, left it out. Link without packed relocations, or with a linker that adds the version.

Not seen on musl, which has no versions and understands DT_RELR from 1.2.4 on, and of objects that need no version of libc.so.6, which glibc does not refuse.`,
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
		if !v.RelR || libc < 0 ||
			slices.ContainsFunc(
				v.VersionNeeds,
				func(n elfobj.VersionNeed) bool { return slices.ContainsFunc(n.Versions, guarded) },
			) {
			continue
		}
		f := analyzer.Finding{
			Object:  v.Path,
			Version: relrVersion,
			Library: v.VersionNeeds[libc].Library,
			Chain:   []string{v.Path, v.VersionNeeds[libc].Library},
		}
		f.Message = fmt.Sprintf(
			"%s has packed relative relocations and does not need %s of %s: glibc refuses it from 2.36 on",
			v.Path,
			relrVersion,
			f.Library,
		)
		if analyzer.OlderRelease(p.Platform.LibcVersion, "2.36") {
			f.Message += fmt.Sprintf(
				", and %s, which has %s, leaves the relocations out",
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
