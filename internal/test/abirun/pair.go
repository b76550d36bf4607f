package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/tools/txtar"
)

// pair is a library in two builds, and a program that uses the old one.
type pair struct {
	name  string
	files []txtar.File
	// keys of the comment, after its first line:
	//   names   symbols or types, separated by |; an error has to name one of them
	//   blind   if compat does not report the break, a blind spot has to contain this text
	//   breaks  why it is a break although the program does not show it
	//   lost    builds whose debug information does not record the difference, and why
	//   cc      the only compiler, gcc or clang
	//   cflags, ldflags  added to the commands
	//   args    added to compat diff; {old} and {new} are the folders of the sources
	keys map[string]string
	dir  string // where it is built
}

var knownKeys = []string{"names", "blind", "breaks", "lost", "cc", "cflags", "ldflags", "args"}

func readPair(file string) (*pair, error) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		return nil, err
	}
	p := &pair{
		name:  strings.TrimSuffix(filepath.Base(file), ".txtar"),
		files: a.Files,
		keys:  map[string]string{},
	}
	title, rest, _ := strings.Cut(string(a.Comment), "\n")
	if !strings.HasSuffix(title, ".") {
		return nil, fmt.Errorf("%s: the first line is not a sentence", file)
	}
	for line := range strings.Lines(rest) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok {
			p.keys[key] = strings.TrimSpace(value)
		}
	}
	for key := range p.keys {
		if !strings.Contains(" "+strings.Join(knownKeys, " ")+" ", " "+key+" ") {
			return nil, fmt.Errorf("%s: unknown key %s", file, key)
		}
	}
	return p, nil
}

// sides are the two builds.
var sides = []string{"old", "new"}

var alternative = regexp.MustCompile(`(?s)@\{(.*?)@\|(.*?)@\}`)

// spell returns a text as one side has it.
func spell(text, side string) string {
	which := "$1"
	if side == "new" {
		which = "$2"
	}
	return alternative.ReplaceAllString(text, which)
}

// key returns a key as one side has it.
func (p *pair) key(name, side string) string { return spell(p.keys[name], side) }

// cxx reports whether the library is in C++.
func (p *pair) cxx() bool {
	for _, f := range p.files {
		if f.Name == "use.cc" {
			return true
		}
	}
	return false
}

// write creates the sources of both sides.
func (p *pair) write() error {
	for _, side := range sides {
		for _, f := range p.files {
			to := filepath.Join(p.dir, side, f.Name)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(to, []byte(spell(string(f.Data), side)), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// sources returns the source files of the library, as paths in the folder of a side.
func (p *pair) sources() (out []string) {
	for _, f := range p.files {
		ext := filepath.Ext(f.Name)
		if (ext == ".c" || ext == ".cc") && !strings.HasPrefix(f.Name, "use.") {
			out = append(out, f.Name)
		}
	}
	return out
}

// has reports whether the pair has a file.
func (p *pair) has(name string) bool {
	for _, f := range p.files {
		if f.Name == name {
			return true
		}
	}
	return false
}
