package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// systemFolders are the default directories of the dynamic loader.
var systemFolders = []string{
	"/lib", "/usr/lib", "/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
}

// maxNeeded limits the libraries that are read for one comparison.
const maxNeeded = 256

// neededLibraries are the direct and indirect dependencies of a library. They are read when a
// symbol is first looked up.
type neededLibraries struct {
	start string // path of the library
	// opens a file next to the library or in a system directory
	open    func(path string) (*elfobj.Object, bool)
	exports []*elfobj.Object
	read    bool
	except  string // SONAME of a library that is left out; "" = none
	missing string // a direct dependency that was not found, if any
}

// provides reports whether one of the libraries exports a symbol.
func (n *neededLibraries) provides(name, version string) bool {
	if !n.read {
		n.read = true
		n.load()
	}
	return slices.ContainsFunc(
		n.exports,
		func(o *elfobj.Object) bool { return exports(o, name, version) },
	)
}

// library returns a dependency, or another library where the loader would look for one; nil if it
// is not there.
func (n *neededLibraries) library(soname string) *elfobj.Object {
	if !n.read {
		n.read = true
		n.load()
	}
	for _, o := range n.exports {
		if o.SONAME == soname {
			return o
		}
	}
	if first, ok := n.open(n.start); ok && !strings.Contains(soname, "/") {
		o, _ := n.find(soname, first, first, n.start)
		return o
	}
	return nil
}

// find returns the library that the loader takes for a DT_NEEDED entry of l, and its path; nil if
// there is none. first is the library at the start.
func (n *neededLibraries) find(
	name string, first, l *elfobj.Object, path string,
) (*elfobj.Object, string) {
	for _, dir := range searched(l, path, filepath.Dir(n.start)) {
		p := filepath.Join(dir, name)
		if o, ok := n.open(p); ok && o.Machine == first.Machine && o.Class == first.Class {
			return o, p
		}
	}
	return nil, ""
}

// exports reports whether a library exports a symbol; version is "" for an unversioned reference.
func exports(o *elfobj.Object, name, version string) bool {
	return slices.ContainsFunc(o.Exports.Named(name), func(i int32) bool {
		e := o.Exports.At(int(i))
		return e.Version == version || version == "" && !e.Hidden
	})
}

// load follows DT_NEEDED like the loader: RUNPATH or RPATH of the dependent library, the
// directory of the library, then the system directories.
func (n *neededLibraries) load() {
	first, ok := n.open(n.start)
	if !ok {
		return
	}
	type library struct {
		o    *elfobj.Object
		path string
	}
	seen := map[string]bool{}
	work := []library{{first, n.start}}
	for ; len(work) > 0 && len(n.exports) < maxNeeded; work = work[1:] {
		l := work[0]
		for _, name := range l.o.Needed {
			if seen[name] || strings.Contains(name, "/") || name == n.except {
				continue
			}
			seen[name] = true
			if o, p := n.find(name, first, l.o, l.path); o != nil {
				n.exports = append(n.exports, o)
				work = append(work, library{o, p})
			} else if l.o == first {
				n.missing = name
			}
		}
	}
}

// searched returns the directories in which the dependencies of a library are searched.
func searched(o *elfobj.Object, path, start string) []string {
	paths := o.RunPath
	if paths == "" {
		paths = o.RPath
	}
	var out []string
	for _, dir := range filepath.SplitList(paths) {
		dir, ok := elfobj.Origin(dir, filepath.Dir(path))
		if ok || filepath.IsAbs(dir) {
			out = append(out, dir)
		}
	}
	return append(append(out, filepath.Dir(path), start), systemFolders...)
}

// openObject reads an ELF file on this machine.
func openObject(path string) (*elfobj.Object, bool) {
	f, size, ok := openRegular(path)
	if !ok {
		return nil, false
	}
	defer f.Close()
	o, err := elfobj.Read(f, size)
	return o, err == nil
}

// openRegular opens a regular file. It does not open devices and pipes, which an untrusted path
// could name.
func openRegular(path string) (*os.File, int64, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, 0, false
	}
	f, err := openInput(path)
	if err != nil {
		return nil, 0, false
	}
	return f, info.Size(), true
}
