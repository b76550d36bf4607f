package processor

// Numbers of the general registers, as instructions encode them.
const (
	rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi = 0, 1, 2, 3, 4, 5, 6, 7
	r8, r9, r10, r11, r12, r13, r14, r15   = 8, 9, 10, 11, 12, 13, 14, 15
)

// value is the content of a register. The zero value is not known.
type value struct {
	known, nonzero bool // nonzero: not known, but not 0
	v              uint64
	id             int // equal for copies of a value that is not known; 0 for others
}

func constant(v uint64) value { return value{known: true, v: v} }

func (v value) is(n uint64) bool { return v.known && v.v == n }

// low32 reports whether the lower half is known to be n.
func (v value) low32(n uint32) bool { return v.known && uint32(v.v) == n }

// join returns what is known of a value that is either of two.
func join(a, b value) value {
	switch {
	case a.known && b.known && a.v == b.v:
		return a
	case (a.nonzero || a.known && a.v != 0) && (b.nonzero || b.known && b.v != 0):
		return value{nonzero: true}
	}
	return value{}
}

// flags are the results of the last arithmetic instruction. Of an unknown result, id and size name
// the value that was compared with 0, if that was the operation.
type flags struct {
	known          bool
	zf, sf, cf, of bool
	zero           value // the value that was compared with 0
	width          int   // its number of bytes
}

// condition evaluates the condition of a jump, CMOV or SETcc by the low four bits of its opcode.
func (f flags) condition(code byte) bool {
	var r bool
	switch code >> 1 {
	case 0:
		r = f.of
	case 1:
		r = f.cf
	case 2:
		r = f.zf
	case 3:
		r = f.cf || f.zf
	case 4:
		r = f.sf
	case 5: // parity, which is not computed
	case 6:
		r = f.sf != f.of
	case 7:
		r = f.zf || f.sf != f.of
	}
	return r != (code&1 != 0)
}

// word is what was stored in 8 bytes of memory: set and known have a bit for each byte.
type word struct {
	b          [8]byte
	set, known uint8
	id         int // of the value that is not known, 0 if it is not one of 8 bytes
}

// memory is what the code has stored. Changes can be taken back.
type memory struct {
	words map[uint64]word // by address / 8
	log   []change
	// changed are the words outside of the stack that were stored, also if that was taken back; the
	// first maxChanges and one more.
	changed map[uint64]struct{}
	// Sums of all words, so that equal contents are recognized.
	stack, static uint64
	touched       int // how many words were stored or searched, also for earlier contents
}

type change struct {
	at     uint64
	before word
}

func (m *memory) put(at uint64, w word) {
	before := m.words[at]
	if before == w {
		return
	}
	m.log = append(m.log, change{at, before})
	if at < stackEnd/8 && len(m.changed) <= maxChanges {
		m.changed[at] = struct{}{}
	}
	m.replace(at, before, w)
}

func (m *memory) replace(at uint64, before, w word) {
	sum := &m.static
	if at >= stackEnd/8 {
		sum = &m.stack
	}
	*sum += w.sum(at) - before.sum(at)
	if w == (word{}) {
		delete(m.words, at)
	} else {
		m.words[at] = w
	}
}

// sum returns a number for a word at an address, 0 for one that nothing was stored in.
func (w word) sum(at uint64) uint64 {
	if w.set == 0 {
		return 0
	}
	h := at*0x9e3779b97f4a7c15 ^ uint64(w.set)<<8 ^ uint64(w.known) // no id: it is always new
	for i, b := range w.b {
		h = (h ^ uint64(b)<<(8*i)) * 0xff51afd7ed558ccd
		h ^= h >> 29
	}
	return h
}

// back takes changes back until n are left.
func (m *memory) back(n int) {
	for len(m.log) > n {
		c := m.log[len(m.log)-1]
		m.log = m.log[:len(m.log)-1]
		m.replace(c.at, m.words[c.at], c.before)
	}
}

// store stores the n low bytes of a value.
func (m *memory) store(addr uint64, n int, v value) {
	for n > 0 {
		m.touched++
		at, first := addr/8, int(addr%8)
		w := m.words[at]
		take := min(n, 8-first)
		if w.id = 0; take == 8 && !v.known {
			w.id = v.id
		}
		for i := first; i < first+take; i++ {
			w.set |= 1 << i
			w.known &^= 1 << i
			w.b[i] = 0
			if v.known {
				w.known |= 1 << i
				w.b[i] = byte(v.v)
				v.v >>= 8
			}
		}
		m.put(at, w)
		addr, n = addr+uint64(take), n-take
	}
}

// forget makes n bytes unknown.
func (m *memory) forget(addr uint64, n int) {
	const most = 4096
	m.store(addr, min(n, most), value{})
}

// forgetStack makes unknown what was stored on the stack.
func (m *memory) forgetStack() {
	m.touched += len(m.words)
	for at, w := range m.words {
		if at >= stackEnd/8 {
			m.put(at, word{set: w.set})
		}
	}
}
