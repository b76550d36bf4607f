package facts

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/sbom"
	"github.com/compat-app/compat/analyzer/unpack"
)

// SBOM is a software bill of materials in a wheel (PEP 770).
type SBOM struct {
	Path string // in the wheel
	// What it lists, without packages of languages; nil if it was not read.
	Document *sbom.Document
	Count    int    // of its components, with packages of languages
	Error    string // why it is wrong; "" if it is not, or it was not read
}

// maxSBOMs limits how many are listed; wheels have one or two.
const maxSBOMs = 64

// isSBOM reports whether a member is a bill of materials: a file in the folder sboms of the
// dist-info folder.
func isSBOM(p string) bool {
	info, rest, _ := strings.Cut(p, "/")
	folder, file, ok := strings.Cut(rest, "/")
	return ok && folder == "sboms" && file != "" && strings.HasSuffix(info, ".dist-info")
}

// wantsSBOM reports whether a member is a bill of materials that is read.
func wantsSBOM(pkg *unpack.Package, p string, size int64) bool {
	return pkg.Kind == KindWheel && size <= sbom.MaxSize && path.Ext(p) == ".json" && isSBOM(p)
}

// readSBOM reads a bill of materials.
func (p *prepared) readSBOM(f *unpack.File) {
	p.sbom = &SBOM{Path: f.Path}
	p.read(f, sbom.MaxSize, true)
	text := p.text
	p.text = nil
	if p.err != nil {
		return
	}
	d, err := sbom.Parse(text)
	if err != nil {
		if !errors.Is(err, sbom.ErrLimit) {
			p.sbom.Error = err.Error()
		}
		return
	}
	p.sbom.Document, p.sbom.Count = d, len(d.Components)
	d.Components = slices.DeleteFunc(d.Components, sbom.Component.OfLanguage)
	if len(d.Components) == 0 {
		d.Components = nil
	}
	d.Components = slices.Clip(d.Components)
}

// bills adds those that were not read.
func (a *audit) bills() []SBOM {
	out := a.sboms
	for _, m := range a.Members {
		if isSBOM(m) && !strings.HasSuffix(m, "/") && !slices.ContainsFunc(out,
			func(s SBOM) bool { return s.Path == m }) && len(out) < maxSBOMs {
			out = append(out, SBOM{Path: m})
		}
	}
	slices.SortFunc(out, func(a, b SBOM) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// readRelease returns the version that the constants of a bundled library contain; see
// Object.Release.
func readRelease(o *Object, f *unpack.File) string {
	if f.Package.Kind != KindWheel || sbom.Original(o.Path) == "" || !sbom.ShowsText(o.Path) {
		return ""
	}
	for b := range constants(o.Object, f.Content) {
		if v := sbom.ReadText(o.Path, b); v != "" {
			return v
		}
	}
	return ""
}
