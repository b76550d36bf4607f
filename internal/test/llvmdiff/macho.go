package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/machoobj"
)

var (
	neededLine = regexp.MustCompile(`^\t(.*) \(compatibility version ([\d.]+), current version ` +
		`([\d.]+)((?:, \w+)*)\)$`)
	bindLine = regexp.MustCompile(`^__\S+ +\S+ +0x\S+ (?:pointer|text abs32|text rel32) +` +
		`(-?\d+) +(.*?) +(\S+)( \(weak_import\))?$`)
	lazyLine = regexp.MustCompile(`^__\S+ +\S+ +0x\S+ (.*?) +(\S+)$`) // without weakness
	weakLine = regexp.MustCompile(`^__\S+ +\S+ +0x\S+ (?:pointer|text abs32|text rel32) +` +
		`(-?\d+) +(\S+)$`)
	chainedLine = regexp.MustCompile(`lib_ordinal = (-?\d+)(?: \((.*)\))?|weak_import = (\d)|` +
		`name_offset = \d+ \((.*)\)`)
)

// machO compares the slices of a file.
func (c *comparison) machO(dir, name string) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	text, err := output(c.compat, "facts", file)
	if err != nil {
		return err
	}
	var facts machoobj.File
	if err := json.Unmarshal([]byte(text), &facts); err != nil {
		return err
	}
	loadable := slices.ContainsFunc(facts.Slices, func(s machoobj.Slice) bool {
		return s.Object != nil && s.Object.Type.Loadable()
	})
	if !loadable {
		return nil // an object file, which is not loaded
	}
	answers, err := c.ldd(dir, name)
	if err != nil {
		return err
	}
	for _, s := range facts.Slices {
		if s.Object == nil {
			c.differs("compat could not read the %s slice", s.Arch)
			continue
		}
		a, ok := answers[s.Arch]
		if !ok {
			c.differs("compat ldd has no answer for %s", s.Arch)
			continue
		}
		c.slices++
		if err := c.libraryPaths(file, name, s.Object, a); err != nil {
			return err
		}
		if err := c.symbols(file, name, s.Object, a); err != nil {
			return err
		}
	}
	return nil
}

// answer is the output of compat ldd for a slice or a PE file.
type answer struct {
	Arch    string
	Objects []struct {
		Name     string
		Path     string
		NeededBy string `json:"needed_by"`
	}
	NotFound []struct {
		Name     string
		NeededBy string `json:"needed_by"`
	} `json:"not_found"`
	Undefined []struct{ Symbol, Object string }
}

// ldd runs compat ldd on a file and returns the result for each slice.
func (c *comparison) ldd(dir, name string) (map[string]answer, error) {
	text, err := output(c.compat, "ldd", "--root", dir, "--format", "json", "/"+name)
	if err != nil {
		return nil, err
	}
	out := map[string]answer{}
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var a answer
		if err := d.Decode(&a); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		out[a.Arch] = a
	}
}

// direct returns the direct dependencies of a file, and the paths of all loaded libraries.
func (a answer) direct(name string) (needed, loaded []string) {
	for _, o := range a.Objects {
		loaded = append(loaded, o.Path)
		if strings.TrimPrefix(o.NeededBy, "/") == name {
			needed = append(needed, o.Name)
		}
	}
	for _, n := range a.NotFound {
		if strings.TrimPrefix(n.NeededBy, "/") == name {
			needed = append(needed, n.Name)
		}
	}
	return needed, loaded
}

// libraryPaths compares needed libraries.
func (c *comparison) libraryPaths(file, name string, o *machoobj.Object, a answer) error {
	text, err := output("llvm-otool-19", "-arch", o.Arch, "-L", file)
	if err != nil {
		return err
	}
	var all, strong []string
	first := true
	for line := range strings.Lines(text) {
		m := neededLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		if first && o.InstallName != "" { // LC_ID_DYLIB
			first = false
			continue
		}
		first = false
		weak := strings.Contains(m[4], "weak")
		all = append(all, fmt.Sprint(m[1], " ", m[2], " ", m[3], " ", weak))
		if !weak {
			strong = append(strong, m[1])
		}
	}
	var own []string
	for _, n := range o.Needed {
		own = append(own, fmt.Sprint(n.Path, " ", long(n.Compatibility), " ", long(n.Current), " ",
			n.Weak))
	}
	c.libraries += len(all)
	c.lists(o.Arch+": libraries of compat facts", own, all)
	needed, loaded := a.direct(name)
	for _, n := range needed {
		if !slices.ContainsFunc(o.Needed, func(x machoobj.Needed) bool { return x.Path == n }) {
			c.differs("%s: only compat ldd has the library %q", o.Arch, n)
		}
	}
	for _, s := range strong {
		again := slices.ContainsFunc(append(loaded, "/"+name), func(l string) bool {
			return filepath.Base(l) == filepath.Base(s)
		})
		if !slices.Contains(needed, s) && !again {
			c.differs("%s: only llvm-otool has the library %q", o.Arch, s)
		}
	}
	return nil
}

// long formats a version with three numbers, like otool.
func long(v machoobj.Version) string {
	return fmt.Sprintf("%d.%d.%d", v>>16, v>>8&0xff, v&0xff)
}

