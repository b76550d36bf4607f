package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// writeNames writes the names of the loadable libraries and of the requirements of packages, a line
// for each (packages.Lacks). A package that could not be read keeps its line, and so do those in
// the file that are not in names.
func (x *index) writeNames(ctx context.Context, names []string, file string, log io.Writer) error {
	lines := map[string]string{}
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(data)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		lines[name] = line
	}
	var mu sync.Mutex
	inParallel(ctx, len(names), func(i int) {
		line, err := x.names(ctx, names[i])
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			fmt.Fprintf(log, "left as it was: %s: %v\n", names[i], err)
			return
		}
		fmt.Fprint(log, line)
		lines[names[i]] = line
	})
	var out strings.Builder
	keys := make([]string, 0, len(lines))
	for name := range lines {
		keys = append(keys, name)
	}
	slices.Sort(keys)
	for _, name := range keys {
		out.WriteString(lines[name])
	}
	return os.WriteFile(file, []byte(out.String()), 0o644)
}

// names returns the line of a package: what wheels of its newest final version, of the middle one,
// and of that between them contain and require. Much older ones often require packages that the
// standard library has replaced.
func (x *index) names(ctx context.Context, name string) (string, error) {
	files, err := x.files(ctx, pkg{name: name})
	if err != nil {
		return "", err
	}
	best := map[string]wheel{} // by version
	for _, w := range files {
		n, err := pkgmeta.ParseWheelName(w.file)
		if err != nil || w.yanked || !current(w, n) {
			continue
		}
		if old, taken := best[w.version]; !taken || better(w.file, n, old.file) {
			best[w.version] = w
		}
	}
	var wheels []wheel
	for _, w := range best {
		wheels = append(wheels, w)
	}
	if len(wheels) == 0 {
		return "", errors.New("has no wheel for Linux")
	}
	slices.SortFunc(wheels, func(a, b wheel) int { return compareVersions(a.version, b.version) })
	var has, requires []string
	for n, w := range wheels {
		if last := len(wheels) - 1; n != last && n != last*3/4 && n != last/2 {
			continue
		}
		libraries, follows, err := contents(ctx, w)
		if err != nil {
			return "", fmt.Errorf("%s: %w", w.file, err)
		}
		has, requires = append(has, libraries...), append(requires, follows...)
	}
	line := name
	for _, part := range []struct {
		word string
		list []string
	}{{"has", has}, {"requires", requires}} {
		slices.Sort(part.list)
		if list := slices.Compact(part.list); len(list) > 0 {
			line += " " + part.word + " " + strings.Join(list, ",")
		}
	}
	return line + "\n", nil
}

// current reports whether a wheel can be installed on Linux with one of the interpreters.
func current(w wheel, n pkgmeta.WheelName) bool {
	return slices.ContainsFunc(interpreters, func(i string) bool {
		on := packages.Target{
			Python: "3." + strings.TrimPrefix(i, "cp3"), Arch: "x86_64", Libc: "glibc",
		}
		return runsOn(n, "x86_64") &&
			on.Installs([]packages.File{{RequiresPython: w.python, Tags: n.Tags}})
	})
}

// contents returns the file names of the libraries of a wheel that others may load, and the
// packages that it requires.
func contents(ctx context.Context, w wheel) (libraries, requires []string, err error) {
	far, err := openRanged(ctx, w.url)
	if err != nil {
		return nil, nil, err
	}
	z, err := zip.NewReader(far, far.size)
	if err != nil {
		return nil, nil, err
	}
	all, err := requirements(z)
	if err != nil {
		return nil, nil, err
	}
	for _, q := range all {
		if name := packages.Follow(q); name != "" {
			requires = append(requires, name)
		}
	}
	for _, f := range z.File {
		if packages.Loadable(f.Name) {
			libraries = append(libraries, path.Base(f.Name))
		}
	}
	return libraries, requires, nil
}
