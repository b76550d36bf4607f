package logmatch

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/staticlink"
)

// state is what an object shows about a diagnosis on one platform.
type state int

const (
	lacks state = iota // nothing in it could fail in this way
	fine               // it works
	open               // whether it fails is not known
	bad                // it fails in this way
)

// evidence is a state and its reason.
type evidence struct {
	state state
	// A clause that starts with the object: "libcufile.so refers to dlopen, and …".
	why     string
	library string
	object  string
	target  string
	exact   bool // the log contains this path
	always  bool // it holds on every platform, including those that were not checked
	// The platform, which compat chose, makes it work: the log may be from another one.
	assumed bool
	// The library is in the artifact or a package that it requires, but on no search path of the
	// object. It fails unless something loads the library before, which findings show.
	unreached bool
}

// look returns what an object shows about a diagnosis. named: the log names the object; refers:
// its bindings of the symbol. ok is false if it shows nothing.
func (w *matcher) look(
	p *analyzer.Pass,
	v *analyzer.View,
	d *buildlog.Diagnosis,
	named bool,
	refers []dynlink.Binding,
) (evidence, bool) {
	switch {
	case d.Class == "link-dso-missing":
		return provider(v, d)
	case d.Symbol != "" && w.provides(v, d) && !named:
		return shouldHave(v, d)
	case d.Symbol != "" && len(refers) > 0 && strings.HasPrefix(d.Class, "link-") &&
		p.Platform.Libc == "glibc":
		return linked(p, v, refers), true
	case d.Symbol != "" && len(refers) > 0:
		return loaded(p, v, d, refers), true
	case d.Symbol != "" && named && !plain(d.Symbol):
		return evidence{
			state: open,
			why: fmt.Sprintf(
				"%s was given, but the printed name %s does not identify one of its symbols",
				v.Path,
				d.Symbol,
			),
		}, true
	case d.Symbol != "" && named && v.Library.Defines(d.Symbol, ""):
		return evidence{
			why: fmt.Sprintf("%s defines %s itself", v.Path, d.Symbol),
		}, true
	case d.Symbol != "" && named:
		return evidence{
			why: fmt.Sprintf("%s does not import %s", v.Path, analyzer.Versioned(d.Symbol, d.Version)),
		}, true
	case d.Symbol != "":
		return evidence{}, false
	case d.Class == "dt-relr", d.Library == "" && d.Version == "":
		return atFault(v, d, named)
	case d.Version != "":
		return node(p, v, d, named)
	}
	return needs(p, v, d, named)
}

// provider handles a program that does not link the library of a symbol; that library is v.
func provider(v *analyzer.View, d *buildlog.Diagnosis) (evidence, bool) {
	if d.Library == "" ||
		path.Base(d.Library) != path.Base(v.Path) && path.Base(d.Library) != v.SONAME {
		return evidence{}, false
	}
	if v.Library.Defines(d.Symbol, "") {
		return evidence{
			state:   bad,
			always:  true,
			library: v.Library.Names()[0],
			why: fmt.Sprintf("%s defines %s, but only a program that links with this library finds it there",
				v.Path, d.Symbol),
		}, true
	}
	return evidence{
		why: fmt.Sprintf("%s does not define %s", v.Path, d.Symbol),
	}, true
}

// shouldHave handles the library that should define a symbol.
func shouldHave(v *analyzer.View, d *buildlog.Diagnosis) (evidence, bool) {
	if d.Version != "" && v.Library.Defines(d.Symbol, d.Version) ||
		d.Version == "" && v.Library.Defines(d.Symbol, "") {
		return evidence{
			state:   fine,
			library: v.Library.Names()[0],
			why:     fmt.Sprintf("%s defines %s", v.Path, analyzer.Versioned(d.Symbol, d.Version)),
		}, true
	}
	return evidence{
		state:   bad,
		always:  true,
		library: v.Library.Names()[0],
		why:     fmt.Sprintf("%s does not define %s", v.Path, analyzer.Versioned(d.Symbol, d.Version)),
	}, true
}

// linked returns what GNU ld reports for a program linked with the object.
func linked(p *analyzer.Pass, v *analyzer.View, refers []dynlink.Binding) evidence {
	r := p.Linked(staticlink.GNU, v)
	out := evidence{state: fine}
	for _, b := range refers {
		name := analyzer.Versioned(b.Import.Name, b.Import.Version)
		switch {
		case b.Import.Weak:
			out.why = fmt.Sprintf(
				"%s imports %s as a weak symbol, so a missing definition is not a link error",
				v.Path, name)
		case r.Problems.Has(b.Import.Name, b.Import.Version):
			return evidence{
				state:   bad,
				library: b.Import.Library,
				why:     fmt.Sprintf("%s imports %s, and GNU ld finds no definition", v.Path, name),
			}
		case r.Undecided.Has(b.Import.Name, b.Import.Version):
			return unknownExports(v, name)
		case circular(p, b):
			return onlyIfVersioned(v, b, "links")
		default:
			out.why, out.library = fmt.Sprintf(
				"%s imports %s%s, and linking a program with %s succeeds",
				v.Path,
				name,
				from(b),
				path.Base(v.Path),
			), providedBy(b)
			out.assumed = assumed(p, b)
		}
	}
	return out
}

