package abi

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Suppressions select changes that the maintainers of a library do not want reported, in the format
// of libabigail (.abignore; libabigail manual, "Suppression specifications"). The zero value
// suppresses nothing.
type Suppressions struct {
	sections []suppression
}

// suppression is a section. All of its conditions must hold.
type suppression struct {
	kind       string // suppress_function, …_variable, …_type or …_file, or allow_type
	conditions []func(*subject) bool
	changes    []string // change_kind; nil: all
	typeKinds  []string // type_kind; nil: all
	selects    bool     // it has a property that says which functions, variables, types or files
	resized    bool     // has_size_change
	aliased    bool     // allow_other_aliases = no
}

// subject contains the properties of a change that conditions can test.
type subject struct {
	name, symbol, version, soname, source string

	files       []string // paths of the libraries
	enumerators []string
	about       *about // nil if the change has no type
	resized     bool   // has_size_change of the section
}

// about is the type of what changed: of a function or variable, or the type that changed itself.
type about struct {
	old, new *Library
	a, b     TypeID // in old and new; 0 if unknown
	access   access // of a type that changed
	// names of the functions and variables that are one with the function or variable
	aliases []string
}

// access is how functions and variables use a type.
type access uint8

const (
	direct access = 1 << iota
	throughPointer
	throughReference
)

// With returns s with the sections of other added.
func (s Suppressions) With(other Suppressions) Suppressions {
	return Suppressions{append(slices.Clone(s.sections), other.sections...)}
}

// Globs returns a function that matches files against patterns: * matches any text without a slash,
// ** any text. A pattern matches the end of a path, because the folder in which a library was built
// is unknown.
func Globs(patterns []string) func(file string) bool {
	var quoted []string
	for _, p := range patterns {
		q := regexp.QuoteMeta(strings.Trim(p, "/"))
		q = strings.NewReplacer(
			`\*\*/`, `(?:.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`,
		).Replace(q)
		quoted = append(quoted, q)
	}
	return regexp.MustCompile(`(?:^|/)(?:` + strings.Join(quoted, "|") + `)$`).MatchString
}

// Apply removes the suppressed changes from a result and returns their number.
func (s Suppressions) Apply(r *Result) int {
	if len(s.sections) == 0 {
		return 0
	}
	before := len(r.Changes)
	r.Changes = slices.DeleteFunc(r.Changes, func(c Change) bool { return s.hides(r, &c) })
	r.finish()
	if r.Verdict != Breaking {
		r.Broken = 0
	}
	return before - len(r.Changes)
}

// hides reports whether a section suppresses a change, or whether there are sections allow_type and
// none allows that of a type.
func (s Suppressions) hides(r *Result, c *Change) bool {
	allowing, allowed := false, false
	for i := range s.sections {
		x := &s.sections[i]
		switch matches := x.matches(r, c); {
		case x.kind != "allow_type" && matches:
			return true
		case x.kind == "allow_type":
			allowing = true
			allowed = allowed || matches
		}
	}
	return allowing && c.Symbol == "" && c.Type != "" && !allowed
}

// matches reports whether a change is one that a section is about.
func (s *suppression) matches(r *Result, c *Change) bool {
	symbol, version, _ := strings.Cut(c.Symbol, "@")
	x := &subject{
		name:    c.Type,
		symbol:  symbol,
		version: strings.TrimPrefix(version, "@"),
		soname:  cmp.Or(c.Library, r.Library),
		files:   r.files,

		enumerators: c.enumerators,
		about:       c.about,
		resized:     s.resized,
	}
	if len(c.files) > 0 {
		x.files = c.files
	}
	for _, at := range []string{c.Old, c.New} {
		if file, _, ok := strings.Cut(at, ":"); ok {
			x.source = file
		}
	}
	variable := c.variable
	switch s.kind {
	case "suppress_type", "allow_type":
		if c.Type == "" || !s.kindOf(c) {
			return false
		}
	case "suppress_file": // by the name alone
		x.files = slices.Clone(x.files)
		for i := range x.files {
			x.files[i] = path.Base(x.files[i])
		}
	case "suppress_variable":
		if c.Symbol == "" || !variable {
			return false
		}
		x.name = Readable(symbol)
	default:
		if c.Symbol == "" || variable {
			return false
		}
		x.name = Readable(symbol)
	}
	if !s.selects || !s.kindOfChange(c) || s.aliased && !s.allAliases(x) {
		return false
	}
	return !slices.ContainsFunc(s.conditions, func(holds func(*subject) bool) bool {
		return !holds(x)
	})
}

