// Package analyzer turns bytes into findings: which symbol of which object will not resolve where,
// why, and what to change.
//
//	report, err := analyzer.New(rules.All()).Check(ctx, inputs, analyzer.Options{})
//
// The way is unpack -> facts -> environment -> bind -> rules -> fixes (each tried by judging again)
// -> Report. Check opens no file, socket or clock and runs nothing from an artifact: same bytes,
// same settings, same report. What it needs to know of other packages it asks a packages.Source.
//
// Everything it reads is data of an attacker. elfobj bounds every table by the file's size, unpack
// bounds every archive, and what could not be read is in Report.Unread and spoils the verdict.
package analyzer

import (
	"context"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/staticlink"
	"github.com/compat-app/compat/analyzer/symindex"
)

// Analyzer judges artifacts by a list of rules. It is safe for concurrent use.
type Analyzer struct {
	rules []*Rule
}

// New makes an analyzer of rules, which report in the order given.
func New(rules []*Rule) *Analyzer { return &Analyzer{rules: rules} }

// Rules lists what the analyzer judges by.
func (a *Analyzer) Rules() []*Rule { return a.rules }

// check is one run of Check.
type check struct {
	rules   []*Rule
	options Options
	source  packages.Source
	with    []pkgmeta.Requirement
	origins map[string]Origin // of those, by how they are written
	facts   []*facts.Artifact
	base    []*facts.Artifact // of the base, while the head is judged
	prefix  *prefix           // the packages of the conda environment; nil: there is none
	// in front of source, where that is to be asked for no more than is needed; nil: it is not
	demand   *demand
	deep     map[*facts.Artifact]bool // for these, every package is looked up
	resolved map[string]*packages.Set
	indexed  map[*Object]*dynlink.Library
	packages map[*packages.Release][]*dynlink.Library
	asked    map[string]*packages.Release
	linkable map[any][]*staticlink.Library // of an *Object or a *packages.Release
	names    *symindex.Names               // what the objects import
	first    *scene                        // of the artifact at hand, without a fix
	shared   map[sharing]*dynlink.Providers
	alone    packages.Set // no packages
	system   map[*platform.Platform][]*dynlink.Library
	// of LD_LIBRARY_PATH and the conda environment, by architecture
	files map[string]*dynlink.Files
}

// Check judges inputs that see each other. It returns an error for unusable options (unknown
// platform, requirement that is none), and when ctx ends; damage in an input is part of the report.
func (a *Analyzer) Check(ctx context.Context, inputs []Input, o Options) (*Report, error) {
	source := o.Source
	if source == nil {
		source = packages.History()
	}
	c := &check{rules: a.rules, options: o, origins: map[string]Origin{}, deep: map[*facts.Artifact]bool{}}
	if o.Conda != nil {
		c.prefix = newPrefix(source, o.Conda)
		source = c.prefix
	}
	if c.demand = newDemand(source, o); c.demand != nil {
		c.source = c.demand
	} else {
		c.source = newOnce(source)
	}
	for _, w := range o.With {
		q, err := pkgmeta.ParseRequirement(w)
		if err != nil {
			return nil, fmt.Errorf("requirement %q can't be read: %w", w, err)
		}
		c.with = append(c.with, q)
		if from, ok := o.Origins[w]; ok {
			c.origins[q.Raw] = from
		}
	}
	for _, p := range o.First {
		name := pkgmeta.Normalize(p)
		if name == "" {
			return nil, fmt.Errorf("%q is no package name", p)
		}
		if c.prefix != nil && c.prefix.version(name) != "" && !given(c.with, name) {
			c.with = append(
				c.with,
				pkgmeta.Requirement{Name: name, Raw: name},
			) // it is imported from there
		}
	}
	var base *Report
	if o.Base != nil {
		var err error
		if base, err = c.run(ctx, o.Base, false); err != nil {
			return nil, fmt.Errorf("base: %w", err)
		}
		c.base = c.facts
	}
	head, err := c.run(ctx, inputs, !o.NoFixes)
	if err != nil {
		return nil, err
	}
	if base != nil {
		head.MarkExisting(base.Identities())
	}
	c.conclude(head)
	return head, nil
}

