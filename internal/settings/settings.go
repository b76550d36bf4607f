// Package settings turns a repository's configuration into the analyzer's options, for the command line and the service alike.
package settings

import (
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/config"
)

// Apply puts what a configuration says into options.
func Apply(c *config.Repository, o *analyzer.Options) {
	o.Platforms = c.Platforms
	o.With = c.Python.With
	o.GPU = analyzer.GPU{Stack: c.GPU.Stack, Archs: c.GPU.Archs}
	if len(c.Rules) > 0 {
		o.Rules = make(map[string]analyzer.Severity, len(c.Rules))
		for id, s := range c.Rules {
			o.Rules[id] = analyzer.Severity(s)
		}
	}
	for _, a := range c.Accept {
		o.Accept = append(o.Accept, analyzer.Accept{Rule: a.Rule, Symbol: a.Symbol, Object: a.Object, Because: a.Because, Until: a.Until})
	}
}

// FailOn is the least severity that fails; Off for never.
func FailOn(s string) analyzer.Severity {
	if s == "never" {
		return analyzer.Off
	}
	if s == "" {
		return analyzer.Error
	}
	return analyzer.Severity(s)
}
