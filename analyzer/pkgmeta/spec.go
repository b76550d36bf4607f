package pkgmeta

import (
	"fmt"
	"slices"
	"strings"
)

// Spec is a version specifier: clauses that must all match. The zero value, and "", matches every
// version that is not a pre-release.
type Spec struct {
	text    string
	clauses []clause
}

type clause struct {
	op      string // "==", "!=", "<=", ">=", "<", ">", "~=", "==="
	version Version
	prefix  bool   // followed by ".*"
	text    string // the version as written, for ===
}

var operators = []string{"===", "==", "!=", "<=", ">=", "~=", "<", ">"} // longest first

// ParseSpec parses a specifier such as ">=12.1,<13" or "". Empty clauses are ignored, as installers
// do.
//
// It returns an error unless the specifier has at most 8 KiB, each clause has an operator of PEP
// 440 and a valid version, ".*" follows only a release number after == or !=, a local version
// occurs only after == or !=, and ~= has at least two numbers.
func ParseSpec(s string) (Spec, error) {
	if len(s) > maxRequirement {
		return Spec{}, fmt.Errorf("version range %s: longer than %d bytes", quote(s), maxRequirement)
	}
	spec := Spec{text: strings.TrimSpace(s)}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		c, err := parseClause(part)
		if err != nil {
			return Spec{}, fmt.Errorf("version range %s: %w", quote(part), err)
		}
		spec.clauses = append(spec.clauses, c)
	}
	return spec, nil
}

func parseClause(s string) (clause, error) {
	i := slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(s, op) })
	if i < 0 && strings.HasPrefix(s, "=") {
		return clause{}, fmt.Errorf("needs == instead of =")
	}
	if i < 0 {
		return clause{}, fmt.Errorf("does not start with one of ==, !=, <=, >=, <, >, ~=, ===")
	}
	c := clause{op: operators[i]}
	c.text = strings.TrimSpace(s[len(c.op):])
	if c.op == "===" {
		if strings.ContainsAny(c.text, " \t\n\r\f\v;)") {
			return clause{}, fmt.Errorf("has a space, semicolon or parenthesis after ===")
		}
		c.version, _ = ParseVersion(c.text) // === compares text, so the version may be invalid
		return c, nil
	}
	equality := c.op == "==" || c.op == "!="
	text, prefix := strings.CutSuffix(c.text, ".*")
	v, err := ParseVersion(text)
	if err != nil {
		return clause{}, err
	}
	c.version, c.prefix = v, prefix
	switch {
	case prefix && !equality:
		return clause{}, fmt.Errorf("has .* after %s; only == and != allow it", c.op)
	case prefix && (v.pre != "" || v.post >= 0 || v.dev >= 0 || v.local != nil):
		return clause{}, fmt.Errorf("has .* after more than a release number")
	case v.local != nil && !equality:
		return clause{}, fmt.Errorf(
			"has a local version (+%s) after %s; only == and != allow it",
			v.Local(),
			c.op,
		)
	case c.op == "~=" && len(v.release) < 2:
		return clause{}, fmt.Errorf("~= needs at least two numbers, as in ~=2.2")
	}
	return c, nil
}

// String returns the specifier as it was written, without surrounding space.
func (s Spec) String() string { return s.text }

// Contains reports whether v matches. A pre-release matches only if a clause other than != names a
// pre-release.
func (s Spec) Contains(v Version) bool {
	return s.Admits(v) &&
		(!v.IsPreRelease() || slices.ContainsFunc(s.clauses, clause.namesPreRelease))
}

// Admits is like Contains, but for an installed version: pre-releases are treated like others.
func (s Spec) Admits(v Version) bool {
	return !slices.ContainsFunc(s.clauses, func(c clause) bool { return !c.admits(v) })
}

// Below reports whether a clause admits only versions that are older than v.
func (s Spec) Below(v Version) bool {
	return slices.ContainsFunc(s.clauses, func(c clause) bool {
		switch c.op {
		case "<", "<=", "==", "===", "~=":
			return !c.admits(v) && c.version.Compare(v) <= 0
		}
		return false
	})
}

