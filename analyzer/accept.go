package analyzer

import (
	"fmt"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// field is a field of an Accept that a finding does not match.
type field struct {
	name string
	want string
	have string // of the finding
}

// NamesSymbol reports whether a name is that of a symbol: as it is in the file, demangled, or as
// reports show it, without parameters.
func NamesSymbol(name, symbol string) bool { return cause.Names(name, symbol) }

// fields returns the fields that select findings, with their values in a finding.
func (a *Accept) fields(f *Finding) (out []field) {
	for _, x := range []field{
		{"rule", a.Rule, f.Rule},
		{"package", pkgmeta.Normalize(a.Package), f.Package},
		{"symbol", a.Symbol, f.Symbol},
		{"library", a.Library, f.Library},
		{"object", a.Object, f.Object},
	} {
		if x.want != "" {
			out = append(out, x)
		}
	}
	return out
}

// differences returns the fields that a finding does not match.
func (a *Accept) differences(f *Finding) (out []field) {
	for _, x := range a.fields(f) {
		if x.want != x.have && (x.name != "symbol" || !NamesSymbol(x.want, x.have)) {
			out = append(out, x)
		}
	}
	return out
}

// alike reports whether a value is another name of what a finding has: another version of a
// library, a file of the same name, or the symbol with its version or without its scope.
func (x field) alike(f *Finding) bool {
	switch x.name {
	case "library":
		return platform.Stem(x.want) == platform.Stem(x.have)
	case "object":
		return path.Base(x.want) == path.Base(x.have)
	case "symbol":
		name, version, _ := strings.Cut(x.want, "@")
		return name == f.Symbol && version == f.Version ||
			strings.HasSuffix(cause.Short(f.Symbol, f.Demangled), "::"+x.want)
	}
	return false
}

// unused returns the entries of the configuration file that match no finding. There are none if
// something could not be checked, because they may match what is not known.
func (o *Options) unused(r *Report) (out []*Accept) {
	if len(r.Unread) > 0 || len(r.Artifacts) == 0 {
		return nil
	}
	for i := range o.Accept {
		a := &o.Accept[i]
		used := a.At.File == ""
		for n := range r.Findings {
			f := &r.Findings[n]
			used = used || len(a.differences(f)) == 0 && o.Rules[f.Rule] != Off
		}
		if !used {
			out = append(out, a)
		}
	}
	return out
}

// unusedNote says that an entry matches no finding, and why it may be so; "" if that may be as
// intended: the same file is often used for several checks.
func (a *Accept) unusedNote(left []Finding, o Options) string {
	var of []string
	for _, x := range a.fields(&Finding{}) {
		of = append(of, x.name+" "+x.want)
	}
	note := fmt.Sprintf(
		"the entry of accept with %s (%s) matches no finding", strings.Join(of, ", "), a.At,
	)
	for n := range left {
		d := a.differences(&left[n])
		if len(d) == 1 && d[0].have != "" && (len(of) > 1 || d[0].alike(&left[n])) {
			return fmt.Sprintf("%s; one has the %s %s", note, d[0].name, d[0].have)
		}
	}
	switch {
	case !o.Unused:
		return ""
	case a.Until != "" && o.Today > a.Until:
		return note + "; it expired on " + a.Until
	case o.Rules[a.Rule] == Off && a.Rule != "":
		return note + "; the rule is off"
	}
	return note
}
