package impact

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Uses is what a wheel uses of other packages, and what is needed to check it with a release of
// one of them.
type Uses struct {
	Name    string `json:"name"` // normalized
	Version string `json:"version"`
	Wheel   string `json:"wheel"`  // file name
	SHA256  string `json:"sha256"` // of the wheel, in hex
	// Requires are the normalized names of the packages that it declares, sorted.
	Requires []string `json:"requires,omitempty"`
	// Libraries are what its objects need and it does not contain, SONAMEs, sorted.
	Libraries []string `json:"libraries,omitempty"`
	// Bundled are the libraries that auditwheel copied into it, file names up to ".so" without the
	// digest, sorted.
	Bundled []string `json:"bundled,omitempty"`
	// Facts is what facts.Encode returned, for Input.Stored.
	Facts []byte `json:"facts,omitempty"`
	// Exports are what its objects export, NAME or NAME@VERSION, and their SONAMEs, sorted; nil if
	// they are more than maxExports.
	Exports []string `json:"exports,omitempty"`
}

// Limits of what is kept of a wheel.
const (
	maxNames   = 300     // of requirements, libraries and copies each; torch has 40
	maxLength  = 200     // bytes of a name
	maxFacts   = 4 << 20 // bytes of Facts; those of the CUDA build of PyTorch 2.8 have 2 MB
	maxExports = 50_000  // of a wheel
	maxWheels  = 20      // packages of one list of inputs
)

// ReadUses reads what the wheels for Linux in some inputs use, which may be archives of wheels. Of
// each package it returns one wheel, the one that most people install: x86_64 first, then the
// newest interpreter. Wheels without native code for Linux, and those of which something could not
// be read, are left out. The error is that of facts.Read.
func ReadUses(
	ctx context.Context, inputs []analyzer.Input, o analyzer.Options,
) ([]Uses, error) {
	names := elfobj.NewNames()
	set, err := facts.Read(ctx, inputs, facts.Options{
		Limits: o.Limits, Scratch: o.Scratch, Progress: o.Progress,
	}, names)
	if err != nil {
		return nil, err
	}
	best := map[string]*facts.Artifact{}
	var order []string
	for _, a := range set.Artifacts {
		if a.Kind != facts.KindWheel || a.Wheel == nil || a.Metadata == nil || len(a.Objects) == 0 {
			continue
		}
		name := pkgmeta.Normalize(a.Metadata.Name)
		if best[name] == nil {
			order = append(order, name)
		}
		if best[name] == nil || common(a.Wheel, best[name].Wheel) > 0 {
			best[name] = a
		}
	}
	var out []Uses
	for _, name := range order {
		if a := best[name]; len(out) < maxWheels && !damaged(set, a) {
			if u, ok := usesOf(a, names); ok {
				out = append(out, u)
			}
		}
	}
	return out, nil
}

// damaged reports whether something of an artifact could not be read.
func damaged(s *facts.Set, a *facts.Artifact) bool {
	return slices.ContainsFunc(s.Unread, func(u facts.Unread) bool {
		return u.Path == a.Path || strings.HasPrefix(u.Path, a.Path+"/")
	})
}

// common compares two wheels by how many people install them.
func common(a, b *pkgmeta.WheelName) int {
	rank := func(w *pkgmeta.WheelName) (x86, minor int) {
		for _, t := range w.Tags {
			if platform.ParseTag(t.Platform).Arch == "x86_64" {
				x86 = 1
			}
			minor = max(minor, minorOf(t.Python))
		}
		return x86, minor
	}
	xa, ma := rank(a)
	xb, mb := rank(b)
	return cmp.Or(cmp.Compare(xa, xb), cmp.Compare(ma, mb))
}

// minorOf returns the minor version in a Python tag: 11 for cp311. It is 0 if the tag has none.
func minorOf(python string) int {
	digits, ok := strings.CutPrefix(python, "cp3")
	n := 0
	for _, d := range digits {
		if d < '0' || d > '9' || n > 1000 {
			return 0
		}
		n = 10*n + int(d-'0')
	}
	if !ok {
		return 0
	}
	return n
}

// digest is what auditwheel adds to the names of libraries that it copies.
var digest = lazyregexp.New(`-[0-9a-f]{8}$`)

// exportsOf returns what the objects of a wheel export; nil if that is too much.
func exportsOf(a *facts.Artifact) []string {
	out := []string{}
	for _, o := range a.Objects {
		if o.SONAME != "" {
			out = append(out, o.SONAME)
		}
		for _, e := range o.Exports.All() {
			if len(out) > maxExports || len(e.Name)+len(e.Version) > maxFacts/1000 {
				return nil
			}
			out = append(out, analyzer.Versioned(e.Name, e.Version))
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > maxExports {
		return nil
	}
	return out
}

// copied returns the name up to ".so" of the library of which auditwheel made a file of a wheel; ""
// if it made none.
func copied(file string) string {
	if !strings.HasSuffix(path.Base(path.Dir(file)), ".libs") {
		return ""
	}
	return digest.ReplaceAllString(platform.Stem(file), "")
}

// usesOf returns what a wheel uses. ok is false if it is too large to be kept.
func usesOf(a *facts.Artifact, names *elfobj.Names) (_ Uses, ok bool) {
	u := Uses{
		Name: pkgmeta.Normalize(a.Metadata.Name), Version: a.Metadata.Version,
		Wheel: path.Base(a.Path), SHA256: a.SHA256,
	}
	own := map[string]bool{}
	for _, o := range a.Objects {
		own[o.SONAME], own[path.Base(o.Path)] = true, true
		if name := copied(o.Path); name != "" {
			u.Bundled = append(u.Bundled, name)
		}
	}
	for _, o := range a.Objects {
		for _, n := range o.Needed {
			if !own[n] {
				u.Libraries = append(u.Libraries, n)
			}
		}
	}
	for _, r := range a.Metadata.Requires {
		u.Requires = append(u.Requires, r.Name)
	}
	for _, list := range []*[]string{&u.Requires, &u.Libraries, &u.Bundled} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
		if len(*list) > maxNames ||
			slices.ContainsFunc(*list, func(s string) bool { return len(s) > maxLength }) {
			return u, false
		}
	}
	if len(u.Name)+len(u.Version)+len(u.Wheel) > 3*maxLength {
		return u, false
	}
	u.Exports = exportsOf(a)
	one := *a
	one.Path = u.Wheel
	stored, err := facts.Encode(&facts.Set{Artifacts: []*facts.Artifact{&one}}, names)
	u.Facts = stored
	return u, err == nil && len(stored) <= maxFacts
}
