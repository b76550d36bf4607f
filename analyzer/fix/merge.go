package fix

import "github.com/compat-app/compat/analyzer/pkgmeta"

// Merger combines the changes of several fixes, without duplicates. The zero value is empty.
type Merger struct {
	all     All
	keys    map[string]bool
	unknown bool
}

// Add adds a change. If it is nil, because a fix cannot be simulated, there is no combined
// change.
func (m *Merger) Add(c Change) {
	if c == nil {
		m.unknown = true
		return
	}
	key := c.Apply(Scenario{}).Key()
	if m.keys[key] {
		return
	}
	if m.keys == nil {
		m.keys = map[string]bool{}
	}
	m.keys[key] = true
	m.all = append(m.all, c)
}

// Change returns the combined change, or nil if there is none.
func (m *Merger) Change() Change {
	switch {
	case m.unknown || len(m.all) == 0:
		return nil
	case len(m.all) == 1:
		return m.all[0]
	}
	return m.all
}

// Requiring returns the combined change with a requirement in the place of all others for its
// package. It is nil if a fix cannot be simulated.
func (m *Merger) Requiring(requirement string) Change {
	q, err := pkgmeta.ParseRequirement(requirement)
	out := Merger{unknown: m.unknown || err != nil}
	for _, c := range m.all {
		parts, ok := c.(All)
		if !ok {
			parts = All{c}
		}
		for _, part := range parts {
			if pin, ok := part.(Pin); ok {
				if old, err := pkgmeta.ParseRequirement(pin.Requirement); err == nil && old.Name == q.Name {
					part = Pin{Requirement: requirement, Direct: pin.Direct}
				}
			}
			out.Add(part)
		}
	}
	return out.Change()
}
