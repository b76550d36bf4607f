package analyzer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
)

// Environment is a set of packages that are installed together.
type Environment struct {
	Wheels []Input // those with native code
	// Listed are the wheels that are not checked themselves, because they are pure Python or too
	// large to be fetched. They are listed in the report.
	Listed []Artifact
	With   []string // all packages, as NAME==VERSION
	// Origins are the places where the requirements of With were written, by their text.
	Origins map[string]Origin
	Python  string   // the interpreter, "3.12"
	Unread  []Unread // packages that could not be looked up
	Notes   []string
}

// CheckEnvironment checks whether the packages of an environment load together: each wheel with the
// other packages installed. base is the environment before a change; nil: everything is new. Rules
// about how a wheel is built and published do not run. Options.With and Origins are ignored. The
// errors are those of Check.
func (a *Analyzer) CheckEnvironment(
	ctx context.Context,
	head, base *Environment,
	o Options,
) (*Report, error) {
	var before []string
	if base != nil {
		withoutFixes := o
		withoutFixes.NoFixes = true // they are not shown
		checked, err := a.environment(ctx, base, withoutFixes)
		if err != nil {
			return nil, fmt.Errorf("base: %w", err)
		}
		before = checked.report.Identities()
	}
	checked, err := a.environment(ctx, head, o)
	if err != nil {
		return nil, err
	}
	if base != nil {
		checked.report.MarkExisting(before)
	}
	r, err := checked.conclude(a.rules, o)
	if err == nil && r.Verdict == result.NotJudged {
		r.Verdict = result.Compatible // packages without native code always load together
	}
	return r, err
}

// environment checks each wheel with the other packages.
func (a *Analyzer) environment(
	ctx context.Context,
	e *Environment,
	o Options,
) (*checked, error) {
	names := elfobj.NewNames()
	set, err := facts.Read(ctx, e.Wheels, o.reading(), names)
	if err != nil {
		return nil, err
	}
	rules := slices.DeleteFunc(
		slices.Clone(a.rules),
		func(r *Rule) bool { return r.Packaging },
	)
	report := result.New(o.Version)
	report.Unread, report.Skipped = append(e.Unread, set.Unread...), set.Skipped
	report.Notes = slices.Clone(e.Notes)
	o.Origins = e.Origins
	out := &checked{report: report, artifacts: set.Artifacts}
	for _, f := range set.Artifacts {
		report.Artifacts = append(report.Artifacts, describe(f))
		if len(f.Objects) == 0 || f.Wheel == nil {
			continue
		}
		o.With = without(e.With, f.Wheel.Name)
		environment := o.environment()
		environment.Python = e.Python
		j, err := judge.New(rules, environment)
		if err != nil {
			return nil, err
		}
		session := j.Session([]*facts.Artifact{f}, nil, names)
		if err := out.artifact(ctx, session, f, o); err != nil {
			return nil, err
		}
	}
	report.Artifacts = append(report.Artifacts, e.Listed...)
	leaveToSystem(report)
	return out, nil
}

// without returns the requirements on other packages.
func without(with []string, name string) []string {
	name = pkgmeta.Normalize(name)
	return slices.DeleteFunc(slices.Clone(with), func(w string) bool {
		q, err := pkgmeta.ParseRequirement(w)
		return err == nil && q.Name == name
	})
}

// leaveToSystem makes warnings of the missing libraries that no choice of versions can provide: a
// lock file does not describe the packages of the system, and a wheel may have plug-ins for libraries
// that only some systems have.
func leaveToSystem(r *Report) {
	for i := range r.Findings {
		f := &r.Findings[i]
		pin := slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool { return x.Requirement != "" })
		if f.Rule == "library-not-found" && f.Severity == Error && !pin &&
			!strings.Contains(strings.Join(f.Chain, " "), "==") {
			f.Severity = Warning
		}
	}
}
