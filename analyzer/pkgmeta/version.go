package pkgmeta

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// Version is a PEP 440 version. The zero value is not a version; use ParseVersion.
type Version struct {
	epoch   int64
	release []int64
	pre     string // "a", "b", "rc" or ""
	preN    int64
	post    int64 // -1: none
	dev     int64 // -1: none
	local   []string
}

// The regular expression of PEP 440, appendix B, for lower case input.
var versionPattern = lazyregexp.New(`^v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*)` +
	`(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?([0-9]+)?)?` +
	`(?:-([0-9]+)|[-_.]?(post|rev|r)[-_.]?([0-9]+)?)?` +
	`(?:[-_.]?(dev)[-_.]?([0-9]+)?)?` +
	`(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$`)

// segments returns the submatches of versionPattern, or nil if it does not match. Most versions are
// a release segment alone, which needs no regular expression: lists of 10,000 pins are common.
func segments(s string) []string {
	if s == "" || strings.Trim(s, "0123456789.") != "" ||
		strings.HasPrefix(s, ".") || strings.HasSuffix(s, ".") || strings.Contains(s, "..") {
		return versionPattern.FindStringSubmatch(s)
	}
	m := make([]string, 11)
	m[2] = s
	return m
}

// ParseVersion parses any spelling that PEP 440 accepts ("v1.0-Beta.2", "2.6.0+cu124"), ignoring
// surrounding space. Versions over 256 bytes and numbers over 18 digits are errors.
func ParseVersion(s string) (Version, error) {
	if len(s) > maxVersion {
		return Version{}, fmt.Errorf("version %s: longer than %d bytes", quote(s), maxVersion)
	}
	m := segments(strings.ToLower(strings.Trim(s, " \t\n\v\f\r")))
	if m == nil {
		return Version{}, fmt.Errorf("version %s: not a PEP 440 version", quote(s))
	}
	v := Version{post: -1, dev: -1}
	var bad bool
	number := func(digits string) int64 {
		if digits == "" {
			return 0
		}
		digits = strings.TrimLeft(digits, "0")
		if len(digits) > 18 {
			bad = true
			return 0
		}
		n, _ := strconv.ParseInt("0"+digits, 10, 64) // 18 digits fit
		return n
	}
	v.epoch = number(m[1])
	for part := range strings.SplitSeq(m[2], ".") {
		v.release = append(v.release, number(part))
	}
	switch m[3] {
	case "a", "alpha":
		v.pre = "a"
	case "b", "beta":
		v.pre = "b"
	case "c", "rc", "pre", "preview":
		v.pre = "rc"
	}
	v.preN = number(m[4])
	switch {
	case m[5] != "":
		v.post = number(m[5])
	case m[6] != "":
		v.post = number(m[7])
	}
	if m[8] != "" {
		v.dev = number(m[9])
	}
	if m[10] != "" {
		v.local = strings.FieldsFunc(m[10], func(r rune) bool { return r == '.' || r == '-' || r == '_' })
		for i, part := range v.local {
			if digits(part) {
				v.local[i] = strconv.FormatInt(number(part), 10)
			}
		}
	}
	if bad {
		return Version{}, fmt.Errorf("version %s: a number in it has more than 18 digits", quote(s))
	}
	return v, nil
}

// digits reports whether a non-empty string consists of digits.
func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// Compare returns -1, 0 or 1, in the order of PEP 440. 1.0 and 1.0.0 are equal; 1.0+cu124 is after
// 1.0.
func (v Version) Compare(w Version) int {
	return cmp.Or(
		cmp.Compare(v.epoch, w.epoch),
		slices.Compare(trimmed(v.release), trimmed(w.release)),
		cmp.Compare(v.preRank(), w.preRank()),
		cmp.Compare(v.preN, w.preN),
		cmp.Compare(v.post, w.post),
		cmp.Compare(uint64(v.dev), uint64(w.dev)), // without one (-1) is after every number
		compareLocal(v.local, w.local),
	)
}

// SameVersion compares two versions as PEP 440 does: 1.0 and 1.0.0 are the same. Of texts that are
// no versions, only equal ones are.
func SameVersion(a, b string) bool {
	if a == b {
		return true
	}
	v, errA := ParseVersion(a)
	w, errB := ParseVersion(b)
	return errA == nil && errB == nil && v.Compare(w) == 0
}

// Key returns the shortest normal form, without zeros at the end of the release segment. It is
// equal for versions that are the same: for 1.0, 1.0.0 and v1, "1". The zero Version gives "".
func (v Version) Key() string {
	if len(v.release) > 0 {
		v.release = v.release[:max(1, len(trimmed(v.release)))]
	}
	return v.String()
}

// preRank orders a development release of a final version before its alphas, and the final version
// after its release candidates.
func (v Version) preRank() int {
	if v.pre == "" && v.post < 0 && v.dev >= 0 {
		return 0
	}
	return 1 + slices.Index([]string{"a", "b", "rc", ""}, v.pre)
}

func trimmed(release []int64) []int64 {
	for len(release) > 0 && release[len(release)-1] == 0 {
		release = release[:len(release)-1]
	}
	return release
}

// compareLocal orders words before numbers, and a shorter list before a longer one that begins so.
func compareLocal(v, w []string) int {
	return slices.CompareFunc(v, w, func(a, b string) int {
		an, bn := digits(a), digits(b)
		switch {
		case an && bn:
			// No leading zeros, so the longer number is larger.
			return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
		case an:
			return 1
		case bn:
			return -1
		}
		return strings.Compare(a, b)
	})
}

// IsPreRelease reports whether v is an alpha, beta, release candidate or development release.
func (v Version) IsPreRelease() bool { return v.pre != "" || v.dev >= 0 }

// Local returns the normalised local version, the part after "+": "cu124"; "" without one.
func (v Version) Local() string { return strings.Join(v.local, ".") }

// Public returns the version without its local version.
func (v Version) Public() Version {
	v.local = nil
	return v
}

// Release returns the release segment: 2.6.0 for 2.6.0rc1+cu124. It must not be modified.
func (v Version) Release() []int64 { return v.release }

// String returns the normal form: "1!2.0rc1.post2.dev3+cu124". The zero Version gives "".
func (v Version) String() string {
	if len(v.release) == 0 {
		return ""
	}
	var b strings.Builder
	if v.epoch != 0 {
		fmt.Fprintf(&b, "%d!", v.epoch)
	}
	for i, n := range v.release {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(strconv.FormatInt(n, 10))
	}
	if v.pre != "" {
		fmt.Fprintf(&b, "%s%d", v.pre, v.preN)
	}
	if v.post >= 0 {
		fmt.Fprintf(&b, ".post%d", v.post)
	}
	if v.dev >= 0 {
		fmt.Fprintf(&b, ".dev%d", v.dev)
	}
	if len(v.local) > 0 {
		b.WriteString("+" + v.Local())
	}
	return b.String()
}
