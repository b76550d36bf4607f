package historydata

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Decode reads what Encode wrote.
func Decode(packed []byte) ([]Release, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	if _, err := io.Copy(&b, r); err != nil {
		return nil, err
	}
	d := decoder{}
	text := b.String()
	for n := 1; len(text) > 0; n++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if err := d.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	d.endRelease()
	return d.releases, nil
}

type decoder struct {
	releases   []Release
	name, arch string
	release    *Release
	library    *Library
	symbols    map[string]bool            // of the library being read, as text
	before     map[string]map[string]bool // of the release before, by path
	now        map[string]map[string]bool
}

func (d *decoder) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	first, second, _ := strings.Cut(rest, " ")
	switch word {
	case "#":
		return nil
	case "package":
		d.endRelease()
		d.name, d.arch, d.before = first, second, nil
		return nil
	case "release", "yanked":
		d.endRelease()
		d.release = &Release{Name: d.name, Version: first, Arch: d.arch, Wheel: second, Yanked: word == "yanked"}
		return nil
	}
	if d.release == nil {
		return fmt.Errorf("%q before a release", word)
	}
	switch word {
	case "requires":
		d.release.Requires = append(d.release.Requires, rest)
		return nil
	case "name", "library":
		d.endLibrary()
		d.library = &Library{Path: first, SONAME: undash(second), Known: word == "library"}
		d.symbols = maps.Clone(d.before[first])
		if d.symbols == nil {
			d.symbols = map[string]bool{}
		}
		return nil
	}
	if d.library == nil || !d.library.Known && (word == "+" || word == "-") {
		return fmt.Errorf("%q before a library", word)
	}
	switch word {
	case "needed":
		d.library.Needed = strings.Fields(rest)
	case "runpath":
		d.library.RunPath = rest
	case "versions":
		d.library.Versions = strings.Fields(rest)
	case "+":
		d.symbols[rest] = true
	case "-":
		delete(d.symbols, rest)
	default:
		return fmt.Errorf("unknown line %q", word)
	}
	return nil
}

func (d *decoder) endLibrary() {
	if d.library == nil {
		return
	}
	if d.library.Known {
		for _, s := range slices.Sorted(maps.Keys(d.symbols)) {
			f := append(strings.Fields(s), "", "", "", "")
			e := Export{Name: f[0], Version: undash(f[1]), Kind: undash(f[2])}
			e.Hidden, e.Weak, e.Unique = strings.Contains(f[3], "h"), strings.Contains(f[3], "w"), strings.Contains(f[3], "u")
			d.library.Exports = append(d.library.Exports, e)
		}
		if d.now == nil {
			d.now = map[string]map[string]bool{}
		}
		d.now[d.library.Path] = d.symbols
	}
	d.release.Libraries = append(d.release.Libraries, *d.library)
	d.library = nil
}

func (d *decoder) endRelease() {
	if d.release == nil {
		return
	}
	d.endLibrary()
	d.releases = append(d.releases, *d.release)
	d.release, d.before, d.now = nil, d.now, nil
}

func undash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}
