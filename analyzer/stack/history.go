package stack

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/stack/historydata"
)

//go:generate go run github.com/compat-app/compat/internal/historygen -out data/history.gz

//go:embed data/history.gz
var historyFile []byte

// release names a release of the embedded history.
type release struct{ name, version, arch string }

// loadHistory decodes the embedded file once. One that does not decode is a broken build, so it panics; a test reads it.
var loadHistory = sync.OnceValue(func() map[release]historydata.Release {
	list, err := historydata.Decode(historyFile)
	if err != nil {
		panic(fmt.Errorf("embedded provider history: %w", err))
	}
	all := make(map[release]historydata.Release, len(list))
	for _, r := range list {
		all[release{r.Name, r.Version, r.Arch}] = r
	}
	return all
})

// history answers from the embedded file.
type history struct{}

// History is the embedded provider history: the CUDA packages of versions 12 and 13, torch from 2.0 on, torchvision, torchaudio and
// triton, as they were published when the file was made. It answers without a package index, knows Linux on x86_64 and
// aarch64, and knows what nvJitLink, NVRTC, cudart, CUPTI, cuFile, NVTX and cuSPARSE of CUDA 12 export. The other libraries are too large
// to have been read whole: Known is false, and Needed is what the head of the file told, nil where it told nothing.
//
// torch also has the builds that are on no public index: Release takes 2.7.0+rocm6.3, 2.7.0+cpu and 2.7.0+cu128, for every 2.7.0 that it
// knows, and describes them by their shape: which libraries such a build has, and that a build without CUDA needs no CUDA package.
// Versions lists published versions only, without yanked ones; Release answers for those too.
func History() Source { return history{} }

// Versions implements Source.
func (history) Versions(_ context.Context, name string) ([]string, error) {
	name = pkgmeta.Normalize(name)
	known := false
	found := map[string]bool{}
	for id, r := range loadHistory() {
		if id.name == name {
			known = true
			if !r.Yanked {
				found[id.version] = true
			}
		}
	}
	if !known {
		return nil, fmt.Errorf("package %s: %w to the built-in history, which holds %s", name, ErrUnknown, strings.Join(historyNames(), ", "))
	}
	return slices.SortedFunc(maps.Keys(found), compareReleases), nil
}

// Release implements Source.
func (h history) Release(_ context.Context, name, version string, on On) (*Release, error) {
	name = pkgmeta.Normalize(name)
	if name == "torch" {
		if base, local, ok := strings.Cut(version, "+"); ok {
			return h.torchVariant(base, local, on)
		}
	}
	r, err := find(name, version, on)
	if err != nil {
		return nil, err
	}
	return convert(r), nil
}

// find looks for a release, also by another spelling of its version (1.0 is 1.0.0).
func find(name, version string, on On) (historydata.Release, error) {
	all := loadHistory()
	if r, ok := all[release{name, version, on.Arch}]; ok {
		return r, nil
	}
	if want, err := pkgmeta.ParseVersion(version); err == nil {
		for id, r := range all {
			if id.name != name || id.arch != on.Arch {
				continue
			}
			if v, err := pkgmeta.ParseVersion(id.version); err == nil && v.Compare(want) == 0 {
				return r, nil
			}
		}
	}
	return historydata.Release{}, fmt.Errorf("%s==%s on %s: %w to the built-in history", name, version, on.Arch, ErrUnknown)
}

func historyNames() []string {
	names := map[string]bool{}
	for id := range loadHistory() {
		names[id.name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func compareReleases(a, b string) int {
	v, errA := pkgmeta.ParseVersion(a)
	w, errB := pkgmeta.ParseVersion(b)
	if errA != nil || errB != nil {
		return strings.Compare(a, b)
	}
	return v.Compare(w)
}

// convert makes a Release that the caller may change.
func convert(r historydata.Release) *Release {
	out := &Release{Name: r.Name, Version: r.Version, Known: true}
	for _, text := range r.Requires {
		if q, err := pkgmeta.ParseRequirement(text); err == nil { // a test holds that every one parses
			out.Requires = append(out.Requires, q)
		}
	}
	for _, l := range r.Libraries {
		c := Library{Path: l.Path, SONAME: l.SONAME, Known: l.Known, Needed: slices.Clone(l.Needed), RunPath: l.RunPath, Versions: slices.Clone(l.Versions)}
		for _, e := range l.Exports {
			c.Exports = append(c.Exports, elfobj.Export{Name: e.Name, Version: e.Version, Kind: elfobj.Kind(e.Kind), Hidden: e.Hidden, Weak: e.Weak, Unique: e.Unique})
		}
		out.Libraries = append(out.Libraries, c)
	}
	return out
}
