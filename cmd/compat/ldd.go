package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compat-app/compat/analyzer/dynlink"
)

// lddOptions are the flags of compat ldd.
type lddOptions struct {
	root, libraryPath, format, why string
	preload, open                  []string
	tree                           bool
}

func newLddCommand(env environment) *cobra.Command {
	var o lddOptions
	c := &cobra.Command{
		Use:   "ldd [flags] FILE...",
		Short: "Show what the dynamic linker would load, without running anything",
		Long: `Show which libraries a program or shared library loads, and which libraries, versions and symbols
are missing: what "ldd -r" prints in a chroot of --root with LD_BIND_NOW set, and the interpreter
that a program names. It works for any architecture, and only reads the files. FILE is a path inside
the root. Without --root, it may be relative to the working directory, as may --library-path,
--preload and search paths in files.

--open simulates dlopen calls after the program has started, in the given order. "--open
/x/module.so" opens a module as Python does (RTLD_NOW | RTLD_LOCAL). "--open
global=libpython3.11.so.1.0" makes its symbols available to libraries opened later. The modes before
"=" are global, lazy, deepbind and noload, separated by commas.

Exit code: 0 also if something is missing (as ldd), 1 if the loader itself would fail, 2 wrong usage.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("give at least one FILE; see 'compat ldd --help'")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, files []string) error { return ldd(env.Out, files, o) },
	}
	f := c.Flags()
	f.StringVar(&o.root, "root", "/", "folder to use as /: an unpacked image or a chroot")
	f.StringArrayVar(
		&o.preload,
		"preload",
		nil,
		"object to load before all others, as LD_PRELOAD; repeatable",
	)
	f.StringArrayVar(
		&o.open,
		"open",
		nil,
		"library that the program opens with dlopen, as [MODE=]NAME; repeatable, in order",
	)
	f.StringVar(&o.libraryPath, "library-path", "", "folders to search first, as LD_LIBRARY_PATH")
	f.StringVar(&o.format, "format", "text", "text or json (one document for each FILE)")
	f.BoolVar(&o.tree, "tree", false, "show the libraries as a tree")
	f.StringVar(&o.why, "why", "", "show which objects use this symbol and which provide it")
	return c
}

// lddMemory is the heap size in bytes at which the garbage collector first runs: the size of the
// linker's cache for a root, twice. Collecting earlier took a fifth of the time for one file.
const lddMemory = 192 << 20

func ldd(out io.Writer, files []string, o lddOptions) error {
	if o.format != "text" && o.format != "json" {
		return exit{exitUsage, fmt.Errorf("unknown --format %s; use text or json", o.format)}
	}
	root, err := openRoot(o.root)
	if err != nil {
		return exit{exitUsage, fmt.Errorf("--root: %w; give a folder", err)}
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(lddMemory))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // collect only at the limit
	linker := dynlink.NewLinker(root)
	if o.root == "/" {
		work, err := os.Getwd()
		if err != nil {
			return err
		}
		linker.StartIn(filepath.ToSlash(work))
	}
	settings := dynlink.Settings{Preload: o.preload, LibraryPath: o.libraryPath}
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	var windows peFolder
	gaveUp := false
	for i, file := range files {
		path, err := inRoot(o.root, file)
		if err != nil {
			return err
		}
		if isMachO(filepath.Join(o.root, filepath.FromSlash(path))) {
			if err := writeMachO(w, enc, o, path, i); err != nil {
				return err
			}
			continue
		}
		var a *dynlink.Answer
		var opened []opening
		why := linker.Why
		if isPE(filepath.Join(o.root, filepath.FromSlash(path))) {
			if a, err = lddWindows(&windows, o.root, path); err != nil {
				return err
			}
		} else if len(o.open) == 0 {
			a = linker.Resolve(path, settings)
		} else {
			var p *dynlink.Process
			p, a = linker.Start(path, settings)
			why = p.Why
			if opened, err = openAll(p, o); err != nil {
				return err
			}
		}
		gaveUp = gaveUp || a.Error != "" ||
			slices.ContainsFunc(opened, func(x opening) bool { return x.Error != "" })
		if o.format == "json" {
			if err := enc.Encode(lddDocument{printable(a), opened}); err != nil {
				return err
			}
			continue
		}
		if len(files) > 1 {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s:\n", shown(file))
		}
		if next := nextStep(a); next != "" {
			fmt.Fprintf(w, "error: %s: %s; %s\n", shown(file), a.Error, next)
			continue
		}
		writeMissing(w, a)
		if o.why != "" {
			writeWhy(w, o.why, why(o.why))
			continue
		}
		if i := a.Interpreter; i != nil && i.Error == "" {
			fmt.Fprintf(w, "\tinterpreter %s\n", shown(i.Path))
		}
		writeObjects(w, path, a, o.tree)
		writeOpened(w, opened)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if gaveUp {
		return exit{code: exitIncompatible}
	}
	return nil
}

// inRoot returns the path of a file in the root. Relative paths start at the working directory if
// the root is "/", else at the root.
func inRoot(root, file string) (string, error) {
	if root == "/" {
		path, err := filepath.Abs(file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		return filepath.ToSlash(path), nil
	}
	if path := filepath.ToSlash(file); strings.Contains(path, "/") {
		return path, nil
	}
	return "./" + file, nil // as ldd: a name without "/" is a file, not a library to search
}

// nextStep returns what to do about a path that no loader reads; "" for another one.
func nextStep(a *dynlink.Answer) string {
	switch a.Error {
	case dynlink.NoFile:
		return "give a path from the working folder, or with --root one in that folder"
	case dynlink.NotDynamic:
		return "give a program or a library; compat check reads wheels and archives"
	}
	return ""
}

// writeMissing prints what is missing, in the order of severity.
func writeMissing(w io.Writer, a *dynlink.Answer) {
	if a.Error != "" {
		fmt.Fprintf(w, "error: %s\n", shown(a.Error))
	}
	if i := a.Interpreter; i != nil && i.Error != "" {
		fmt.Fprintf(w, "interpreter %s => %s; the kernel does not start the program\n",
			shown(i.Path), i.Error)
	}
	for _, name := range a.Ignored {
		fmt.Fprintf(w, "%s of --preload => not found or not a library; the loader ignores it\n",
			shown(name))
	}
	for _, n := range a.NotFound {
		fmt.Fprintf(w, "%s => not found (needed by %s)\n", shown(n.Name), shown(n.NeededBy))
		for _, s := range n.Searched {
			fmt.Fprintf(w, "\tsearched %s\n", shown(s))
		}
	}
	for _, v := range a.MissingVersions {
		fmt.Fprintf(
			w,
			"%s: version `%s' not found (required by %s)\n",
			shown(v.Library),
			shown(v.Version),
			shown(v.RequiredBy),
		)
	}
	for _, u := range a.Undefined {
		version := ""
		if u.Version != "" {
			version = ", version " + u.Version
		}
		fmt.Fprintf(w, "undefined symbol: %s\t(%s)\n", shown(u.Symbol+version), shown(u.Object))
	}
}

