package abi

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazy"
)

// Suppressions select changes that the maintainers of a library do not want reported, in the format
// of libabigail (.abignore; libabigail manual, "Suppression specifications"). The zero value
// suppresses nothing.
type Suppressions struct {
	sections []suppression
}

// suppression is a section. All of its conditions must hold.
type suppression struct {
	kind       string // suppress_function, suppress_variable, suppress_type or suppress_file
	conditions []func(*subject) bool
	changes    []string // change_kind; nil: all
	typeKinds  []string // type_kind; nil: all
}

// subject contains the properties of a change that conditions can test.
type subject struct {
	name, symbol, version, soname, file, source string

	enumerators []string
}

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

const (
	// MaxSuppressions limits a suppression file, in bytes.
	MaxSuppressions = 1 << 20
	maxSections     = 10_000
)

// property returns what a property of a section is compared with.
type property func(*subject) string

// properties of sections, without the suffixes _regexp and _not_regexp.
var properties = lazy.Value[map[string]property]{New: func() map[string]property {
	return map[string]property{
		"name":           func(s *subject) string { return s.name },
		"symbol_name":    func(s *subject) string { return s.symbol },
		"symbol_version": func(s *subject) string { return s.version },
		"soname":         func(s *subject) string { return s.soname },
		"file_name":      func(s *subject) string { return s.file },
	}
}}

// unsupported are properties of libabigail that select changes which Compare does not describe.
var unsupported = []string{
	"has_data_member", "has_data_member_regexp", "has_data_member_inserted_at",
	"has_data_member_inserted_between", "has_data_members_inserted_between", "has_size_change",
	"has_strict_flexible_array_data_member_conversion", "accessed_through", "parameter",
	"return_type_name", "return_type_regexp", "type_name", "type_name_regexp",
	"type_name_not_regexp", "allow_other_aliases",
}

// ParseSuppressions parses an .abignore file. Sections with a property of libabigail that is not
// supported are not applied, because ignoring only the property would suppress too much; unused
// lists them. Problems lists the sections with an unknown property or value.
func ParseSuppressions(b []byte) (s Suppressions, unused, problems []string) {
	if len(b) > MaxSuppressions {
		return s, nil, []string{
			fmt.Sprintf("more than %d bytes; nothing is suppressed", MaxSuppressions),
		}
	}
	var current *suppression
	bad, without := "", ""
	finish := func() {
		switch {
		case current == nil:
		case bad != "":
			problems = append(problems, bad+"; the section is not applied")
		case without != "":
			unused = append(unused, without+" is not supported; the section is not applied")
		default:
			s.sections = append(s.sections, *current)
		}
		current, bad, without = nil, "", ""
	}
	in := bufio.NewScanner(bytes.NewReader(b))
	in.Buffer(nil, MaxSuppressions+1)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		switch {
		case line == "", line[0] == '#', line[0] == ';':
		case line[0] == '[':
			finish()
			kind := strings.Trim(line, "[] \t")
			current = &suppression{kind: kind}
			switch {
			case !slices.Contains([]string{
				"suppress_function", "suppress_variable", "suppress_type", "suppress_file",
			}, kind):
				bad = fmt.Sprintf("line %d: unknown section %s", n, kind)
			case len(s.sections) >= maxSections:
				bad = fmt.Sprintf("line %d: more than %d sections", n, maxSections)
			}
		case current == nil:
			problems = append(problems, fmt.Sprintf("line %d: a property outside of a section", n))
		default:
			key, value, _ := strings.Cut(line, "=")
			key, value = strings.TrimSpace(key), unescaped(strings.TrimSpace(value))
			if slices.Contains(unsupported, key) {
				without = fmt.Sprintf("line %d: %s", n, key)
			} else if why := current.property(key, value); why != "" && bad == "" {
				bad = fmt.Sprintf("line %d: %s", n, why)
			}
		}
	}
	finish()
	return s, unused, problems
}

