package facts

import (
	"bytes"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/startup"
	"github.com/compat-app/compat/analyzer/unpack"
)

// PEObject is a PE file of an artifact: a DLL, an extension module or a program for Windows.
type PEObject struct {
	Path      string // path in the artifact
	Installed string // path relative to site-packages: "../../Scripts/x.exe"
	*peobj.Object
}

// Extension reports whether the file is a module that Python imports.
func (o *PEObject) Extension() bool { return strings.HasSuffix(strings.ToLower(o.Path), ".pyd") }

func isPE(head []byte) bool { return strings.HasPrefix(string(head), "MZ") }

// The next functions see every member of an archive, for which regular expressions would be slow.

func windowsFile(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case ".dll", ".pyd", ".exe", ".node", ".drv", ".ocx":
		return true
	}
	return false
}

// tagged reports whether a platform tag, or one in the name of a wheel, is for one of the systems.
func tagged(name string, systems ...platform.TagSystem) bool {
	name = strings.ToLower(name[strings.LastIndexByte(name, '-')+1:])
	for tag := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '.' || r == ' ' }) {
		if slices.Contains(systems, platform.ParseTag(tag).System) {
			return true
		}
	}
	return false
}

// maxSource limits the size of Python sources that are read, in bytes. An __init__.py is far
// smaller, but SWIG writes modules of two megabytes.
const maxSource = 4 << 20

// wantsPE selects PE files, and Python sources that may affect the search for libraries.
func wantsPE(pkg *unpack.Package, p string, size int64, head []byte) bool {
	if isPE(head) {
		return pkg.Kind == KindObject || windowsFile(p)
	}
	return isSource(p) && (linuxSource(pkg, p) || startupSource(pkg, p, size))
}

// startupSource selects sources for Artifact.Startup: all in wheels for Windows and in conda
// packages, and in wheels for macOS those that run when a package is imported. On macOS only
// preloading a library has an effect.
func startupSource(pkg *unpack.Package, p string, size int64) bool {
	switch {
	case size > maxSource:
		return false
	case pkg.Kind == KindWheel && tagged(pkg.Path, platform.TagMacOS):
		return path.Base(p) == "__init__.py" || strings.Count(p, "/") < 2
	}
	return pkg.Kind == KindWheel && tagged(pkg.Path, platform.TagWindows) ||
		strings.HasPrefix(p, condaSite)
}

// linuxSource reports whether a source is read for Artifact.Loads: every source in a wheel for
// Linux that is not a test, or in a conda package, because without one of them the result would be
// wrong.
func linuxSource(pkg *unpack.Package, p string) bool {
	if pkg.Kind == KindWheel {
		return !startup.InTests(Installed(p)) && tagged(pkg.Path, platform.TagLinux, platform.TagAny,
			platform.TagAndroid, platform.TagWebAssembly)
	}
	_, ok := condaModule(p)
	return ok
}

func isSource(p string) bool { return strings.HasSuffix(p, ".py") || strings.HasSuffix(p, ".pth") }

// systemOf returns the system that executes the sources of a wheel with binaries for Linux, by its
// tags. The sources of a wheel for any system matter for binaries of other packages for Linux.
func systemOf(wheel string) startup.System {
	out := startup.System{Name: "linux"}
	tags := strings.ToLower(wheel[strings.LastIndexByte(wheel, '-')+1:])
	for i, tag := range strings.Split(strings.TrimSuffix(tags, ".whl"), ".") {
		t := platform.ParseTag(tag)
		if t.System != platform.TagLinux && t.System != platform.TagAny {
			return startup.System{}
		}
		if i > 0 && t.Arch != out.Machine {
			t.Arch = ""
		}
		out.Machine = t.Arch
	}
	return out
}

// sources has buffers for Python sources, few of which are kept.
var sources = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// readSource stores the content of a Python source if it matters.
func (p *prepared) readSource(f *unpack.File) {
	p.source = []byte{}
	b := sources.Get().(*bytes.Buffer)
	defer sources.Put(b)
	b.Reset()
	_, err := b.ReadFrom(io.NewSectionReader(f.Content, 0, min(f.Size, maxSource)))
	if err == nil && startupSource(f.Package, f.Path, f.Size) &&
		startup.Wanted(Installed(f.Path), b.Bytes()) {
		p.source = bytes.Clone(b.Bytes())
	}
	if linuxSource(f.Package, f.Path) {
		loads, code := startup.Unknown(), startup.NewCode(Installed(f.Path), b.String())
		if err == nil && f.Size <= maxSource {
			loads = code.Loads()
		}
		p.loads = &loads
		if err == nil && f.Package.Kind == KindWheel {
			p.name, p.module = code.Module(systemOf(f.Package.Path))
		}
	}
}

