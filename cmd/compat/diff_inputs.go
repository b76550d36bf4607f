package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/spool"
)

// side is the old or the new input of a comparison: its libraries, and the files that could not
// be read.
type side struct {
	libraries []*abi.Library
	problems  []string
	paths     map[*abi.Library]string // paths of libraries that are files on this machine
	exports   map[string]*elfobj.Object
	hidden    abi.Suppressions // of the .abignore files in packages and folders
	unapplied []string         // their sections that are wrong
}

// readSide reads libraries, packages, directories or baselines. If there are several, the names of
// their libraries start with their artifactKey.
func readSide(ctx context.Context, paths []string, debug *debugSources) (*side, error) {
	s := &side{paths: map[*abi.Library]string{}}
	for _, path := range paths {
		before := len(s.libraries)
		if err := s.read(ctx, path, debug); err != nil {
			return s, err
		}
		if len(paths) > 1 {
			for _, l := range s.libraries[before:] {
				l.Name = artifactKey(path) + "/" + l.Name
			}
		}
	}
	s.libraries = withoutCopies(s.libraries)
	abi.Complete(s.libraries)
	if len(s.libraries) == 0 {
		err := fmt.Errorf("%s: no shared library found", strings.Join(paths, ", "))
		if len(s.problems) > 0 {
			err = fmt.Errorf("%w; %s", err, s.problems[0])
		}
		return s, err
	}
	return s, nil
}

func (s *side) read(ctx context.Context, path string, debug *debugSources) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file or folder; give a library, a package or a folder", path)
	case err != nil:
		return err
	case info.IsDir():
		return s.folder(path, debug)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; give a library, a package or a folder", path)
	}
	return s.file(ctx, path, path, debug)
}

// withoutCopies removes copies of a library in its folder under other names, such as libx.so and
// libx.so.1.2 of a wheel, which has no symbolic links. The one whose name is the SONAME is kept.
func withoutCopies(all []*abi.Library) []*abi.Library {
	byContent := map[string]int{} // index in out
	count := map[string]int{}
	at := func(l *abi.Library) string {
		return path.Dir(l.Name) + "\x00" + l.SONAME + "\x00" + l.Machine
	}
	for _, l := range all {
		count[at(l)]++
	}
	var out []*abi.Library
	for _, l := range all {
		if l.SONAME != "" && count[at(l)] > 1 {
			if b, err := abi.Baseline(l); err == nil {
				key := at(l) + "\x00" + string(b)
				i, ok := byContent[key]
				switch {
				case !ok:
					byContent[key] = len(out)
				case path.Base(l.Name) == l.SONAME:
					out[i] = l
					continue
				default:
					continue
				}
			}
		}
		out = append(out, l)
	}
	return out
}

// chosen returns the files or folders that are compared: the paths, or, for a folder with packages
// and without libraries, its packages that have a counterpart. problems name the old ones without.
func chosen(oldPath, newPath string) (old, new, problems []string, err error) {
	olds, err := packagesIn(oldPath)
	if err != nil {
		return nil, nil, nil, err
	}
	news, err := packagesIn(newPath)
	if err != nil || len(olds) == 1 && len(news) == 1 {
		return olds, news, nil, err
	}
	byKey := map[string]string{}
	for _, n := range news {
		byKey[artifactKey(n)] = n
	}
	for _, o := range olds {
		if n, ok := byKey[artifactKey(o)]; ok {
			old, new = append(old, o), append(new, n)
			delete(byKey, artifactKey(o))
		} else {
			problems = append(problems, o+": "+newPath+" has no build of it for the same Python and system")
		}
	}
	if len(old) == 0 {
		err = fmt.Errorf(
			"%s and %s have no package in common for the same Python and system; give two files",
			oldPath, newPath,
		)
	}
	return old, new, problems, err
}

// packagesIn returns the packages of a folder that has no libraries itself, and otherwise the path.
func packagesIn(root string) (packages []string, err error) {
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return []string{root}, nil // read reports what is wrong
	}
	libraries := false
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.Type().IsRegular():
		case libraryName(d.Name()):
			libraries = true
		case candidate.MatchString(d.Name()):
			packages = append(packages, p)
		}
		return err
	})
	if libraries || len(packages) == 0 {
		packages = []string{root}
	}
	return packages, err
}

