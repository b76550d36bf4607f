package abi

import (
	"bufio"
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazy"
)

const (
	// MaxSuppressions limits a suppression file, in bytes.
	MaxSuppressions = 1 << 20
	maxSections     = 10_000
)

// sections are the kinds of sections.
var sections = []string{
	"suppress_function", "suppress_variable", "suppress_type", "suppress_file", "allow_type",
}

// ParseSuppressions parses an .abignore file. Problems lists the sections with an unknown property
// or value, which are not applied, because ignoring only the property would suppress too much.
// Unused lists sections without a property that selects something; libabigail ignores them.
func ParseSuppressions(b []byte) (s Suppressions, unused, problems []string) {
	if len(b) > MaxSuppressions {
		return s, nil, []string{
			fmt.Sprintf("more than %d bytes; nothing is suppressed", MaxSuppressions),
		}
	}
	var current *suppression
	bad, start := "", 0
	finish := func() {
		switch {
		case current == nil:
		case bad != "":
			problems = append(problems, bad+"; the section is not applied")
		case len(current.conditions)+len(current.typeKinds) == 0: // it would suppress everything
		case !current.selects:
			unused = append(unused, fmt.Sprintf("line %d: nothing says what %s is about, such as "+
				"name or soname_regexp; the section is not applied", start, current.kind))
		default:
			s.sections = append(s.sections, *current)
		}
		current, bad = nil, ""
	}
	in := bufio.NewScanner(bytes.NewReader(b))
	in.Buffer(nil, MaxSuppressions+1)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		switch {
		case line == "", line[0] == '#', line[0] == ';':
		case line[0] == '[':
			finish()
			kind := strings.Trim(unescaped(line), "[] \t")
			current, start = &suppression{kind: kind}, n
			switch {
			case !slices.Contains(sections, kind):
				bad = fmt.Sprintf("line %d: unknown section %s", n, kind)
			case len(s.sections) >= maxSections:
				bad = fmt.Sprintf("line %d: more than %d sections", n, maxSections)
			}
		case current == nil:
			problems = append(problems, fmt.Sprintf("line %d: a property outside of a section", n))
		default:
			key, value, _ := strings.Cut(line, "=")
			key, value = strings.TrimSpace(key), unescaped(strings.TrimSpace(value))
			if why := current.property(key, value); why != "" && bad == "" {
				bad = fmt.Sprintf("line %d: %s", n, why)
			}
		}
	}
	finish()
	return s, unused, problems
}

// unescaped returns a value without its remark. A backslash takes the next character as it is, so
// that a regular expression has two for one.
func unescaped(value string) string {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\' && i+1 < len(value):
			i++
			out.WriteByte(value[i])
		case c == '#' || c == ';':
			return strings.TrimSpace(out.String())
		default:
			out.WriteByte(c)
		}
	}
	return strings.TrimSpace(out.String())
}

// property is a condition that a value makes, or what is wrong with the value.
type property func(value string) (holds func(*subject) bool, problem string)

// properties of sections by name.
var properties = lazy.Value[map[string]property]{New: func() map[string]property {
	all := map[string]property{
		"source_location_not_in":     notInFiles,
		"changed_enumerators":        changedEnumerators,
		"changed_enumerators_regexp": changedEnumeratorsLike,

		"has_data_member":                   hasMembers,
		"has_data_member_regexp":            hasMemberLike,
		"has_data_member_inserted_at":       insertedAt,
		"has_data_member_inserted_between":  insertedBetween,
		"has_data_members_inserted_between": insertedBetween,
		"accessed_through":                  accessedThrough,

		"parameter": hasParameter,
		"has_strict_flexible_array_data_member_conversion": flexibleArray,
	}
	for name, of := range map[string]func(*subject) []string{
		"name":            func(x *subject) []string { return shortAndLong(x.name) },
		"symbol_name":     func(x *subject) []string { return []string{x.symbol} },
		"symbol_version":  func(x *subject) []string { return []string{x.version} },
		"soname":          func(x *subject) []string { return []string{x.soname} },
		"file_name":       func(x *subject) []string { return x.files },
		"source_location": func(x *subject) []string { return []string{x.source} },
		"type_name":       variableType,
		"return_type":     returnType,
	} {
		all[name] = equal(of)
		all[name+"_regexp"] = matchingExpression(of, true)
		all[name+"_not_regexp"] = matchingExpression(of, false)
	}
	all["file_name_not_regexp"] = otherFile
	all["return_type_name"] = all["return_type"]
	delete(all, "return_type")
	return all
}}

