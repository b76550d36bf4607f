package rules

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
)

var recordMismatch = &analyzer.Rule{
	ID:       "record-mismatch",
	Title:    "a wheel whose RECORD does not fit its files",
	Severity: analyzer.Warning,
	Doc: `RECORD lists every file of a wheel with its size and digest. Here it is missing, names a file that is not there, leaves out a shared object that is, or gives another size or digest than an object has.

pip refuses a wheel without RECORD, and installs one whose RECORD is wrong without a look. But the package index refuses the upload of a wheel whose members and RECORD differ, "wheel unpack" and the installer library refuse wrong digests, and auditwheel does not
see objects that RECORD leaves out: it calls a wheel portable whose unlisted library needs a new glibc.

The cause is a file that was changed or added after the wheel was made, with zip or patchelf. Unpack the wheel, make the change, and let ` + "`wheel pack`" + ` write RECORD anew.

Not seen: the digests of objects over 4 MB (their size is compared) and of files that are no ELF objects.`,
	References: []string{"PEP 376, PEP 427", "PyPA: Recording installed projects"},
	Check:      checkRecord,
}

// shown is how many names a message lists.
const shown = 5

func checkRecord(p *analyzer.Pass) {
	in := p.Facts.Inside
	if in == nil || p.Facts.Wheel == nil {
		return
	}
	repack := fix.Candidate{
		Fix: fix.Fix{
			Kind:    fix.KindRebuild,
			Title:   "Write RECORD anew",
			Command: "wheel unpack " + quoted(p.Facts.Path) + " && wheel pack " + folderOf(p),
		},
	}
	report := func(object, format string, args ...any) {
		p.Report(analyzer.Finding{Object: object, Message: fmt.Sprintf(format, args...)}, repack)
	}
	if in.NoRecord {
		report(
			in.DistInfo[0]+"/RECORD",
			"the wheel has no RECORD in its dist-info folder, and pip refuses it",
		)
	}
	if in.RecordError != "" {
		report("", "RECORD can't be read to its end: %s", in.RecordError)
	}
	if len(in.Missing) > 0 {
		report(
			in.Missing[0],
			"RECORD lists %s, and the wheel does not have %s",
			namesOf(in.Missing, in.Lacks),
			them(in.Missing),
		)
	}
	if len(in.Unlisted) > 0 {
		report(
			in.Unlisted[0],
			"the wheel has %s, and RECORD does not list %s: auditwheel does not look at what is not listed",
			names(in.Unlisted),
			them(in.Unlisted),
		)
	}
	if len(in.Changed) > 0 {
		report(
			in.Changed[0],
			"%s changed after RECORD was written: size or digest differ",
			names(in.Changed),
		)
	}
}

// names lists up to shown names.
func names(list []string) string { return namesOf(list, len(list)) }

// namesOf likewise, where the list has the first of n names.
func namesOf(list []string, n int) string {
	if n <= shown {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:shown], ", "), n-shown)
}

func them(list []string) string {
	if len(list) == 1 {
		return "it"
	}
	return "them"
}

// folderOf is the folder that wheel unpack makes.
func folderOf(p *analyzer.Pass) string {
	if p.Facts.Wheel == nil {
		return "FOLDER"
	}
	return quoted(p.Facts.Wheel.Name + "-" + p.Facts.Wheel.Version)
}