// loaded returns what the loader reports for the object.
func loaded(
	p *analyzer.Pass,
	v *analyzer.View,
	d *buildlog.Diagnosis,
	refers []dynlink.Binding,
) evidence {
	out := evidence{state: fine}
	for _, b := range refers {
		name := analyzer.Versioned(b.Import.Name, b.Import.Version)
		switch {
		case b.Outcome == dynlink.WeakUndefined:
			out.why = fmt.Sprintf(
				"%s imports %s as a weak symbol, so a missing definition is not a load error",
				v.Path, name)
		case d.Class == "host-abi" && b.Outcome != dynlink.Bound:
			return evidence{
				state: open,
				why:   fmt.Sprintf("%s imports %s, which the program that loads it must provide", v.Path, name),
			}
		case b.Outcome == dynlink.Undecided:
			return unknownExports(v, name)
		case b.Outcome != dynlink.Bound:
			return evidence{
				state:   bad,
				library: cmp.Or(providedBy(b), b.Import.Library),
				why:     fmt.Sprintf("%s imports %s, which no library that it loads defines", v.Path, name),
			}
		case circular(p, b):
			return onlyIfVersioned(v, b, "loads")
		default:
			out.why, out.library = fmt.Sprintf("%s imports %s%s", v.Path, name, from(b)), providedBy(b)
			out.assumed = assumed(p, b)
		}
	}
	return out
}

// unknownExports is the evidence for an import that a library with unknown exports may define.
func unknownExports(v *analyzer.View, name string) evidence {
	return evidence{
		state: open,
		why: fmt.Sprintf("%s imports %s. The exports of a library that may have it are not known",
			v.Path, name),
	}
}

// onlyIfVersioned is the evidence for a circular binding. verb is "links" or "loads".
func onlyIfVersioned(v *analyzer.View, b dynlink.Binding, verb string) evidence {
	return evidence{
		state:   bad,
		always:  true,
		library: b.Import.Library,
		why: fmt.Sprintf("%s imports %s, and %s only if %s has that version", v.Path,
			analyzer.Versioned(b.Import.Name, b.Import.Version), verb, b.Import.Library),
	}
}

// assumed reports whether a binding is due to the platform that compat chose.
func assumed(p *analyzer.Pass, b dynlink.Binding) bool {
	return !p.Requested && b.Provider != nil && b.Provider.Kind == dynlink.FromPlatform
}

// circular reports whether a binding proves nothing: an object whose platform no tag of a wheel
// names is checked on platforms that were chosen because they have all its versions.
func circular(p *analyzer.Pass, b dynlink.Binding) bool {
	return b.Import.Version != "" && assumed(p, b) &&
		platform.OldestTag(p.Facts.PlatformTags(), p.Platform.Arch, p.Platform.Libc) == nil
}

// node handles a version that a library lacks.
func node(p *analyzer.Pass, v *analyzer.View, d *buildlog.Diagnosis, named bool) (evidence, bool) {
	if path.Base(d.Library) == path.Base(v.Path) && !named {
		return evidence{}, false
	}
	found, out := false, evidence{state: fine, library: path.Base(d.Library)}
	for _, need := range v.VersionNeeds {
		for _, n := range need.Versions {
			if n.Name == d.Version && (d.Library == "" || path.Base(d.Library) == need.Library) {
				found, out.library = true, need.Library
			}
		}
	}
	switch {
	case !found && named:
		return evidence{
			why: fmt.Sprintf("%s does not need %s", v.Path, d.Version),
		}, true
	case !found:
		return evidence{}, false
	}
	out.state, out.why = open, fmt.Sprintf("%s needs %s of %s", v.Path, d.Version, out.library)
	for b := range v.Bindings().All() {
		if b.Import.Version != d.Version || b.Import.Library != out.library {
			continue
		}
		switch {
		case circular(p, b):
			out.state, out.always, out.why = bad, true, fmt.Sprintf(
				"%s needs %s of %s for %s, and loads only if that library has it",
				v.Path,
				d.Version,
				out.library,
				b.Import.Name,
			)
		case b.Outcome == dynlink.NoVersion, b.Outcome == dynlink.NoSymbol:
			out.state, out.why = bad, fmt.Sprintf(
				"%s needs %s of %s for %s, but that library does not have it",
				v.Path,
				d.Version,
				out.library,
				b.Import.Name,
			)
		case b.Outcome == dynlink.Bound:
			out.state, out.assumed, out.why = fine, assumed(p, b), fmt.Sprintf(
				"%s needs %s of %s for %s, and that library has it",
				v.Path,
				d.Version,
				out.library,
				b.Import.Name,
			)
			continue
		}
		break
	}
	return out, true
}