// selecting are the properties of which a section needs one.
var selecting = []string{
	"name", "symbol_name", "symbol_version", "soname", "file_name", "source_location",
	"source_location_not_in", "type_name", "return_type", "return_type_name", "parameter",
	"changed_enumerators",
}

// only are the properties of one kind of section, by the start of their names.
var only = []struct{ prefix, kinds string }{
	{"has_", "suppress_type allow_type"}, {"accessed_through", "suppress_type allow_type"},
	{"changed_enumerators", "suppress_type allow_type"}, {"type_kind", "suppress_type allow_type"},
	{"parameter", "suppress_function"}, {"return_type", "suppress_function"},
	{"allow_other_aliases", "suppress_function"}, {"type_name", "suppress_variable"},
	{"symbol_", "suppress_function suppress_variable"},
	{"change_kind", "suppress_function suppress_variable"},
}

// property adds a property to a section, or returns what is wrong with it.
func (s *suppression) property(key, value string) (problem string) {
	for _, o := range only {
		if strings.HasPrefix(key, o.prefix) && !slices.Contains(strings.Fields(o.kinds), s.kind) &&
			slices.Contains(sections, s.kind) {
			return key + " is not a property of " + s.kind
		}
	}
	base, _ := strings.CutSuffix(key, "_regexp")
	base, _ = strings.CutSuffix(base, "_not")
	s.selects = s.selects || slices.Contains(selecting, base) || key == "type_kind"
	switch key {
	case "label", "drop", "drop_artifact":
		return ""
	case "change_kind":
		s.changes = append(s.changes, list(value)...)
		return ""
	case "type_kind":
		s.typeKinds = append(s.typeKinds, list(value)...)
		return ""
	case "has_size_change":
		s.resized = value == "yes" || value == "true"
		return ""
	case "allow_other_aliases":
		s.aliased = value == "no" || value == "false"
		return ""
	}
	p := properties.Get()[key]
	if p == nil {
		return "unknown property " + key
	}
	holds, problem := p(value)
	if problem != "" {
		return key + " " + problem
	}
	s.conditions = append(s.conditions, holds)
	return ""
}

// equal is a condition that one of the values of a subject is given.
func equal(of func(*subject) []string) property {
	return func(value string) (func(*subject) bool, string) {
		return func(x *subject) bool { return slices.Contains(of(x), value) }, ""
	}
}

// matchingExpression is a condition that a value of a subject matches a regular expression, or that
// there are values and none matches.
func matchingExpression(of func(*subject) []string, wanted bool) property {
	return func(value string) (func(*subject) bool, string) {
		re, problem := expression(value)
		return func(x *subject) bool {
			known := slices.DeleteFunc(slices.Clone(of(x)), func(v string) bool { return v == "" })
			if !wanted && len(known) == 0 {
				return false
			}
			return slices.ContainsFunc(known, re.MatchString) == wanted
		}, problem
	}
}

// otherFile is a condition that the path of one of the libraries does not match.
func otherFile(value string) (func(*subject) bool, string) {
	re, problem := expression(value)
	return func(x *subject) bool {
		return slices.ContainsFunc(x.files, func(f string) bool { return !re.MatchString(f) })
	}, problem
}

// expression compiles a regular expression, or returns what is wrong with it.
func expression(value string) (re *regexp.Regexp, problem string) {
	re, err := regexp.Compile(value)
	if err != nil {
		return nil, "is not a valid regular expression"
	}
	return re, ""
}

// shortAndLong returns a name, and that of a function without parameters.
func shortAndLong(name string) []string {
	short, _, _ := strings.Cut(name, "(")
	return []string{name, short}
}

func notInFiles(value string) (func(*subject) bool, string) {
	files := list(value)
	return func(x *subject) bool {
		return x.source != "" && !slices.ContainsFunc(files, func(f string) bool {
			return x.source == f || strings.HasSuffix(x.source, "/"+f)
		})
	}, ""
}

func changedEnumerators(value string) (func(*subject) bool, string) {
	names := list(value)
	return forEnumerators(func(name string) bool { return slices.Contains(names, name) }), ""
}

func changedEnumeratorsLike(value string) (func(*subject) bool, string) {
	var all []*regexp.Regexp
	for _, v := range list(value) {
		re, problem := expression(v)
		if problem != "" {
			return nil, problem
		}
		all = append(all, re)
	}
	return forEnumerators(func(name string) bool {
		return slices.ContainsFunc(all, func(re *regexp.Regexp) bool { return re.MatchString(name) })
	}), ""
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