// artifactKey is equal for builds of a package that replace each other: the name and the tags of a
// wheel without versions of the system, or a file name without its version.
func artifactKey(file string) string {
	file = filepath.Base(file)
	w, err := pkgmeta.ParseWheelName(file)
	if err != nil {
		return versionInFile.ReplaceAllString(file, "")
	}
	t := w.Tags[0]
	if tag := platform.ParseTag(t.Platform); tag.System != platform.TagUnknown {
		t.Platform = tag.System.Name() + tag.Libc + tag.Arch
	}
	return pkgmeta.Normalize(w.Name) + "-" + t.String()
}

var versionInFile = lazyregexp.New(`[-_.]?v?[0-9]+(\.[0-9]+)+[0-9A-Za-z.+~-]*`)

// folder reads the libraries in a directory: the shared ones and kernel modules, or, if there are
// none, static libraries and object files. Files that cannot be read are added to problems.
func (s *side) folder(root string, debug *debugSources) error {
	library := func(p, name string) error {
		if err := s.library(p, name, debug); err != nil && !errors.Is(err, abi.ErrNoLibrary) {
			s.problems = append(s.problems, err.Error())
		}
		return nil
	}
	err := files(root, libraryName, library)
	if err == nil && len(s.libraries)+len(s.problems) == 0 {
		err = files(root, staticName, library)
	}
	if err != nil {
		return err
	}
	ignores := func(name string) bool { return strings.HasSuffix(name, suppressionFile) }
	return files(root, ignores, func(p, name string) error {
		f, size, ok := openRegular(p)
		if !ok {
			s.unapplied = append(s.unapplied, name+": cannot be opened; check its permissions")
			return nil
		}
		defer f.Close()
		return s.suppress(name, f, size)
	})
}

// files calls read with the path of each file in a directory whose name is wanted, and with its
// path in the directory.
func files(root string, wanted func(string) bool, read func(path, name string) error) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !wanted(d.Name()) {
			return err
		}
		name, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		return read(p, filepath.ToSlash(name))
	})
}

// libraryName reports whether a file name is that of a shared library or a kernel module.
func libraryName(name string) bool {
	name = filepath.Base(name)
	return strings.HasSuffix(name, ".so") || strings.HasSuffix(name, ".ko") ||
		strings.Contains(name, ".so.") && !strings.HasSuffix(name, ".debug")
}

// staticName reports whether a file name is that of a static library or an object file.
func staticName(name string) bool {
	return strings.HasSuffix(name, ".a") || strings.HasSuffix(name, ".o")
}

// file reads a library, a baseline or a package.
func (s *side) file(ctx context.Context, path, name string, debug *debugSources) error {
	f, size, ok := openRegular(path)
	if !ok {
		return fmt.Errorf("%s: cannot be opened; check its permissions", path)
	}
	defer f.Close()
	head := make([]byte, min(size, 256))
	if _, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", path, err)
	}
	switch {
	case strings.HasPrefix(string(head), "\x7fELF"),
		elfobj.IsArchive(head) && !strings.HasPrefix(string(head[8:]), "debian-binary"):
		return s.library(path, name, debug)
	case abi.Is(path, head):
		b, err := io.ReadAll(io.LimitReader(f, maxBaseline))
		if err != nil {
			return err
		}
		all, err := abi.ParseAll(path, b)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		s.libraries = append(s.libraries, all...)
		return nil
	}
	return s.archive(ctx, f, size, path, debug)
}

// maxBaseline limits a baseline, in bytes. That of libstdc++ with types has 8 MB.
const maxBaseline = 256 << 20

