package facts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform/debian"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/lazyregexp"
	"golang.org/x/sync/errgroup"
)

// Input is a file to read. Content must stay readable while the Set is in use.
type Input struct {
	Name    string // as the user named it; displayed, never opened
	Content io.ReaderAt
	Size    int64  // in bytes
	SHA256  string // in hex if it is known; "" if it has to be computed
	// Stored means that Content is what Encode returned for a wheel, and not the wheel. Whoever sets
	// it has compared it with a digest that is trusted.
	Stored bool
	// Partial means that Content is read by requests to a package index, so of a large object only
	// what is needed is read; see unpack.Options.Partial.
	Partial bool `json:"-"`
	// Keep gets what Encode returns for a wheel, if all of it could be read; nil = nobody does. whole
	// is false if Options.NoGPU or Options.Lean left something out.
	Keep func(stored []byte, whole bool) `json:"-"`
	// Reopen returns the wheel of a Stored input of which something may have been left out; nil: all
	// is in Content, or the wheel cannot be read. Its error is listed in Set.Unread.
	Reopen func(ctx context.Context) (Input, error) `json:"-"`
}

// Options are limits and callbacks for reading. The zero value has the default limits of
// unpack.
type Options struct {
	Limits unpack.Limits
	// Scratch stores content that is too large for memory; nil stores everything in memory.
	Scratch  func(size int64) (unpack.Scratch, error)
	Progress func(text string) // called with what is being read; may be nil
	// ABI makes Read read the ABI of public libraries, including types if there is debug
	// information.
	ABI bool
	// NoGPU leaves out which GPUs objects have code for, if the input is Partial: that code is most of
	// a large wheel.
	NoGPU bool
	// Lean leaves out the names of libraries that objects may open (Object.Opens), if the input is
	// Partial and the constants of an object are read for nothing else: they are half of what is read
	// of a large wheel, and few checks ask for them. See Set.Complete.
	Lean bool
	// Cache is what was read before; nil = nothing is kept.
	Cache *Cache
}

// Unread is a file that could not be read, or one that was skipped because compat does not
// check such files.
type Unread struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Set is what was read from a list of inputs.
type Set struct {
	Artifacts []*Artifact
	Unread    []Unread // damaged or over a limit: the verdict can only be unchecked
	Skipped   []Unread // files that compat does not check
}

var versionedName = lazyregexp.New(`\.so(\.[0-9]+[a-z]?)+$`)

// isLibraryName reports whether a file has the name of a library: x.so, x.so.1.2a, x.dylib, x.dll.
// It sees every member of an archive.
func isLibraryName(p string) bool {
	switch path.Ext(p) {
	case ".so", ".dylib", ".pyd", ".dll", ".node":
		return true
	}
	return strings.Contains(p, ".so.") && versionedName.MatchString(p)
}

// sharedName matches names of Linux libraries, which the systems of skipped files do not use.
var sharedName = lazyregexp.New(`\.so(\.[0-9.]+[a-z]?)?$`)

// isHeader reports whether a file has the name of a header of C, C++ or CUDA.
func isHeader(p string) bool {
	switch path.Ext(p) {
	case ".h", ".hh", ".hpp", ".hxx", ".cuh":
		return true
	}
	return false
}

// want selects the files to read: objects by content or name, and the metadata of packages. Of
// other systems' binaries only those that are given by themselves are named; in packages they are
// data.
func want(pkg *unpack.Package, p string, size int64, head []byte) bool {
	return isBinary(head) ||
		// in wheels a .node file may be data
		isLibraryName(p) && (path.Ext(p) != ".node" || pkg.Kind != KindWheel) ||
		wantsPE(pkg, p, size, head) ||
		pkg.Kind == unpack.KindObject && foreignReason(head) != "" ||
		isMetadata(p) ||
		isRecord(p) ||
		isWheelFile(p) ||
		wantsSBOM(pkg, p, size) ||
		isVariantFile(pkg, p) ||
		isScript(pkg, p, head) ||
		isSystemFile(pkg, p) ||
		isDepends(p)
}

