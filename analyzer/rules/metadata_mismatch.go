package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

var metadataMismatch = &analyzer.Rule{
	ID:        "metadata-mismatch",
	Title:     "The metadata of the wheel does not match its file name",
	Severity:  analyzer.Error,
	Packaging: true,
	Doc: `The file name of a wheel contains its project, version and tags. METADATA, WHEEL and the
name of the dist-info folder contain them as well. If they differ, or WHEEL is missing, pip does
not install the wheel: "has inconsistent name", "has inconsistent version", "dist-info directory
does not start with", "multiple .dist-info directories found", "has an invalid wheel, could not
read".

Fix: change tags with ` + "`wheel tags`" + `, and the name and version in the project, not in the
file name.

Severity: a warning where only the tags in WHEEL differ, since pip uses the file name. The file
was renamed, and tools that read WHEEL (wheel unpack and pack, package indexes) use the old tags.
It is also a warning where the wheel has no dist-info folder: pip does not install it, but the
build may not be finished. It is a note where WHEEL declares a pure Python wheel (Root-Is-Purelib)
with shared objects, which Fedora then installs in lib/ and not in lib64/.

Not detected: fields that pip does not compare.`,
	Cause: cause.Rule{
		Kind:  disagreeing,
		Warns: "only tools that read the metadata are affected",
	},
	References: []string{
		"PEP 427",
		"PyPA: Binary distribution format",
		"pip: pip/_internal/utils/wheel.py, resolution/resolvelib/candidates.py",
	},
	Check:   checkMetadata,
	Windows: checkMetadata,
	MacOS:   checkMetadata,
	Android: checkMetadata,
	IOS:     checkMetadata,
	Pyodide: checkMetadata,
}

// disagreeing is the kind of causes of wheels that contradict their file names.
var disagreeing = cause.Build("make the metadata and the file name agree").AboutTags()

// pipRefuses is the effect of most mismatches.
const pipRefuses = "pip does not install it"

func checkMetadata(p *analyzer.Pass) {
	in, name := p.Facts.Inside, p.Facts.Wheel
	if in == nil || name == nil {
		return
	}
	report := func(severity analyzer.Severity, object, what, effect string) {
		f := analyzer.Finding{Object: object, Severity: severity, Headline: what, Message: what}
		if effect != "" {
			f.Message += ". " + effect
		}
		p.Report(f, fix.Candidate{Fix: fix.Fix{
			Kind:  fix.KindRebuild,
			Title: fix.Titled("Rebuild the wheel; change tags only with wheel tags"),
		}})
	}
	switch len(in.DistInfo) {
	case 0:
		report(analyzer.Warning, "", "The wheel has no *.dist-info folder", pipRefuses)
		return
	case 1:
	default:
		report(analyzer.Error, in.DistInfo[0], fmt.Sprintf("The wheel has %d *.dist-info folders (%s)",
			len(in.DistInfo), names(in.DistInfo, "folder")), pipRefuses)
		return
	}
	dir := in.DistInfo[0]
	if project, _, _ := strings.Cut(strings.TrimSuffix(dir, ".dist-info"), "-"); !strings.HasPrefix(
		pkgmeta.Normalize(dir),
		pkgmeta.Normalize(name.Name),
	) {
		report(analyzer.Error, dir, fmt.Sprintf("The dist-info folder is for %s, but the file name is "+
			"for %s", project, name.Name), "pip does not install the wheel")
	}
	if m := p.Facts.Metadata; m != nil {
		inside, err := pkgmeta.ParseVersion(m.Version)
		outside, errOut := pkgmeta.ParseVersion(strings.ReplaceAll(name.Version, "_", "-"))
		if pkgmeta.Normalize(m.Name) != pkgmeta.Normalize(name.Name) ||
			errOut == nil && (err != nil || inside.Compare(outside) != 0) {
			report(analyzer.Error, dir+"/METADATA", fmt.Sprintf("METADATA is for %s %s, but the file name "+
				"is for %s %s", m.Name, m.Version, name.Name, name.Version),
				"pip does not install the wheel")
		}
	}
	checkWheelFile(p, report, dir+"/WHEEL")
}

func checkWheelFile(
	p *analyzer.Pass,
	report func(severity analyzer.Severity, object, what, effect string),
	at string,
) {
	in := p.Facts.Inside
	w := in.WheelFile
	switch {
	case in.WheelError != "":
		report(analyzer.Warning, at, "WHEEL cannot be read: "+in.WheelError, "")
		return
	case w == nil:
		report(analyzer.Error, at, "The wheel has no WHEEL file in its dist-info folder", pipRefuses)
		return
	}
	if major, _, _ := strings.Cut(w.Version, "."); w.Version != "" && major != "1" {
		report(analyzer.Error, at, "WHEEL declares Wheel-Version "+w.Version, "pip installs only 1.x")
	}
	inside, outside := tagSet(w.Tags), tagSet(p.Facts.Wheel.Tags)
	if len(inside) > 0 && !slices.Equal(inside, outside) && !p.Scenario.Tags {
		what := fmt.Sprintf("WHEEL has the tags %s, but the file name has %s", names(inside, "tag"),
			names(outside, "tag"))
		p.Report(
			analyzer.Finding{
				Object: at, Severity: analyzer.Warning, Headline: what,
				Message: what + ". pip uses the file name",
			},
			fix.Candidate{Fix: retagged(p, pkgmeta.Tag{}, fix.Fix{
				Kind:  fix.KindRebuild,
				Title: fix.Titled("Write the tags of the file name into WHEEL"),
			}), Change: fix.WriteTags{}},
		)
	}
	if w.Purelib && p.Facts.Tagged(p.Platform.Arch) { // not about the lines of WHEEL with the tags
		report(analyzer.Note, path.Dir(at), "WHEEL declares a pure Python wheel "+
			"(Root-Is-Purelib: true), but the wheel has shared objects", "")
	}
}
