package facts

import (
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/unpack"
)

// VariantFile is variant.json in the dist-info folder of a variant wheel (PEP 825).
type VariantFile struct {
	Path    string           // in the wheel
	Content *pkgmeta.Variant // nil if it is wrong
	Error   string           // why it is wrong; "" if it is not
}

// isVariantFile reports whether a member is the metadata of a variant wheel.
func isVariantFile(pkg *unpack.Package, p string) bool {
	info, file, _ := strings.Cut(p, "/")
	return pkg.Kind == KindWheel && file == "variant.json" && strings.HasSuffix(info, ".dist-info")
}

// readVariant reads variant.json.
func (p *prepared) readVariant(f *unpack.File) {
	p.variant = &VariantFile{Path: f.Path}
	p.read(f, pkgmeta.MaxVariant+1, true)
	text := p.text
	p.text = nil
	if p.err != nil {
		p.variant.Error = "it was not read: " + p.err.Error()
		return
	}
	v, err := pkgmeta.ParseVariant(text)
	if err != nil {
		p.variant.Error = err.Error()
		return
	}
	p.variant.Content = v
}
