package abi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// symbols finds for each export of old the export of new that an old program binds to, by the rules
// of glibc (elf/dl-lookup.c, check_match).
func (c *comparison) symbols() {
	for i := range c.old.Symbols {
		s := &c.old.Symbols[i]
		c.matched[i] = c.bind(s)
		switch {
		case c.matched[i] < 0 && c.elsewhere(s):
			c.blind.moved.add(Readable(s.Name))
			c.add(
				Change{
					Rule:     RuleMoved,
					Severity: Note,
					Symbol:   s.ID(),
					Detail: fmt.Sprintf(
						"%s moved to a library that the new one needs. Programs still find it.",
						Readable(s.Name),
					),
				},
				i,
			)
		case c.matched[i] < 0:
			if x, ok := c.fromLibc(s); ok {
				c.add(x, i)
				continue
			}
			c.missing(i, s)
		default:
			c.kind(i, s, &c.new.Symbols[c.matched[i]])
			c.kernel(i, s, &c.new.Symbols[c.matched[i]])
		}
	}
}

// bind returns the index of the export of new that a reference to an export of old binds to, or -1.
func (c *comparison) bind(s *Symbol) int {
	list := c.newest[s.Name]
	for _, i := range list {
		if c.new.Symbols[i].Version == s.Version {
			return i
		}
	}
	visible := func(i int) bool { return !c.new.Symbols[i].Hidden }
	switch {
	case len(list) == 0:
		return -1
	case s.Version == "": // the base or the oldest version, or else the only default one
		if i := slices.IndexFunc(list, func(i int) bool {
			v := c.new.Symbols[i].Version
			return len(c.new.Versions) > 0 && v == c.new.Versions[0]
		}); i >= 0 {
			return list[i]
		}
		if i := slices.IndexFunc(list, visible); i >= 0 {
			return list[i]
		}
		return -1
	case len(c.new.Versions) == 0:
		if c.new.Versym { // the loader only warns; without DT_VERSYM it aborts
			return list[0]
		}
		return -1
	case slices.Contains(c.new.Versions, s.Version):
		// a definition without a version satisfies every reference
		base := func(i int) bool { return c.new.Symbols[i].Version == "" && visible(i) }
		if i := slices.IndexFunc(list, base); i >= 0 {
			return list[i]
		}
	}
	return -1
}

// elsewhere reports whether a symbol that new lacks is in a library that new needs.
func (c *comparison) elsewhere(s *Symbol) bool {
	if c.Find == nil ||
		s.Version != "" && len(c.new.Versions) > 0 && !slices.Contains(c.new.Versions, s.Version) {
		return false
	}
	return c.closure(nil, c.new.Needed).has(s.Name, s.Version)
}

// isPrivate reports whether a version node is not for programs.
func isPrivate(version string) bool {
	return privateVersion.MatchString(version)
}

// privateVersion matches GLIBC_PRIVATE, Qt_6_PRIVATE_API, SD_SHARED and LIBFOO_INTERNAL.
var privateVersion = lazyregexp.New(
	`(^|[^A-Za-z])((?i)PRIVATE|INTERNAL|SD_SHARED)($|[^A-Za-z])`,
)

