package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// withTorch returns wheels of packages that some versions of torch need, or that need torch, with
// the packages that they are checked with: those that torch pins. It adds the wheels of torch and of
// its companions for all interpreters to list: lock files often do not list the one that the
// history was read from.
func (x *index) withTorch(
	ctx context.Context, versions int, list map[string]string, log io.Writer,
) ([]wheel, error) {
	on := packages.Target{Python: "3.12", Arch: "x86_64"}
	history := packages.History()
	all, err := history.Versions(ctx, "torch", on)
	if err != nil {
		return nil, err
	}
	slices.Reverse(all) // newest first
	var out []wheel
	pages := map[string][]wheel{}
	for _, version := range all[:min(len(all), versions)] {
		set, err := torchSet(ctx, version, on)
		if err != nil {
			return nil, err
		}
		for _, r := range set {
			if pages[r.Name] == nil {
				if pages[r.Name], err = x.files(ctx, pkg{name: r.Name}); err != nil {
					fmt.Fprintf(log, "left out: %s: %v\n", r.Name, err)
				}
			}
			with := needs(set, r)
			known, sum, _ := history.WheelOf(r.Name, r.Version, on)
			same := slices.ContainsFunc(pages[r.Name], func(w wheel) bool {
				return w.file == known && w.sha256 == sum
			})
			for _, w := range pages[r.Name] {
				if w.version != r.Version || !x.forList(w) {
					continue
				}
				if _, have := list[w.file]; same && !have {
					list[w.file] = w.sha256[:32] + " release"
				}
				again := slices.ContainsFunc(out, func(o wheel) bool { return o.file == w.file })
				if w.with = with; len(with) > 0 && r.Name != "torch" && !again {
					out = append(out, w)
				}
			}
		}
	}
	return out, nil
}

// torchSet returns the releases that are installed with a version of torch, as far as the history
// knows them, and the torchvision and torchaudio for it.
func torchSet(
	ctx context.Context, version string, on packages.Target,
) ([]*packages.Release, error) {
	history := packages.History()
	pin, err := pkgmeta.ParseRequirement("torch==" + version)
	if err != nil {
		return nil, err
	}
	set, err := packages.Resolve(ctx, history, packages.Request{
		On: on, With: []pkgmeta.Requirement{pin}, End: packages.Highest,
	})
	if err != nil {
		return nil, err
	}
	out := slices.Collect(set.All())
	for _, name := range []string{"torchvision", "torchaudio"} {
		versions, err := history.Versions(ctx, name, on)
		if err != nil {
			return nil, err
		}
		for _, v := range versions {
			r, err := history.Release(ctx, name, v, on)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(r.Requires, func(q pkgmeta.Requirement) bool {
				return q.Name == "torch" && q.Spec == pin.Spec
			}) {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// needs returns the releases of a set that one of them needs, NAME==VERSION, sorted.
func needs(set []*packages.Release, r *packages.Release) []string {
	names := map[string]bool{r.Name: true}
	for before := 0; before != len(names); {
		before = len(names)
		for _, x := range set {
			for _, q := range x.Requires {
				names[q.Name] = names[q.Name] || names[x.Name]
			}
		}
	}
	var out []string
	for _, x := range set {
		if names[x.Name] && x.Name != r.Name {
			out = append(out, x.ID().String())
		}
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
