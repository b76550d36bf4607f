package pkgmeta

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// CondaSpec is a dependency of a conda package: "numpy >=1.22,<2.0a0", "python_abi 3.11.* *_cp311".
type CondaSpec struct {
	Name     string // in lower case
	Version  string // alternatives with "|" of conditions with ","; "" allows any
	Build    string // a name or a pattern with "*"; "" allows any
	versions [][]condaCondition
}

// condaCondition is one condition on a version.
type condaCondition struct {
	operator string // of condaOperator; "" for any version
	version  condaVersion
}

// maxCondaSpec limits the length of a dependency in bytes.
const maxCondaSpec = 1024

// condaName matches the name at the start of a dependency, after which a condition may follow
// without a space.
var condaName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*`)

// condaExact matches a version and a build that "=" joins: "==15.2.0=*_18".
var condaExact = lazyregexp.New(`^==?([^=<>!~|,*]+)=([^=<>!~|,]+)$`)

// ParseCondaSpec parses a dependency in the form of a package's index: NAME [VERSION [BUILD]]. It
// returns an error for the other forms that conda's command line accepts: channels, brackets, and
// regular expressions.
func ParseCondaSpec(text string) (CondaSpec, error) {
	s := CondaSpec{Name: strings.ToLower(condaName.FindString(text))}
	if s.Name == "" || len(text) > maxCondaSpec {
		return s, fmt.Errorf("%.40q is not a dependency", text)
	}
	var fields []string
	for _, f := range strings.Fields(text[len(s.Name):]) {
		last := len(fields) - 1
		if last >= 0 && (strings.Contains("|,<>=!~", fields[last][len(fields[last])-1:]) ||
			strings.Contains("|,", f[:1])) { // ">=1, <2"
			fields[last] += f
		} else {
			fields = append(fields, f)
		}
	}
	if len(fields) == 1 {
		if m := condaExact.FindStringSubmatch(fields[0]); m != nil {
			fields = []string{"==" + m[1], m[2]}
		}
	}
	if len(fields) > 2 || strings.ContainsAny(text, "[]()^$@:;'\"") {
		return s, fmt.Errorf("%q has an unknown form", text)
	}
	if len(fields) == 2 {
		s.Build = fields[1]
	}
	if len(fields) == 0 {
		return s, nil
	}
	s.Version = fields[0]
	for alternative := range strings.SplitSeq(s.Version, "|") {
		var all []condaCondition
		for part := range strings.SplitSeq(alternative, ",") {
			c, err := parseCondaCondition(part)
			if err != nil {
				return s, fmt.Errorf("%q: %w", text, err)
			}
			all = append(all, c)
		}
		s.versions = append(s.versions, all)
	}
	return s, nil
}

// condaOperator matches a condition; one more operator is an error. "!" may follow an epoch.
var condaOperator = lazyregexp.New(`^(==|=|!=|<=|>=|<|>|~=)?([^=<>!~][^=<>~]*)$`)

// parseCondaCondition parses one condition. "=1.2" and "1.2.*" allow 1.2.3; "1.2" does not (conda's
// VersionSpec.get_matcher).
func parseCondaCondition(text string) (c condaCondition, err error) {
	if text == "*" {
		return c, nil
	}
	m := condaOperator.FindStringSubmatch(text)
	if m == nil {
		return c, fmt.Errorf("%q is not a condition", text)
	}
	version := m[2]
	c.operator = m[1]
	prefix, wild := strings.CutSuffix(version, "*")
	if wild {
		version = strings.TrimSuffix(prefix, ".")
	}
	switch {
	case wild && (c.operator == "~=" || c.operator != "" && version == prefix):
		return c, fmt.Errorf("%q is not a condition", text)
	case wild && c.operator == "":
		c.operator = "="
	case wild && c.operator == "!=":
		c.operator = "!=*"
	case c.operator == "":
		c.operator = "=="
	}
	c.version, err = parseCondaVersion(version)
	return c, err
}

// Admits reports whether an installed package satisfies the dependency. build is "" if it is not
// known. It returns an error if the version cannot be compared.
func (s CondaSpec) Admits(version, build string) (bool, error) {
	if s.Build != "" && build != "" {
		ok, err := path.Match(strings.ReplaceAll(s.Build, "?", `\?`), build)
		if err != nil || !ok {
			return false, err
		}
	}
	v, err := parseCondaVersion(version)
	if err != nil || len(s.versions) == 0 {
		return err == nil, err
	}
	return slices.ContainsFunc(s.versions, func(all []condaCondition) bool {
		return !slices.ContainsFunc(all, func(c condaCondition) bool { return !c.admits(v) })
	}), nil
}

func (c condaCondition) admits(v condaVersion) bool {
	order := v.compare(c.version)
	switch c.operator {
	case "=":
		return v.begins(c.version)
	case "!=*":
		return !v.begins(c.version)
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "~=": // the last component may be larger
		of := c.version
		of.release = of.release[:max(len(of.release)-1, 1)]
		return order >= 0 && v.begins(of)
	}
	return true
}

// condaVersion is a version in conda's order (conda.models.version.VersionOrder): components
// between dots, each of numbers and words that alternate and start with a number.
type condaVersion struct {
	release []condaComponent // the first one is the epoch
	local   []condaComponent
}

type condaComponent []condaPart

// condaPart is a number, or a word. A word comes before every number, except "post", which comes
// after all, and "dev" comes before other words.
type condaPart struct {
	number string // without leading zeros; "" is 0
	word   string
	post   bool
}

var (
	condaCharacters = lazyregexp.New(`^[*.+!_0-9a-z]+$`)
	condaParts      = lazyregexp.New(`[0-9]+|[*]+|[^0-9*]+`)
)

func parseCondaVersion(text string) (v condaVersion, err error) {
	bad := fmt.Errorf("%q is not a version of conda", text)
	text = strings.ToLower(strings.TrimSpace(text))
	if !condaCharacters.MatchString(text) && !strings.Contains(text, "_") {
		text = strings.ReplaceAll(text, "-", "_")
	}
	if !condaCharacters.MatchString(text) {
		return v, bad
	}
	epoch, rest, ok := strings.Cut(text, "!")
	if !ok {
		epoch, rest = "0", text
	}
	release, local, hasLocal := strings.Cut(rest, "+")
	if release == "" || strings.Contains(rest, "!") || strings.Contains(local, "+") ||
		strings.Trim(epoch, "0123456789") != "" {
		return v, bad
	}
	last := ""
	if release != "_" && strings.HasSuffix(release, "_") { // like OpenSSL's 1.0.1_
		release, last = release[:len(release)-1], "_"
	}
	list := strings.Split(strings.ReplaceAll(release, "_", "."), ".")
	list[len(list)-1] += last
	if v.release = condaComponents(append([]string{epoch}, list...)); v.release == nil {
		return v, bad
	}
	if hasLocal {
		v.local = condaComponents(strings.Split(strings.ReplaceAll(local, "_", "."), "."))
		if v.local == nil {
			return v, bad
		}
	}
	return v, nil
}

// condaComponents returns nil if a component is empty.
func condaComponents(list []string) (out []condaComponent) {
	for _, text := range list {
		if text == "" {
			return nil
		}
		var c condaComponent
		for _, part := range condaParts.FindAllString(text, -1) {
			if strings.Trim(part, "0123456789") == "" {
				c = append(c, condaPart{number: strings.TrimLeft(part, "0")})
				continue
			}
			if len(c) == 0 {
				c = append(c, condaPart{})
			}
			switch part {
			case "post":
				c = append(c, condaPart{post: true})
			case "dev":
				c = append(c, condaPart{word: "DEV"}) // before words in lower case
			default:
				c = append(c, condaPart{word: part})
			}
		}
		out = append(out, c)
	}
	return out
}

// compare returns -1, 0 or 1. Missing components and parts count as 0.
func (v condaVersion) compare(w condaVersion) int {
	return cmp.Or(compareComponents(v.release, w.release), compareComponents(v.local, w.local))
}

func compareComponents(a, b []condaComponent) int {
	for i := range max(len(a), len(b)) {
		var x, y condaComponent
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		for k := range max(len(x), len(y)) {
			if c := x.part(k).compare(y.part(k)); c != 0 {
				return c
			}
		}
	}
	return 0
}

func (c condaComponent) part(i int) condaPart {
	if i < len(c) {
		return c[i]
	}
	return condaPart{}
}

func (p condaPart) compare(q condaPart) int {
	kind := func(p condaPart) int {
		switch {
		case p.word != "":
			return 0
		case p.post:
			return 2
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(kind(p), kind(q)),
		strings.Compare(p.word, q.word),
		cmp.Compare(len(p.number), len(q.number)),
		strings.Compare(p.number, q.number),
	)
}

// begins reports whether v starts with a version: 1.2.3 with 1.2, and 1.2rc1 with 1.2r.
func (v condaVersion) begins(with condaVersion) bool {
	have, want := v.release, with.release
	if with.local != nil {
		if compareComponents(v.release, with.release) != 0 {
			return false
		}
		have, want = v.local, with.local
	}
	last := len(want) - 1
	if compareComponents(have[:min(last, len(have))], want[:last]) != 0 {
		return false
	}
	var c condaComponent
	if last < len(have) {
		c = have[last]
	}
	n := len(want[last]) - 1
	before := []condaComponent{want[last][:n]}
	if compareComponents([]condaComponent{c[:min(n, len(c))]}, before) != 0 {
		return false
	}
	x, y := c.part(n), want[last][n]
	if y.word != "" {
		return strings.HasPrefix(x.word, y.word)
	}
	return x.compare(y) == 0
}
