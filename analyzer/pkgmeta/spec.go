package pkgmeta

import (
	"fmt"
	"slices"
	"strings"
)

// Spec is a set of version clauses that all have to hold. The zero value, and "", takes every
// version that is no pre-release.
type Spec struct {
	text    string
	clauses []clause
}

type clause struct {
	op      string // "==", "!=", "<=", ">=", "<", ">", "~=", "==="
	version Version
	prefix  bool   // ".*" stood behind it
	text    string // for ===
}

var operators = []string{"===", "==", "!=", "<=", ">=", "~=", "<", ">"} // longest first

// ParseSpec reads ">=12.1,<13" or ""; empty clauses between commas are dropped, as installers do.
//
// The function returns an error unless: each clause begins with an operator of PEP 440; its version
// is valid; ".*" stands only behind == or !=, and behind a plain release; a local part stands only
// behind == or !=; ~= has two numbers at least; the whole has at most 8 KiB.
func ParseSpec(s string) (Spec, error) {
	if len(s) > maxRequirement {
		return Spec{}, fmt.Errorf(
			"version range %s: longer than %d bytes",
			quote(s),
			maxRequirement,
		)
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
	if i < 0 {
		return clause{}, fmt.Errorf("does not start with one of ==, !=, <=, >=, <, >, ~=, ===")
	}
	c := clause{op: operators[i]}
	c.text = strings.TrimSpace(s[len(c.op):])
	if c.op == "===" {
		if strings.ContainsAny(c.text, " \t\n\r\f\v;)") {
			return clause{}, fmt.Errorf("has a space, semicolon or parenthesis after ===")
		}
		c.version, _ = ParseVersion(c.text) // need not be one: === compares text
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

// String is the range as it was written, without space around it.
func (s Spec) String() string { return s.text }

// Contains tells whether v is in the range. A pre-release is only where a clause other than !=
// names one.
func (s Spec) Contains(v Version) bool {
	return s.Admits(v) &&
		(!v.IsPreRelease() || slices.ContainsFunc(s.clauses, clause.namesPreRelease))
}

// Admits is Contains for a version that is there already: whether it is a pre-release does not
// count.
func (s Spec) Admits(v Version) bool {
	return !slices.ContainsFunc(s.clauses, func(c clause) bool { return !c.admits(v) })
}

// Pin is the version that a single "==" or "===" clause without ".*" names. ok is false where there
// is none.
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

// admits follows PEP 440, "Version specifiers", in the reading of packaging 26.
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
		return v.Public().Compare(w) <= 0 // 1.0+cu124 is within <=1.0
	case "<":
		if !w.IsPreRelease() {
			w.dev = 0 // 1.0rc1 is not within <1.0
		}
		return v.Compare(w) < 0
	case ">":
		switch { // neither 1.0.post1 nor 1.0+cu124 is within >1.0
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
		return v.Public().Compare(c.version) == 0 // ==2.6.0 takes 2.6.0+cu124
	}
	return v.Compare(c.version) == 0
}

// within tells whether a version's release begins with prefix, zeros added where it is shorter.
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