// aliased reports whether a section is about all names of a function or variable.
func (s Suppressions) aliased() bool {
	return slices.ContainsFunc(s.sections, func(x suppression) bool { return x.aliased })
}

// allAliases reports whether the conditions hold for all names of a function or variable.
func (s *suppression) allAliases(x *subject) bool {
	if x.about == nil {
		return true
	}
	return !slices.ContainsFunc(x.about.aliases, func(name string) bool {
		other := *x
		other.symbol, other.name = name, Readable(name)
		return slices.ContainsFunc(s.conditions, func(holds func(*subject) bool) bool {
			return !holds(&other)
		})
	})
}

// kindOfChange reports whether a change has one of the section's change kinds.
func (s *suppression) kindOfChange(c *Change) bool {
	if len(s.changes) == 0 || slices.Contains(s.changes, "all") {
		return true
	}
	kind := "subtype-change"
	switch c.Rule {
	case RuleRemoved, RuleVersionRemoved, RuleVersionMoved, RuleMoved:
		kind = "deleted-"
	case RuleAdded, RuleAddedReleased:
		kind = "added-"
	}
	return slices.ContainsFunc(s.changes, func(v string) bool { return strings.Contains(v, kind) })
}

// kindOf reports whether a type has one of the section's type kinds.
func (s *suppression) kindOf(c *Change) bool {
	if len(s.typeKinds) == 0 {
		return true
	}
	kind := c.subject
	switch {
	case kind != "":
	case c.Rule == RuleEnumerator:
		kind = Enum
	default: // of a virtual table
		kind = Struct
	}
	if kind != Struct {
		return slices.Contains(s.typeKinds, string(kind))
	}
	// as libabigail: a struct is a class, but what is defined as class is no struct
	class := c.about != nil && c.about.old.Types[c.about.a].IsClass
	return slices.Contains(s.typeKinds, "class") || !class && slices.Contains(s.typeKinds, "struct")
}

// matching returns whether a pattern matches a symbol with its version, by its names and that of
// the version node, or a type. * matches any text.
func matching(patterns []string) func(symbol, typ string) bool {
	if len(patterns) == 0 {
		return func(string, string) bool { return false }
	}
	var quoted []string
	for _, p := range patterns {
		quoted = append(quoted, strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, `.*`))
	}
	re := regexp.MustCompile(`^(?:` + strings.Join(quoted, "|") + `)$`)
	return func(symbol, typ string) bool {
		name, version, _ := strings.Cut(symbol, "@")
		readable := Readable(name)
		plain, _, _ := strings.Cut(readable, "(")
		return slices.ContainsFunc(
			[]string{name, strings.TrimPrefix(version, "@"), readable, plain, typ},
			func(n string) bool { return n != "" && re.MatchString(n) })
	}
}

// symbol reports whether a section suppresses every change of a function or variable, so that what
// only this one uses is suppressed too.
func (s Suppressions) symbol(r *Result, a *Symbol, of *about) bool {
	if len(s.sections) == 0 { // most often: this is called for every export
		return false
	}
	c := Change{
		Rule: RuleSignature, Symbol: a.ID(), Old: place(a.File, a.Line),
		variable: isVariable(a.Kind), about: of,
	}
	return slices.ContainsFunc(s.sections, func(x suppression) bool {
		return x.kind != "suppress_type" && x.kind != "allow_type" && x.matches(r, &c)
	})
}

// Private lowers the severity of changes whose symbol, version node or type matches a pattern,
// because programs do not use them. In a pattern, * matches any text.
func (r *Result) Private(patterns []string) {
	if len(patterns) == 0 {
		return
	}
	private := matching(patterns)
	for i := range r.Changes {
		if c := &r.Changes[i]; c.Severity != Note && private(c.Symbol, c.Type) {
			c.Severity = Note
			c.Detail += " The configuration lists it as private."
		}
	}
	r.finish()
	if r.Verdict != Breaking {
		r.Broken = 0
	}
}
