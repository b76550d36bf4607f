package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/android"
)

// Published are the wheels of a check by their release. pip installs one wheel of a release.
type Published map[packages.ID][]*facts.Artifact

// maxPublished limits the wheels of a release, since each is compared with all others. In a larger
// release, each wheel is checked on every platform that was named.
const maxPublished = 250

// PublishedWheels returns the wheels among artifacts by their release. The result is not nil.
func PublishedWheels(artifacts []*facts.Artifact) Published {
	out := Published{}
	for _, f := range artifacts {
		if f.Wheel != nil {
			id := releaseOf(f)
			out[id] = append(out[id], f)
		}
	}
	return out
}

func releaseOf(f *facts.Artifact) packages.ID {
	return packages.ID{Name: project(f), Version: f.Wheel.Version}
}

// instead returns the wheel that pip installs on a platform instead of another one of the release,
// or nil. The other one must not be for the platform, and all interpreters that it is for must have
// a wheel that suits the platform better.
func (x Published) instead(f *facts.Artifact, p *platform.Platform) (first *facts.Artifact) {
	if f.Wheel == nil {
		return nil
	}
	all := x[releaseOf(f)]
	own := suits(f.Wheel.Tags, p)
	if own == installable || len(all) < 2 || len(all) > maxPublished {
		return nil
	}
	better := func(tag pkgmeta.Tag) bool {
		return slices.ContainsFunc(all, func(g *facts.Artifact) bool {
			found := g != f && slices.ContainsFunc(g.Wheel.Tags, func(t pkgmeta.Tag) bool {
				return suit(t.Platform, p) > own && serves(t, tag)
			})
			if found && first == nil {
				first = g
			}
			return found
		})
	}
	for _, tag := range f.Wheel.Tags {
		if !better(tag) && !eachPython(tag, all, better) {
			return nil
		}
	}
	return first
}

// eachPython reports whether a tag of the stable ABI is for interpreters that are better served by
// tags of their own: for each of them up to the newest that a wheel of the release names.
func eachPython(tag pkgmeta.Tag, all []*facts.Artifact, better func(pkgmeta.Tag) bool) bool {
	newest := -1
	for _, g := range all {
		for _, t := range g.Wheel.Tags {
			newest = max(newest, minorOf(t.Python))
		}
	}
	oldest := minorOf(tag.Python)
	if tag.ABI != "abi3" || oldest < 0 || newest < oldest {
		return false
	}
	for minor := oldest; minor <= newest; minor++ {
		own := fmt.Sprintf("cp3%d", minor)
		if !better(pkgmeta.Tag{Python: own, ABI: own}) {
			return false
		}
	}
	return true
}

// minorOf returns the minor release in a tag such as cp312; -1 for other tags. Tags with more than
// two digits, which no Python has, count as others, because names are not trusted.
func minorOf(python string) int {
	digits, ok := strings.CutPrefix(python, "cp3")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || len(digits) > 2 {
		return -1
	}
	return n
}

// Promise says where pip installs a wheel because of a tag.
func Promise(p *platform.Platform) string {
	on := "systems with " + p.Libc + " " + p.LibcVersion
	switch p.OS {
	case platform.MacOS:
		on = "macOS " + p.LibcVersion
	case platform.Android:
		on = android.Release(p.APILevel())
	case platform.IOS:
		on = "iOS " + p.LibcVersion
	case platform.Emscripten:
		return "It is a warning because that platform was not requested; because of its tag, the " +
			"wheel is installed in Pyodide " + p.Pyodide().Release
	}
	return "It is a warning because that platform was not requested; because of its tag, pip " +
		"installs the wheel on " + on + " and later"
}

// suitability is how a platform tag suits a platform; larger is better.
type suitability int

const (
	otherSystem suitability = iota // or another libc or architecture
	newerSystem                    // a newer version of the system
	installable                    // pip installs the wheel
)

// Installs reports whether pip installs a wheel with these tags on a platform, for some Python.
func Installs(tags []pkgmeta.Tag, p *platform.Platform) bool {
	return suits(tags, p) == installable
}

func suits(tags []pkgmeta.Tag, p *platform.Platform) (best suitability) {
	for _, t := range tags {
		best = max(best, suit(t.Platform, p))
	}
	return best
}

// excludes reports whether the platform tags are for newer versions of a system only, or for its
// architecture with the other C library only.
func excludes(tags []pkgmeta.Tag, p *platform.Platform) bool {
	own := suits(tags, p)
	return own == newerSystem || own == otherSystem && slices.ContainsFunc(tags,
		func(t pkgmeta.Tag) bool {
			tag := platform.ParseTag(t.Platform)
			return tag.Libc != "" && tag.Arch == p.Arch
		})
}

func suit(tag string, p *platform.Platform) suitability {
	switch {
	case tag == "any":
		return installable
	case p.OS == platform.Windows:
		if tag == p.Name {
			return installable
		}
		return otherSystem
	case p.OS == platform.MacOS:
		for _, t := range platform.ParseTag(tag).MacOS() {
			switch {
			case t.Arch != p.Arch:
			case platform.Older(p.LibcVersion, t.Oldest.String()):
				return newerSystem
			default:
				return installable
			}
		}
		return otherSystem
	case p.OS == platform.Android:
		switch q := platform.ParseTag(tag).Android(); {
		case q == nil || q.Arch != p.Arch:
			return otherSystem
		case q.APILevel() > p.APILevel():
			return newerSystem
		}
		return installable
	case p.OS == platform.IOS:
		switch q := platform.ParseTag(tag).IOS(); {
		case q == nil || q.Arch != p.Arch:
			return otherSystem
		case platform.Older(p.LibcVersion, q.LibcVersion):
			return newerSystem
		}
		return installable
	case p.OS == platform.Emscripten:
		if q := platform.ParseTag(tag).Pyodide(); q != nil && q.LibcVersion == p.LibcVersion {
			return installable
		}
		return otherSystem
	}
	t := pkgmeta.Tag{Python: "py3", ABI: "none", Platform: tag}
	on := packages.Target{Arch: p.Arch, Libc: p.Libc, LibcVersion: p.LibcVersion}
	if _, ok := packages.Rate(t, on); ok {
		return installable
	}
	on.LibcVersion = ""
	if _, ok := packages.Rate(t, on); ok {
		return newerSystem
	}
	return otherSystem
}

// serves reports whether every interpreter that a wheel with one tag is for can use a wheel with
// another: all of cp38-abi3 can use cp37-abi3 and py3-none, and that of cp312-cp312 cp38-abi3.
func serves(tag, other pkgmeta.Tag) bool {
	if tag.Python == other.Python && tag.ABI == other.ABI {
		return true
	}
	pure := tag.ABI == "none" && strings.HasPrefix(tag.Python, "py")
	switch {
	case !strings.HasPrefix(other.Python, "cp"), other.ABI != other.Python && other.ABI != "abi3" &&
		other.ABI != "none": // PyPy, any Python, and builds with another ABI
		if !pure {
			return false
		}
	case other.ABI == "abi3" && !pure && tag.ABI != "abi3":
		return false
	}
	digits := strings.TrimLeft(other.Python, "abcdefghijklmnopqrstuvwxyz")
	if len(digits) == 0 {
		return false
	}
	python := digits[:1] + "." + digits[1:]
	if len(digits) == 1 {
		python += "0"
	}
	tag.Platform = "any"
	_, ok := packages.Rate(tag, packages.Target{Python: python})
	return ok
}
