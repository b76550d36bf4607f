package facts

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/startup"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/analyzer/wheelpolicy"
)

const (
	// METADATA: the longest on the public index contain a README of about 100 KB
	maxMetadata = 4 << 20
	maxRecord   = 64 << 20 // RECORD: the longest have about 20,000 rows, 3 MB
)

// prepared is the result of reading one file; see unpack.Options.Prepare.
type prepared struct {
	metadata, record, wheelFile, depends, system bool // it is a text of that kind
	text                                         []byte

	foreign string // why a file of another system is skipped
	script  bool   // it is a linker script
	err     error  // why it could not be read

	wasm    *WasmObject // nil for other formats
	wasmErr error       // why a WebAssembly module could not be read

	macho   *machoobj.File // nil for other formats
	machErr bool           // err is the error of a Mach-O file

	elf        *elfobj.Object // nil if it could not be read
	object     *Object        // nil if it is skipped
	android    bool           // object is one of a wheel for Android
	skip       string
	gpuErr     error
	unreadable bool          // auditwheel cannot read it
	listed     bool          // an ELF file of a wheel, readable or not, which RECORD must list
	size       int64         // its size
	digest     string        // its digest in the format of RECORD; "" if it was not computed
	symbols    []abi3.Symbol // symbols of an extension in a wheel for the stable ABI

	variant *VariantFile // of variant.json; nil for other files
	sbom    *SBOM        // of a bill of materials; nil for other files
	setsUp  *bool        // of a script of a conda package or deb: see Artifact.SetsUp

	pe     *peobj.Object  // nil for other formats
	peErr  error          // why a PE file could not be read
	source []byte         // content of a Python source that may affect the search for DLLs
	loads  *startup.Loads // of a Python source in a wheel for Linux; nil for other files
	// of a Python source in a wheel for Linux, with its name; nil for other files
	module *startup.Module
	name   string
}

// left is what is not read of objects: see Options.NoGPU and Options.Lean.
type left struct{ gpu, opens bool }

// prepare reads a file, and adds the symbols of an object to names. It is called concurrently
// and uses only its arguments.
func prepare(f *unpack.File, names *elfobj.Names, leave left) *prepared {
	p := &prepared{}
	wheel := f.Package.Kind == unpack.KindWheel
	switch {
	case wheel && isMetadata(f.Path):
		p.metadata = true
		p.read(f, maxMetadata, false)
	case wheel && isRecord(f.Path):
		p.record = true
		p.read(f, maxRecord, true)
	case wheel && isWheelFile(f.Path):
		p.wheelFile = true
		p.read(f, maxMetadata, false)
	case isVariantFile(f.Package, f.Path):
		p.readVariant(f)
	case wantsSBOM(f.Package, f.Path, f.Size):
		p.readSBOM(f)
	case isDepends(f.Path):
		p.depends = true
		p.read(f, maxMetadata, false)
	case isSystemFile(f.Package, f.Path):
		p.system = true
		p.read(f, maxSystemFile, false)
	case isScript(f.Package, f.Path, start(f)):
		p.read(f, maxMetadata, false)
		p.setsUp = new(bool)
		*p.setsUp = setsUp(f.Path, p.text)
		p.text = nil
	case isSource(f.Path):
		p.readSource(f)
	default:
		p.binary(f, names, leave)
	}
	return p
}

// readABI reads the ABI of a library. If only the dynamic symbols can be read, Problems has the
// reason.
func readABI(f *unpack.File, o *elfobj.Object) *abi.Library {
	l, err := abi.Read(abi.File{Name: f.Path, Content: f.Content, Size: f.Size})
	if err != nil {
		l = abi.FromObject(f.Path, o)
		l.Problems = append(l.Problems, err.Error())
	}
	return l
}