// library reads a library on this machine.
func (s *side) library(path, name string, debug *debugSources) error {
	f, size, ok := openRegular(path)
	if !ok {
		return fmt.Errorf("%s: cannot be opened; check its permissions", path)
	}
	defer f.Close()
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return err
	}
	d := debug.of(folder, folder)
	defer d.close()
	l, err := readLibrary(abi.File{
		Name: name, Content: f, Size: size, Open: d.open, Scratch: d.scratch,
	})
	if err != nil {
		return err
	}
	s.libraries = append(s.libraries, l)
	s.paths[l] = path
	return nil
}

// readLibrary reads a shared library, an object file or a static library.
func readLibrary(f abi.File) (*abi.Library, error) {
	head := make([]byte, min(f.Size, 16))
	if _, err := f.Content.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", f.Name, err)
	}
	if elfobj.IsArchive(head) {
		return abi.ReadArchive(f)
	}
	return abi.Read(f)
}

// archive reads the libraries of a wheel, deb, rpm or another archive: the shared ones and kernel
// modules, or, if there are none, static libraries and object files.
func (s *side) archive(
	ctx context.Context, r io.ReaderAt, size int64, name string, debug *debugSources,
) error {
	s.exports = map[string]*elfobj.Object{}
	err := s.members(ctx, r, size, name, libraryName, debug)
	if err == nil && len(s.libraries)+len(s.problems) == 0 {
		err = s.members(ctx, r, size, name, staticName, debug)
	}
	return err
}

// members reads the libraries in an archive whose names are wanted.
func (s *side) members(
	ctx context.Context, r io.ReaderAt, size int64, name string, wanted func(string) bool,
	debug *debugSources,
) error {
	o := unpack.Options{
		Scratch:  spool.In(""),
		NoDigest: true,
		Want: func(_ *unpack.Package, path string, _ int64, head []byte) bool {
			return wanted(path) && (head == nil || strings.HasPrefix(string(head), "\x7fELF") ||
				elfobj.IsArchive(head)) || strings.HasSuffix(path, suppressionFile)
		},
	}
	packages, problems, err := unpack.Walk(ctx, name, r, size, o, func(f *unpack.File) error {
		if strings.HasSuffix(f.Path, suppressionFile) {
			return s.suppress(f.Path, f.Content, f.Size)
		}
		d := debug.of(path.Dir(f.Path))
		defer d.close()
		l, err := readLibrary(abi.File{
			Name: f.Path, Content: f.Content, Size: f.Size, Open: d.open, Scratch: d.scratch,
		})
		switch {
		case errors.Is(err, abi.ErrNoLibrary):
			return nil
		case err != nil:
			s.problems = append(s.problems, err.Error())
			return nil
		}
		l.Packaged = true
		s.libraries = append(s.libraries, l)
		if object, err := elfobj.Read(f.Content, f.Size); err == nil {
			s.exports[l.SONAME] = object
		}
		return nil
	})
	for _, p := range problems {
		s.problems = append(s.problems, p.Path+": "+p.Reason)
	}
	if err == nil && len(packages) == 0 && len(problems) == 0 {
		err = fmt.Errorf("%s is neither a shared library nor an archive that compat reads", name)
	}
	return err
}

// suppressionFile is how the names of suppression files in packages and folders end.
const suppressionFile = ".abignore"

// suppress reads an .abignore file of a package or folder. A section that is wrong hides nothing.
func (s *side) suppress(name string, content io.ReaderAt, size int64) error {
	b, err := io.ReadAll(io.NewSectionReader(content, 0, min(size, abi.MaxSuppressions+1)))
	if err != nil {
		return err
	}
	more, unused, problems := abi.ParseSuppressions(b)
	for _, p := range append(unused, problems...) {
		s.unapplied = append(s.unapplied, name+": "+p)
	}
	s.hidden = s.hidden.With(more)
	return nil
}

// options returns options that know the dependencies of a new library: files next to it, or
// libraries in the same package.
func (s *side) options(new *abi.Library) abi.Options {
	if path, ok := s.paths[new]; ok {
		return abi.Options{Find: neededBy(path).find}
	}
	return abi.Options{Find: func(soname string, _ *abi.Needed) *abi.Needed {
		if o := s.exports[soname]; o != nil {
			return &abi.Needed{Object: o}
		}
		return nil
	}}
}
