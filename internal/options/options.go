// Package options converts a repository's configuration to options of the analyzer, for the
// command line and the service.
package options

import (
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/pinned"
)

// Apply sets options from a configuration that was read from a file.
func Apply(c *config.Repository, file string, o *analyzer.Options) {
	o.Platforms = c.Platforms
	o.With = c.Python.With
	for i, w := range c.Python.With {
		at := analyzer.Origin{File: file}
		if i < len(c.Python.At) {
			at.Line = c.Python.At[i]
		}
		setOrigin(o, w, at)
	}
	o.GPU = analyzer.GPU{Stack: c.GPU.Stack, Archs: c.GPU.Archs}
	o.ABI = analyzer.ABI{
		Policy:   c.ABI.Policy,
		Headers:  c.ABI.Headers,
		Private:  c.ABI.Private,
		SkipBase: !c.ABI.Base(),
	}
	if len(c.Rules) > 0 {
		o.Rules = make(map[string]analyzer.Severity, len(c.Rules))
		for id, s := range c.Rules {
			o.Rules[id] = analyzer.Severity(s)
		}
	}
	for _, a := range c.Accept {
		o.Accept = append(
			o.Accept,
			analyzer.Accept{
				Rule:    a.Rule,
				Package: a.Package,
				Symbol:  a.Symbol,
				Library: a.Library,
				Object:  a.Object,
				Because: a.Because,
				Until:   a.Until,
				At:      analyzer.Origin{File: file, Line: a.Line},
			},
		)
	}
}

// Locked returns what lock and requirements files pin or require, and stores the origins in o.
func Locked(o *analyzer.Options, list ...*pinned.Pinned) []string {
	var out []string
	for _, files := range list {
		for _, p := range slices.Concat(files.Pins, files.Unpinned) {
			setOrigin(o, p.Text(), analyzer.Origin{
				File: p.File, Line: p.Line, HashLine: p.HashLine, Lock: true,
			})
			out = append(out, p.Text())
		}
	}
	return out
}

// setOrigin stores the origin of a requirement. A requirement from the configuration takes
// precedence over a locked one.
func setOrigin(o *analyzer.Options, requirement string, at analyzer.Origin) {
	if o.Origins == nil {
		o.Origins = map[string]analyzer.Origin{}
	}
	if known, ok := o.Origins[requirement]; !ok || known.Lock {
		o.Origins[requirement] = at
	}
}

// FailOn returns the lowest severity that fails the check; Off = never.
func FailOn(s string) analyzer.Severity {
	if s == "never" {
		return analyzer.Off
	}
	if s == "" {
		return analyzer.Error
	}
	return analyzer.Severity(s)
}
