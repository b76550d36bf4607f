package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/internal/symboltable"
)

var pythonDLL = regexp.MustCompile(`(?i)(^|/)python(3)([0-9]+)\.dll$`)

// python writes the table of the releases of CPython that export a symbol on Windows. The files are
// archives that contain python3XX.dll.
func python(archives []string) (string, error) {
	releases, from := map[string][]string{}, []string{}
	for _, archive := range archives {
		version, names, err := exported(archive)
		if err != nil {
			return "", fmt.Errorf("%s: %w", archive, err)
		}
		from = append(from, path.Base(archive))
		for _, n := range names {
			releases[n] = append(releases[n], version)
		}
	}
	fields := map[string]string{}
	for name, in := range releases {
		slices.SortFunc(in, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b)/2 })
		fields[name] = strings.Join(in, " ")
	}
	comment := "what CPython exports on Windows, by its releases, from " + strings.Join(from, " ")
	return symboltable.Format(comment, fields), nil
}

// exported lists the symbols of Python's own that python3XX.dll in an archive exports.
func exported(archive string) (version string, names []string, err error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return "", nil, err
	}
	defer z.Close()
	for _, f := range z.File {
		m := pythonDLL.FindStringSubmatch(f.Name)
		if m == nil {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return "", nil, err
		}
		b, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			return "", nil, err
		}
		o, err := peobj.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return "", nil, err
		}
		for _, e := range o.Exports {
			if abi3.Names(e.Name) && !strings.HasPrefix(e.Name, "PyInit_") {
				names = append(names, e.Name)
			}
		}
		if len(names) < 1000 {
			return "", nil, fmt.Errorf("%s exports %d symbols, which can't be all", f.Name, len(names))
		}
		return m[2] + "." + m[3], names, nil
	}
	return "", nil, fmt.Errorf("it has no python3XX.dll")
}