// skim returns the parts of an object that are not read, mostly machine code, of which only a
// sample is examined.
func skim(head []byte, size int64) ([]unpack.Range, unpack.Sampler) {
	code := elfobj.Code(head)
	var rest unpack.Sampler
	switch {
	case isPE(head):
		code = peobj.Unread(head)
	case machoobj.Is(head):
		code = machoobj.Unread(head)
	case size <= maxProcessorObject:
		rest = &codeSample{}
	}
	var out []unpack.Range
	for _, c := range code {
		out = append(out, unpack.Range{Start: c[0], End: c[1]})
	}
	return out, rest
}

// locate returns what finds the dynamic section of an object.
func locate(head []byte, size int64) unpack.Locator {
	if l := elfobj.NewLocator(head, size); l != nil {
		return l
	}
	return nil
}

func isMetadata(p string) bool {
	dir, file := path.Split(p)
	return file == "METADATA" && strings.HasSuffix(dir, ".dist-info/") && strings.Count(p, "/") == 1
}

// atOnce is how many partial inputs are read at once: each waits for requests most of the time.
const atOnce = 8

// Read reads inputs, and adds the names of all symbols to names. It returns an error if ctx
// ends or an input cannot be read; damage in an input is listed in Set.Unread.
func Read(ctx context.Context, inputs []Input, o Options, names *elfobj.Names) (*Set, error) {
	if progress := o.Progress; progress != nil {
		var mu sync.Mutex
		o.Progress = func(text string) {
			mu.Lock()
			defer mu.Unlock()
			progress(text)
		}
	}
	sets := make([]*Set, len(inputs))
	var partial errgroup.Group
	partial.SetLimit(atOnce)
	for i, in := range inputs {
		if in.Partial && !in.Stored {
			partial.Go(func() (err error) {
				sets[i], err = read(ctx, in, o, names)
				return err
			})
		}
	}
	if err := partial.Wait(); err != nil {
		return nil, err
	}
	r := &Set{}
	for i, in := range inputs {
		own := sets[i]
		if own == nil {
			var err error
			if own, err = read(ctx, in, o, names); err != nil {
				return nil, err
			}
		}
		r.Artifacts = append(r.Artifacts, own.Artifacts...)
		r.Unread = append(r.Unread, own.Unread...)
		r.Skipped = append(r.Skipped, own.Skipped...)
	}
	r.leavePackages()
	return r, nil
}

// Complete reads those inputs again, completely, of which a check needed something that
// Options.Lean had left out. inputs, o and names are those of Read. The check has to be repeated if
// some were.
func (r *Set) Complete(
	ctx context.Context, inputs []Input, o Options, names *elfobj.Names,
) (some bool, _ error) {
	o.Lean = false
	for i, a := range r.Artifacts {
		if !slices.ContainsFunc(a.Objects, func(o *Object) bool { return o.asked }) {
			continue
		}
		at := slices.IndexFunc(inputs, func(in Input) bool { return unpack.Safe(in.Name) == a.Path })
		if at < 0 {
			continue
		}
		again, err := read(ctx, inputs[at], o, names)
		if err != nil {
			return false, err
		}
		some = true
		if len(again.Artifacts) != 1 || len(again.Unread) > 0 || again.Artifacts[0].unsearched() {
			// It cannot be read any more.
			if len(again.Unread) == 0 {
				again.Unread = []Unread{{Path: a.Path, Reason: "the names of the libraries that it may " +
					"open are not among its facts, and the wheel cannot be read"}}
			}
			r.Unread = append(r.Unread, again.Unread...)
			for _, o := range a.Objects {
				o.Unsearched, o.asked = false, false
			}
			continue
		}
		r.Artifacts[i] = again.Artifacts[0]
	}
	return some, nil
}