// writeObjects prints the loaded objects in load order, or as a tree in which each object is below
// the first that needs it.
func writeObjects(w io.Writer, root string, a *dynlink.Answer, tree bool) {
	type entry struct{ path, text string }
	below := map[string][]entry{}
	for _, l := range a.Objects {
		text := found(l)
		if !tree {
			fmt.Fprintf(w, "\t%s\n", text)
			continue
		}
		below[l.NeededBy] = append(below[l.NeededBy], entry{l.Path, text + " [" + l.FoundBy + "]"})
	}
	if !tree {
		return
	}
	for _, n := range a.NotFound {
		below[n.NeededBy] = append(below[n.NeededBy], entry{"", shown(n.Name) + " => not found"})
	}
	fmt.Fprintln(w, shown(root))
	var walk func(of string, depth int)
	walk = func(of string, depth int) {
		children := below[of]
		delete(below, of) // two files can have the same printed path; show them once
		for _, c := range children {
			fmt.Fprintf(w, "%s%s\n", strings.Repeat("  ", depth), c.text)
			if c.path != "" {
				walk(c.path, depth+1)
			}
		}
	}
	walk(root, 1)
	walk("", 1) // preloads, which no object needs
}

func writeWhy(w io.Writer, symbol string, reasons []dynlink.Reason) {
	if len(reasons) == 0 {
		fmt.Fprintf(w, "%s: no loaded object uses it\n", shown(symbol))
	}
	for _, r := range reasons {
		name := symbol
		if r.Version != "" {
			name += ", version " + r.Version
		}
		switch {
		case r.Provider != "":
			fmt.Fprintf(
				w,
				"%s uses %s\n\tprovided by %s\n\tloaded as %s\n",
				shown(r.Object),
				shown(name),
				shown(r.Provider),
				shown(strings.Join(r.Chain, " -> ")),
			)
		case r.Weak:
			fmt.Fprintf(
				w,
				"%s uses %s (weak)\n\tno object provides it, which is not an error\n",
				shown(r.Object),
				shown(name),
			)
		default:
			fmt.Fprintf(w, "%s uses %s\n\tno object provides it\n", shown(r.Object), shown(name))
		}
	}
}

// shown escapes a file name for a terminal: bytes that are not printable ASCII become \xNN, as in
// the loader's own output.
func shown(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	return escape(s, true)
}

// escape writes bytes that are not UTF-8 as \xNN, and with control also control characters.
func escape(s string, control bool) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\uFFFD' && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case control && (r < ' ' || r >= 0x7f && r < 0xa0) && r != '\t':
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// printable makes the strings of a document UTF-8: JSON requires it, and file names may be any
// bytes.
func printable(a *dynlink.Answer) *dynlink.Answer {
	text := func(s *string) {
		for i := 0; i < len(*s); i++ {
			if (*s)[i] >= 0x80 {
				*s = escape(*s, false)
				return
			}
		}
	}
	for i := range a.Objects {
		o := &a.Objects[i]
		text(&o.Name)
		text(&o.Path)
		text(&o.NeededBy)
	}
	for i := range a.Ignored {
		text(&a.Ignored[i])
	}
	for i := range a.NotFound {
		n := &a.NotFound[i]
		text(&n.Name)
		text(&n.NeededBy)
		if n.Searched == nil {
			n.Searched = []string{}
		}
		for k := range n.Searched {
			text(&n.Searched[k])
		}
	}
	for i := range a.MissingVersions {
		v := &a.MissingVersions[i]
		text(&v.Version)
		text(&v.Library)
		text(&v.RequiredBy)
	}
	for i := range a.Undefined {
		u := &a.Undefined[i]
		text(&u.Symbol)
		text(&u.Version)
		text(&u.Object)
	}
	if a.Interpreter != nil {
		text(&a.Interpreter.Path)
	}
	text(&a.Error)
	return a
}