// Keeping returns s with what an older specifier says that s does not: a bound at the end where s
// has none, and releases that are left out. "<2" keeping ">=1.22,!=1.24.0,<3" is
// ">=1.22,!=1.24.0,<2". Clauses that s contradicts, and pins, are not kept.
func (s Spec) Keeping(old Spec) Spec {
	var lower, upper *clause // of s
	for i, c := range s.clauses {
		switch c.op {
		case ">=", ">":
			lower = &s.clauses[i]
		case "<", "<=":
			upper = &s.clauses[i]
		case "!=":
		default: // it is as narrow as it can be
			return s
		}
	}
	var kept []string
	for _, c := range old.clauses {
		from, to := c.op == ">=" || c.op == ">", c.op == "<" || c.op == "<="
		if c.op == "~=" || c.op == "==" && c.prefix {
			from, to = true, true
		}
		switch {
		case c.op == "!=":
		case !from && !to,
			from && (lower != nil && !to || upper != nil && !upper.admits(c.version)),
			to && (upper != nil && !from || lower != nil && !c.admits(lower.version)):
			continue
		}
		text := c.op + c.text
		if !slices.ContainsFunc(s.clauses, func(own clause) bool { return own.op+own.text == text }) {
			kept = append(kept, text)
		}
	}
	both, _ := ParseSpec(strings.Join(append(kept, s.text), ",")) // of valid clauses
	return both
}

// Pin returns the version of an "==" or "===" clause without ".*". ok is false if there is none.
func (s Spec) Pin() (v Version, ok bool) {
	for _, c := range s.clauses {
		if (c.op == "==" || c.op == "===") && !c.prefix && len(c.version.release) > 0 {
			return c.version, true
		}
	}
	return Version{}, false
}

func (c clause) namesPreRelease() bool {
	return c.op != "!=" && !c.prefix &&
		c.version.IsPreRelease()
}

// admits implements PEP 440, "Version specifiers", with the results of packaging 26.
func (c clause) admits(v Version) bool {
	w := c.version
	switch c.op {
	case "==":
		return c.equal(v)
	case "!=":
		return !c.equal(v)
	case ">=":
		return v.Compare(w) >= 0
	case "<=":
		return v.Public().Compare(w) <= 0 // <=1.0 matches 1.0+cu124
	case "<":
		if !w.IsPreRelease() {
			w.dev = 0 // <1.0 does not match 1.0rc1
		}
		return v.Compare(w) < 0
	case ">":
		switch { // >1.0 matches neither 1.0.post1 nor 1.0+cu124
		case w.dev >= 0:
			w.dev++
			return v.Compare(w) >= 0
		case w.post >= 0:
			w.post, w.dev = w.post+1, 0
			return v.Compare(w) >= 0
		}
		same := v.epoch == w.epoch && slices.Equal(trimmed(v.release), trimmed(w.release)) &&
			v.pre == w.pre &&
			v.preN == w.preN
		return v.Compare(w) > 0 && !same
	case "~=":
		return v.Compare(w) >= 0 && within(v, w.epoch, w.release[:len(w.release)-1])
	}
	return strings.EqualFold(v.String(), c.text)
}

func (c clause) equal(v Version) bool {
	switch {
	case c.prefix:
		return within(v, c.version.epoch, c.version.release)
	case c.version.local == nil:
		return v.Public().Compare(c.version) == 0 // ==2.6.0 matches 2.6.0+cu124
	}
	return v.Compare(c.version) == 0
}

// within reports whether a version's release, padded with zeros, begins with prefix.
func within(v Version, epoch int64, prefix []int64) bool {
	if v.epoch != epoch {
		return false
	}
	for i, n := range prefix {
		if i < len(v.release) && v.release[i] != n || i >= len(v.release) && n != 0 {
			return false
		}
	}
	return true
}
