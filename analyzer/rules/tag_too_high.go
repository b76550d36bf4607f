package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
)

var tagTooHigh = &analyzer.Rule{
	ID:       "tag-too-high",
	Title:    "a platform tag that promises less than the wheel keeps",
	Severity: analyzer.Note,
	Doc: `The wheel is tagged for newer systems than its contents need: by their symbol versions, libraries and instruction sets, as auditwheel judges them, an older tag holds as well, and pip
would install the wheel on more systems.

Nothing is wrong with such a wheel, and there may be a reason for the tag: a dependency that needs the newer system, or files that a program starts and that were built elsewhere.

Tags older than manylinux2014 are not proposed, since nobody supports those systems any more. Not seen: what is loaded with dlopen, and symbols that carry no version.`,
	References: []string{"PEP 600", "auditwheel: policy files"},
	Check:      checkTagTooHigh,
}

func checkTagTooHigh(p *analyzer.Pass) {
	verdict := p.Facts.Policy
	if verdict == nil || verdict.Error != nil || p.Asked || p.Platform.Kind != platform.Policy ||
		!p.Facts.Tagged(p.Platform.Arch) {
		return
	}
	lower, err := platform.Lookup(verdict.Overall, p.Platform.Arch)
	if err != nil || lower.Arch != p.Platform.Arch || lower.Libc != "glibc" ||
		p.Platform.Libc != "glibc" {
		return
	}
	if analyzer.Extinct(lower) {
		if lower, err = platform.Lookup("manylinux_2_17", p.Platform.Arch); err != nil {
			return
		}
	}
	if !analyzer.OlderRelease(lower.LibcVersion, p.Platform.LibcVersion) || !allVersions(p, lower) {
		return
	}
	p.Report(
		analyzer.Finding{
			Message: fmt.Sprintf(
				"you may claim %s: the wheel's tag says %s, and nothing in it needs a system that new",
				lower.Name,
				p.Platform.Name,
			),
		},
		fix.Candidate{
			Fix: fix.Fix{
				Kind:  fix.KindPlatformTag,
				Title: "Tag the wheel " + lower.Name,
				Command: "wheel tags --remove --platform-tag " + lower.Name + " " + quoted(
					p.Facts.Path,
				),
			},
			Change: fix.Retag{Platform: lower.Name + "/" + lower.Arch},
		},
	)
}
