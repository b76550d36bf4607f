package fix

// Merger joins the changes of several fixes into one, each once. The zero value has none.
type Merger struct {
	all     All
	keys    map[string]bool
	unknown bool
}

// Add adds a change. After a nil one, which the model can't apply, there is no joint change.
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

// Change is the joint change; nil where there is none.
func (m *Merger) Change() Change {
	switch {
	case m.unknown || len(m.all) == 0:
		return nil
	case len(m.all) == 1:
		return m.all[0]
	}
	return m.all
}
