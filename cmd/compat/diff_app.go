package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/compat-app/compat/analyzer/abi"
)

// uses returns whether a program of --app imports a symbol of a library; nil without --app. It is
// an error if one imports none of the old libraries, because then nothing would be compared.
func (f *diffFlags) uses(old []*abi.Library) (func(name, version string) bool, error) {
	if len(f.apps) == 0 {
		return nil, nil
	}
	imported := map[string][]string{} // versions by name; "" for none
	for _, app := range f.apps {
		o, ok := openObject(app)
		if !ok {
			return nil, fmt.Errorf("--app: %s is not an ELF program or library", app)
		}
		own := map[string]bool{}
		for _, i := range o.Imports.All() {
			own[i.Name] = true
			imported[i.Name] = append(imported[i.Name], i.Version)
		}
		if !slices.ContainsFunc(old, func(l *abi.Library) bool {
			return slices.ContainsFunc(l.Symbols, func(s abi.Symbol) bool { return own[s.Name] })
		}) {
			return nil, fmt.Errorf("--app: %s imports no symbol of the old library", app)
		}
	}
	return func(name, version string) bool {
		return slices.ContainsFunc(imported[name], func(v string) bool {
			return v == "" || version == "" || v == version
		})
	}, nil
}

// usedBy returns pairs of what the programs of --app use of each new library, by their own debug
// information, and that library.
func (f *diffFlags) usedBy(
	new []*abi.Library, debug *debugSources,
) (pairs []abi.Pairing, err error) {
	for _, app := range f.apps {
		used := false
		for _, l := range new {
			old, err := readApp(app, l, debug)
			if err != nil {
				return nil, fmt.Errorf("--app: %w", err)
			}
			if old != nil {
				used = true
				pairs = append(pairs, abi.Pairing{Old: old, New: l})
			}
		}
		if !used {
			return nil, fmt.Errorf("--app: %s imports no symbol of the new library", app)
		}
	}
	return pairs, nil
}

// readApp returns what a program uses of a library; nil if it is nothing.
func readApp(app string, l *abi.Library, debug *debugSources) (*abi.Library, error) {
	file, size, ok := openRegular(app)
	if !ok {
		return nil, fmt.Errorf("%s is not a file", app)
	}
	defer file.Close()
	folder, err := filepath.Abs(filepath.Dir(app))
	if err != nil {
		return nil, err
	}
	d := debug.of(folder, folder)
	defer d.close()
	return abi.ReadProgram(
		abi.File{Name: app, Content: file, Size: size, Open: d.open, Scratch: d.scratch},
		l, neededBy(app).find,
	)
}
