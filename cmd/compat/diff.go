package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/internal/headers"
	"github.com/compat-app/compat/internal/startpages"
)

// diffFlags are the settings of one comparison.
type diffFlags struct {
	format    string
	verbose   bool
	debugDirs []string
	debug     []string
	headers   []string
	private   []string
	suppress  []string
	apps      []string
	// headers of each side, which a compiler reads
	oldHeaders, newHeaders []string
	cc                     string
}

// The pace of the garbage collector in a comparison. Debug information is read unit by unit, and
// little of it is needed until the end.
const (
	diffMemory  = 96 << 20 // soft limit of the memory, in bytes
	diffPercent = 20       // how much the heap may grow before a collection
)

func newDiffCommand(env environment) *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use:   "diff [flags] OLD NEW",
		Short: "Compare the ABI of two builds of a library",
		Long: `Compare the ABI of two builds: can a program that was built against OLD break when it runs with NEW?

OLD and NEW are shared libraries, wheels, deb, rpm or conda packages, other archives, or folders.
They can also be object files, static libraries or kernel modules (whose checksums and namespaces
are compared), or files that describe a library: a baseline written by 'compat abi', a
debian/*.symbols file, or the XML of libabigail, also of a group of libraries. A folder that
contains packages but no library is compared package by package: those with the same name, Python
and system. Libraries in packages are paired by path, SONAME, name and build ID. Copies of a library
under other names are compared once.

What is compared depends on what the libraries contain:

  always             exported symbols, virtual tables and typeinfo
  debug information  also the types that exported functions and variables use (DWARF, in the library
                     or in a separate debug file next to it). A type that is defined in a source
                     file and not in a header is compared only where it is passed by value, because
                     programs may see only a pointer to it; --headers says which types are public.
  --old-headers and  also what a compiler (GCC or Clang) reads from the public headers: types, for
  --new-headers      libraries without debug information, and what programs compile into their own
                     code: macros, inline functions and default arguments
  --app without OLD  the types in the debug information of the program, with those of NEW

The first lines of the output say what was compared and what was not. "no ABI change" is printed
only if everything that programs can see was compared.

Exit code: 0 no incompatible change found, 1 incompatible changes found, 2 could not compare or
wrong usage.`,
		Example: `  compat diff old/libfoo.so.1 new/libfoo.so.1
  compat diff libfoo-1.3-*.whl libfoo-1.4-*.whl
  compat diff last-release/ wheelhouse/
  compat diff --debug-dir debug/ libfoo1_1.3_amd64.deb libfoo1_1.4_amd64.deb
  compat diff --debug libfoo1-dbgsym_1.3_amd64.deb libfoo1_1.3_amd64.deb libfoo1_1.4_amd64.deb
  compat diff --headers libfoo-dev_1.4_amd64.deb libfoo1_1.3_amd64.deb libfoo1_1.4_amd64.deb
  compat diff --old-headers old/include --new-headers new/include old/libfoo.so.1 new/libfoo.so.1
  compat diff --app build/foo old/libfoo.so.1 new/libfoo.so.1
  compat diff --app build/foo new/libfoo.so.1
  compat diff abi/libfoo.json build/libfoo.so
  compat diff --suppressions .abignore debian/libfoo1.symbols build/libfoo.so.1`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 && (len(args) != 1 || len(f.apps) == 0) {
				return errors.New("give two paths, OLD and NEW; see 'compat diff --help'")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			old, new := "", args[len(args)-1]
			if len(args) == 2 {
				old = args[0]
			}
			return diff(c.Context(), env, f, old, new)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.format, "format", "text", "text or json")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "list every change, including added symbols")
	debugFlags(flags, &f.debugDirs, &f.debug)
	flags.StringArrayVar(
		&f.headers,
		"headers",
		nil,
		"public header, folder of public headers, or package that has them (libfoo-dev.deb); types "+
			"defined elsewhere are private; repeatable",
	)
	flags.StringArrayVar(&f.oldHeaders, "old-headers", nil, "public header of OLD for the "+
		"compiler to read, folder of them, or package that has them; repeatable")
	flags.StringArrayVar(&f.newHeaders, "new-headers", nil, "the same for NEW; repeatable")
	flags.StringVar(&f.cc, "cc", "", "compiler that reads the headers, with its arguments: 'gcc "+
		"-DFOO -I deps/include' (default: gcc, else clang)")
	flags.StringArrayVar(
		&f.apps,
		"app",
		nil,
		"compare only what this program or library imports from OLD or, without OLD, the types in its "+
			"own debug information; repeatable",
	)
	flags.StringArrayVar(&f.private, "private", nil,
		"symbol, symbol version or type that is private, where * matches any text; repeatable")
	flags.StringArrayVar(&f.suppress, "suppressions", nil,
		"suppression file in libabigail's format; repeatable")
	return c
}

// suppressions reads the suppression files. A section with unknown syntax hides nothing and does
// not end the comparison, which without it reports more, not less. unapplied names these.
func (f *diffFlags) suppressions() (all abi.Suppressions, unapplied []string, err error) {
	for _, path := range f.suppress {
		b, err := readInput(path)
		if err != nil {
			return all, nil, fmt.Errorf("--suppressions: %w", err)
		}
		s, unused, problems := abi.ParseSuppressions(b)
		for _, p := range append(unused, problems...) {
			unapplied = append(unapplied, path+": "+p)
		}
		all = all.With(s)
	}
	return all, unapplied, nil
}