// run judges one list of inputs; fixes are tried only where they will be shown.
func (c *check) run(ctx context.Context, inputs []Input, fixes bool) (*Report, error) {
	names := elfobj.NewNames()
	reading := facts.Options{
		Limits:   c.options.Limits,
		Scratch:  c.options.Scratch,
		Progress: c.options.Progress,
	}
	r, err := facts.Read(ctx, inputs, reading, names)
	if err != nil {
		return nil, err
	}
	c.facts = r.Artifacts
	c.resolved, c.indexed, c.packages = map[string]*packages.Set{}, map[*Object]*dynlink.Library{}, map[*packages.Release][]*dynlink.Library{}
	c.asked = map[string]*packages.Release{}
	c.linkable = map[any][]*staticlink.Library{}
	c.names, c.first, c.shared = symindex.New(names), nil, map[sharing]*dynlink.Providers{}
	c.system, c.files = map[*platform.Platform][]*dynlink.Library{}, map[string]*dynlink.Files{}
	for _, f := range r.Artifacts {
		for _, o := range f.Objects {
			c.names.Of(o.Imports, false)
		}
	}
	report := NewReport(c.options.Version)
	report.Unread, report.Skipped = r.Unread, r.Skipped
	for _, f := range r.Artifacts {
		report.Artifacts = append(report.Artifacts, describe(f))
		if len(f.Objects) == 0 {
			continue
		}
		if err := c.artifact(ctx, f, report, fixes); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// artifact judges one artifact on each of its platforms.
func (c *check) artifact(ctx context.Context, f *facts.Artifact, report *Report, fixes bool) error {
	goals, skipped, err := goals(f, c.options)
	if err != nil {
		return err
	}
	for _, why := range skipped {
		report.Skipped = append(report.Skipped, Unread{Path: f.Path, Reason: why})
	}
	if len(goals) == 0 {
		report.Unread = append(
			report.Unread,
			Unread{Path: f.Path, Reason: "no built-in platform has its architecture; give one with --platform"},
		)
	}
	first := map[string]*Finding{}
	var order []*Finding
	for _, g := range goals {
		c.options.progress("judging %s on %s", f.Path, g.platform.Name)
		s := fix.Scenario{Platform: platformKey(g.platform)}
		all, sets, err := c.judge(ctx, f, g, s, nil)
		if err != nil {
			return err
		}
		addTarget(report, g.platform, sets)
		c.gaps(ctx, report, f, all)
		var fresh []judged
		for _, x := range all {
			id := x.Identity()
			if first[id] == nil {
				first[id] = x.Finding
				order, fresh = append(order, x.Finding), append(fresh, x)
			} else if x.Severity.Rank() > first[id].Severity.Rank() {
				first[id].Severity = x.Severity
			}
			first[id].On = append(first[id].On, g.platform.Name)
		}
		if fixes {
			if err := c.try(ctx, f, g, s, all, sets, fresh); err != nil {
				return err
			}
		}
	}
	report.Findings = slices.Grow(report.Findings, len(order))
	for _, x := range order {
		x.Message += alsoOn(x.On[1:])
		report.Findings = append(report.Findings, *x)
	}
	return nil
}

func platformKey(p *platform.Platform) string { return p.Name + "/" + p.Arch }

func describe(f *facts.Artifact) Artifact {
	a := Artifact{Path: f.Path, SHA256: f.SHA256, Kind: f.Kind, Objects: len(f.Objects)}
	if f.Wheel != nil {
		a.Wheel = &Wheel{
			Name:    f.Wheel.Name,
			Version: f.Wheel.Version,
			Policy:  f.Policy,
			ABI3:    f.ABI3,
		}
		for _, t := range f.Wheel.Tags {
			a.Wheel.Tags = append(a.Wheel.Tags, t.Python+"-"+t.ABI+"-"+t.Platform)
		}
		if f.Metadata != nil {
			for _, q := range f.Metadata.Requires {
				a.Wheel.Requires = append(a.Wheel.Requires, q.Raw)
			}
		}
	}
	return a
}
