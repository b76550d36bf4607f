package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/analyzer/platform/windows"
	"github.com/compat-app/compat/analyzer/startup"
	"github.com/compat-app/compat/analyzer/winload"
)

// isPE reports whether a file starts like a PE file.
func isPE(file string) bool { return string(firstBytes(file, 2)) == "MZ" }

// maxRootFiles limits the files that are read in a root.
const maxRootFiles = 20_000

// peFolder is the content of a directory that is used as site-packages.
type peFolder struct {
	root    string
	files   []*winload.File
	sources *startup.Sources
}

// lddWindows resolves a PE file like the Windows loader when Python imports the file, or opens it
// with ctypes. root is the directory used as site-packages; "/" = the directory of the file. last
// caches the content of the directory.
func lddWindows(last *peFolder, root, file string) (*dynlink.Answer, error) {
	full := filepath.Join(root, filepath.FromSlash(file))
	if root == "/" {
		root = filepath.Dir(full)
	}
	at, err := filepath.Rel(root, full)
	if err != nil {
		return nil, err
	}
	o, err := readPE(full)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", full, err)
	}
	if last.sources == nil || last.root != root {
		if *last, err = readPEFolder(root); err != nil {
			return nil, err
		}
	}
	at = filepath.ToSlash(at)
	files := last.files
	n := slices.IndexFunc(files, func(f *winload.File) bool { return f.Path == at })
	if n < 0 {
		n, files = 0, slices.Concat([]*winload.File{{Path: at, Object: o}}, files)
	}
	self := files[n]
	python := winload.Python{Interpreter: windows.Interpreter{Minor: 13}, AnyRelease: true}
	load := winload.New(python, o.Machine, files, last.sources).Load(self)
	a := dynlink.NewAnswer()
	for _, x := range load.Found[1:] {
		where := "" // "" = part of Windows or Python
		if x.File != nil {
			where = x.File.Path
		}
		a.Objects = append(a.Objects, dynlink.LoadedObject{
			Name: x.Name, Path: where, NeededBy: x.NeededBy.Path, FoundBy: string(x.How),
		})
	}
	for _, m := range load.Missing {
		if !m.Delay {
			a.NotFound = append(a.NotFound, dynlink.NotFound{
				Name: m.Name, NeededBy: m.NeededBy.Path, Searched: []string{path.Dir(self.Path)},
			})
		}
	}
	for _, u := range load.Unresolved {
		a.Undefined = append(a.Undefined, dynlink.Undefined{
			Symbol: u.Symbol.String(), Object: u.NeededBy.Path,
		})
	}
	return a, nil
}

// readPE reads a PE file on this machine.
func readPE(file string) (*peobj.Object, error) { return readBinary(file, peobj.Read) }

// readPEFolder reads the DLLs and the Python sources in a directory. It skips files that cannot
// be read.
func readPEFolder(root string) (peFolder, error) {
	out := peFolder{root: root, sources: &startup.Sources{}}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		at, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		at = filepath.ToSlash(at)
		switch ext := strings.ToLower(path.Ext(at)); {
		case len(out.files) > maxRootFiles:
			return fs.SkipAll
		case slices.Contains([]string{".dll", ".pyd"}, ext):
			if o, err := readPE(file); err == nil {
				out.files = append(out.files, &winload.File{Path: at, Object: o})
			}
		case ext == ".py" || ext == ".pth":
			if b, err := os.ReadFile(file); err == nil && startup.Wanted(at, b) {
				out.sources.Add(at, b)
			}
		}
		return nil
	})
	return out, err
}
