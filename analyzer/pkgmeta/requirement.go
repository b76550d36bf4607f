package pkgmeta

import (
	"fmt"
	"slices"
	"strings"
)

// Requirement is a dependency specifier (PEP 508).
type Requirement struct {
	Name   string   // normalised
	Extras []string // normalised and sorted; may be nil
	Spec   string   // version specifier as written, without parentheses; "" allows any version
	Marker string   // as written; "" always applies
	URL    string   // of `name @ url`, otherwise ""; never fetched
	Raw    string   // the requirement as written
}

// String returns the requirement as written.
func (r Requirement) String() string { return r.Raw }

// Pin returns the version of a requirement such as NAME==VERSION. ok is false if it pins none.
func (r Requirement) Pin() (v Version, ok bool) {
	spec, err := ParseSpec(r.Spec)
	if err != nil {
		return Version{}, false
	}
	return spec.Pin()
}

// Admits reports whether an installed version satisfies the requirement; see Spec.Admits. It is
// false if the specifier is invalid, which that of ParseRequirement never is.
func (r Requirement) Admits(v Version) bool {
	spec, err := ParseSpec(r.Spec)
	return err == nil && spec.Admits(v)
}

// ParseRequirement reads `torch[opt]>=2.0,<3; python_version >= "3.9"`, also with the specifier in
// parentheses, and `name @ url ; marker`.
//
// It returns an error unless the requirement has at most 8 KiB and its name, extras, specifier (see
// ParseSpec) and marker are valid.
func ParseRequirement(s string) (Requirement, error) {
	fail := func(format string, args ...any) (Requirement, error) {
		return Requirement{}, fmt.Errorf("requirement %s: %w", quote(s), fmt.Errorf(format, args...))
	}
	if len(s) > maxRequirement {
		return fail("longer than %d bytes", maxRequirement)
	}
	r := Requirement{Raw: strings.TrimSpace(s)}
	end := strings.IndexFunc(
		r.Raw,
		func(c rune) bool { return c > 127 || !alnum(byte(c)) && !strings.ContainsRune("-_.", c) },
	)
	if end < 0 {
		end = len(r.Raw)
	}
	name, rest := r.Raw[:end], strings.TrimLeft(r.Raw[end:], " \t")
	if !validName(name) {
		return fail("does not start with a project name")
	}
	r.Name = Normalize(name)
	if inner, ok := strings.CutPrefix(rest, "["); ok {
		list, after, ok := strings.Cut(inner, "]")
		if !ok {
			return fail("the extras have no closing bracket")
		}
		for extra := range strings.SplitSeq(list, ",") {
			if extra = strings.Trim(extra, " \t"); extra == "" && strings.Trim(list, " \t") == "" {
				break
			} else if !validName(extra) {
				return fail("invalid extra %s", quote(extra))
			} else if extra = Normalize(extra); !slices.Contains(r.Extras, extra) {
				r.Extras = append(r.Extras, extra)
			}
		}
		slices.Sort(r.Extras)
		rest = strings.TrimLeft(after, " \t")
	}
	var marker string
	var marked bool
	if at, ok := strings.CutPrefix(rest, "@"); ok {
		at = strings.TrimLeft(at, " \t")
		end := strings.IndexAny(at, " \t")
		if end < 0 {
			end = len(at)
		}
		r.URL, rest = at[:end], strings.TrimLeft(at[end:], " \t")
		if r.URL == "" {
			return fail("has no URL after @")
		}
		if rest != "" {
			if marker, marked = strings.CutPrefix(rest, ";"); !marked {
				return fail("has %s after the URL", quote(rest))
			}
		}
	} else {
		var spec string
		spec, marker, marked = strings.Cut(rest, ";")
		spec = strings.Trim(spec, " \t")
		if inner, ok := strings.CutPrefix(spec, "("); ok {
			if spec, ok = strings.CutSuffix(inner, ")"); !ok {
				return fail("the version range has no closing parenthesis")
			}
			spec = strings.Trim(spec, " \t")
		}
		if _, err := ParseSpec(spec); err != nil {
			return fail("%w", err)
		}
		r.Spec = spec
	}
	if marked {
		r.Marker = strings.Trim(marker, " \t")
		if _, err := parseMarker(r.Marker); err != nil {
			return fail("%w", err)
		}
	}
	return r, nil
}

// Applies reports whether the marker is true in env, for a user who requested the given extras of
// the package that has the requirement. A marker with an invalid comparison is an error.
func (r Requirement) Applies(env MarkerEnv, extras ...string) (bool, error) {
	if r.Marker == "" {
		return true, nil
	}
	m, err := parseMarker(r.Marker)
	if err != nil {
		return false, fmt.Errorf("requirement %s: %w", quote(r.Raw), err)
	}
	if len(extras) == 0 {
		extras = []string{""}
	}
	for _, extra := range extras {
		ok, err := m.eval(env, Normalize(extra))
		if err != nil {
			return false, fmt.Errorf("requirement %s: %w", quote(r.Raw), err)
		}
		if ok {
			return true, nil
		}
	}
	return false, nil
}
