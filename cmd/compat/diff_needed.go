package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/elfobj"
)

// systemFolders are the default directories of the dynamic loader.
var systemFolders = []string{
	"/lib", "/usr/lib", "/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
}

// neededLibraries finds what a library or program needs where the loader would: in the folders of
// RUNPATH or RPATH of the file that needs it, in those of that file and of the start, and in the
// system folders.
type neededLibraries struct {
	start string // path of the library or program
	// opens a file next to it or in a system folder
	open   func(path string) (*elfobj.Object, bool)
	opened map[string]*elfobj.Object // what open returned; nil for what is no library
}

func neededBy(start string) *neededLibraries {
	return &neededLibraries{start: start, open: openObject, opened: map[string]*elfobj.Object{}}
}

// object returns the object at a path; nil if there is none.
func (n *neededLibraries) object(path string) *elfobj.Object {
	o, ok := n.opened[path]
	if !ok {
		if o, ok = n.open(path); !ok {
			o = nil
		}
		n.opened[path] = o
	}
	return o
}

// find is abi.Options.Find.
func (n *neededLibraries) find(soname string, by *abi.Needed) *abi.Needed {
	first := n.object(n.start)
	if first == nil || strings.Contains(soname, "/") {
		return nil
	}
	if by == nil {
		by = &abi.Needed{Object: first, Path: n.start}
	}
	for _, dir := range searched(by.Object, by.Path, filepath.Dir(n.start)) {
		p := filepath.Join(dir, soname)
		if o := n.object(p); o != nil && o.Machine == first.Machine && o.Class == first.Class {
			return &abi.Needed{Object: o, Path: p}
		}
	}
	return nil
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