// unescaped removes the escapes of the format, in which a backslash is written as two.
func unescaped(value string) string { return strings.ReplaceAll(value, `\\`, `\`) }

// property adds a property to a section, or returns what is wrong with it.
func (s *suppression) property(key, value string) (problem string) {
	switch key {
	case "label", "drop", "drop_artifact":
		return ""
	case "change_kind":
		s.changes = append(s.changes, list(value)...)
		return ""
	case "type_kind":
		s.typeKinds = append(s.typeKinds, list(value)...)
		return ""
	case "source_location_not_in":
		files := list(value)
		s.conditions = append(s.conditions, comparing(
			func(x *subject) string { return x.source },
			func(at string) bool {
				return at != "" && !slices.ContainsFunc(files, func(f string) bool {
					return at == f || strings.HasSuffix(at, "/"+f)
				})
			},
		))
		return ""
	case "changed_enumerators":
		names := list(value)
		s.conditions = append(s.conditions, forEnumerators(func(name string) bool {
			return slices.Contains(names, name)
		}))
		return ""
	case "changed_enumerators_regexp":
		var res []*regexp.Regexp
		for _, v := range list(value) {
			re, err := regexp.Compile(v)
			if err != nil {
				return fmt.Sprintf("%s is not a valid regular expression", key)
			}
			res = append(res, re)
		}
		s.conditions = append(s.conditions, forEnumerators(func(name string) bool {
			return slices.ContainsFunc(res, func(re *regexp.Regexp) bool { return re.MatchString(name) })
		}))
		return ""
	}
	name, pattern := strings.CutSuffix(key, "_regexp")
	name, not := strings.CutSuffix(name, "_not")
	of := properties.Get()[name]
	if name == "source_location" && pattern {
		of = func(x *subject) string { return x.source }
	}
	if of == nil || not && !pattern {
		return "unknown property " + key
	}
	match := func(v string) bool { return v == value }
	if pattern {
		re, err := regexp.Compile(value)
		if err != nil {
			return fmt.Sprintf("%s is not a valid regular expression", key)
		}
		match = re.MatchString
	}
	s.conditions = append(s.conditions, comparing(of, func(v string) bool {
		return (!not || v != "") && match(v) != not
	}))
	return ""
}

// comparing is a condition on a property. Functions can be named with or without parameters.
func comparing(of func(*subject) string, match func(string) bool) func(*subject) bool {
	return func(x *subject) bool {
		v := of(x)
		short, _, _ := strings.Cut(v, "(")
		return match(v) || match(short)
	}
}

// forEnumerators is a condition on each enumerator that changed. There has to be one.
func forEnumerators(match func(name string) bool) func(*subject) bool {
	return func(x *subject) bool {
		return len(x.enumerators) > 0 &&
			!slices.ContainsFunc(x.enumerators, func(n string) bool { return !match(n) })
	}
}

// list splits "{a, b}" and "a, b".
func list(value string) []string {
	var out []string
	for _, v := range strings.Split(strings.Trim(value, "{} \t"), ",") {
		if v = strings.TrimSpace(v); v != "" {
			out = append(out, v)
		}
	}
	return out
}

// Apply removes the suppressed changes from a result and returns their number.
func (s Suppressions) Apply(r *Result) int {
	if len(s.sections) == 0 {
		return 0
	}
	before := len(r.Changes)
	r.Changes = slices.DeleteFunc(r.Changes, func(c Change) bool {
		return slices.ContainsFunc(s.sections, func(x suppression) bool { return x.hides(r, &c) })
	})
	r.finish()
	if r.Verdict != Breaking {
		r.Broken = 0
	}
	return before - len(r.Changes)
}

// hides reports whether a section suppresses a change.
func (s *suppression) hides(r *Result, c *Change) bool {
	symbol, version, _ := strings.Cut(c.Symbol, "@")
	x := &subject{
		name:    c.Type,
		symbol:  symbol,
		version: strings.TrimPrefix(version, "@"),
		soname:  cmp.Or(c.Library, r.Library),
		file:    cmp.Or(c.file, r.file),

		enumerators: c.enumerators,
	}
	for _, at := range []string{c.Old, c.New} {
		if file, _, ok := strings.Cut(at, ":"); ok {
			x.source = file
		}
	}
	variable := c.variable
	switch s.kind {
	case "suppress_type":
		if c.Type == "" || !s.kindOf(c) {
			return false
		}
	case "suppress_file":
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
	if len(s.conditions) == 0 {
		return false // a section without conditions would suppress everything
	}
	if !s.kindOfChange(c) {
		return false
	}
	return !slices.ContainsFunc(s.conditions, func(holds func(*subject) bool) bool {
		return !holds(x)
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
	return slices.Contains(s.typeKinds, string(kind)) ||
		kind == Struct && slices.Contains(s.typeKinds, "class")
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
func (s Suppressions) symbol(r *Result, a *Symbol) bool {
	if len(s.sections) == 0 { // most often: this is called for every export
		return false
	}
	c := Change{
		Rule: RuleSignature, Symbol: a.ID(), Old: place(a.File, a.Line),
		variable: isVariable(a.Kind),
	}
	return slices.ContainsFunc(s.sections, func(x suppression) bool {
		return x.kind != "suppress_type" && x.hides(r, &c)
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
