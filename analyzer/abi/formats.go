package abi

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Is reports whether ParseAll can read a file: a baseline, the XML of libabigail, or a
// debian/*.symbols file, which is recognised by its name.
func Is(name string, head []byte) bool {
	return IsBaseline(head) || isXML(head) || isDebian(name)
}

// ParseAny reads the ABI of a library from a description: a baseline of compat abi, the XML of
// libabigail (abidw), or a debian/*.symbols file, recognised by name.
func ParseAny(name string, b []byte) (*Library, error) {
	all, err := ParseAll(name, b)
	if err == nil && len(all) > 1 {
		err = fmt.Errorf("it describes %d libraries; give the XML of one", len(all))
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// ParseAll is ParseAny for a description that may have several libraries: a group in the XML of
// libabigail. There is at least one.
func ParseAll(name string, b []byte) ([]*Library, error) {
	var all []*Library
	var err error
	one := func(l *Library, failed error) { all, err = []*Library{l}, failed }
	switch {
	case IsBaseline(b[:min(len(b), 256)]):
		one(ParseBaseline(b))
	case isXML(b[:min(len(b), 256)]):
		all, err = parseXML(b)
	case isDebian(name):
		one(parseDebian(b))
	default:
		return nil, fmt.Errorf(
			"%s is neither a baseline of compat abi, nor XML of libabigail, nor a debian/*.symbols file",
			name,
		)
	}
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(all, (*Library).tooDeep) {
		return nil, errTooDeep
	}
	return all, nil
}

// tooDeep reports whether a type is nested deeper than Compare follows: pointers, arrays and
// functions up to the next structure. A type without end, such as a pointer to itself, is too deep.
func (l *Library) tooDeep() bool {
	depths := make([]int, len(l.Types)) // 0 = not measured yet
	var measure func(id TypeID, above int) int
	measure = func(id TypeID, above int) int {
		t := &l.Types[id]
		if depths[id] == 0 && above <= maxTypeDepth && !t.composite() {
			most := 0
			t.uses(func(used TypeID) { most = max(most, measure(used, above+1)) })
			depths[id] = most + 1
		}
		if depths[id] == 0 {
			return 1
		}
		return depths[id]
	}
	for id := range l.Types {
		if measure(TypeID(id), 0) > maxTypeDepth {
			return true
		}
	}
	return false
}

func isDebian(name string) bool {
	return strings.HasSuffix(name, ".symbols") || strings.HasSuffix(name, "/DEBIAN/symbols") ||
		strings.Contains(name, ".symbols.")
}

// debianHeader matches the first line of a library: libfoo.so.1 libfoo1 #MINVER#.
var debianHeader = lazyregexp.New(`^(\S+)\s+\S+`)

// debianTags matches the tags of a symbol: (optional|arch=amd64)name.
var debianTags = lazyregexp.New(`^\(([^)]*)\)`)

// parseDebian reads a debian/*.symbols file (deb-src-symbols(5)) with one library. Symbols limited
// to some architectures and patterns (tags symver and regex) are ignored, because they do not say
// which symbols the library must have. Symbols in #MISSING lines were removed earlier.
func parseDebian(b []byte) (*Library, error) {
	l := &Library{
		Evidence: EvidenceSymbols, Versym: true, Needed: []string{}, Versions: []string{},
		Debian: true, Partial: true,
	}
	seen := map[[2]string]bool{}
	for n, line := range strings.Split(string(b), "\n") {
		switch {
		case strings.TrimSpace(line) == "", line[0] == '#', line[0] == '|', line[0] == '*':
			continue
		case line[0] != ' ' && line[0] != '\t':
			m := debianHeader.FindStringSubmatch(line)
			if m == nil {
				return nil, fmt.Errorf("line %d is not valid in a symbols file", n+1)
			}
			if l.SONAME != "" {
				return nil, fmt.Errorf(
					"it describes %s and %s; only files with one library are read", l.SONAME, m[1],
				)
			}
			l.SONAME, l.Name, l.Header = m[1], m[1], strings.TrimRight(line, "\r ")
			continue
		}
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if l.SONAME == "" {
			return nil, fmt.Errorf("line %d has a symbol before the name of its library", n+1)
		}
		var tags []string
		if m := debianTags.FindStringSubmatch(line); m != nil {
			tags = strings.Split(m[1], "|")
			line = line[len(m[0]):]
		}
		// The package version that added the symbol follows the name.
		name, _, _ := strings.Cut(line, " ")
		if quoted, ok := strings.CutPrefix(line, `"`); ok {
			name, _, _ = strings.Cut(quoted, `"`)
		}
		skip := false
		s := Symbol{Kind: elfobj.NoType}
		for _, t := range tags {
			key, _, _ := strings.Cut(t, "=")
			switch key {
			case "arch", "arch-bits", "arch-endian", "symver", "regex":
				skip = true
			case "optional", "ignore-blacklist", "allow-internal":
				s.Weak = s.Weak || key == "optional"
			case "c++":
				s.Demangled = true
			}
		}
		at := strings.LastIndexByte(name, '@')
		if skip || at < 0 {
			continue
		}
		s.Name, s.Version = name[:at], name[at+1:]
		if s.Name == s.Version { // a version node
			continue
		}
		if s.Version == "Base" {
			s.Version = ""
		} else if !slices.Contains(l.Versions, s.Version) {
			l.Versions = append(l.Versions, s.Version)
		}
		key := [2]string{s.Name, s.Version}
		if s.Weak || seen[key] || elfobj.OfLinker(s.Name) {
			continue // optional symbols may be removed
		}
		seen[key] = true
		l.Symbols = append(l.Symbols, s)
	}
	switch {
	case l.SONAME == "":
		return nil, errors.New("it names no library")
	case len(l.Symbols) == 0:
		return nil, fmt.Errorf("it lists no symbol of %s that can be compared", l.SONAME)
	}
	return l, nil
}

// resolved replaces C++ names in a symbols file with the mangled names of the new library.
func (l *Library) resolved(new *Library) *Library {
	if !slices.ContainsFunc(l.Symbols, func(s Symbol) bool { return s.Demangled }) {
		return l
	}
	names := map[string]string{}
	for i := range new.Symbols {
		if name := new.Symbols[i].Name; strings.HasPrefix(name, "_Z") {
			names[Readable(name)] = name
		}
	}
	out := *l
	out.Symbols = slices.Clone(l.Symbols)
	for i := range out.Symbols {
		if s := &out.Symbols[i]; s.Demangled && names[s.Name] != "" {
			s.Name = names[s.Name]
		}
	}
	return &out
}

func isXML(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("<abi-corpus"))
}
