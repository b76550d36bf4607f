package rules

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
)

var unsignedCode = &analyzer.Rule{
	ID:       "unsigned-code",
	Title:    "A file for Apple silicon has no valid code signature",
	Severity: analyzer.Error,
	Doc: `On Apple silicon (arm64) the kernel only runs code with a valid signature. An ad hoc
signature, without a certificate, is enough, and the linker writes one. This file has none, or one
whose hashes do not match the file: it was edited after it was signed, by install_name_tool, strip
or a tool that replaces paths. The load fails with "code signature … not valid for use in process",
or the process is killed ("Killed: 9", "Code Signature Invalid").

Fix: sign the file again after the last edit, with ` + "`codesign -f -s - FILE`" + `. delocate does
that by itself.

Slices for Intel need no signature, and theirs is not checked.

Not detected: certificates that expired or were revoked, and entitlements.`,
	Explains: []string{"macos-code-signature"},
	References: []string{
		"Apple: macOS 11 release notes, code signing",
		"XNU: osfmk/kern/cs_blobs.h",
	},
	Cause: cause.Rule{Warns: "no module of the wheel loads the file"},
	MacOS: checkSignature,
	Quick: true,
}

// maxSimulated is the largest number of imports with which a signature is simulated: another load
// of a larger file needs too much memory for what it shows.
const maxSimulated = 500_000

func checkSignature(p *analyzer.Pass) {
	if p.Platform.Arch != "arm64" {
		return
	}
	for _, i := range ownImages(p) {
		if p.Scenario.Signed[i.Name] {
			continue
		}
		f := analyzer.Finding{
			Object:   i.Name,
			Chain:    chainTo(p, i),
			Severity: macOSSeverity(p, i, analyzer.Error),
		}
		switch s := i.Object.Signature; {
		case s == nil:
			f.Message = i.Name + inSlice(p, i.Name) + " has no code signature. Apple silicon does " +
				"not run unsigned code"
		case s.Stale != "":
			f.Message = "The code signature of " + i.Name + inSlice(p, i.Name) +
				" is not valid: " + s.Stale
		default:
			continue
		}
		signed := fix.Candidate{Fix: fix.Fix{Kind: fix.KindPatchelf,
			Title: fix.Titled("Sign the file after the last edit"), Command: edit(p, i.Name, sign)}}
		if len(i.Object.Imports) <= maxSimulated {
			signed.Change = fix.Sign{Object: i.Name}
		}
		p.Report(f, signed)
	}
}
