package analyzer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/analyzer/wheelpolicy"
)

// Facts are what was read from one artifact, before anything is judged.
type Facts struct {
	Path     string
	SHA256   string
	Kind     string // "wheel", "archive" or "object"
	Wheel    *pkgmeta.WheelName
	Metadata *pkgmeta.Metadata // nil where there is none or it could not be read
	Objects  []*Object
	Policy   *wheelpolicy.Policy // auditwheel's verdict; nil for what is no wheel or not named like one
	ABI3     *abi3.Result        // abi3audit's; nil for a wheel without such a tag

	audit *audit // while it is read
}

// Object is one ELF file of an artifact.
type Object struct {
	Path string // inside the artifact
	*elfobj.Object
	GPU   gpu.Archs
	NumPy NumPyBuild

	module bool   // see Extension
	stem   string // the path without what tells alternatives apart
}

var extensionSuffix = regexp.MustCompile(`\.(cpython-[0-9a-z]+|abi3|pypy[0-9a-z_]+)[^/]*\.so$`)

var variant = regexp.MustCompile(`[0-9]+|cuda|rocm|cpu|xpu|hip`)

// newObject gathers what is asked of an object again and again.
func newObject(path string, o *elfobj.Object) *Object {
	return &Object{Path: path, Object: o,
		module: extensionSuffix.MatchString(path) || slices.ContainsFunc(o.Exports, func(e elfobj.Export) bool { return strings.HasPrefix(e.Name, "PyInit_") }),
		stem:   variant.ReplaceAllString(extensionSuffix.ReplaceAllString(path, ""), ""),
	}
}

// Public tells whether programs may link against the object: a lib*.so with a SONAME that is no extension module and no copy of
// another project's library in a wheel's X.libs.
func (o *Object) Public() bool {
	base := path.Base(o.Path)
	return o.SONAME != "" && strings.HasPrefix(base, "lib") && !o.Extension() && !strings.Contains(o.Path, ".libs/")
}

// Extension tells whether the object is a module that Python imports.
func (o *Object) Extension() bool { return o.module }

// read is everything that was taken in from one list of inputs.
type read struct {
	facts   []*Facts
	unread  []Unread
	skipped []Unread
}

var libraryName = regexp.MustCompile(`\.(so(\.[0-9]+)*|dylib|pyd|dll|node)$`)

// sharedName matches what a library is called on Linux and not on systems whose files are skipped.
var sharedName = regexp.MustCompile(`\.so(\.[0-9.]+)?$`)

var foreign = map[string]string{
	"MZ":               "PE, not judged",
	"\xcf\xfa\xed\xfe": "Mach-O, not judged",
	"\xce\xfa\xed\xfe": "Mach-O, not judged",
	"\xca\xfe\xba\xbe": "Mach-O, not judged",
	"\xbe\xba\xfe\xca": "Mach-O, not judged",
}

// want asks for what the analyzer reads: objects by content or by name, and a wheel's own metadata.
func want(p string, _ int64, head []byte) bool {
	return strings.HasPrefix(string(head), "\x7fELF") || libraryName.MatchString(p) || isMetadata(p) || isRecord(p)
}

func isMetadata(p string) bool {
	dir, file := path.Split(p)
	return file == "METADATA" && strings.HasSuffix(dir, ".dist-info/") && strings.Count(p, "/") == 1
}

// readAll turns inputs into facts. Its error is that of ctx or of reading the input itself.
func readAll(ctx context.Context, inputs []Input, o Options) (*read, error) {
	r := &read{}
	for _, in := range inputs {
		byPackage := map[*unpack.Package]*Facts{}
		of := func(p *unpack.Package) *Facts {
			if byPackage[p] == nil {
				byPackage[p] = newFacts(p)
			}
			return byPackage[p]
		}
		list := func(p *unpack.Package, path string) {
			if a := of(p).audit; a != nil {
				a.Members = append(a.Members, path)
			}
		}
		packages, problems, err := unpack.Walk(ctx, in.Name, in.Content, in.Size, unpack.Options{Limits: o.Limits, Scratch: o.Scratch, List: list, Want: want}, func(f *unpack.File) error {
			return r.file(of(f.Package), f)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.Name, err)
		}
		for _, p := range problems {
			r.unread = append(r.unread, Unread(p))
		}
		r.packages(packages, byPackage, problems)
	}
	return r, nil
}

