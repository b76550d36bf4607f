package analyzer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
)

// goal is a platform that an artifact is judged against.
type goal struct {
	platform *platform.Platform
	asked    bool
	trial    bool // a fix is applied
}

// goals picks the platforms of an artifact: those asked for, else its own tag's, else every
// built-in one that has all the versions it asks for; and those asked for beside them. A platform
// that was asked for and that one architecture of several does not have leaves that one out:
// skipped says so.
func goals(f *facts.Artifact, o Options) (out []goal, skipped []string, err error) {
	archs := architectures(f)
	for _, arch := range archs {
		if len(o.Platforms) == 0 && o.Root == nil {
			out = append(out, unasked(f, arch)...)
		}
		for _, name := range slices.Concat(o.Platforms, o.Also) {
			p, err := platform.Lookup(name, arch)
			if err != nil {
				if !slices.ContainsFunc(
					archs,
					func(a string) bool { _, err := platform.Lookup(name, a); return err == nil },
				) {
					return nil, nil, err
				}
				skipped = append(
					skipped,
					fmt.Sprintf("its objects for %s, because %s is not known there", arch, name),
				)
				continue
			}
			if !slices.ContainsFunc(
				out,
				func(g goal) bool { return g.platform.Name == p.Name && g.platform.Arch == p.Arch },
			) {
				out = append(out, goal{platform: p, asked: true})
			}
		}
		if o.Root != nil {
			p, err := o.Root(arch)
			switch {
			case err == nil:
				out = append(out, goal{platform: p, asked: true})
			case len(archs) == 1:
				return nil, nil, err
			default:
				skipped = append(
					skipped,
					fmt.Sprintf("its objects for %s on the root: %v", arch, err),
				)
			}
		}
	}
	return out, skipped, nil
}

// unasked picks the platforms of one architecture that the artifact claims by itself.
func unasked(f *facts.Artifact, arch string) []goal {
	if p := claimed(f, arch); p != nil {
		return []goal{{platform: p}}
	}
	var out []goal
	for _, libc := range f.Libcs(arch) {
		var newest *platform.Platform
		before := len(out)
		for _, p := range platform.All(arch) {
			if p.Libc != libc {
				continue
			}
			newest = p
			if !Extinct(p) && hasVersions(p, f, arch) {
				out = append(out, goal{platform: p})
			}
		}
		if len(out) == before && newest != nil {
			out = append(out, goal{platform: newest})
		}
	}
	return out
}

// claimed is the oldest platform among the wheel's tags for an architecture: pip installs the wheel
// there. nil when no tag names one.
func claimed(f *facts.Artifact, arch string) *platform.Platform {
	if f.Wheel == nil {
		return nil
	}
	var oldest *platform.Platform
	for _, t := range f.Wheel.Tags {
		if !strings.HasPrefix(t.Platform, "manylinux") &&
			!strings.HasPrefix(t.Platform, "musllinux") {
			continue
		}
		p, err := platform.Lookup(t.Platform, arch)
		if err != nil || p.Arch != arch || !strings.HasSuffix(t.Platform, "_"+arch) {
			continue
		}
		if oldest == nil || OlderRelease(p.LibcVersion, oldest.LibcVersion) {
			oldest = p
		}
	}
	return oldest
}

// oldestLiving is the glibc of the oldest platform that anybody still supports: CentOS 7 and its
// like, manylinux2014.
const oldestLiving = "2.17"

// Extinct tells whether a platform is older than every system that is still supported (manylinux1
// and manylinux2010). What fails on those only is a warning where a tag names them, and nothing is
// judged against them unasked.
func Extinct(p *platform.Platform) bool {
	return p.Libc == "glibc" && OlderRelease(p.LibcVersion, oldestLiving)
}

// OlderRelease tells whether one release of a libc or of CPython ("2.17", "3.9") comes before
// another; false when either is none.
func OlderRelease(a, b string) bool {
	x, errX := ordinal(a)
	y, errY := ordinal(b)
	return errX == nil && errY == nil && x < y
}

func ordinal(s string) (int, error) {
	var major, minor int
	_, err := fmt.Sscanf(s, "%d.%d", &major, &minor)
	return major*1000 + minor, err
}

// architectures are those of the objects; a wheel is first judged on those its tags name.
func architectures(f *facts.Artifact) []string {
	var out []string
	for _, o := range f.Objects {
		if a := o.Arch(); !slices.Contains(out, a) && platform.All(a) != nil {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	if f.Wheel == nil {
		return out
	}
	tagged := slices.DeleteFunc(slices.Clone(out), func(a string) bool { return !f.Tagged(a) })
	if len(tagged) > 0 {
		return tagged
	}
	return out
}

// hasVersions tells whether a platform has every version that the objects ask of libraries it
// provides.
func hasVersions(p *platform.Platform, f *facts.Artifact, arch string) bool {
	for _, o := range f.Objects {
		if o.Arch() != arch || f.ForOtherLibc(o, p.Libc) {
			continue
		}
		for _, need := range o.VersionNeeds {
			l := p.Library(need.Library)
			if l == nil || !l.Known {
				continue
			}
			for _, v := range need.Versions {
				if !l.HasVersion(v.Name) && !v.Weak {
					return false
				}
			}
		}
	}
	return true
}

// on is the interpreter a wheel is for; where its tags leave that open, a current one.
func on(f *facts.Artifact, arch string) packages.On {
	python := "3.12"
	if f.Wheel != nil {
		for _, t := range f.Wheel.Tags {
			if v, ok := strings.CutPrefix(t.Python, "cp3"); ok && v != "" {
				python = "3." + v
			}
		}
	}
	return packages.On{Python: python, Arch: arch}
}
