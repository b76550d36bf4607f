package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

var recordMismatch = &analyzer.Rule{
	ID:        "record-mismatch",
	Title:     "The RECORD of the wheel does not match its files",
	Severity:  analyzer.Warning,
	Packaging: true,
	Doc: `RECORD lists every file of a wheel with its size and digest. In this wheel it is missing,
lists a file that does not exist, omits a shared object, or has another size or digest than an
object has.

pip does not install a wheel without RECORD, and installs one with a wrong RECORD without a check.
PyPI rejects a wheel whose members and RECORD differ, ` + "`wheel unpack`" + ` and the installer
library reject wrong digests, and auditwheel does not read objects that RECORD omits.

The cause is a file that was changed or added after the wheel was built, with zip or patchelf.

Fix: extract the wheel with ` + "`python -m zipfile -e`" + `, and write RECORD again with
` + "`wheel pack`" + `.

Not detected: digests of objects over 4 MB (only their size is compared) and of files that are not
ELF objects.`,
	Cause: cause.Rule{
		Kind:  cause.Build("regenerate RECORD"),
		Warns: "only tools that read RECORD are affected",
	},
	References: []string{"PEP 376, PEP 427", "PyPA: Recording installed projects"},
	Check:      checkRecord,
	Windows:    checkRecord,
	MacOS:      checkRecord,
	Android:    checkRecord,
	IOS:        checkRecord,
	Pyodide:    checkRecord,
}

// shown is the maximum number of names in a message.
const shown = 5

func checkRecord(p *analyzer.Pass) {
	in := p.Facts.Inside
	if in == nil || p.Facts.Wheel == nil || p.Scenario.Recorded {
		return
	}
	before, after := repack(p)
	regenerate := fix.Candidate{
		Fix: fix.Fix{
			Kind:    fix.KindRebuild,
			Title:   fix.Titled("Regenerate RECORD"),
			Command: shellword.Join(append(before, after...), " && "),
		},
		Change: fix.WriteRecord{},
	}
	report := func(object, format string, args ...any) {
		p.Report(analyzer.Finding{Object: object, Message: fmt.Sprintf(format, args...)}, regenerate)
	}
	if in.NoRecord {
		report(in.DistInfo[0]+"/RECORD", "The wheel has no RECORD file. pip does not install it")
	}
	if in.RecordError != "" {
		report("", "RECORD cannot be read completely: %s", in.RecordError)
	}
	if len(in.Missing) > 0 {
		report(
			in.Missing[0],
			"RECORD lists %s, but the wheel does not contain %s",
			analyzer.List(in.Missing, shown, in.Lacks, "file"),
			them(len(in.Missing)),
		)
	}
	if len(in.Unlisted) > 0 {
		report(
			in.Unlisted[0],
			"The wheel contains %s, but RECORD does not list %s. auditwheel does not check unlisted files",
			names(in.Unlisted, "file"),
			them(len(in.Unlisted)),
		)
	}
	if len(in.Changed) > 0 {
		report(
			in.Changed[0],
			"%s changed after RECORD was written: its size or digest differs",
			names(in.Changed, "file"),
		)
	}
}

// names joins at most shown names of things: "a, b and 3 more files" for "file".
func names(list []string, noun string) string {
	if len(list) <= shown {
		return analyzer.And(list)
	}
	return analyzer.List(list, shown, len(list), noun)
}

// them returns the pronoun for n things.
func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}
