package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/peobj"
)

var (
	dllName  = regexp.MustCompile(`^  Name: (.*)$`)
	dllEntry = regexp.MustCompile(`^ +Symbol: (.*) \((\d+)\)$`)
)

// imported is llvm-readobj's output for one DLL.
type imported struct {
	name    string
	delay   bool
	symbols []string
}

func importsOf(text string) []imported {
	var out []imported
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "Import {":
			out = append(out, imported{})
		case line == "DelayImport {":
			out = append(out, imported{delay: true})
		case len(out) == 0:
		default:
			last := &out[len(out)-1]
			if m := dllName.FindStringSubmatch(line); m != nil && last.name == "" {
				last.name = m[1]
			} else if m := dllEntry.FindStringSubmatch(line); m != nil {
				if m[1] == "" {
					m[1] = "#" + m[2]
				}
				last.symbols = append(last.symbols, m[1])
			}
		}
	}
	return out
}

// windows compares the PE files of a wheel.
func (c *comparison) windows(wheel, dir string, names []string) error {
	args := []string{"ldd", "--root", dir, "--format", "json"}
	for _, n := range names {
		args = append(args, "/"+n)
	}
	text, err := output(c.compat, args...)
	if err != nil {
		return err
	}
	answers := json.NewDecoder(strings.NewReader(text))
	for _, name := range names {
		c.at = wheel + ": " + name
		var a answer
		if err := answers.Decode(&a); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := c.file(dir, name, a); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := answers.Decode(&answer{}); err != io.EOF {
		return fmt.Errorf("compat ldd printed more than one answer for a file: %w", err)
	}
	return nil
}

func (c *comparison) file(dir, name string, a answer) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	text, err := output(c.compat, "facts", file)
	if err != nil {
		return err
	}
	var o peobj.Object
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	if text, err = output("llvm-readobj-19", "--coff-imports", file); err != nil {
		return err
	}
	c.pe++
	var own, theirs, symbols, libraries []string
	for _, d := range o.Imports {
		for _, s := range d.Symbols {
			own = append(own, fmt.Sprint(d.Name, " ", d.Delay, " ", s))
		}
	}
	for _, d := range importsOf(text) {
		for _, s := range d.symbols {
			theirs = append(theirs, fmt.Sprint(d.name, " ", d.delay, " ", s))
			symbols = append(symbols, s)
		}
		if !d.delay {
			libraries = append(libraries, strings.ToLower(d.name))
		}
	}
	c.libraries += len(libraries)
	c.imports += len(own)
	c.sorted("imports", own, theirs)
	needed, loaded := a.direct(name)
	for n := range needed {
		needed[n] = strings.ToLower(needed[n])
	}
	for _, n := range needed {
		// A forwarder is followed like an import.
		if !slices.Contains(libraries, n) && !forwards(&o, n) {
			c.differs("only compat ldd has the DLL %q", n)
		}
	}
	for _, l := range libraries {
		again := slices.ContainsFunc(append(loaded, name), func(p string) bool {
			return strings.EqualFold(filepath.Base(p), l)
		}) || slices.ContainsFunc(a.Objects, func(x struct {
			Name     string
			Path     string
			NeededBy string `json:"needed_by"`
		}) bool {
			return strings.EqualFold(x.Name, l)
		})
		if !slices.Contains(needed, l) && !again && !o.Managed {
			c.differs("only llvm-readobj has the DLL %q", l)
		}
	}
	for _, u := range a.Undefined {
		if strings.TrimPrefix(u.Object, "/") == name && !slices.Contains(symbols, u.Symbol) {
			c.differs("compat ldd calls %s undefined, which is not imported", u.Symbol)
		}
	}
	return nil
}

// forwards reports whether a file forwards an export to a DLL.
func forwards(o *peobj.Object, dll string) bool {
	return slices.ContainsFunc(o.Exports, func(e peobj.Export) bool {
		to, _, ok := e.Target()
		return ok && strings.EqualFold(to, dll)
	})
}