// packages completes the facts of what Walk found. An archive without objects of its own is only a wrapper and no artifact.
func (r *read) packages(packages []*unpack.Package, byPackage map[*unpack.Package]*Facts, problems []unpack.Problem) {
	for _, p := range packages {
		f := byPackage[p]
		if f == nil {
			if p.Kind != "wheel" {
				continue
			}
			f = newFacts(p)
		}
		f.SHA256 = p.SHA256
		if p.Kind == "wheel" {
			if _, err := pkgmeta.ParseWheelName(path.Base(p.Path)); err != nil {
				r.unread = append(r.unread, Unread{p.Path, "the file name is not a wheel's: " + err.Error()})
			}
			if f.audit.lacksMetadata() {
				r.unread = append(r.unread, Unread{p.Path, "it has a dist-info folder without METADATA, so nothing tells what it requires, and pip refuses it"})
			}
			f.finish(problems)
		} else if len(f.Objects) == 0 {
			continue
		}
		slices.SortFunc(f.Objects, func(a, b *Object) int { return strings.Compare(a.Path, b.Path) })
		r.facts = append(r.facts, f)
	}
}

// maxMetadata bounds METADATA: the longest on the public index carry a README of some 100 KB.
const maxMetadata = 4 << 20

// metadata reads a wheel's METADATA; a requirement in it that is none is told, for a package may hang on it.
func (r *read) metadata(facts *Facts, f *unpack.File, at string) {
	b, err := io.ReadAll(io.NewSectionReader(f.Content, 0, min(f.Size, maxMetadata)))
	if err == nil {
		facts.Metadata, err = pkgmeta.ParseMetadata(b)
	}
	if err != nil {
		r.unread = append(r.unread, Unread{at, "METADATA could not be read: " + err.Error()})
		return
	}
	for _, p := range facts.Metadata.Problems {
		r.unread = append(r.unread, Unread{at, "a requirement could not be read: " + p})
	}
}

func (r *read) file(facts *Facts, f *unpack.File) error {
	at := f.Path
	if facts.Kind != "object" {
		at = facts.Path + "/" + f.Path
	}
	if isMetadata(f.Path) && facts.Kind == "wheel" {
		r.metadata(facts, f, at)
		return nil
	}
	if isRecord(f.Path) && facts.audit != nil {
		facts.audit.record(f)
		return nil
	}
	head := make([]byte, 4)
	n, _ := f.Content.ReadAt(head, 0)
	for magic, why := range foreign {
		if !strings.HasPrefix(string(head[:n]), magic) {
			continue
		}
		if facts.Kind == unpack.KindObject && sharedName.MatchString(f.Path) {
			r.unread = append(r.unread, Unread{at, "it is named like a Linux library and is none: " + why})
		} else {
			r.skipped = append(r.skipped, Unread{at, why})
		}
		return nil
	}
	o, err := elfobj.Read(f.Content, f.Size)
	facts.audit.object(f, o, err)
	if errors.Is(err, elfobj.ErrNotELF) && isLinkerScript(f) {
		r.skipped = append(r.skipped, Unread{at, "linker script, not judged"})
		return nil
	}
	if err != nil {
		r.unread = append(r.unread, Unread{at, err.Error()})
		return nil //nolint:nilerr // what could not be read is part of the result
	}
	if why := notJudged(o); why != "" {
		r.skipped = append(r.skipped, Unread{at, why})
		return nil
	}
	archs, err := gpu.Read(o, f.Content, f.Size)
	if err != nil {
		r.unread = append(r.unread, Unread{at, "the GPU code in it could not be read: " + err.Error()})
	}
	object := newObject(f.Path, o)
	object.GPU = archs
	if object.Extension() {
		object.NumPy = readNumPyBuild(o, f.Content, f.Size)
	}
	o.Sections = nil // hints for what was read above; big objects have thousands
	facts.Objects = append(facts.Objects, object)
	return nil
}

// isLinkerScript recognises the text files that stand in for a library at link time, and are no library.
func isLinkerScript(f *unpack.File) bool {
	head := make([]byte, 512)
	n, _ := f.Content.ReadAt(head, 0)
	text := string(head[:n])
	return strings.Contains(text, "GNU ld script") || strings.HasPrefix(text, "INPUT") || strings.HasPrefix(text, "GROUP")
}

// notJudged says why an ELF file is none that a Linux loader is asked to load; "" when it is.
func notJudged(o *elfobj.Object) string {
	switch {
	case o.OSABI != 0 && o.OSABI != 3:
		return fmt.Sprintf("ELF of another system (EI_OSABI %d), not judged", o.OSABI)
	case o.Type == "ET_REL":
		return "object file (ET_REL), not judged"
	case o.Type == "ET_CORE":
		return "core file, not judged"
	case !o.Dynamic:
		return "no dynamic section: static program or debug file, not judged"
	}
	return ""
}