// missing reports an export that old programs no longer find.
func (c *comparison) missing(i int, s *Symbol) {
	x := Change{Rule: RuleRemoved, Severity: Error, Symbol: s.ID(), Old: place(s.File, s.Line)}
	name := Readable(s.Name)
	list := c.newest[s.Name]
	x.Effect, x.Fix = c.withoutSymbol(name)
	switch {
	case len(list) > 0 && len(c.new.Versions) == 0:
		x.Rule, x.Detail = RuleVersionRemoved, fmt.Sprintf(
			"%s no longer has the version %s, and the library has no symbol versions at all.",
			name,
			s.Version,
		)
		x.Effect = "The loader of glibc stops with an assertion when a program asks for the " +
			"version."
		x.Fix = "Link with the version script of the old release."
	case len(list) > 0 && s.Version != "" && !slices.Contains(c.new.Versions, s.Version):
		x.Rule, x.Detail = RuleVersionRemoved, fmt.Sprintf(
			"The version %s is gone; %s is now %s.",
			s.Version,
			name,
			c.new.Symbols[list[0]].ID(),
		)
		x.Effect = fmt.Sprintf(
			"A program that uses it does not start: version `%s' not found.",
			s.Version,
		)
		x.Fix = fmt.Sprintf("Keep the node %s in the version script, with %s in it.", s.Version, name)
	case len(list) > 0:
		x.Rule, x.Detail = RuleVersionMoved, fmt.Sprintf(
			"%s moved from %s to %s.",
			name,
			s.Version,
			c.new.Symbols[list[0]].Version,
		)
		x.Effect = fmt.Sprintf(
			"A program that uses it fails: undefined symbol %s, version %s.",
			s.Name,
			s.Version,
		)
		x.Fix = fmt.Sprintf(
			"Keep %s@%s for existing programs, and export the new definition as %s@@%s.",
			name,
			s.Version,
			name,
			c.new.Symbols[list[0]].Version,
		)
	case s.Version != "" && len(c.new.Versions) > 0 && !slices.Contains(c.new.Versions, s.Version):
		x.Detail = fmt.Sprintf(
			"%s is no longer exported, and neither is any other symbol of the version %s.",
			name,
			s.Version,
		)
	default:
		x.Detail = fmt.Sprintf("%s is no longer exported.", name)
	}
	switch {
	case isPrivate(s.Version):
		x.Severity, x.Aside = Warning, " The version is for private use."
	case s.Weak && c.copied(s):
		x.Severity, x.Effect, x.Fix = Note, "None: programs have their own copy.", ""
		x.Aside = " It is a copy of an inline function, of a template or of data that the " +
			"compiler makes."
	}
	x.Detail += x.Aside
	c.add(x, i)
}

// withoutSymbol returns what happens to those that use a symbol which is gone, and how to avoid it.
func (c *comparison) withoutSymbol(name string) (effect, fix string) {
	fix = fmt.Sprintf("Keep %s as an alias of its replacement", name)
	switch c.old.Form {
	case Objects:
		return "Object files that use it cannot be linked: undefined reference.", fix + "."
	case Module:
		return "The kernel refuses a module that uses it: Unknown symbol.", fix + "."
	}
	return "A program that uses it does not start, or fails at the first call: undefined symbol.",
		fix + ", or change the SONAME."
}

// kernel compares what modules of the kernel are loaded by.
func (c *comparison) kernel(i int, a, b *Symbol) {
	if c.old.Form != Module {
		return
	}
	name := a.Name
	if a.CRC != 0 && b.CRC != 0 && a.CRC != b.CRC {
		c.add(Change{
			Rule:     RuleChecksum,
			Severity: Error,
			Symbol:   a.ID(),
			Detail:   fmt.Sprintf("The checksum of %s was %#08x and is now %#08x.", name, a.CRC, b.CRC),
			Effect: "The kernel refuses a module that was built with the old one: disagrees about " +
				"version of symbol.",
			Fix: "Keep the types that it uses, or rebuild the modules that use it.",
		}, i)
	}
	switch {
	case a.Namespace == b.Namespace:
	case b.Namespace == "":
		c.add(Change{
			Rule:     RuleNamespace,
			Severity: Note,
			Symbol:   a.ID(),
			Detail:   fmt.Sprintf("%s is no longer in the namespace %s.", name, a.Namespace),
		}, i)
	default:
		c.add(Change{
			Rule:     RuleNamespace,
			Severity: Error,
			Symbol:   a.ID(),
			Detail:   fmt.Sprintf("%s is now in the namespace %s.", name, b.Namespace),
			Effect:   "The kernel refuses a module that uses it and does not import the namespace.",
			Fix:      "Export it as before.",
		}, i)
	}
	if b.GPL && !a.GPL {
		c.add(Change{
			Rule:     RuleLicense,
			Severity: Warning,
			Symbol:   a.ID(),
			Detail:   fmt.Sprintf("%s is now exported with EXPORT_SYMBOL_GPL.", name),
			Effect:   "The kernel refuses a module that uses it and has a license not compatible with GPL.",
		}, i)
	}
}