// read reads a text of at most limit bytes. If whole is set, a longer one is an error.
func (p *prepared) read(f *unpack.File, limit int64, whole bool) {
	if whole && f.Size > limit {
		p.err = fmt.Errorf("%s is too long", path.Base(f.Path))
		return
	}
	p.text, p.err = io.ReadAll(io.NewSectionReader(f.Content, 0, min(f.Size, limit)))
}

// start returns the start of a file.
func start(f *unpack.File) []byte {
	head := make([]byte, 512)
	n, _ := f.Content.ReadAt(head, 0)
	return head[:n]
}

func (p *prepared) binary(f *unpack.File, names *elfobj.Names, leave left) {
	head := start(f)
	if isPE(head) {
		p.readPE(f)
		return
	}
	if wantsWasm(f, head) {
		p.readWasm(f)
		return
	}
	if p.foreign = foreignReason(head); p.foreign != "" {
		return
	}
	if machoobj.Is(head) {
		p.machO(f)
		return
	}
	text := string(head)
	p.script = strings.Contains(text, "GNU ld script") || strings.HasPrefix(text, "INPUT") ||
		strings.HasPrefix(text, "GROUP")
	var contents *elfobj.Contents
	p.elf, contents, p.err = elfobj.ReadContentsAmong(names, f.Content, f.Size)
	if p.listed = f.Package.Kind == unpack.KindWheel && !errors.Is(p.err, elfobj.ErrNotELF); p.listed {
		p.size, p.digest = f.Size, digest(f)
	}
	p.unreadable = wheelpolicy.Unreadable(head[:min(len(head), wheelpolicy.HeaderSize)],
		f.Size, p.err != nil)
	if p.err != nil {
		return
	}
	if f.Package.Kind == unpack.KindWheel && strings.HasSuffix(f.Path, ".so") &&
		strings.Contains(path.Base(f.Package.Path), "abi3") {
		static, err := elfobj.StaticSymbols(f.Content, f.Size, abi3.Prefixes...)
		if err != nil { // .symtab only adds symbols that the loader does not use
			static = nil
		}
		p.symbols = abi3.Of(p.elf, static)
	}
	// Folders that Go ignores: its distribution has binaries of many systems there.
	if f.Package.Kind == unpack.KindWheel && strings.Contains("/"+f.Path, "/testdata/") {
		p.skip = "in testdata, not checked"
		return
	}
	p.android = f.Package.Kind == unpack.KindWheel && tagged(f.Package.Path, platform.TagAndroid)
	p.skip = skipReason(p.elf)
	if p.skip == "" && !p.android && android(p.elf) {
		p.skip = "ELF for Android, not checked"
	}
	if p.skip != "" {
		return
	}
	p.object = newObject(f.Path, f.Package.Format, p.elf)
	if !leave.gpu {
		p.object.GPU, p.gpuErr = gpu.Read(p.elf, f.Content, f.Size)
	}
	numpy := p.object.Extension() || p.elf.Imports.Any(opensCapsule) // constants are searched for it
	if leave.opens && f.Partial && !numpy && p.elf.Imports.Any(opens) {
		p.object.Unsearched = true
	} else {
		p.object.Opens = readOpened(p.elf, f.Content)
	}
	p.object.Release = readRelease(p.object, f)
	if !p.object.Extension() && p.elf.SONAME != "" {
		p.object.Locals = elfobj.ReadLocals(f.Content, f.Size)
	}
	if p.object.Extension() {
		p.object.Loads = readLoads(p.elf, f.Content)
	}
	if numpy {
		p.object.NumPy, p.object.NumPyError = readNumPyBuild(p.elf, f.Content, f.Size)
	}
	if p.object.Extension() {
		p.object.Types, p.object.Uses = readTypes(f, p.object, contents)
		p.object.ComparesLibxml2 = p.elf.Libxml2 != 0 &&
			sectionsOf(p.elf, f.Content, f.Size).has(otherLibxml2)
	}
	p.object.Executes = readProcessor(f, p.object, contents)
	p.elf.Sections = nil // no longer needed; large objects have thousands
}
