package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/dwarf"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/headers"
	"github.com/compat-app/compat/internal/spool"
	"github.com/spf13/pflag"
)

// debugFolder is where packages have debug files.
const debugFolder = "usr/lib/debug"

// debugFlags adds the flags for folders and packages with separate debug files.
func debugFlags(flags *pflag.FlagSet, dirs, packages *[]string) {
	flags.StringArrayVar(dirs, "debug-dir", nil,
		"folder with separate debug files, such as /usr/lib/debug, or by build ID as debuginfod "+
			"stores them; repeatable")
	flags.StringArrayVar(packages, "debug", nil,
		"package with separate debug files (libfoo1-dbgsym.deb, foo-debuginfo.rpm); repeatable")
}

// debugSources are folders and packages with separate debug files.
type debugSources struct {
	dirs   []string
	packed map[string]*os.File // of packages, by path without a leading slash
}

// openDebug reads the debug files of packages, and adds folders. The caller closes the result.
func openDebug(ctx context.Context, dirs, packages []string) (*debugSources, error) {
	d := &debugSources{dirs: dirs, packed: map[string]*os.File{}}
	for _, p := range packages {
		if err := d.add(ctx, p); err != nil {
			d.close()
			return nil, fmt.Errorf("--debug: %w", err)
		}
	}
	return d, nil
}

// add reads a package. It is an error if it has no debug file.
func (d *debugSources) add(ctx context.Context, name string) error {
	before := len(d.packed)
	err := walkPackage(ctx, name, func(member string) bool {
		return strings.HasSuffix(member, ".debug") || strings.Contains(member, debugFolder+"/.dwz/")
	}, func(f *unpack.File) error {
		to, err := spool.File("")
		if err != nil {
			return err
		}
		d.packed[strings.TrimLeft(f.Path, "./")] = to
		_, err = io.Copy(to, io.NewSectionReader(f.Content, 0, f.Size))
		return err
	})
	if err == nil && len(d.packed) == before {
		err = fmt.Errorf("%s: it has no debug file (*.debug)", name)
	}
	return err
}

// walkPackage reads those members of a package on this machine that are wanted. What cannot be read
// is an error.
func walkPackage(
	ctx context.Context, name string, want func(member string) bool, read func(*unpack.File) error,
) error {
	f, size, ok := openRegular(name)
	if !ok {
		return fmt.Errorf("%s: no such file; give a deb, an rpm or another archive", name)
	}
	defer f.Close()
	o := unpack.Options{
		Scratch:  spool.In(""),
		NoDigest: true,
		Want: func(_ *unpack.Package, member string, _ int64, _ []byte) bool {
			return want(member)
		},
	}
	_, problems, err := unpack.Walk(ctx, name, f, size, o, read)
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("%s: %s", problems[0].Path, problems[0].Reason)
	}
	return err
}

func (d *debugSources) close() {
	for _, f := range d.packed {
		f.Close()
	}
}

// of returns the debug files of a library in a folder: those in a debug folder or package, or in a
// folder of the same name below it (GDB, "Separate Debug Files"), and those in other folders.
func (d *debugSources) of(folder string, others ...string) *debugFiles {
	out := &debugFiles{dirs: others, sources: d, folder: strings.TrimLeft(folder, "./")}
	for _, dir := range d.dirs {
		out.dirs = append(out.dirs, dir, filepath.Join(dir, filepath.Join("/", folder)))
	}
	return out
}

// debugFiles opens separate debug files of a library, and creates storage for decompressed debug
// information. All of it is kept until close.
type debugFiles struct {
	dirs    []string
	sources *debugSources
	folder  string // of the library, without a leading slash
	opened  []io.Closer
}

// open implements abi.File.Open.
func (d *debugFiles) open(name string) (io.ReaderAt, int64, bool) {
	candidates := []string{name}
	packed := []string{strings.TrimLeft(name, "/")}
	if !filepath.IsAbs(name) {
		candidates = nil
		for _, dir := range d.dirs {
			candidates = append(candidates, filepath.Join(dir, name))
		}
		packed = []string{path.Join(debugFolder, name), path.Join(debugFolder, d.folder, name)}
	}
	for _, p := range candidates {
		if f, size, ok := openRegular(p); ok {
			d.opened = append(d.opened, f)
			return f, size, true
		}
	}
	for _, p := range packed {
		if f := d.sources.packed[p]; f != nil {
			if info, err := f.Stat(); err == nil {
				return f, info.Size(), true
			}
		}
	}
	return nil, 0, false
}

func (d *debugFiles) scratch() (dwarf.Scratch, error) {
	f, err := spool.File("")
	if err != nil {
		return nil, err
	}
	d.opened = append(d.opened, f)
	return f, nil
}

func (d *debugFiles) close() {
	for _, f := range d.opened {
		f.Close()
	}
}

// addPackedHeaders adds the headers in a package, such as libfoo-dev.deb.
func addPackedHeaders(ctx context.Context, public *abi.Headers, name string) error {
	found := false
	err := walkPackage(ctx, name, headerMember, func(f *unpack.File) error {
		found = true
		text, err := io.ReadAll(io.NewSectionReader(f.Content, 0, min(f.Size, maxHeader)))
		public.Add(f.Path, text)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%s: it has no header", name)
	}
	return err
}

// headerMember reports whether a member of a package is a header.
func headerMember(member string) bool {
	return headers.Extension(member) || strings.Contains(member, "usr/include/")
}
