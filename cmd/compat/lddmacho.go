package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/compat-app/compat/analyzer/dyld"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/machoobj"
)

// isMachO reports whether a file on this machine starts like a Mach-O file.
func isMachO(path string) bool { return machoobj.Is(firstBytes(path, 8)) }

// readMachO reads a Mach-O file on this machine.
func readMachO(path string) (*machoobj.File, error) { return readBinary(path, machoobj.Read) }

// machOAnswer is the result of dyld for one slice of a file.
type machOAnswer struct {
	Arch string `json:"arch"`
	*dynlink.Answer
}

// lddMachO shows what dyld would load for each slice of a Mach-O file: the libraries that are found
// below root, on the oldest macOS that the slice was built for. path is the file's path below root.
func lddMachO(root, path string) ([]machOAnswer, error) {
	file, err := readMachO(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []machOAnswer
	for _, s := range file.Slices {
		if s.Err != nil {
			out = append(out, machOAnswer{s.Arch, &dynlink.Answer{Error: s.Err.Error()}})
			continue
		}
		if s.Object.Type.Loadable() {
			out = append(out, machOAnswer{s.Arch, loadSlice(root, path, s)})
		}
	}
	if out == nil {
		return nil, fmt.Errorf("%s has no slice that dyld loads", path)
	}
	return out, nil
}

func loadSlice(root, path string, s machoobj.Slice) *dynlink.Answer {
	at := filepath.ToSlash(filepath.Join("/", path))
	self := dyld.File{Path: at, Name: path, Slices: []machoobj.Slice{s}, Kind: dynlink.FromArtifact}
	env := dyld.NewEnvironment(s.Arch, s.Object.MinOS, []dyld.File{self})
	env.Open = func(p string) []machoobj.Slice {
		f, err := readMachO(filepath.Join(root, filepath.FromSlash(p)))
		if err != nil {
			return nil
		}
		return f.Slices
	}
	l := env.LoadAll()[0]
	a := dynlink.NewAnswer()
	for _, f := range l.Found[1:] {
		a.Objects = append(a.Objects, dynlink.LoadedObject{Name: f.Needed.Path, Path: f.Image.Path,
			NeededBy: f.NeededBy.Name, FoundBy: string(f.By)})
	}
	for _, m := range l.Missing {
		a.NotFound = append(a.NotFound, dynlink.NotFound{Name: m.Needed.Path,
			NeededBy: m.NeededBy.Name, Searched: m.Searched})
	}
	for _, f := range l.Found {
		if f.Image.Object == nil {
			continue
		}
		for b := range env.Bind(f.Image) {
			switch b.Outcome {
			case dynlink.NoSymbol:
				a.Undefined = append(a.Undefined, dynlink.Undefined{Symbol: b.Import.Name,
					Object: f.Image.Name})
			case dyld.TooNew:
				a.Undefined = append(a.Undefined, dynlink.Undefined{Symbol: b.Import.Name,
					Version: "macOS " + b.Since.String(), Object: f.Image.Name})
			}
		}
	}
	return a
}

// writeMachO prints the answer for each slice of a Mach-O file.
func writeMachO(w io.Writer, enc *json.Encoder, o lddOptions, path string, n int) error {
	answers, err := lddMachO(o.root, path)
	if err != nil {
		return err
	}
	for _, a := range answers {
		printable(a.Answer)
		if o.format == "json" {
			if err := enc.Encode(a); err != nil {
				return err
			}
			continue
		}
		if n++; n > 1 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s (%s):\n", shown(path), a.Arch)
		writeMissing(w, a.Answer)
		writeObjects(w, path, a.Answer, o.tree)
	}
	return nil
}
