package abi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// members returns the members of a structure that changed, in old and in new; ok is false for
// another change.
func (x *subject) members() (before, after []field, ok bool) {
	if x.about == nil || x.about.a == 0 || x.about.b == 0 {
		return nil, nil, false
	}
	a, b := &x.about.old.Types[x.about.a], &x.about.new.Types[x.about.b]
	if !a.composite() || !b.composite() {
		return nil, nil, false
	}
	return x.about.old.fields(a), x.about.new.fields(b), true
}

// hasMembers is a condition that a type has members.
func hasMembers(value string) (func(*subject) bool, string) {
	names := list(value)
	return func(x *subject) bool {
		before, _, ok := x.members()
		return ok && !slices.ContainsFunc(names, func(n string) bool { return find(before, n) == nil })
	}, ""
}

func find(all []field, name string) *field {
	i := slices.IndexFunc(all, func(f field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func hasMemberLike(value string) (func(*subject) bool, string) {
	re, problem := expression(value)
	return func(x *subject) bool {
		before, _, ok := x.members()
		return ok && slices.ContainsFunc(before, func(f field) bool { return re.MatchString(f.Name) })
	}, problem
}

// flexibleArray is a condition that the last member was an array of one element or none, and is
// one of any number.
func flexibleArray(value string) (func(*subject) bool, string) {
	if value != "yes" && value != "true" {
		return func(*subject) bool { return true }, ""
	}
	return func(x *subject) bool {
		before, after, ok := x.members()
		if !ok || len(before) == 0 || len(before) != len(after) {
			return false
		}
		m, n := before[len(before)-1], after[len(after)-1]
		was, _ := x.about.old.dimensions(m.Type)
		is, _ := x.about.new.dimensions(n.Type)
		return m.Name == n.Name && len(was) > 0 && was[0] >= 0 && was[0] <= 1 &&
			len(is) > 0 && is[0] < 0
	}, ""
}

// accessedThrough is a condition that a type is used in one way only.
func accessedThrough(value string) (func(*subject) bool, string) {
	ways := map[string]access{
		"direct": direct, "pointer": throughPointer, "reference": throughReference,
		"reference-or-pointer": throughPointer | throughReference,
	}
	way, ok := ways[value]
	if !ok {
		return nil, "is direct, pointer, reference or reference-or-pointer"
	}
	return func(x *subject) bool {
		return x.about != nil && x.about.access != 0 && x.about.access&^way == 0
	}, ""
}

// bitPosition returns an offset in a structure, in bits; ok is false if it has no such member.
type bitPosition func(x *subject, before []field) (bits uint64, ok bool)

var offsetFunction = lazyregexp.New(`^(offset_\w+)\s*\(\s*(.*?)\s*\)$`)

// parsePosition parses a number of bits, end, or a function of a member.
func parsePosition(text string) (bitPosition, string) {
	if text == "end" {
		return func(x *subject, _ []field) (uint64, bool) {
			return 8 * x.about.old.Types[x.about.a].Size, true
		}, ""
	}
	if n, err := strconv.ParseUint(text, 0, 62); err == nil {
		return func(*subject, []field) (uint64, bool) { return n, true }, ""
	}
	m := offsetFunction.FindStringSubmatch(text)
	if m == nil {
		return nil, "has a position that is not a number of bits, end or a function: " + text
	}
	after, last, match := false, false, func(name string) bool { return name == m[2] }
	switch m[1] {
	case "offset_of":
	case "offset_after":
		after = true
	case "offset_of_first_data_member_regexp", "offset_of_last_data_member_regexp":
		re, problem := expression(m[2])
		if problem != "" {
			return nil, problem
		}
		last, match = strings.Contains(m[1], "last"), re.MatchString
	default:
		return nil, "has an unknown function " + m[1]
	}
	return func(_ *subject, before []field) (at uint64, ok bool) {
		for i := range before {
			f := &before[i]
			if !match(f.Name) {
				continue
			}
			if at, ok = f.Offset, true; after {
				at += f.bits
			}
			if !last {
				break
			}
		}
		return at, ok
	}, ""
}

// insertedAt is a condition that members were inserted at an offset or after it, as libabigail
// reads the property.
func insertedAt(value string) (func(*subject) bool, string) {
	at, problem := parsePosition(value)
	return inserted([][2]bitPosition{{at, nil}}), problem
}

// insertedBetween is a condition that members were inserted in ranges: {begin, end}, or a list of
// such.
func insertedBetween(value string) (func(*subject) bool, string) {
	var ranges [][2]bitPosition
	text := strings.TrimSpace(value)
	inner, ok := strings.CutPrefix(text, "{")
	if ok && strings.HasPrefix(strings.TrimSpace(inner), "{") {
		text = strings.TrimSuffix(inner, "}")
	}
	for _, part := range strings.Split(text, "}") {
		part = strings.Trim(part, "{, \t")
		if part == "" {
			continue
		}
		from, to, ok := strings.Cut(part, ",")
		if !ok {
			return nil, "has a range without an end"
		}
		var r [2]bitPosition
		for i, text := range []string{from, to} {
			p, problem := parsePosition(strings.TrimSpace(text))
			if problem != "" {
				return nil, problem
			}
			if r[i] = p; i == 1 && strings.TrimSpace(text) == "end" {
				r[i] = nil
			}
		}
		ranges = append(ranges, r)
	}
	return inserted(ranges), ""
}

// inserted is a condition that members were inserted, all in one of the ranges, and that the size
// of the structure is the same, or grew where has_size_change says so. The end of a range may be
// nil for no end.
func inserted(ranges [][2]bitPosition) func(*subject) bool {
	return func(x *subject) bool {
		before, after, ok := x.members()
		if !ok {
			return false
		}
		was, is := x.about.old.Types[x.about.a].Size, x.about.new.Types[x.about.b].Size
		if was != is && !x.resized || is < was {
			return false
		}
		any := false
		for i := range after {
			if find(before, after[i].Name) != nil {
				continue
			}
			any = true
			if !slices.ContainsFunc(ranges, func(r [2]bitPosition) bool {
				return contains(r, x, before, after[i].Offset)
			}) {
				return false
			}
		}
		return any
	}
}

// contains reports whether an offset is in a range.
func contains(r [2]bitPosition, x *subject, before []field, offset uint64) bool {
	from, ok := r[0](x, before)
	if !ok || offset < from {
		return false
	}
	if r[1] == nil {
		return true
	}
	to, ok := r[1](x, before)
	return ok && offset <= to
}

// sides calls use with the type of what changed in the old library and in the new one, as far as
// they are known. libabigail suppresses what matches on either side.
func (x *subject) sides(use func(l *Library, id TypeID)) {
	if x.about == nil {
		return
	}
	if x.about.a != 0 {
		use(x.about.old, x.about.a)
	}
	if x.about.b != 0 {
		use(x.about.new, x.about.b)
	}
}

// variableType returns the spellings of the types of a variable that changed.
func variableType(x *subject) (names []string) {
	x.sides(func(l *Library, id TypeID) {
		if l.Types[id].Kind != Function {
			names = append(names, l.spellings(id)...)
		}
	})
	return names
}

// returnType returns the spellings of the types that a function returned and returns.
func returnType(x *subject) (names []string) {
	x.sides(func(l *Library, id TypeID) {
		if f := &l.Types[id]; f.Kind == Function {
			names = append(names, l.spellings(f.Elem)...)
		}
	})
	return names
}

// spellings returns the forms of a type's name: int, unsigned int*, unsigned int *.
func (l *Library) spellings(id TypeID) []string {
	name, _, _ := strings.Cut(l.spell(id), " (")
	for _, kind := range []string{"struct ", "union ", "enum "} {
		name = strings.TrimPrefix(name, kind)
	}
	return []string{name, strings.ReplaceAll(strings.ReplaceAll(name, " *", "*"), " &", "&")}
}

var parameterValue = lazyregexp.New(`^'?\s*([0-9]+)\s+(.+)$`)

// hasParameter is a condition that a function has a parameter of a type: its index, and the name of
// the type, or a regular expression between slashes.
func hasParameter(value string) (func(*subject) bool, string) {
	m := parameterValue.FindStringSubmatch(value)
	if m == nil {
		return nil, "is not an apostrophe, an index and a type"
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return nil, "has an index that is too large"
	}
	match := func(name string) bool { return name == m[2] }
	if strings.HasPrefix(m[2], "/") && strings.HasSuffix(m[2], "/") && len(m[2]) > 1 {
		re, problem := expression(m[2][1 : len(m[2])-1])
		if problem != "" {
			return nil, problem
		}
		match = re.MatchString
	}
	return func(x *subject) (found bool) {
		x.sides(func(l *Library, id TypeID) {
			f := &l.Types[id]
			at := n
			if len(f.Params) > 0 && f.Params[0].Name == "this" { // is not counted
				at++
			}
			found = found || f.Kind == Function && at < len(f.Params) &&
				slices.ContainsFunc(l.spellings(f.Params[at].Type), match)
		})
		return found
	}, ""
}