// copied reports whether a weak symbol is contained in every program that uses it: a copy of an
// inline function or template, or a symbol that the compiler emits for a class without a key
// function. Without type information, an instance of a template may be in the library only.
func (c *comparison) copied(s *Symbol) bool {
	switch {
	case s.Inline || isStandardLibrary(c.old, s.Name):
		return true
	case !strings.HasPrefix(s.Name, "_Z"):
		return false
	case isTable(s.Name) || strings.HasPrefix(s.Name, "_ZTS"):
		return !c.hasKeyFunction(s.Name[4:])
	case hasVagueLinkage(s.Name):
		return true
	case isVariable(s.Kind) && !strings.Contains(Readable(s.Name), "<"):
		return true // an inline variable
	}
	return s.Type == 0 && c.old.Evidence != EvidenceSymbols
}

// hasKeyFunction reports whether the library contains the key function of a class of old, a virtual
// function that is not inline. Then its virtual table and typeinfo are in the library only.
func (c *comparison) hasKeyFunction(mangled string) bool {
	t := c.old.table("_ZTV" + mangled)
	if t == nil {
		return false
	}
	if c.strong == nil {
		c.strong = map[string]bool{}
		for i := range c.old.Symbols {
			if s := &c.old.Symbols[i]; !s.Weak {
				c.strong[s.Name] = true
			}
		}
	}
	own := strings.TrimSuffix(strings.TrimPrefix(mangled, "N"), "E")
	return slices.ContainsFunc(t.Words, func(w string) bool {
		return slices.ContainsFunc(strings.Fields(w), func(symbol string) bool {
			name, ok := strings.CutPrefix(symbol, "_ZN")
			return ok && strings.HasPrefix(strings.TrimLeft(name, "KVRO"), own) && c.strong[symbol]
		})
	})
}

// hasVagueLinkage reports whether a name is that of data with vague linkage, which compilers emit
// where it is used: names of types, guards of static variables.
func hasVagueLinkage(name string) bool {
	return strings.HasPrefix(name, "_ZTS") || strings.HasPrefix(name, "_ZGV") ||
		strings.HasPrefix(name, "_ZZ") ||
		strings.HasPrefix(name, "_ZTh") ||
		strings.HasPrefix(name, "_ZTv")
}

// class describes an export: code, data or thread-local data.
func class(k elfobj.Kind) string {
	switch k {
	case elfobj.TLS:
		return "thread-local data"
	case elfobj.Data, "common":
		return "data"
	case elfobj.NoType:
		return ""
	}
	return "a function"
}

func isVariable(k elfobj.Kind) bool {
	return k == elfobj.TLS || k == elfobj.Data || k == "common"
}

// own reports whether a library uses its own variable, also if a program has a copy.
func (l *Library) own(s *Symbol) bool { return s.Protected || l.Symbolic && !isTable(s.Name) }

// kind compares the kinds of two exports, apart from their types.
func (c *comparison) kind(i int, a, b *Symbol) {
	x := Change{
		Rule:     RuleData,
		Severity: Error,
		Symbol:   a.ID(),
		Old:      place(a.File, a.Line),
		New:      place(b.File, b.Line),
		Effect:   "A program reads or writes the wrong memory.",
	}
	was, is := class(a.Kind), class(b.Kind)
	partial := c.old.Partial || c.new.Partial
	switch {
	case was != is && was != "" && is != "":
		x.Detail = fmt.Sprintf("%s was %s and is now %s.", Readable(a.Name), was, is)
		x.Fix = "Export the new one under another name."
	case was == "data" && (!partial || a.Copied) && c.new.own(b) && !c.old.own(a):
		x.Detail = fmt.Sprintf("%s now has protected visibility.", Readable(a.Name))
		if !b.Protected {
			x.Detail = fmt.Sprintf("The library now uses its own %s (-Bsymbolic).", Readable(a.Name))
		}
		x.Effect = "A program that has a copy of the variable (built without -fPIE, or with a " +
			"copy relocation) and the library use two different variables."
		x.Fix = "Use default visibility for exported variables."
	case was == "data" && !partial && b.ReadOnly && !a.ReadOnly &&
		!strings.HasPrefix(a.Name, "_Z"+"T"):
		x.Detail = fmt.Sprintf("%s is now in read-only memory.", Readable(a.Name))
		x.Effect = "A program that writes to it is terminated with SIGSEGV."
		x.Fix = "Do not make an exported variable const."
	default:
		return
	}
	c.add(x, i)
}

