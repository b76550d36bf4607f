package analyzer

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/analyzer/wheelpolicy"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Kinds of artifacts.
const (
	KindWheel   = unpack.KindWheel
	KindArchive = unpack.KindArchive // any other archive
	KindObject  = unpack.KindObject  // a loose file
)

// Facts are what was read from one artifact, before anything is judged.
type Facts struct {
	Path   string
	SHA256 string
	Kind   string // KindWheel, KindArchive or KindObject
	Format string // of unpack.FormatDeb and the others; "" for an object
	// what a deb, rpm or conda package says that it needs: names of packages, of an rpm
	// capabilities
	Depends  []string
	Wheel    *pkgmeta.WheelName
	Metadata *pkgmeta.Metadata // nil where there is none or it could not be read
	Objects  []*Object
	// auditwheel's verdict; nil for what is no wheel or not named like one
	Policy *wheelpolicy.Policy
	ABI3   *abi3.Result // abi3audit's; nil for a wheel without such a tag
	Inside *Inside      // what a wheel says of its members; nil for what is none

	audit *audit // while it is read
	conda bool   // it has an index of a conda package
}

// Object is one ELF file of an artifact.
type Object struct {
	Path string // inside the artifact
	*elfobj.Object
	GPU   gpu.Archs
	NumPy NumPyBuild
	Opens []string // names of libraries among its constants that it may give to dlopen, sorted

	module bool   // see Extension
	host   Host   // see View.Host
	inside bool   // of a package: not where programs look for libraries
	stem   string // the path without what tells alternatives apart
}

var extensionSuffix = lazyregexp.New(`\.(cpython-[0-9a-z]+|abi3|pypy[0-9a-z_]+)[^/]*\.so$`)

var variant = lazyregexp.New(`[0-9]+|cuda|rocm|cpu|xpu|hip`)

// newObject gathers what is asked of an object again and again.
func newObject(path, format string, o *elfobj.Object) *Object {
	x := &Object{Path: path, Object: o,
		module: extensionSuffix.MatchString(path) ||
			o.Exports.Any(func(name string) bool { return strings.HasPrefix(name, "PyInit_") }),
		stem: variant.ReplaceAllString(extensionSuffix.ReplaceAllString(path, ""), ""),
		inside: (format == unpack.FormatDeb || format == unpack.FormatRPM) &&
			!libraryFolder.MatchString(path),
	}
	x.host = hostOf(x)
	return x
}

// Public tells whether programs may link against the object: a lib*.so with a SONAME that is no
// module of an interpreter, no copy of another project's library in a wheel's X.libs, and in a
// distribution's package lies where programs look for libraries.
func (o *Object) Public() bool {
	base := path.Base(o.Path)
	return o.SONAME != "" && strings.HasPrefix(base, "lib") && o.host != HostPython &&
		o.host != HostNode &&
		o.host != HostJava &&
		!o.inside &&
		!strings.Contains(o.Path, ".libs/")
}

// Extension tells whether the object is a module that Python imports.
func (o *Object) Extension() bool { return o.module }

// read is everything that was taken in from one list of inputs.
type read struct {
	facts   []*Facts
	unread  []Unread
	skipped []Unread
}

var libraryName = lazyregexp.New(`\.(so(\.[0-9]+)*|dylib|pyd|dll|node)$`)

// sharedName matches what a library is called on Linux and not on systems whose files are skipped.
var sharedName = lazyregexp.New(`\.so(\.[0-9.]+)?$`)

var foreign = map[string]string{
	"MZ":               "PE, not judged",
	"\xcf\xfa\xed\xfe": "Mach-O, not judged",
	"\xce\xfa\xed\xfe": "Mach-O, not judged",
	"\xca\xfe\xba\xbe": "Mach-O, not judged",
	"\xbe\xba\xfe\xca": "Mach-O, not judged",
	"\x01\xf7\x00":     "XCOFF of AIX, not judged",
	"\x01\xdf\x00":     "XCOFF of AIX, not judged",
}

// want asks for what the analyzer reads: objects by content or by name, and a wheel's own metadata.
func want(p string, _ int64, head []byte) bool {
	return strings.HasPrefix(string(head), "\x7fELF") || libraryName.MatchString(p) ||
		isMetadata(p) ||
		isRecord(p) ||
		isWheelFile(p) ||
		isDepends(p)
}

// skim leaves the machine code of objects out: nothing here looks at it.
func skim(head []byte, _ int64) []unpack.Range {
	var out []unpack.Range
	for _, c := range elfobj.Code(head) {
		out = append(out, unpack.Range{Start: c[0], End: c[1]})
	}
	return out
}

func isMetadata(p string) bool {
	dir, file := path.Split(p)
	return file == "METADATA" && strings.HasSuffix(dir, ".dist-info/") && strings.Count(p, "/") == 1
}