// read reads one input.
func read(ctx context.Context, in Input, o Options, names *elfobj.Names) (*Set, error) {
	r := &Set{}
	if in.Stored {
		if err := r.stored(in, o, names); err != nil {
			return nil, fmt.Errorf("%s: %w", in.Name, err)
		}
		if o.Lean || in.Reopen == nil || !slices.ContainsFunc(r.Artifacts, (*Artifact).unsearched) {
			return r, nil
		}
		wheel, err := in.Reopen(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%s: %w", in.Name, ctx.Err())
		case err != nil: // the index cannot be reached, or a limit was reached
			r.Unread = append(r.Unread, Unread{unpack.Safe(in.Name), err.Error()})
			return r, nil
		}
		return read(ctx, wheel, o, names)
	}
	leave := left{gpu: in.Partial && o.NoGPU, opens: in.Partial && o.Lean}
	prepare := func(f *unpack.File) any {
		p := prepare(f, names, leave)
		if o.ABI && p.object != nil && p.object.Public() {
			p.object.ABI = readABI(f, p.object.Object)
		}
		if o.Cache != nil && !in.Partial {
			o.Cache.keep(f, p)
		}
		return p
	}
	byPackage := map[*unpack.Package]*Artifact{}
	of := func(p *unpack.Package) *Artifact {
		if byPackage[p] == nil {
			byPackage[p] = newArtifact(p)
		}
		return byPackage[p]
	}
	list := func(p *unpack.Package, path string) {
		a := of(p)
		a.Headers = a.Headers || isHeader(path)
		if a.audit != nil {
			a.audit.Members = append(a.audit.Members, path)
			a.listed(path)
		}
	}
	walk := unpack.Options{
		Limits:  o.Limits,
		SHA256:  in.SHA256,
		Scratch: o.Scratch,
		List:    list,
		Link: func(p *unpack.Package, at, target string) {
			of(p).link(at, target)
		},
		Want:    want,
		Digest:  digested,
		Skim:    skim,
		Partial: in.Partial && !o.ABI,
		Locate:  locate,
		Prepare: prepare,
		Workers: runtime.GOMAXPROCS(0),
	}
	if o.Cache != nil {
		walk.Known = o.Cache.known
	}
	packages, problems, err := unpack.Walk(
		ctx,
		in.Name,
		in.Content,
		in.Size,
		walk,
		func(f *unpack.File) error {
			if o.Progress != nil {
				o.Progress("reading " + f.Package.Path + "/" + f.Path)
			}
			return r.file(of(f.Package), f)
		},
	)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	for _, p := range problems {
		r.Unread = append(r.Unread, Unread(p))
	}
	r.packages(packages, byPackage, problems)
	if in.Keep != nil && !o.ABI {
		if stored, err := Encode(r, names); err == nil {
			in.Keep(stored, leave == left{})
		}
	}
	return r, nil
}

// packages completes the artifacts that Walk found. An archive without binaries is not an
// artifact, unless it is an input and contains no other artifact.
func (r *Set) packages(
	packages []*unpack.Package,
	byPackage map[*unpack.Package]*Artifact,
	problems []unpack.Problem,
) {
	for _, p := range packages {
		f := byPackage[p]
		if f == nil {
			if p.Kind == KindArchive && len(packages) > 1 {
				continue
			}
			f = newArtifact(p)
		}
		f.SHA256, f.Format, f.libraryPath = p.SHA256, p.Format, p.LibraryPath
		f.Depends = append(f.Depends, p.Requires...)
		if p.Arch != "" {
			f.Arch = packageArch(p.Arch)
		}
		if p.Kind == KindWheel {
			if _, _, err := pkgmeta.ParseVariantName(path.Base(p.Path)); err != nil {
				r.Unread = append(r.Unread, Unread{p.Path, "the file name is not a wheel's, so " +
					"pip does not install it: " + err.Error()})
			}
			if f.audit.lacksMetadata() {
				r.Unread = append(
					r.Unread,
					Unread{
						p.Path,
						"its dist-info folder has no METADATA, so its dependencies are not known. pip does not " +
							"install it",
					},
				)
			}
			f.finish(problems)
			if f.Binaries() == 0 { // probably the tag is wrong
				r.Unread = append(r.Unread, f.forOthers...)
			} else {
				r.Skipped = append(r.Skipped, f.forOthers...)
			}
		} else if f.Binaries() == 0 && p.Kind == KindArchive && len(packages) > 1 {
			continue
		}
		slices.SortFunc(f.MachO, func(a, b *MachObject) int { return strings.Compare(a.Path, b.Path) })
		slices.SortFunc(f.Wasm, func(a, b *WasmObject) int { return strings.Compare(a.Path, b.Path) })
		for _, list := range [][]*Object{f.Objects, f.Android} {
			slices.SortFunc(list, func(a, b *Object) int { return strings.Compare(a.Path, b.Path) })
		}
		f.finishLinks()
		f.finishPE()
		f.prepare()
		r.Artifacts = append(r.Artifacts, f)
	}
}

