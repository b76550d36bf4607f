package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/platform"
)

var tagTooHigh = &analyzer.Rule{
	ID:        "tag-too-high",
	Title:     "The symbol versions and libraries also allow an older platform tag",
	Severity:  analyzer.Note,
	Packaging: true,
	Doc: `The wheel is tagged for newer systems than its contents need. Its symbol versions,
libraries and instruction sets, as auditwheel checks them, also allow an older tag, with which pip
would install it on more systems. Whether it works there is another question: other findings, such
as an undefined symbol, apply to every tag.

Such a wheel is correct, and there may be a reason for the tag: a dependency that needs the newer
system, or files that a program starts and that were built elsewhere.

Tags older than manylinux2014 are not suggested, since those systems are no longer supported.

Not detected: what is loaded with dlopen, and symbols without a version.`,
	Explains:   []string{"platform-tag"},
	References: []string{"PEP 600", "auditwheel: policy files"},
	Check:      checkTagTooHigh,
}

func checkTagTooHigh(p *analyzer.Pass) {
	verdict := p.Facts.Policy
	if verdict == nil || verdict.Error != nil || p.Requested || p.Platform.Kind != platform.Policy ||
		!p.Facts.Tagged(p.Platform.Arch) {
		return
	}
	tags := p.Facts.PlatformTags()
	if platform.OldestTag(tags, p.Platform.Arch, p.Platform.Libc) == nil { // linux_x86_64
		return
	}
	lower, err := platform.Lookup(verdict.Overall, p.Platform.Arch)
	if err != nil || lower.Arch != p.Platform.Arch || lower.Libc != "glibc" ||
		p.Platform.Libc != "glibc" {
		return
	}
	if lower.Extinct() {
		if lower, err = platform.Lookup("manylinux_2_17", p.Platform.Arch); err != nil {
			return
		}
	}
	if !platform.Older(lower.LibcVersion, p.Platform.LibcVersion) ||
		anyMissing(p, lower) {
		return
	}
	p.Report(
		analyzer.Finding{
			Message: fmt.Sprintf(
				"The symbol versions and libraries of this wheel also allow %s (tagged %s)",
				lower.Name,
				p.Platform.Name,
			),
		},
		retagTo(p, lower),
	)
}
