package judge

import (
	"slices"

	"github.com/compat-app/compat/analyzer/bionic"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// AndroidLoad is a wheel as the linker of Android sees it.
type AndroidLoad struct {
	Arch    string
	Level   int // of the API
	Objects []*AndroidObject

	byFile map[*bionic.File]*AndroidObject
}

// AndroidObject is an ELF file with its load.
type AndroidObject struct {
	*facts.Object
	File *bionic.File
	// Load is the first load that contains it: its own, if it is a module, a program or a library that
	// none of these needs. It is nil for a file of another architecture.
	Load *bionic.Load
	// Bindings are its imports in that load.
	Bindings []bionic.Binding
}

// Of returns the object of a file, or nil if it does not belong to the artifact.
func (a *AndroidLoad) Of(f *bionic.File) *AndroidObject { return a.byFile[f] }

// Exports reports whether a file of the artifact exports a symbol.
func (a *AndroidLoad) Exports(symbol string) bool {
	return slices.ContainsFunc(a.Objects, func(o *AndroidObject) bool {
		return len(o.Exports.Named(symbol)) > 0
	})
}

// loadAndroid loads every module and program, and then the libraries that none of them needs.
func (s *Session) loadAndroid(c Case, with *packages.Set) *AndroidLoad {
	p := c.Target.Platform
	a := &AndroidLoad{
		Arch: p.Arch, Level: p.APILevel(), byFile: map[*bionic.File]*AndroidObject{},
	}
	var files []*bionic.File
	for _, o := range c.Artifact.Android {
		f := &bionic.File{Path: facts.Installed(o.Path), Object: o.Object}
		files = append(files, f)
		a.byFile[f] = &AndroidObject{Object: o, File: f}
		a.Objects = append(a.Objects, a.byFile[f])
	}
	for _, other := range s.alongside(c.Artifact, c.Target.Platform, with) {
		for _, o := range other.Android {
			files = append(files, &bionic.File{Path: facts.Installed(o.Path), Object: o.Object})
		}
	}
	env := bionic.New(a.Arch, a.Level, files)
	for _, first := range []bool{true, false} {
		for _, o := range a.Objects {
			if o.Load != nil || first != (o.Extension() || o.Program()) || o.Arch() != a.Arch {
				continue
			}
			l := env.Load(o.File)
			for _, f := range l.Found {
				if x := a.byFile[f.File]; x != nil && x.Load == nil {
					x.Load, x.Bindings = l, l.Bind(f.File)
				}
			}
		}
	}
	return a
}

// androidTargets returns the platforms of Android on which a wheel is checked: those that the user
// named, otherwise the oldest of its tags for each architecture. skip is called with what is not
// checked, and why.
func androidTargets(
	f *facts.Artifact,
	o Platforms,
	skip func(format string, args ...any),
) (out []Target) {
	if len(f.Android) == 0 {
		return nil
	}
	named := false
	for _, name := range slices.Concat(o.Instead, o.Also) {
		if platform.SystemOf(name) != platform.Android {
			continue
		}
		named = true
		switch p, err := platform.Lookup(name, ""); {
		case err != nil:
		case !slices.ContainsFunc(f.Android, func(x *facts.Object) bool { return x.Arch() == p.Arch }):
			skip("its objects, because none is for %s", p.Arch)
		default:
			out = o.request(f, p, out, skip)
		}
	}
	if len(o.Instead) > 0 {
		if !named {
			var of []string
			for _, x := range f.Android {
				of = append(of, x.Arch())
			}
			skip("%s", o.ofOthers("ELF", "Android", of, "android_24_arm64_v8a"))
		}
		return out
	}
	for _, p := range claimedAndroid(f, "") {
		out = append(out, Target{Platform: p})
	}
	return out
}

// claimedAndroid is claimed for Android: the oldest API level of each architecture among the
// tags, or of one architecture.
func claimedAndroid(f *facts.Artifact, arch string) (oldest []*platform.Platform) {
	if f.Wheel == nil || len(f.Android) == 0 {
		return nil
	}
	for _, t := range f.Wheel.Tags {
		p := platform.ParseTag(t.Platform).Android()
		if p == nil || arch != "" && p.Arch != arch {
			continue
		}
		oldest = withOldest(oldest, p)
	}
	return oldest
}

// account accounts for the imports of the files for the architecture.
func (a *AndroidLoad) account(missing lost) (out result.Accounting) {
	for _, o := range a.Objects {
		for _, b := range o.Bindings {
			out.Imports++
			switch {
			case missing[[2]string{o.Path, b.Symbol}]:
				out.Missing++
			case b.Outcome == bionic.Bound, b.Outcome == bionic.Weak:
				out.Found++
			case len(o.Load.Missing) > 0:
				out.Undecide(result.NotFound, o.Load.Missing[0].Name, 1)
			default:
				out.Undecide(result.NotRead, o.Load.Unread(), 1)
			}
		}
	}
	return out
}