func diff(ctx context.Context, env environment, f diffFlags, oldPath, newPath string) error {
	if f.format != "text" && f.format != "json" {
		return fmt.Errorf("unknown --format %q; use text or json", f.format)
	}
	hidden, unapplied, err := f.suppressions()
	if err != nil {
		return err
	}
	startpages.Release()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(diffMemory))
	defer debug.SetGCPercent(debug.SetGCPercent(diffPercent))
	// a comparison has one goroutine; a second processor would only make collections more expensive
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var oldPaths, left []string
	newPaths := []string{newPath}
	if oldPath != "" {
		if oldPaths, newPaths, left, err = chosen(oldPath, newPath); err != nil {
			return err
		}
	}
	debugFiles, err := openDebug(ctx, f.debugDirs, f.debug)
	if err != nil {
		return err
	}
	defer debugFiles.close()
	old := &side{}
	if oldPath != "" {
		if old, err = readSide(ctx, oldPaths, debugFiles); err != nil {
			return err
		}
		// release the debug information of the old side before that of the new one is read
		debug.FreeOSMemory()
	}
	new, err := readSide(ctx, newPaths, debugFiles)
	if err != nil {
		return err
	}
	pairs := abi.Pair(old.libraries, new.libraries)
	var uses func(name, version string) bool
	if oldPath == "" {
		if pairs, err = f.usedBy(new.libraries, debugFiles); err != nil {
			return err
		}
		for _, p := range pairs {
			old.libraries = append(old.libraries, p.Old)
		}
		uses = func(string, string) bool { return true } // symbols that are added are no difference
	} else if uses, err = f.uses(old.libraries); err != nil {
		return err
	}
	source, err := f.compiled(ctx, old, new)
	if err != nil {
		return err
	}
	for _, side := range []struct {
		libraries []*abi.Library
		headers   []string
	}{{old.libraries, f.oldHeaders}, {new.libraries, f.newHeaders}} {
		if paths := append(slices.Clone(f.headers), side.headers...); len(paths) > 0 {
			public, err := readHeaders(ctx, paths)
			if err != nil {
				return err
			}
			for _, l := range side.libraries {
				l.SetHeaders(public)
			}
		}
	}
	hidden = hidden.With(old.hidden).With(new.hidden)
	whole, each := abi.ComparePairs(pairs,
		func(l *abi.Library) abi.Options {
			o := new.options(l)
			o.Hidden, o.Private, o.Uses = hidden, f.private, uses
			return o
		})
	suppressed := 0
	for _, r := range append(each, whole) {
		r.Private(f.private)
		suppressed = hidden.Apply(r)
	}
	if suppressed > 0 {
		whole.Suppressed = suppressed
	}
	whole.Unapplied = slices.Concat(unapplied, old.unapplied, new.unapplied)
	whole.Problems = append(whole.Problems, slices.Concat(left, old.problems, new.problems)...)
	if len(each) == 0 && len(whole.Changes) == 0 && suppressed == 0 {
		return fmt.Errorf("%s and %s have no library in common", oldPath, newPath)
	}
	if f.format == "json" {
		err = writeDiffJSON(env.Out, whole, each, source)
	} else {
		err = writeDiffText(env.Out, whole, each, f.verbose)
		if err == nil {
			err = writeDiffSource(env.Out, source, f.verbose)
		}
	}
	if err == nil && whole.Verdict == abi.Breaking {
		err = exit{code: exitIncompatible}
	}
	return err
}

// maxHeader limits the size of a header, in bytes.
const maxHeader = 16 << 20

// readHeaders reads headers and the files in directories.
func readHeaders(ctx context.Context, paths []string) (*abi.Headers, error) {
	public := abi.NewHeaders()
	for _, root := range paths {
		if candidate.MatchString(root) {
			if err := addPackedHeaders(ctx, public, root); err != nil {
				return nil, fmt.Errorf("--headers: %w", err)
			}
			continue
		}
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			file, err := openInput(p)
			if err != nil {
				return err
			}
			defer file.Close()
			text, err := io.ReadAll(io.LimitReader(file, maxHeader))
			public.Add(p, text)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("--headers: %w", err)
		}
	}
	return public, nil
}

// diffDocument is the JSON of a comparison. Libraries is set if several pairs were compared.
type diffDocument struct {
	*abi.Result
	Libraries []*abi.Result `json:"libraries,omitempty"`
	// what programs compile into their own code and the headers of the two sides have differently
	Source []headers.Difference `json:"source,omitempty"`
}

func writeDiffJSON(
	out io.Writer, whole *abi.Result, each []*abi.Result, source []headers.Difference,
) error {
	d := diffDocument{Result: whole, Source: source}
	if len(each) > 1 {
		d.Libraries = make([]*abi.Result, len(each))
		for i, r := range each {
			short := *r
			short.Changes = []abi.Change{} // they are in the changes of whole
			d.Libraries[i] = &short
		}
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode(d)
}
