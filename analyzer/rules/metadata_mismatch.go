package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

var metadataMismatch = &analyzer.Rule{
	ID:       "metadata-mismatch",
	Title:    "a wheel whose metadata say something else than its file name",
	Severity: analyzer.Error,
	Doc: `The file name of a wheel says its project, version and tags, and so do METADATA, WHEEL and the name of the dist-info folder. Where they differ, pip refuses to install the wheel: "has inconsistent name",
"has inconsistent version", "dist-info directory does not start with", "multiple .dist-info directories found".

It is a warning where the wheel has no dist-info folder or no WHEEL, which pip refuses as well but which somebody who checks unfinished files has not made yet. It is a warning where only the tags in WHEEL differ from the file name's, since pip goes by the file name: somebody renamed the file, and tools that read WHEEL (wheel unpack and pack, package indexes) go on with the
old tags. It is a note where WHEEL says that the wheel is pure Python (Root-Is-Purelib) though it has shared objects: Fedora and its like install those below lib/ and not lib64/.

To mend it, change tags with ` + "`wheel tags`" + `, and name and version in the project, not in the file name.

Not seen: fields that pip does not compare.`,
	References: []string{
		"PEP 427",
		"PyPA: Binary distribution format",
		"pip: pip/_internal/utils/wheel.py, resolution/resolvelib/candidates.py",
	},
	Check: checkMetadata,
}

func checkMetadata(p *analyzer.Pass) {
	in, name := p.Facts.Inside, p.Facts.Wheel
	if in == nil || name == nil {
		return
	}
	report := func(severity analyzer.Severity, what, format string, args ...any) {
		p.Report(
			analyzer.Finding{
				Object:   what,
				Severity: severity,
				Message:  fmt.Sprintf(format, args...),
			},
			fix.Candidate{
				Fix: fix.Fix{
					Kind:  fix.KindRebuild,
					Title: "Build the wheel again from a project with the right name and version, and change tags with wheel tags only",
				},
			},
		)
	}
	switch len(in.DistInfo) {
	case 0:
		report(analyzer.Warning, "", "the wheel has no *.dist-info folder, and pip refuses it")
		return
	case 1:
	default:
		report(
			analyzer.Error,
			in.DistInfo[0],
			"the wheel has %d *.dist-info folders (%s), and pip refuses it",
			len(in.DistInfo),
			names(in.DistInfo),
		)
		return
	}
	dir := in.DistInfo[0]
	if project, _, _ := strings.Cut(strings.TrimSuffix(dir, ".dist-info"), "-"); !strings.HasPrefix(
		pkgmeta.Normalize(dir),
		pkgmeta.Normalize(name.Name),
	) {
		report(
			analyzer.Error,
			dir,
			"the dist-info folder is %s's, and the file name says %s: pip refuses the wheel",
			project,
			name.Name,
		)
	}
	if m := p.Facts.Metadata; m != nil {
		inside, err := pkgmeta.ParseVersion(m.Version)
		outside, errOut := pkgmeta.ParseVersion(strings.ReplaceAll(name.Version, "_", "-"))
		if pkgmeta.Normalize(m.Name) != pkgmeta.Normalize(name.Name) ||
			errOut == nil && (err != nil || inside.Compare(outside) != 0) {
			report(
				analyzer.Error,
				dir+"/METADATA",
				"METADATA says %s %s, and the file name %s %s: pip refuses the wheel",
				m.Name,
				m.Version,
				name.Name,
				name.Version,
			)
		}
	}
	checkWheelFile(p, report, dir+"/WHEEL")
}

func checkWheelFile(
	p *analyzer.Pass,
	report func(analyzer.Severity, string, string, ...any),
	at string,
) {
	in := p.Facts.Inside
	w := in.WheelFile
	switch {
	case in.WheelError != "":
		report(analyzer.Warning, at, "WHEEL can't be read: %s", in.WheelError)
		return
	case w == nil:
		report(
			analyzer.Warning,
			at,
			"the wheel has no WHEEL in its dist-info folder, and pip refuses it",
		)
		return
	}
	if major, _, _ := strings.Cut(w.Version, "."); w.Version != "" && major != "1" {
		report(
			analyzer.Error,
			at,
			"WHEEL says that the wheel is of format %s, and pip knows 1.x",
			w.Version,
		)
	}
	inside, outside := tagSet(w.Tags), tagSet(p.Facts.Wheel.Tags)
	if len(inside) > 0 && !slices.Equal(inside, outside) {
		report(
			analyzer.Warning,
			at,
			"WHEEL has the tags %s, and the file name %s; pip goes by the file name",
			names(inside),
			names(outside),
		)
	}
	if w.Purelib && p.Facts.Tagged(p.Platform.Arch) {
		report(
			analyzer.Note,
			at,
			"WHEEL says that the wheel is pure Python (Root-Is-Purelib: true), and it has shared objects",
		)
	}
}

// tagSet writes tags sorted and once.
func tagSet(tags []pkgmeta.Tag) []string {
	var out []string
	for _, t := range tags {
		out = append(out, t.String())
	}
	slices.Sort(out)
	return slices.Compact(out)
}
