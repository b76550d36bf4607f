package config

import "github.com/compat-app/compat/analyzer"

// Apply lays the repository's configuration over analysis options. Lists that the file leaves out change nothing; accepted findings are added.
func (r *Repository) Apply(o *analyzer.Options) {
	if len(r.Platforms) > 0 {
		o.Platforms = r.Platforms
	}
	if len(r.Python.With) > 0 {
		o.With = r.Python.With
	}
	for id, severity := range r.Rules {
		if o.Rules == nil {
			o.Rules = map[string]analyzer.Severity{}
		}
		o.Rules[id] = analyzer.Severity(severity)
	}
	for _, a := range r.Accept {
		o.Accept = append(o.Accept, analyzer.Accept{Rule: a.Rule, Symbol: a.Symbol, Object: a.Object, Because: a.Because, Until: a.Until})
	}
}
