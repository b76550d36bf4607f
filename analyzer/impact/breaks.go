package impact

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// shown is the number of symbols that a reason names.
const shown = 3

// breaks fills in an entry from what keeps its objects from loading.
func (c *comparison) breaks(e *Entry, broken []analyzer.Finding) {
	e.Verdict = Breaks
	symbols := map[string]bool{}
	var gone, other *analyzer.Finding
	for i := range broken {
		f := &broken[i]
		lost := c.symbols(f)
		for _, s := range lost {
			symbols[s] = true
		}
		switch {
		case len(lost) > 0:
		case f.Library != "" && !c.New.named(f.Library):
			gone = f
		default:
			other = f
		}
	}
	e.Symbols = append(e.Symbols, slices.Sorted(maps.Keys(symbols))...)
	f := broken[0]
	switch {
	case gone != nil:
		f = *gone
		e.Reason = fmt.Sprintf("%s needs %s, which %s no longer has", f.Object, f.Library, c.New)
	case len(e.Symbols) > 0:
		i := slices.IndexFunc(broken, func(f analyzer.Finding) bool { return len(c.symbols(&f)) > 0 })
		f = broken[i]
		e.Reason = fmt.Sprintf("%s imports %s, which %s no longer exports", f.Object,
			named(e.Symbols), c.New)
	case other != nil:
		f = *other
		e.Reason = f.Message
	}
	e.Object, e.Library = f.Object, f.Library
	c.addFixes(e)
}

// named names the first of some symbols as people read them.
func named(symbols []string) string {
	var names []string
	for _, s := range symbols {
		names = append(names, abi.Readable(s))
	}
	return analyzer.List(names, shown, len(names), "symbol")
}

// symbols returns the symbols that an object imports and that it lacks because of a finding. Of a
// version that is gone they are all that it imports with it.
func (c *comparison) symbols(f *analyzer.Finding) []string {
	if f.Symbol != "" {
		return []string{f.Symbol}
	}
	if f.Version == "" || f.Library == "" {
		return nil
	}
	var out []string
	for _, o := range c.objects(f.Object) {
		for _, i := range o.Imports.All() {
			if i.Version == f.Version && i.Library == f.Library && !i.Weak {
				out = append(out, i.Name)
			}
		}
	}
	return out
}

// objects returns the objects of the dependent at a path; all of them for "".
func (c *comparison) objects(at string) (out []*analyzer.Object) {
	for _, a := range c.read.Artifacts() {
		for _, o := range a.Objects {
			if at == "" || o.Path == at {
				out = append(out, o)
			}
		}
	}
	return out
}

