package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/index"
)

//go:embed wheels.txt
var names string

// drawing draws projects, interpreters and versions.
type drawing struct {
	*rand.Rand
	index   *index.Index
	names   []string // those that were not drawn yet, in random order
	pythons []string
}

func newDrawing(seed uint64, pythons []string, url string) (*drawing, error) {
	if url == "" {
		return nil, errors.New("set PIP_INDEX_URL to the package index")
	}
	x, err := index.New(index.Options{URL: url})
	if err != nil {
		return nil, err
	}
	d := &drawing{Rand: rand.New(rand.NewPCG(seed, 0)), index: x, pythons: pythons}
	for line := range strings.Lines(names) {
		if name := strings.TrimSpace(line); name != "" && !strings.HasPrefix(name, "#") {
			d.names = append(d.names, name)
		}
	}
	d.Shuffle(len(d.names), func(i, j int) { d.names[i], d.names[j] = d.names[j], d.names[i] })
	return d, nil
}

// drawn is a wheel that was drawn.
type drawn struct {
	Name, Version, Python string
	System                string // "linux", "musl", "macos", "windows"
	tags                  []string
}

func (d drawn) String() string { return d.Name + "==" + d.Version }

// label names the wheel and its interpreter.
func (d drawn) label() string { return fmt.Sprintf("%s on Python %s", d, d.Python) }

// systems are the targets of wheels, and the tags that pip is given to download them.
var systems = map[string]packages.Target{
	"linux":   {Arch: "x86_64", Libc: "glibc", LibcVersion: "2.36"},
	"musl":    {Arch: "x86_64", Libc: "musl", LibcVersion: "1.2"},
	"macos":   {Arch: "arm64", System: platform.MacOS, LibcVersion: "14.0"},
	"windows": {Arch: "amd64", System: platform.Windows},
}

// wheel draws a wheel for a system: half of them are the newest release, and the others of any. It
// returns an error if no projects are left.
func (d *drawing) wheel(ctx context.Context, system string) (drawn, error) {
	for len(d.names) > 0 {
		name := d.names[0]
		d.names = d.names[1:]
		on := systems[system]
		on.Python = d.pythons[d.IntN(len(d.pythons))]
		newest, at := d.IntN(2) == 0, d.Float64()
		wheels, err := d.index.Wheels(ctx, name)
		if errors.Is(err, packages.ErrUnknown) {
			continue
		}
		if err != nil {
			return drawn{}, err
		}
		var fit []drawn
		var versions []pkgmeta.Version
		for _, w := range wheels {
			file, err := pkgmeta.ParseWheelName(w.File)
			if err != nil || w.Yanked || w.Version.IsPreRelease() || native(file.Tags) == nil ||
				!packages.AdmitsPython(w.RequiresPython, on.Python) ||
				!slices.ContainsFunc(file.Tags, func(t pkgmeta.Tag) bool {
					_, ok := packages.Rate(t, on)
					return ok
				}) {
				continue
			}
			fit = append(fit, drawn{name, w.Version.String(), on.Python, system, native(file.Tags)})
			versions = append(versions, w.Version)
		}
		if len(fit) == 0 {
			continue
		}
		if !newest {
			return fit[int(at*float64(len(fit)))], nil
		}
		best := 0
		for n, v := range versions {
			if v.Compare(versions[best]) > 0 {
				best = n
			}
		}
		return fit[best], nil
	}
	return drawn{}, errors.New("no projects are left; draw fewer")
}

// native returns the platform tags of a wheel, nil if one is "any".
func native(tags []pkgmeta.Tag) (out []string) {
	for _, t := range tags {
		if t.Platform == "any" {
			return nil
		}
		if !slices.Contains(out, t.Platform) {
			out = append(out, t.Platform)
		}
	}
	return out
}

// set draws the projects of a lock file, an interpreter, and for half of them the date of which
// their releases are.
func (d *drawing) set() (projects []string, python, date string) {
	for range 2 + d.IntN(4) {
		projects = append(projects, d.names[d.IntN(len(d.names))])
	}
	python = d.pythons[d.IntN(len(d.pythons))]
	if days := d.IntN(3 * 365); d.IntN(2) == 0 {
		date = time.Now().AddDate(0, 0, -days).Format(time.DateOnly)
	}
	return projects, python, date
}

// label names a set: what a user would have written.
func label(projects []string, python, date string) string {
	text := fmt.Sprintf("%s on Python %s", strings.Join(projects, " "), python)
	if date != "" {
		text += " as of " + date
	}
	return text
}