// data compares the sizes and alignments of variables for which no change of a type was found. With
// a copy relocation, a program reserves the old size, with the old alignment.
func (c *comparison) data() {
	for i := range c.old.Symbols {
		a := &c.old.Symbols[i]
		if c.matched[i] < 0 || c.broken[i] || a.Size == 0 || isTable(a.Name) || hasVagueLinkage(a.Name) ||
			a.Weak && isStandardLibrary(c.old, a.Name) {
			continue
		}
		b := &c.new.Symbols[c.matched[i]]
		if b.Size == 0 || a.Kind != b.Kind {
			continue
		}
		x := Change{
			Rule:     RuleData,
			Severity: Error,
			Symbol:   a.ID(),
			Old:      place(a.File, a.Line),
			New:      place(b.File, b.Line),
			Detail:   fmt.Sprintf("%s had %d bytes and now has %d.", Readable(a.Name), a.Size, b.Size),
			Effect:   "A program with a copy of the variable reserves only the old size.",
			Fix:      "Keep the size, and export the new one under another name.",
		}
		if a.Size == b.Size {
			was, is := c.old.alignmentOf(a), c.new.alignmentOf(b)
			if b.Align == 0 || was >= is || c.old.Unaligned || c.new.Unaligned {
				continue
			}
			x.Detail = fmt.Sprintf("%s was aligned to %s and is now aligned to %d.",
				Readable(a.Name), counted(int(was), "byte"), is)
			x.Effect = "A program with a copy of the variable aligns it as before. Instructions of the " +
				"library that need the new alignment terminate it with SIGSEGV."
			x.Fix = "Keep the alignment, and export the new one under another name."
		}
		if isPrivate(a.Version) {
			x.Severity = Warning
		}
		c.add(x, i)
	}
}

// alignmentOf returns the alignment of a variable in bytes; 1 if its type is not known.
func (l *Library) alignmentOf(s *Symbol) uint64 {
	n := max(uint64(s.Align), 1)
	if s.Type != 0 {
		n = max(n, l.alignment(&l.Types[s.Type]))
	}
	return n
}

// additions reports new exports.
func (c *comparison) additions() {
	had := make(map[string]bool, len(c.old.Symbols))
	for i := range c.old.Symbols {
		s := &c.old.Symbols[i]
		had[s.Name+"@"+s.Version] = true
	}
	used := map[int]bool{}
	for _, n := range c.matched {
		used[n] = true
	}
	for i := range c.new.Symbols {
		s := &c.new.Symbols[i]
		if used[i] || had[s.Name+"@"+s.Version] || s.Weak && isStandardLibrary(c.new, s.Name) {
			continue
		}
		x := Change{
			Rule:     RuleAdded,
			Severity: Note,
			Symbol:   s.ID(),
			New:      place(s.File, s.Line),
			Detail:   fmt.Sprintf("%s is newly exported.", Readable(s.Name)),
			variable: isVariable(s.Kind),
			about:    &about{old: c.new, a: s.Type},
		}
		switch {
		case c.old.Debian:
			x.Rule = RuleDebian
			x.Detail = fmt.Sprintf("%s is not in the symbols file.", Readable(s.Name))
			x.Fix = "Add it to the symbols file with the package version that introduced it."
		case s.Version != "" && slices.Contains(c.old.Versions, s.Version) && !isPrivate(s.Version):
			x.Rule = RuleAddedReleased
			x.Detail = fmt.Sprintf(
				"%s was added to %s, a symbol version that the old library already defines.",
				Readable(s.Name),
				s.Version,
			)
			x.Effect = fmt.Sprintf(
				"A program that is built against the new library loads with the old one, "+
					"and fails when it calls the symbol, or at startup if it is linked with "+
					"-z now. If it had a new version, the loader would report that %s is too old.",
				c.result.Library,
			)
			x.Fix = "Add new symbols to a new version node."
		}
		c.add(x)
	}
}

// place returns FILE:LINE; "" if the file is not known.
func place(file string, line uint32) string {
	if file == "" || line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", file, line)
}