// source adds the result of readSource.
func (a *Artifact) source(f *unpack.File, p *prepared) {
	if len(p.source) > 0 {
		a.startup().Add(Installed(f.Path), p.source)
	}
	if p.module != nil {
		if a.Program == nil {
			a.Program = startup.Program{}
		}
		a.Program[p.name] = p.module
	}
	if p.loads == nil {
		return
	}
	a.load(*p.loads)
	if _, ok := condaModule(f.Path); ok {
		a.listed(f.Path)
	}
}

func (a *Artifact) load(l startup.Loads) {
	if a.Loads == nil {
		a.Loads = &startup.Loads{}
	}
	a.Loads.Add(l)
}

// listed handles the path of any member of a wheel: an __init__.py makes its folder a package, and
// code without a source may load any library.
func (a *Artifact) listed(member string) {
	at := Installed(member)
	dir, file := path.Split(at)
	a.Sources = a.Sources || isSource(file)
	switch {
	case file == "__init__.py" && strings.Count(at, "/") == 1:
		a.roots = append(a.roots, path.Dir(at))
	case strings.HasSuffix(file, ".pyc") && path.Base(dir) != "__pycache__",
		strings.HasPrefix(file, "__init__.") && strings.HasSuffix(file, ".so"):
		a.load(startup.Unknown())
	}
}

func (p *prepared) readPE(f *unpack.File) {
	p.pe, p.peErr = peobj.Read(f.Content, f.Size)
	if f.Package.Kind != KindWheel {
		return
	}
	p.listed, p.size, p.digest = true, f.Size, digest(f)
	if p.pe == nil || !strings.Contains(path.Base(f.Package.Path), "abi3") ||
		!strings.HasSuffix(f.Path, ".pyd") {
		return
	}
	for _, d := range p.pe.Imports {
		for _, s := range d.Symbols {
			if abi3.Names(s.Name) {
				p.symbols = append(p.symbols, abi3.Symbol{Name: s.Name})
			}
		}
	}
}

// pe adds a PE file. It is not checked in a wheel that is only for other systems.
func (r *Set) pe(a *Artifact, f *unpack.File, p *prepared, at string) {
	if a.Wheel != nil && !a.forWindows() {
		a.forOthers = append(a.forOthers, Unread{at, "PE, but the wheel is not for Windows"})
		return
	}
	if a.audit != nil {
		a.audit.members.object(f.Path, p)
		if a.audit.tag != "" {
			a.audit.symbols = append(a.audit.symbols, p.symbols...)
		}
	}
	if p.peErr != nil {
		r.Unread = append(r.Unread, Unread{at, p.peErr.Error()})
		a.UnreadPE = append(a.UnreadPE, f.Path)
		return
	}
	a.PE = append(a.PE, &PEObject{Path: f.Path, Installed: Installed(f.Path), Object: p.pe})
}

// forWindows reports whether a tag of the wheel is for Windows or for any system.
func (a *Artifact) forWindows() bool {
	return slices.ContainsFunc(a.Wheel.Tags, func(t pkgmeta.Tag) bool {
		return tagged(t.Platform, platform.TagAny, platform.TagWindows)
	})
}

func (a *Artifact) startup() *startup.Sources {
	if a.Startup == nil {
		a.Startup = &startup.Sources{}
	}
	return a.Startup
}

// finishPE sorts the files, which are read in any order.
func (a *Artifact) finishPE() {
	slices.SortFunc(a.PE, func(a, b *PEObject) int { return strings.Compare(a.Path, b.Path) })
}

const condaSite = "Lib/site-packages/"

// condaModule returns the path relative to site-packages of a file in a conda package for Linux
// or macOS: "x/_x.so" of "lib/python3.12/site-packages/x/_x.so".
func condaModule(p string) (rest string, ok bool) {
	version, ok := strings.CutPrefix(p, "lib/python3.")
	if !ok {
		return "", false
	}
	version, rest, ok = strings.Cut(version, "/site-packages/")
	return rest, ok && !strings.Contains(version, "/")
}

// Installed returns where a member of a wheel or of a conda package for Windows is installed,
// relative to site-packages. For the folder NAME.data of a wheel see PEP 427.
func Installed(p string) string {
	if rest, ok := strings.CutPrefix(p, condaSite); ok {
		return rest
	}
	if rest, ok := condaModule(p); ok {
		return rest
	}
	root, rest, _ := strings.Cut(p, "/")
	scheme, inside, ok := strings.Cut(rest, "/")
	if ok && strings.HasSuffix(root, ".data") && root != ".data" {
		switch scheme {
		case "purelib", "platlib":
			return inside
		case "data":
			return "../../" + inside
		case "scripts":
			return "../../Scripts/" + inside
		case "headers":
			return "../../Include/" + inside
		}
	}
	if strings.HasPrefix(p, "Library/") || strings.HasPrefix(p, "DLLs/") {
		return "../../" + p
	}
	return p
}
