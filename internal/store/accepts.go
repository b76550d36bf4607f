package store

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/worker"
)

// Accepted is a set of findings that a maintainer accepted for one pull request, by a command or a
// button. It contains the findings of the report that was the newest when the command was written,
// no later ones, and also applies to later heads.
type Accepted struct {
	What    string `json:"what"` // a symbol, rule, library or package, as written in the command
	Because string `json:"because"`
	Until   string `json:"until,omitempty"` // YYYY-MM-DD
	By      string `json:"by"`              // login
	On      string `json:"on"`              // YYYY-MM-DD
	// Base is the base branch to which it applies; "" = any, because an earlier release did not
	// store it.
	Base     string    `json:"base,omitempty"`
	Findings []Finding `json:"findings"`
	Missing  []string  `json:"missing,omitempty"` // names of comment.Missing
}

// Finding identifies a finding across reports.
type Finding struct {
	Rule    string `json:"rule"`
	Object  string `json:"object"`
	Symbol  string `json:"symbol,omitempty"`
	Version string `json:"version,omitempty"`
	Library string `json:"library,omitempty"`
	Package string `json:"package,omitempty"` // normalized name; does not identify the finding
}

// FindingOf returns the identity of a finding in a report.
func FindingOf(f *analyzer.Finding) Finding {
	return Finding{
		Rule:    f.Rule,
		Object:  f.Object,
		Symbol:  f.Symbol,
		Version: f.Version,
		Library: f.Library,
		Package: f.Package,
	}
}

// Findings returns the distinct findings of a report, including accepted ones, which may be
// accepted again for another reason. A nil report has none.
func Findings(r *analyzer.Report) (out []Finding) {
	if r == nil {
		return nil
	}
	seen := map[string]bool{}
	add := func(f *analyzer.Finding) {
		if id := f.Identity(); !seen[id] {
			seen[id] = true
			out = append(out, FindingOf(f))
		}
	}
	for i := range r.Findings {
		add(&r.Findings[i])
	}
	for i := range r.Accepted {
		add(&r.Accepted[i].Finding)
	}
	return out
}

// Matches reports whether a word in a command means the finding: its rule, its package, its symbol
// with or without version, or, if it has no symbol, its library or version.
func (f Finding) Matches(word string) bool {
	return word != "" &&
		(word == f.Rule || pkgmeta.Normalize(word) == f.Package ||
			analyzer.NamesSymbol(word, f.Symbol) || word == f.Symbol+"@"+f.Version ||
			f.Symbol == "" && (word == f.Library || word == f.Version))
}

// Options converts an Accepted to options of the analyzer.
func (a *Accepted) Options() (out []analyzer.Accept) {
	for _, f := range a.Findings {
		id := analyzer.Finding{
			Rule:    f.Rule,
			Object:  f.Object,
			Symbol:  f.Symbol,
			Version: f.Version,
			Library: f.Library,
		}
		out = append(out, analyzer.Accept{
			Finding: id.Identity(),
			Because: a.Because,
			Until:   a.Until,
			By:      a.By + ", " + a.On,
		})
	}
	return out
}

const (
	acceptTTL   = 365 * 24 * time.Hour // acceptances of older pull requests are lost
	maxAccepts  = 200                  // per pull request
	maxFindings = 20_000               // accepted findings per pull request
)

func acceptKey(subject string) string { return "accept/" + subject }

// Accepts lists the acceptances of a pull request.
func (s *Store) Accepts(ctx context.Context, subject string) ([]Accepted, error) {
	data, err := s.Queue.Get(ctx, acceptKey(subject))
	if err != nil {
		return nil, worker.Internal(fmt.Errorf("store: read what was accepted: %w", err))
	}
	if data == nil {
		return nil, nil
	}
	var as []Accepted
	if err := json.Unmarshal(data, &as); err != nil {
		return nil, worker.Permanent("What was accepted by commands cannot be read.")
	}
	return as, nil
}

// AcceptsInForce lists the acceptances that have not expired and apply to the base branch.
func (s *Store) AcceptsInForce(ctx context.Context, subject, base string) ([]Accepted, error) {
	as, err := s.Accepts(ctx, subject)
	today := s.Today()
	return slices.DeleteFunc(as, func(a Accepted) bool {
		return a.Until != "" && today > a.Until || a.Base != "" && a.Base != base
	}), err
}

// Accept adds acceptances to a pull request. Each finding is accepted once per base, with the
// newest reason.
func (s *Store) Accept(ctx context.Context, subject string, more ...Accepted) error {
	change := func(as []Accepted) ([]Accepted, bool, error) {
		type entry struct {
			Finding
			base string
		}
		type absence struct{ name, base string }
		replaced, absent := map[entry]bool{}, map[absence]bool{}
		for _, a := range more {
			for _, f := range a.Findings {
				replaced[entry{f, a.Base}] = true
			}
			for _, name := range a.Missing {
				absent[absence{name, a.Base}] = true
			}
		}
		as = append(without(as, func(a *Accepted, f Finding) bool {
			return replaced[entry{f, a.Base}]
		}, func(a *Accepted, name string) bool {
			return absent[absence{name, a.Base}]
		}), more...)
		findings := 0
		for _, a := range as {
			findings += len(a.Findings) + len(a.Missing)
		}
		if len(as) > maxAccepts || findings > maxFindings {
			return nil, false, worker.Permanent(fmt.Sprintf(
				"%d findings in %d acceptances are more than one pull request may have; "+
					"accept them in .github/compat.yml.",
				findings, len(as),
			))
		}
		return as, true, nil
	}
	return update(ctx, s, acceptKey(subject), acceptTTL, change)
}

// Revoke removes the findings and missing things that a word matches from the acceptances of a pull
// request. It returns false if there are none.
func (s *Store) Revoke(ctx context.Context, subject, word string) (found bool, err error) {
	change := func(as []Accepted) ([]Accepted, bool, error) {
		found = false
		as = without(as, func(_ *Accepted, f Finding) bool {
			is := f.Matches(word)
			found = found || is
			return is
		}, func(_ *Accepted, name string) bool {
			is := NamesMissing(word, name)
			found = found || is
			return is
		})
		return as, found, nil
	}
	err = update(ctx, s, acceptKey(subject), acceptTTL, change)
	return found, err
}

// NamesMissing reports whether words of a command mean something missing: its name, or a glob of
// it.
func NamesMissing(words, name string) bool {
	ok, err := path.Match(words, name)
	return words == name || err == nil && ok
}

// without removes findings and missing things, and acceptances that have none left.
func without(
	as []Accepted,
	drop func(*Accepted, Finding) bool,
	dropMissing func(*Accepted, string) bool,
) (out []Accepted) {
	for _, a := range as {
		a.Findings = slices.DeleteFunc(
			slices.Clone(a.Findings),
			func(f Finding) bool { return drop(&a, f) },
		)
		a.Missing = slices.DeleteFunc(
			slices.Clone(a.Missing),
			func(name string) bool { return dropMissing(&a, name) },
		)
		if len(a.Findings) > 0 || len(a.Missing) > 0 {
			out = append(out, a)
		}
	}
	return out
}
