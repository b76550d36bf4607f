package dwarf

// Cursor iterates over sibling entries.
//
//	for c := d.Children(&parent); c.Next(); { use(&c.Entry) }
//	err := c.Err()
type Cursor struct {
	Entry
	started bool
	done    bool
	err     error
}

// Children returns a cursor before the first child of an entry.
func (d *Data) Children(e *Entry) *Cursor {
	c := &Cursor{done: !e.Children}
	c.Unit, c.data, c.next = e.Unit, d, e.next
	return c
}

// Reset moves the cursor before the first child of an entry, so that it can be reused.
func (c *Cursor) Reset(d *Data, e *Entry) {
	unit, next := e.Unit, e.next
	c.started, c.done, c.err = false, !e.Children, nil
	c.Unit, c.data, c.next = unit, d, next
}

// Next decodes the next sibling. It returns false at the end of the list and after an error.
func (c *Cursor) Next() bool {
	if c.done {
		return false
	}
	if c.started && c.Children {
		if c.err = c.skipChildren(); c.err != nil {
			c.done = true
			return false
		}
	}
	c.started = true
	if c.next >= c.Unit.end-c.Unit.start { // the last null entries are optional
		c.done = true
		return false
	}
	if c.err = c.Unit.decode(c.next, &c.Entry); c.err != nil || c.Tag == 0 {
		c.done = true
		return false
	}
	return true
}

// Err returns the error that ended the iteration, or nil.
func (c *Cursor) Err() error { return c.err }

// skipChildren moves to the entry after the children of the current one.
func (c *Cursor) skipChildren() error {
	if r := c.Reference(Sibling); r != 0 {
		at := uint64(r&refOffset) - c.Unit.start
		if at < c.next || at > c.Unit.end-c.Unit.start {
			return damaged(
				"the entry at offset %#x has its sibling at %#x, before its end or after its unit",
				c.Unit.start+c.at,
				c.Unit.start+at,
			)
		}
		c.next = at
		return nil
	}
	u := c.Unit
	b := buffer{u.bytes(), c.next, u.file.order, false}
	for depth := 1; depth > 0 && b.at < uint64(len(b.data)); {
		off := b.at
		code := b.uleb()
		if code == 0 {
			depth--
			continue
		}
		a := u.table.get(code)
		if a == nil {
			return damaged("the entry at offset %#x uses abbreviation %d, which is not defined",
				u.start+off, code)
		}
		if a.children && a.sibling >= 0 {
			b.take(uint64(a.sibling))
			if at := b.uint(4); !b.bad && at > b.at && at <= uint64(len(b.data)) {
				b.at = at
				continue
			}
			return u.damaged(off)
		}
		if a.fixed >= 0 {
			b.take(uint64(a.fixed))
		} else {
			for i := a.from; i < a.to; i++ {
				if !b.skip(u, &u.table.specs[i]) {
					return u.damaged(off)
				}
			}
		}
		if b.bad {
			return u.damaged(off)
		}
		if a.children {
			depth++
		}
	}
	if b.bad {
		return u.damaged(c.at)
	}
	c.next = b.at
	return nil
}

// End returns the position after the list, once Next has returned false.
func (c *Cursor) End() Ref { return c.Unit.ref(c.next) }