// symbols compares imports.
func (c *comparison) symbols(file, name string, o *machoobj.Object, a answer) error {
	var own []string
	names := map[string]bool{}
	for _, i := range o.Imports {
		names[i.Name] = true
		switch {
		case i.Coalesced:
			own = append(own, i.Name+" weak definition")
		case i.Lazy:
			own = append(own, fmt.Sprint(i.Name, " ", from(o, i.Ordinal), " lazy"))
		default:
			own = append(own, fmt.Sprint(i.Name, " ", from(o, i.Ordinal), " ", i.Weak))
		}
	}
	var theirs []string
	switch o.Fixups {
	case machoobj.Chained:
		text, err := output("llvm-objdump-19", "--macho", "--arch="+o.Arch, "--chained-fixups", file)
		if err != nil {
			return err
		}
		if strings.Contains(text, "dyld chained import addend64[") {
			return c.undefined(file, o)
		}
		ordinal, weak := "", false
		for line := range strings.Lines(text) {
			m := chainedLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
			switch {
			case m == nil:
			case m[1] != "":
				ordinal = m[1]
			case m[3] != "":
				weak = m[3] == "1"
			default:
				theirs = append(theirs, fmt.Sprint(m[4], " ", chainedFrom(o, ordinal), " ", weak))
			}
		}
	case machoobj.Opcodes:
		text, err := output("llvm-objdump-19", "--macho", "--arch="+o.Arch, "--bind", "--lazy-bind",
			"--weak-bind", file)
		if err != nil {
			return err
		}
		table := ""
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if strings.HasSuffix(line, "table:") {
				table = line
				continue
			}
			switch table {
			case "Bind table:":
				if m := bindLine.FindStringSubmatch(line); m != nil {
					theirs = append(theirs, fmt.Sprint(m[3], " ", m[2], " ", m[4] != ""))
				}
			case "Lazy bind table:":
				if m := lazyLine.FindStringSubmatch(line); m != nil {
					theirs = append(theirs, fmt.Sprint(m[2], " ", m[1], " lazy"))
				}
			case "Weak bind table:":
				if m := weakLine.FindStringSubmatch(line); m != nil {
					theirs = append(theirs, m[2]+" weak definition")
				}
			}
		}
	default:
		return nil // LLVM's tools print no imports of such files
	}
	c.imports += len(o.Imports)
	c.sorted(o.Arch+": imports", own, theirs)
	for _, u := range a.Undefined {
		if strings.TrimPrefix(u.Object, "/") == name && !names[u.Symbol] {
			c.differs("%s: compat ldd calls %s undefined, which is not imported", o.Arch, u.Symbol)
		}
	}
	return nil
}

var undefinedLine = regexp.MustCompile(`\(undefined\) (weak )?external (.*) ` +
	`\((?:from (.*)|dynamically looked up)\)$`)

// undefined compares imports with the symbol table, which does not contain C++ definitions that
// another image may replace. It is used for chained imports with 64-bit addends, whose names LLVM
// 19 does not print.
func (c *comparison) undefined(file string, o *machoobj.Object) error {
	text, err := output("llvm-nm-19", "-m", "-u", "--arch="+o.Arch, file)
	if err != nil {
		return err
	}
	var own, theirs []string
	anywhere := map[string]bool{} // the symbol table has a library for these too
	for _, i := range o.Imports {
		anywhere[i.Name] = i.Ordinal == machoobj.AnyDef
		if _, defined := o.Export(i.Name); !defined || i.Ordinal != machoobj.AnyDef {
			own = append(own, fmt.Sprint(i.Name, " ", from(o, i.Ordinal), " ", i.Weak))
		}
	}
	for line := range strings.Lines(text) {
		m := undefinedLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		library := "flat-namespace"
		switch {
		case anywhere[m[2]]:
			library = from(o, machoobj.AnyDef)
		case m[3] != "":
			library = m[3]
		}
		theirs = append(theirs, fmt.Sprint(m[2], " ", library, " ", m[1] != ""))
	}
	c.imports += len(o.Imports)
	c.sorted(o.Arch+": imports", own, theirs)
	return nil
}

// from returns llvm-objdump's name for the library of an ordinal.
func from(o *machoobj.Object, ordinal int) string {
	switch ordinal {
	case machoobj.Self:
		return "this-image"
	case machoobj.Main:
		return "main-executable"
	case machoobj.Flat:
		return "flat-namespace"
	case machoobj.AnyDef:
		return "weak"
	}
	return shortName(o.Needed[ordinal-1].Path)
}

// chainedFrom is like from, for ordinals as printed for chained fixups.
func chainedFrom(o *machoobj.Object, ordinal string) string {
	n := 0
	if _, err := fmt.Sscan(ordinal, &n); err != nil || n > len(o.Needed) {
		return ordinal
	}
	return from(o, n)
}

var frameworkName = regexp.MustCompile(`([^/]+)\.framework/(?:Versions/[^/]+/)?([^/]+)$`)

// shortName returns llvm-objdump's name for a library path, like guessLibraryShortName in LLVM's
// MachOObjectFile.cpp: the name of a framework, or the file name without suffix, "_debug" and
// "_profile", and twice without one character of a version.
func shortName(library string) string {
	if m := frameworkName.FindStringSubmatch(library); m != nil && m[1] == m[2] {
		return m[1]
	}
	base, ok := strings.CutSuffix(library[strings.LastIndexByte(library, '/')+1:], ".dylib")
	if !ok {
		return library
	}
	letter := func(s string) string {
		if n := len(s) - 2; n >= 1 && s[n] == '.' {
			return s[:n]
		}
		return s
	}
	base = letter(base)
	base = strings.TrimSuffix(strings.TrimSuffix(base, "_debug"), "_profile")
	return letter(base)
}
