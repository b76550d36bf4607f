package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
)

// largePage is the size of the pages of devices that run Android 15 and later with 16 KiB pages.
const largePage = 16 << 10

var pageSize = &analyzer.Rule{
	ID:       "page-size",
	Title:    "A file does not load on devices with larger memory pages",
	Severity: analyzer.Warning,
	Doc: `The segments of a file are aligned for memory pages of 4 KiB. Since Android 15 there are
devices with pages of 16 KiB, on which the load fails: "program alignment (4096) cannot be smaller
than system page size (16384)". Apps with such files are refused by Google Play since November 2025,
if they are for Android 15 and later.

Fix: build with NDK r28 or later, whose linker aligns for 16 KiB, or link with
` + "`-Wl,-z,max-page-size=16384`" + `.

Not detected: code that assumes pages of 4 KiB. Files for other systems than Android are not
checked, nor 32-bit ones, since devices with large pages have 64 bits.`,
	References: []string{
		"bionic: linker/linker_phdr.cpp",
		"Android developers: Support 16 KB page sizes",
	},
	Explains: []string{"segment-alignment"},
	Cause:    cause.Rule{Warns: "only devices with larger memory pages are affected"},
	Android:  checkPageSize,
}

func checkPageSize(p *analyzer.Pass) {
	for _, o := range p.Android.Objects {
		if o.Load == nil || o.Class != 64 || o.MaxPage == 0 || o.MaxPage >= largePage {
			continue
		}
		p.Report(analyzer.Finding{
			Object: o.Path, Chain: []string{o.Path},
			Message: fmt.Sprintf("%s is aligned for memory pages of %d KiB, so devices with pages of "+
				"16 KiB (Android 15 and later) do not load it", o.Path, o.MaxPage>>10),
		}, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindLinkFlag, Title: fix.Titled("Link for pages of 16 KiB, as NDK r28 and later do"),
			Command: "-Wl,-z,max-page-size=16384",
		}})
	}
}
