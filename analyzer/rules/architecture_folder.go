package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Folders from which one architecture loads its files: those of node-gyp-build in an npm package
// ("prebuilds/linux-x64/"), and of JNA and other loaders of natives in a jar ("linux-x86-64/",
// "native/Linux/aarch64/").
var (
	prebuilds = lazyregexp.New(`^(?:package/)?prebuilds/linux-([a-z0-9]+)/`)
	natives   = lazyregexp.New(`(?i)(?:^|/)linux[-/](x86[-_]64|amd64|x64|aarch64|arm64|x86|i386|i686|` +
		`ppc64le|riscv64|s390x)/[^/]+$`)
)

// folderArchitectures are the architectures of binaries in such folders, by the name of the folder.
var folderArchitectures = map[string][]string{
	"x86-64": {"x86_64"}, "x86_64": {"x86_64"}, "amd64": {"x86_64"}, "x64": {"x86_64"},
	"aarch64": {"aarch64"}, "arm64": {"aarch64"},
	"arm": {"armv7l", "armel"},
	"x86": {"i686"}, "i386": {"i686"}, "i686": {"i686"}, "ia32": {"i686"},
	"ppc64le": {"ppc64le"}, "riscv64": {"riscv64"}, "s390x": {"s390x"},
}

// checkArchitectureFolders reports binaries of an npm package or a jar in a folder for another
// architecture.
func checkArchitectureFolders(p *analyzer.Pass) {
	pattern := natives
	if p.Facts.Format == unpack.FormatNPM {
		pattern = prebuilds
	} else if p.Facts.Format != unpack.FormatJar {
		return
	}
	for _, o := range p.Facts.Objects {
		m := pattern.FindStringSubmatch(o.Path)
		if m == nil || o.Arch() != p.Platform.Arch {
			continue
		}
		folder := strings.ToLower(strings.Join(m[1:], ""))
		fits, built := folderArchitectures[folder], o.BuiltFor()
		if fits == nil || slices.Contains(fits, built) {
			continue
		}
		f := builtForOther(o.Path, fmt.Sprintf("built for %s, but in the folder for %s", built, fits[0]))
		f.Severity = analyzer.Error
		p.Report(f, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindRebuild, Title: fix.Titled("Build %s for %s", o.Path, fits[0]),
		}})
	}
}
