package cause

import (
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Intersect returns the requirement that satisfies two requirements of one package:
// torch>=2.5,<2.6 for torch>=2.5 and torch<2.6. ok is false if they contradict each other or
// cannot be parsed.
func Intersect(a, b string) (both string, ok bool) {
	p, err := pkgmeta.ParseRequirement(a)
	if err != nil {
		return "", false
	}
	q, err := pkgmeta.ParseRequirement(b)
	if err != nil || p.Name != q.Name {
		return "", false
	}
	var clauses set[string]
	var low, high bound
	for part := range strings.SplitSeq(p.Spec+","+q.Spec, ",") {
		part = strings.ReplaceAll(strings.TrimSpace(part), " ", "")
		switch {
		case part == "":
		case strings.HasPrefix(part, ">"):
			low.tighten(part, 1)
		case strings.HasPrefix(part, "<"):
			high.tighten(part, -1)
		default:
			clauses.add(part)
		}
	}
	parts := append(append(low.clauses(), high.clauses()...), clauses.list...)
	spec, err := pkgmeta.ParseSpec(strings.Join(parts, ","))
	if err != nil {
		return "", false
	}
	if v, pinned := spec.Pin(); pinned {
		return p.Name + "==" + v.String(), spec.Admits(v)
	}
	if low.text != "" && high.text != "" {
		c := low.version.Compare(high.version)
		if c > 0 || c == 0 && (low.strict || high.strict) {
			return "", false
		}
	}
	return p.Name + strings.Join(parts, ","), true
}

// bound is the tightest lower or upper bound so far.
type bound struct {
	text    string
	version pkgmeta.Version
	strict  bool
}

// tighten replaces b if a bound is tighter: higher for direction 1, lower for -1.
func (b *bound) tighten(clause string, direction int) {
	v, err := pkgmeta.ParseVersion(strings.TrimLeft(clause, "<>="))
	if err != nil {
		return
	}
	strict := !strings.Contains(clause[:2], "=")
	c := direction * v.Compare(b.version)
	if b.text == "" || c > 0 || c == 0 && strict {
		b.text, b.version, b.strict = clause, v, strict
	}
}

func (b *bound) clauses() []string {
	if b.text == "" {
		return nil
	}
	return []string{b.text}
}
