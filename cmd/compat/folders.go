package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cython"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/pinned"
)

// folders reads the folders of --library-path, --conda-prefix and --venv, on this machine or in
// --root.
type folders struct {
	root *lddRoot
	// the root is this machine's "/", so relative paths start at the working directory
	own bool
}

// addFolders adds the folders of --library-path, --conda-prefix and --venv to the options.
func addFolders(f checkFlags, o *analyzer.Options) error {
	switch {
	case f.venv != "" && f.conda != "":
		return errTwoEnvironments
	case f.venv != "" && f.root != "":
		return errors.New("--venv is an environment of this machine; leave out --root")
	case f.venv != "":
		if err := addVenv(f.venv, o); err != nil {
			return fmt.Errorf("--venv: %w", err)
		}
	}
	if len(f.libraryPath) == 0 && f.conda == "" {
		return nil
	}
	dir, own := "/", true
	if f.root != "" {
		dir, own = f.root, false
	}
	root, err := openRoot(dir)
	if err != nil {
		return fmt.Errorf("--root: %w; give the folder of an unpacked image", err)
	}
	b := folders{root, own}
	for _, list := range f.libraryPath {
		// like ld.so
		for _, dir := range strings.FieldsFunc(list, func(c rune) bool { return c == ':' || c == ';' }) {
			at, err := b.folder(dir)
			if err != nil {
				return fmt.Errorf("--library-path: %w", err)
			}
			o.LibraryPath = append(
				o.LibraryPath,
				analyzer.Folder{
					Path: at,
					Open: func(file string) *elfobj.Object {
						return dynlink.ReadObject(b.root, path.Join(at, file))
					},
				},
			)
		}
	}
	if f.conda != "" {
		if o.Conda, err = b.conda(f.conda); err != nil {
			return fmt.Errorf("--conda-prefix: %w", err)
		}
	}
	return nil
}

// addVenv adds the files of a virtual environment of this machine to the options.
func addVenv(dir string, o *analyzer.Options) error {
	b, in, err := describe(dir)
	if err != nil {
		return err
	}
	o.Conda, err = b.prefix(in)
	return err
}

// describe reads which packages are installed in an environment of this machine.
func describe(dir string) (b folders, in *pinned.Installed, err error) {
	root, err := openRoot("/")
	if err != nil {
		return b, nil, err
	}
	b = folders{root, true}
	if dir, err = b.folder(dir); err != nil {
		return b, nil, err
	}
	in, err = pinned.Describe(dir, root.Place)
	return b, in, err
}

// folder returns the absolute path of a folder in the root.
func (b folders) folder(dir string) (string, error) {
	at := dir
	if b.own {
		var err error
		if at, err = filepath.Abs(dir); err != nil {
			return "", err
		}
	}
	at = path.Clean("/" + filepath.ToSlash(at))
	if !b.root.Folder(at) {
		return "", fmt.Errorf("%s is not a folder; give the path of an existing folder", dir)
	}
	return at, nil
}

// installed matches the name of a file in conda-meta: a package, its version and its build.
var installed = lazyregexp.New(`^(.+)-([^-]+)-[^-]+\.json$`)

const maxCondaMeta = 64 << 20 // bytes; the longest lists have some 60,000 files, 20 MB

// conda reads a conda environment: its Python, the library path of that, and the owners of files.
func (b folders) conda(dir string) (*analyzer.Conda, error) {
	at, err := b.folder(dir)
	if err != nil {
		return nil, err
	}
	meta := filepath.Join(b.root.dir, at, "conda-meta")
	entries, err := os.ReadDir(meta)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf(
			"%s is not a conda environment: it has no conda-meta folder; give the value of CONDA_PREFIX",
			dir,
		)
	}
	if err != nil {
		return nil, err
	}
	k := &analyzer.Conda{
		Path:  at,
		Open:  func(p string) *elfobj.Object { return dynlink.ReadObject(b.root, path.Join(at, p)) },
		Types: func(p string) []cython.Type { return b.types(path.Join(at, p)) },
	}
	packages := map[string]string{} // file in conda-meta -> NAME VERSION
	for _, e := range entries {
		m := installed.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		packages[e.Name()] = m[1] + " " + m[2]
		if n := strings.SplitN(m[2], ".", 3); m[1] == "python" && len(n) > 1 {
			name := "python" + n[0] + "." + n[1]
			k.Site = "lib/" + name + "/site-packages"
			if python := k.Open("bin/" + name); python != nil && python.RunPath == "" {
				k.RPath = below(python.RPath)
			}
		}
	}
	k.Text = func(p string) []byte { return b.text(path.Join(at, p)) }
	if k.Site != "" {
		list, err := os.ReadDir(filepath.Join(b.root.dir, at, k.Site))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range list {
			if strings.HasSuffix(e.Name(), ".dist-info") {
				k.DistInfo = append(k.DistInfo, e.Name())
			}
		}
	}
	owners := sync.OnceValue(func() map[string]string { return condaFiles(meta, packages) })
	k.Owner = func(p string) string { return owners()[p] }
	return k, nil
}

// text returns the content of a file in the root; nil if it is missing or longer than maxCondaMeta.
func (b folders) text(at string) []byte {
	f, err := b.root.Open(at)
	if err != nil {
		return nil
	}
	defer f.Close()
	if f.Folder() || f.Size() > maxCondaMeta {
		return nil
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		return nil
	}
	return data
}

// below returns the folders of the DT_RPATH of a program in bin, as paths in the environment.
// Folders outside of the environment are left out.
func below(rpath string) []string {
	var out []string
	for _, e := range strings.Split(rpath, ":") {
		if at, ok := elfobj.Origin(e, "/bin"); ok && !slices.Contains(out, at[1:]) {
			out = append(out, at[1:])
		}
	}
	return out
}

// condaFiles maps each library to the package that installed it. Lists that cannot be read are
// ignored: they are only used to name the owner of a file.
func condaFiles(meta string, packages map[string]string) map[string]string {
	owners := map[string]string{}
	for file, name := range packages {
		at := filepath.Join(meta, file)
		if info, err := os.Stat(at); err != nil || !info.Mode().IsRegular() ||
			info.Size() > maxCondaMeta {
			continue
		}
		data, err := os.ReadFile(at)
		var list struct {
			Files []string `json:"files"`
		}
		if err != nil || json.Unmarshal(data, &list) != nil {
			continue
		}
		for _, f := range list.Files {
			if strings.Contains(path.Base(f), ".so") {
				owners[f] = name
			}
		}
	}
	return owners
}

// types returns the types that a module of Python defines; nil if it cannot be read.
func (b folders) types(p string) []cython.Type {
	f, err := b.root.Open(p)
	if err != nil {
		return nil
	}
	defer f.Close()
	_, types, err := cython.Read(f, f.Size())
	if err != nil {
		return nil
	}
	return types
}
