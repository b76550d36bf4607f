// Command numpy makes the embedded table of releases whose import fails with NumPy 2, although
// their metadata allows it.
//
// For each package of packages.txt it installs releases of the years around NumPy 2.0 together with
// numpy==2.0.2 by uv, in CPython 3.11, and imports them. The last release that fails with an error
// of NumPy's C API is a row. Releases that do not allow NumPy 2 are not installed, and a package
// without a release that fails is not in the table. It runs the code of the packages, so run it in
// a container. It needs uv, python3.11 and a package index (UV_DEFAULT_INDEX or that of uv).
//
//	numpy -index URL -out FILE [PACKAGE[=MODULE]...]
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

//go:embed packages.txt
var packageList string

const (
	python = "3.11"
	numpy  = "numpy==2.0.2"
)

// The releases that are tried: from the years in which NumPy 2 was announced and built for.
var (
	after  = time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)
	before = time.Date(2025, 7, 1, 0, 0, 0, 0, time.UTC)
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "numpy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("numpy", flag.ContinueOnError)
	index := flags.String("index", os.Getenv("PIP_INDEX_URL"), "package index")
	out := flags.String("out", filepath.Join("data", "numpy1.txt"), "file that is written")
	if err := flags.Parse(args); err != nil {
		return err
	}
	list := flags.Args()
	if len(list) == 0 {
		list = strings.Fields(packageList)
	}
	var rows []string
	for _, entry := range list {
		name, module, ok := strings.Cut(entry, "=")
		if !ok {
			module = strings.ReplaceAll(name, "-", "_")
		}
		versions, err := releases(ctx, *index, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if last := lastBroken(ctx, name, module, versions); last != "" {
			top, _, _ := strings.Cut(module, ".")
			rows = append(rows, name+" "+top+" "+last)
		}
	}
	slices.Sort(rows)
	return os.WriteFile(*out, []byte(strings.Join(rows, "\n")+"\n"), 0o644) //nolint:gosec // a source file
}

// releases lists the versions that have a wheel of the period, in ascending order.
func releases(ctx context.Context, index, name string) ([]string, error) {
	at, err := url.JoinPath(index, name, "/")
	if err != nil {
		return nil, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Accept", "application/vnd.pypi.simple.v1+json")
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, errors.New(answer.Status)
	}
	var page struct {
		Files []struct {
			Filename string
			Uploaded time.Time `json:"upload-time"`
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil {
		return nil, err
	}
	found := map[string]pkgmeta.Version{}
	for _, f := range page.Files {
		w, err := pkgmeta.ParseWheelName(f.Filename)
		if err != nil || f.Uploaded.Before(after) || f.Uploaded.After(before) {
			continue
		}
		if v, err := pkgmeta.ParseVersion(w.Version); err == nil && !v.IsPreRelease() {
			found[w.Version] = v
		}
	}
	var out []string
	for text := range found {
		out = append(out, text)
	}
	slices.SortFunc(out, func(a, b string) int { return found[a].Compare(found[b]) })
	return out, nil
}

// The outcome of an installation and an import.
const (
	works   = "works"
	broken  = "broken"
	capped  = "not allowed with NumPy 2, or without a wheel"
	unknown = "another error"
)

// lastBroken returns the last version that is broken, or "". It assumes that later ones work.
func lastBroken(ctx context.Context, name, module string, versions []string) string {
	tried := map[int]string{}
	try := func(i int) string {
		if tried[i] == "" {
			tried[i] = imports(ctx, name+"=="+versions[i], module)
			fmt.Printf("%s %s: %s\n", name, versions[i], tried[i])
		}
		return tried[i]
	}
	// one that is broken, to begin with
	low, n := -1, len(versions)
	for _, part := range []int{0, 4, 2, 1, 3} {
		if i := n * part / 5; n > 0 && try(i) == broken {
			low = i
			break
		}
	}
	if low < 0 {
		return ""
	}
	high := n
	for high-low > 1 {
		if middle := (low + high) / 2; try(middle) == broken {
			low = middle
		} else {
			high = middle
		}
	}
	return versions[low]
}

// errorTexts are what modules of NumPy 1 say with NumPy 2.
var errorTexts = []string{
	"numpy.dtype size changed",
	"A module that was compiled using NumPy 1.x cannot be run in",
	"numpy.core.multiarray failed to import",
}

// imports installs a release with NumPy 2 and imports a module of it.
func imports(ctx context.Context, pin, module string) string {
	dir, err := os.MkdirTemp("", "numpy")
	if err != nil {
		return unknown
	}
	defer os.RemoveAll(dir)
	install := exec.CommandContext(ctx, "uv", "pip", "install", "-q", "--python-version", python,
		"--only-binary", ":all:", "--target", dir, pin, numpy)
	if install.Run() != nil {
		return capped
	}
	load := exec.CommandContext(ctx, "python"+python, "-c", "import "+module)
	load.Env = append(os.Environ(), "PYTHONPATH="+dir)
	said, err := load.CombinedOutput()
	switch {
	case err == nil:
		return works
	case !slices.ContainsFunc(errorTexts, func(t string) bool {
		return strings.Contains(string(said), t)
	}):
		return unknown
	}
	// the last source in the traceback: a dependency may be what fails
	frames := strings.Split(string(said), `File "`+dir+"/")
	top, _, _ := strings.Cut(module, ".")
	if len(frames) > 1 && !strings.HasPrefix(frames[len(frames)-1], top) {
		return unknown
	}
	return broken
}