// needs handles a library that was not found.
func needs(p *analyzer.Pass, v *analyzer.View, d *buildlog.Diagnosis, named bool) (evidence, bool) {
	name := path.Base(d.Library)
	listed := slices.Contains(v.Needed, name)
	out := evidence{library: name}
	switch {
	case d.Class == "link-needed-not-found" && slices.ContainsFunc(p.Linked(staticlink.GNU,
		v).Missing, func(m staticlink.Missing) bool {
		return m.Name == name
	}):
		out.state, out.why = bad, fmt.Sprintf("%s needs %s, which the linker does not find", v.Path, name)
	case listed && slices.Contains(v.Missing, name):
		out.state, out.why = bad, fmt.Sprintf(
			"%s needs %s, which is not found in the given files",
			v.Path,
			name,
		)
	case !listed && slices.ContainsFunc(v.Loading.Missing, func(m dynlink.Missing) bool {
		return m.Name == name
	}) && named:
		out.state, out.why = bad, fmt.Sprintf(
			"%s needs %s through another library, which is not found in the given files",
			v.Path,
			name,
		)
	case listed && unreached(v, name) != nil:
		l := unreached(v, name)
		out.library = cmp.Or(l.SONAME, path.Base(l.Path)) // as the finding names it
		where := "was given as " + l.Path
		if l.Kind != dynlink.FromArtifact {
			where = "is a file of " + l.Origin
		}
		out.state, out.unreached, out.why = open, true, fmt.Sprintf(
			"%s needs %s, which %s, but no search path leads there",
			v.Path,
			name,
			where,
		)
	case listed && d.Object != "" && !named:
		// the loader names the program, whose other libraries are not known
		return evidence{}, false
	case listed:
		out.state, out.why = fine, fmt.Sprintf("%s needs %s%s", v.Path, name, whoIs(v, name))
		out.assumed = !p.Requested && slices.ContainsFunc(v.Loading.Found, func(f dynlink.Found) bool {
			return f.Library.Kind == dynlink.FromPlatform && slices.Contains(f.Library.Names(), name)
		})
	case named:
		out.state, out.why = open, fmt.Sprintf(
			"%s does not list %s in DT_NEEDED: it is opened at run time, or another library needs it",
			v.Path,
			name,
		)
	default:
		return evidence{}, false
	}
	return out, true
}

// unreached returns the library of the artifact or of another package that an object needs by this
// name, but that is on no search path; nil if the loader finds the library.
func unreached(v *analyzer.View, name string) *dynlink.Library {
	for _, f := range v.Loading.Found {
		if f.NeededBy == v.Library && f.By == dynlink.ByPackage &&
			slices.Contains(f.Library.Names(), name) {
			return f.Library
		}
	}
	return nil
}

// atFault handles an invalid file.
func atFault(v *analyzer.View, d *buildlog.Diagnosis, named bool) (evidence, bool) {
	if !named {
		return evidence{}, false
	}
	says := func(yes bool, confirmed, contradicted string) (evidence, bool) {
		if yes {
			return evidence{state: bad, always: true, why: v.Path + " " + confirmed}, true
		}
		return evidence{why: v.Path + ", as given, " + contradicted}, true
	}
	switch d.Class {
	case "executable-stack":
		return says(v.ExecStack != "no", "requires an executable stack", "does not require one")
	case "dt-relr":
		return says(v.RelR, "has packed relative relocations", "has no packed relative relocations")
	case "invalid-elf":
		return says(false, "", "can be read as ELF")
	case "static-tls":
		if v.StaticTLS {
			return says(true, "is built for static thread-local storage", "")
		}
	case "hardware-not-supported":
		if v.ISA > 1 {
			return says(true, "requires a newer processor than the baseline", "")
		}
	case "wrong-platform":
		return evidence{
			state: open,
			why:   fmt.Sprintf("%s is for %s; the log does not name its architecture", v.Path, v.Machine),
		}, true
	}
	return evidence{
		state: open,
		why:   v.Path + " was read, but its contents neither confirm nor contradict the message",
	}, true
}

// from returns a clause with the library that defines the symbol.
func from(b dynlink.Binding) string {
	if name := providedBy(b); name != "" {
		return ", which " + name + " has"
	}
	return ""
}

func providedBy(b dynlink.Binding) string {
	if b.Provider == nil {
		return ""
	}
	return b.Provider.Names()[0]
}

// whoIs returns where a needed library was found.
func whoIs(v *analyzer.View, name string) string {
	for _, f := range v.Loading.Found {
		if slices.Contains(f.Library.Names(), name) {
			switch {
			case f.Library.Kind == dynlink.FromPlatform:
				return ", which the platform has"
			case f.Library.Origin != "":
				return " of " + f.Library.Origin
			}
			return ", and " + f.Library.Path + " was also given"
		}
	}
	return ", and finds it"
}