// readAll turns inputs into facts, with the names of all symbols among names. Its error is that of
// ctx or of reading the input itself.
func readAll(ctx context.Context, inputs []Input, o Options, names *elfobj.Names) (*read, error) {
	prepare := func(f *unpack.File) any { return prepare(f, names) }
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
		walk := unpack.Options{
			Limits:  o.Limits,
			SHA256:  in.SHA256,
			Scratch: o.Scratch,
			List:    list,
			Want:    want,
			Digest:  digested,
			Skim:    skim,
			Prepare: prepare,
			Workers: runtime.GOMAXPROCS(0),
		}
		packages, problems, err := unpack.Walk(
			ctx,
			in.Name,
			in.Content,
			in.Size,
			walk,
			func(f *unpack.File) error {
				o.progress("reading %s/%s", f.Package.Path, f.Path)
				return r.file(of(f.Package), f)
			},
		)
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

// packages completes the facts of what Walk found. An archive without objects of its own is only a
// wrapper and no artifact.
func (r *read) packages(
	packages []*unpack.Package,
	byPackage map[*unpack.Package]*Facts,
	problems []unpack.Problem,
) {
	for _, p := range packages {
		f := byPackage[p]
		if f == nil {
			if p.Kind != KindWheel {
				continue
			}
			f = newFacts(p)
		}
		f.SHA256, f.Format = p.SHA256, p.Format
		f.Depends = append(f.Depends, p.Requires...)
		if p.Kind == KindWheel {
			if _, err := pkgmeta.ParseWheelName(path.Base(p.Path)); err != nil {
				r.unread = append(
					r.unread,
					Unread{p.Path, "the file name is not a wheel's: " + err.Error()},
				)
			}
			if f.audit.lacksMetadata() {
				r.unread = append(
					r.unread,
					Unread{
						p.Path,
						"it has a dist-info folder without METADATA, so nothing tells what it requires, and pip refuses it",
					},
				)
			}
			f.finish(problems)
		} else if len(f.Objects) == 0 {
			continue
		}
		slices.SortFunc(
			f.Objects,
			func(a, b *Object) int { return strings.Compare(a.Path, b.Path) },
		)
		r.facts = append(r.facts, f)
	}
}

// metadata reads a wheel's METADATA; a requirement in it that is none is told, for a package may
// hang on it.
func (r *read) metadata(facts *Facts, p *prepared, at string) {
	err := p.err
	if err == nil {
		facts.Metadata, err = pkgmeta.ParseMetadata(p.text)
	}
	if err != nil {
		r.unread = append(r.unread, Unread{at, "METADATA could not be read: " + err.Error()})
		return
	}
	for _, p := range facts.Metadata.Problems {
		r.unread = append(r.unread, Unread{at, "a requirement could not be read: " + p})
	}
}

// file takes in what prepare found.
func (r *read) file(facts *Facts, f *unpack.File) error {
	p := f.Prepared.(*prepared)
	at := f.Path
	if facts.Kind != KindObject {
		at = facts.Path + "/" + f.Path
	}
	switch {
	case p.metadata:
		r.metadata(facts, p, at)
		return nil
	case p.record:
		facts.audit.record(f.Path, p)
		return nil
	case p.wheelFile:
		facts.audit.wheel = p.text
		return nil
	case p.depends:
		facts.Depends = append(facts.Depends, depends(f.Path, p.text)...)
		facts.conda = facts.conda || f.Path == condaIndex
		return nil
	case p.foreign != "":
		if facts.Kind == unpack.KindObject && sharedName.MatchString(f.Path) {
			r.unread = append(
				r.unread,
				Unread{at, "it is named like a Linux library and is none: " + p.foreign},
			)
		} else {
			r.skipped = append(r.skipped, Unread{at, p.foreign})
		}
		return nil
	}
	facts.audit.object(f.Path, p)
	switch {
	case errors.Is(p.err, elfobj.ErrNotELF) && p.script:
		r.skipped = append(r.skipped, Unread{at, "linker script, not judged"})
	case p.err != nil:
		r.unread = append(r.unread, Unread{at, p.err.Error()})
	case p.object == nil:
		r.skipped = append(r.skipped, Unread{at, p.skip})
	default:
		if p.gpuErr != nil {
			r.unread = append(
				r.unread,
				Unread{at, "the GPU code in it could not be read: " + p.gpuErr.Error()},
			)
		}
		facts.Objects = append(facts.Objects, p.object)
	}
	return nil
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
	case android(o):
		return "ELF for Android, not judged"
	case otherLibc(o) != "":
		return "ELF of another system (it needs " + otherLibc(o) + "), not judged"
	case !o.Dynamic:
		return "no dynamic section: static program or debug file, not judged"
	}
	return ""
}