// changed makes an entry break if something that the dependent imports is still there and has
// another type or size. It looks at the symbols that the release exports and the dependent does not
// define itself.
func (c *comparison) changed(e *Entry) {
	if c.Old == nil {
		return
	}
	own := map[string]bool{}
	for _, o := range c.objects("") {
		for _, x := range o.Exports.All() {
			own[x.Name] = x.Relocs&elfobj.RelocCopy == 0
		}
	}
	for _, o := range c.objects("") {
		used := map[string]bool{}
		for _, i := range o.Imports.All() {
			if !own[i.Name] && !i.Weak && c.shared(i.Name) {
				used[i.Name] = false
			}
		}
		for _, x := range o.Exports.All() { // a program's copies of variables
			if x.Relocs&elfobj.RelocCopy != 0 && c.shared(x.Name) {
				used[x.Name] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(used)) {
			if why := c.resized(name, used[name]); why != "" {
				c.differs(e, o.Path, []string{name}, why)
				return
			}
		}
		if len(used) == 0 || len(c.Old.ABI) == 0 || len(c.New.ABI) == 0 {
			continue
		}
		if symbols, why := c.retyped(used); why != "" {
			c.differs(e, o.Path, symbols, why)
			return
		}
	}
}

// differs fills in an entry of which an object uses symbols that changed.
func (c *comparison) differs(e *Entry, object string, symbols []string, why string) {
	e.Verdict, e.Object, e.Symbols, e.Reason = Breaks, object, symbols, why
	for _, l := range c.Old.Contents.Libraries {
		if len(l.Exports.Named(symbols[0])) > 0 {
			e.Library = l.SONAME
			break
		}
	}
	c.addFixes(e)
}

// shared reports whether both releases export a symbol.
func (c *comparison) shared(name string) bool {
	return len(c.Old.exported(name)) > 0 && len(c.New.exported(name)) > 0
}

// resized returns why a variable has a size that does not fit; "" if it fits or is no variable. One
// that grew fits, unless the dependent has a copy of it. Virtual tables and other things that the
// compiler makes are compared by their types.
func (c *comparison) resized(name string, copied bool) string {
	old, new := c.Old.exported(name)[0], c.New.exported(name)[0]
	if old.Kind != elfobj.Data || new.Kind != elfobj.Data || old.Size == 0 || new.Size == 0 ||
		old.Weak || old.Unique || strings.HasPrefix(name, "_ZT") {
		return ""
	}
	if new.Size < old.Size {
		return fmt.Sprintf("%s has %d bytes in %s, and had %d in %s", abi.Readable(name), new.Size,
			c.New, old.Size, c.Old)
	}
	if new.Size > old.Size && copied {
		return fmt.Sprintf("a program has a copy of %s with the %d bytes of %s, and %s has %d",
			abi.Readable(name), old.Size, c.Old, c.New, new.Size)
	}
	return ""
}

// retyped returns those of some symbols whose types changed so that what was compiled with the old
// release does not work, and why.
func (c *comparison) retyped(used map[string]bool) (symbols []string, why string) {
	uses := func(name, _ string) bool { _, ok := used[name]; return ok }
	all, _ := abi.ComparePairs(abi.Pair(c.Old.ABI, c.New.ABI), func(*abi.Library) abi.Options {
		return abi.Options{Uses: uses}
	})
	for _, change := range all.Changes {
		if change.Severity != abi.Error || !change.OfTypes() {
			continue
		}
		for _, s := range append(change.Affected, change.Symbol) {
			name, _, _ := strings.Cut(s, "@")
			if uses(name, "") && !slices.Contains(symbols, name) {
				symbols = append(symbols, name)
			}
		}
		if why == "" && len(symbols) > 0 {
			first := strings.TrimSpace(strings.TrimSuffix(change.Detail, change.Aside))
			why = fmt.Sprintf("it uses %s: %s", named(symbols), strings.TrimSuffix(first, "."))
		}
	}
	slices.Sort(symbols)
	return symbols, why
}

// addFixes adds what each person can do.
func (c *comparison) addFixes(e *Entry) {
	what := "Keep what was removed"
	switch {
	case len(e.Symbols) == 1 && c.Old != nil:
		what = fmt.Sprintf("Keep %s as it was in %s, or raise the SONAME", named(e.Symbols), c.Old)
	case len(e.Symbols) > 0 && c.Old != nil:
		what = fmt.Sprintf("Keep these %d symbols as they were in %s, or raise the SONAME",
			len(e.Symbols), c.Old)
	case e.Library != "" && !c.New.named(e.Library):
		what = fmt.Sprintf(abi.KeepShipping, e.Library)
	}
	e.Fixes = append(e.Fixes, Fix{Who: "release", What: what})
	bound := c.bound()
	if bound == "" {
		return
	}
	requirement := c.New.Contents.Name + bound
	e.Fixes = append(e.Fixes,
		Fix{
			Who:         "dependent",
			What:        fmt.Sprintf("Require %s, or build with %s", requirement, c.New),
			Requirement: requirement,
		},
		Fix{Who: "user", What: "Install " + requirement, Requirement: requirement},
	)
}

// bound returns the widest version specifier that admits the old release and not the new one; ""
// if there is none.
func (c *comparison) bound() string {
	new, err := pkgmeta.ParseVersion(c.New.Version)
	if err != nil {
		return ""
	}
	if c.Old == nil {
		return "<" + c.New.Version
	}
	old, err := pkgmeta.ParseVersion(c.Old.Version)
	if err != nil {
		return ""
	}
	for _, spec := range []string{
		"<" + c.New.Version, "<=" + c.Old.Version, ">" + c.New.Version, ">=" + c.Old.Version,
		"==" + c.Old.Version,
	} {
		s, err := pkgmeta.ParseSpec(spec)
		if err == nil && s.Admits(old) && !s.Admits(new) {
			return spec
		}
	}
	return ""
}