// leavePackages removes the packages of a distribution that a root has as files: those that were
// downloaded to be installed.
func (r *Set) leavePackages() {
	var roots []string
	for _, a := range r.Artifacts {
		if a.Root() {
			roots = append(roots, a.Path+"/")
		}
	}
	r.Artifacts = slices.DeleteFunc(r.Artifacts, func(a *Artifact) bool {
		leave := a.Packaged() && !a.Conda() && slices.ContainsFunc(roots, func(root string) bool {
			return strings.HasPrefix(a.Path, root)
		})
		if leave {
			r.Skipped = append(r.Skipped, Unread{a.Path, "not installed in the root, not checked"})
		}
		return leave
	})
}

// metadata reads the METADATA of a wheel. A requirement that cannot be parsed is listed in
// Unread, because results may depend on it.
func (r *Set) metadata(facts *Artifact, p *prepared, at string) {
	err := p.err
	if err == nil {
		facts.Metadata, err = pkgmeta.ParseMetadata(p.text)
	}
	if err != nil {
		r.Unread = append(r.Unread, Unread{at, "METADATA could not be read: " + err.Error()})
		return
	}
	for _, p := range facts.Metadata.Problems {
		r.Unread = append(r.Unread, Unread{at, "a requirement could not be read: " + p})
	}
}

// file adds the result of prepare for a file.
func (r *Set) file(facts *Artifact, f *unpack.File) error {
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
	case p.variant != nil:
		facts.audit.variant = p.variant
		return nil
	case p.sbom != nil:
		facts.audit.sbom(p.sbom)
		return nil
	case p.setsUp != nil:
		facts.SetsUp = facts.SetsUp || *p.setsUp
		return nil
	case p.system:
		if facts.system == nil {
			facts.system = map[string][]byte{}
		}
		facts.system[f.Path] = p.text
		return nil
	case p.depends:
		if f.Path == condaIndex {
			facts.Depends, facts.Glibc, facts.Arch = condaDepends(p.text)
			facts.conda = true
			return nil
		}
		facts.Depends = append(facts.Depends, depends(f.Path, p.text)...)
		if f.Path == unpack.DebianControl {
			of := debDepends(p.text)
			facts.Depends = of["Depends"]
			facts.recommends, facts.alternatives = of[recommends], of[""]
			facts.debs = sync.OnceValue(func() *debian.Closure { return debian.ClosureOf(facts.Depends) })
		}
		if f.Path != npmPackage {
			facts.Arch = architecture(p.text)
		}
		return nil
	case p.wasm != nil || p.wasmErr != nil:
		r.wasm(facts, f.Path, at, p)
		return nil
	case p.macho != nil || p.machErr:
		r.machO(facts, f.Path, at, p)
		return nil
	case p.source != nil:
		facts.source(f, p)
		return nil
	case p.pe != nil || p.peErr != nil:
		r.pe(facts, f, p, at)
		return nil
	case p.foreign != "":
		if facts.Kind == unpack.KindObject && sharedName.MatchString(f.Path) {
			r.Unread = append(
				r.Unread,
				Unread{at, "it is named like a shared library, but is not one: " + p.foreign},
			)
		} else {
			r.Skipped = append(r.Skipped, Unread{at, p.foreign})
		}
		return nil
	}
	facts.audit.object(f.Path, p)
	switch {
	case errors.Is(p.err, elfobj.ErrNotELF) && p.script && facts.Kind == unpack.KindObject:
		// Given by itself it is taken for the library that it names; in a package for developers it is
		// one file of many.
		r.Unread = append(r.Unread, Unread{at, "linker script: name the library that it refers to"})
	case errors.Is(p.err, elfobj.ErrNotELF) && p.script:
		r.Skipped = append(r.Skipped, Unread{at, "linker script, not checked"})
	case errors.Is(p.err, elfobj.ErrForeign) && !sharedName.MatchString(f.Path):
		r.Skipped = append(r.Skipped, Unread{at, p.err.Error() + ", not checked"})
	case p.err != nil:
		r.Unread = append(r.Unread, Unread{at, p.err.Error()})
	case p.object == nil:
		r.Skipped = append(r.Skipped, Unread{at, p.skip})
	default:
		if p.gpuErr != nil {
			r.Unread = append(
				r.Unread,
				Unread{at, "the GPU code in it could not be read: " + p.gpuErr.Error()},
			)
		}
		if p.android {
			facts.Android = append(facts.Android, p.object)
			return nil
		}
		facts.Objects = append(facts.Objects, p.object)
	}
	return nil
}
