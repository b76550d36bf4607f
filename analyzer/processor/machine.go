package processor

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/compat-app/compat/analyzer/elfobj"
)

const (
	maxSteps = 1_000_000 // instructions that are executed for an object
	// Words of memory that they may store or make unknown, of which some do so with hundreds; and
	// changes that may have to be taken back.
	maxTouched = 16 << 20
	maxChanges = 1 << 20
	maxPages   = 16 << 10 // that are read: those of an object of 64 MiB
	maxDepth   = 24       // calls in calls
	pageSize   = 4096
	// stackTop is where the stack begins, and stackEnd where it must end. No object is there.
	stackTop = 0x7fff_ffff_0000
	stackEnd = stackTop - 1<<24
	// outside is an address that stands for a symbol of another library; the others follow it.
	outside = 0x6000_0000_0000
	// sameMemory is how often code is followed again because other data was stored before.
	sameMemory = 1
)

// machine executes code of an object with values that may not be known.
type machine struct {
	c        *elfobj.Contents
	targets  map[uint64]elfobj.Target
	pages    map[uint64]*[pageSize]byte // nil for one that is not mapped
	code     map[uint64]*instruction
	symbols  []string // of the addresses that begin at outside
	bySymbol map[string]uint64
	defined  []uint64 // definitions of modules that were passed to PyModuleDef_Init
	main     uint64   // what was passed to __libc_start_main
	steps    int
	cut      bool // a path of the last run was not followed to its end
	fresh    int  // the last id of a value
	// stale are the words that code which ran before may have changed; allStale is set if that may
	// be all data that can be written.
	stale    map[uint64]struct{}
	allStale bool

	memory
	state
	todo  []state
	seen  map[place]*visited
	first [AVX512 + 1]uint64 // address of the first instruction of each level
}

// state is where a path is, apart from the memory.
type state struct {
	pc    uint64
	regs  [16]value
	flags flags
	calls *call
	level Level
	facts *fact
	mark  int // the length of memory.log
}

// fact is what a condition says about values that are not known.
type fact struct {
	id    int
	zero  bool
	outer *fact // what was known before
}

// call is a call that has not returned.
type call struct {
	to, ret, sp uint64
	saved       [16]value
	depth       int
	sum         uint64 // identifies the calls
	outer       *call
}

// place is a jump whose condition is not known.
type place struct{ pc, sp, calls uint64 }

// visited is what was known when a place was reached.
type visited struct {
	regs          [16]value
	level         Level
	stack, static uint64
	count         int
	widened       bool
}

// instruction is a decoded instruction. Both op and vec are zero for one that is not known.
type instruction struct {
	x86asm.Inst
	vec    vector
	length int
}

func newMachine(c *elfobj.Contents, targets map[uint64]elfobj.Target) *machine {
	return &machine{
		c:        c,
		targets:  targets,
		pages:    map[uint64]*[pageSize]byte{},
		code:     map[uint64]*instruction{},
		bySymbol: map[string]uint64{},
		stale:    map[uint64]struct{}{},
	}
}

// run follows the code at an address until each path has ended. The result has a level only if all
// paths need it on which the function returns a value that ok accepts.
func (m *machine) run(addr uint64, ok func(value) bool) Need {
	m.leaveMemory()
	m.state = state{pc: addr}
	for r := range m.regs {
		m.regs[r] = m.unknown()
	}
	m.regs[rsp] = constant(stackTop - 8)
	m.regs[rdi].nonzero = true // the module, for Py_mod_exec
	m.seen, m.first = map[place]*visited{}, [AVX512 + 1]uint64{}
	least, reached := AVX512, false
	m.todo = append(m.todo[:0], m.state)
	for len(m.todo) > 0 {
		m.state = m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		m.back(m.mark)
		end := m.follow(ok)
		if end != failed {
			least, reached = min(least, m.level), true
		}
		m.cut = m.cut || end == unknown
	}
	if !reached { // the import never succeeds, or never ends
		return Need{}
	}
	return Need{Level: least, Addr: m.first[least]}
}

// leaveMemory begins with memory in which nothing was stored. What was stored before is not known
// any more: which of the paths ran is not known either.
func (m *machine) leaveMemory() {
	for at := range m.changed {
		if len(m.stale) > maxChanges {
			break
		}
		m.stale[at] = struct{}{}
	}
	m.allStale = m.allStale || m.cut || len(m.stale) > maxChanges
	m.memory = memory{words: map[uint64]word{}, changed: map[uint64]struct{}{}, touched: m.touched}
	m.cut = false
}

// ending is how a path ends.
type ending uint8

const (
	failed   ending = iota // the import fails, or this code was followed already
	returned               // the function returns successfully, or no higher level is possible
	unknown                // it is not known what follows
)

func (m *machine) follow(ok func(value) bool) ending {
	for {
		if m.steps++; m.steps > maxSteps || m.touched > maxTouched ||
			len(m.log) > maxChanges {
			return unknown
		}
		in := m.decode(m.pc)
		if in.length == 0 {
			return unknown
		}
		if in.vec.length != 0 {
			if m.vector(&in.vec); m.level == AVX512 {
				return returned
			}
			continue
		}
		next := m.pc + uint64(in.length)
		switch in.Op {
		case x86asm.UD2, x86asm.UD1, x86asm.HLT, x86asm.INT:
			return failed
		case x86asm.CPUID, x86asm.XGETBV, x86asm.SYSCALL, x86asm.LOOP, x86asm.LOOPE, x86asm.LOOPNE,
			x86asm.JCXZ, x86asm.JECXZ, x86asm.LCALL, x86asm.LJMP, x86asm.LRET, x86asm.IRETQ:
			return unknown
		case x86asm.RET:
			end, more := m.ret(ok)
			if !more {
				return end
			}
		case x86asm.CALL, x86asm.JMP:
			end, more := m.transfer(in, next, ok)
			if !more {
				return end
			}
		default:
			if code, jump := jumps[in.Op]; jump {
				if !m.branch(in, code, next) {
					return failed
				}
				continue
			}
			m.pc = next
			m.execute(in)
		}
	}
}

// ret returns from a function. more is false if it is the one that was called first.
func (m *machine) ret(ok func(value) bool) (end ending, more bool) {
	if m.calls == nil {
		if ok(m.regs[rax]) {
			return returned, false
		}
		return failed, false
	}
	c := m.calls
	m.calls, m.pc, m.regs[rsp] = c.outer, c.ret, constant(c.sp)
	for _, r := range []int{rbx, rbp, r12, r13, r14, r15} { // a function preserves them
		m.regs[r] = c.saved[r]
	}
	return failed, true
}

// transfer executes CALL and JMP. A jump to an address that is not known ends the function: it is
// the call of another one, or code of this one that returns.
func (m *machine) transfer(
	in *instruction, next uint64, ok func(value) bool,
) (end ending, more bool) {
	to := m.destination(in, next)
	isCall := in.Op == x86asm.CALL
	if to.known && m.c.Executable(to.v) && (!isCall || m.enter(to.v, next)) {
		m.pc = to.v
		return failed, true
	}
	if end, goes := m.leave(to); !goes {
		return end, false
	}
	if isCall {
		m.pc = next
		return failed, true
	}
	return m.ret(ok)
}

// destination returns where CALL or JMP goes.
func (m *machine) destination(in *instruction, next uint64) value {
	switch a := in.Args[0].(type) {
	case x86asm.Rel:
		return constant(next + uint64(int64(a)))
	case x86asm.Reg:
		if r, n, high := register(a); n == 8 && !high {
			return m.regs[r]
		}
	case x86asm.Mem:
		if at := m.address(a, next); at.known && a.Segment == 0 {
			return m.load(at.v, 8)
		}
	}
	return value{}
}

// enter calls a function of the object. It returns false for a function that runs already and for
// too many calls: what such a call does is not known.
func (m *machine) enter(to, next uint64) bool {
	sp := m.regs[rsp]
	c := &call{
		to:    to,
		ret:   next,
		sp:    sp.v,
		saved: m.regs,
		depth: 1,
		sum:   next * 0x9e3779b97f4a7c15,
		outer: m.calls,
	}
	if m.calls != nil {
		c.depth = m.calls.depth + 1
		c.sum ^= m.calls.sum * 31
	}
	if !sp.known || c.depth > maxDepth {
		return false
	}
	for o := m.calls; o != nil; o = o.outer {
		if o.to == to {
			return false
		}
	}
	m.calls = c
	m.regs[rsp] = constant(sp.v - 8)
	m.store(sp.v-8, 8, constant(next))
	return true
}

// leave calls a function of another library, or one that is not known. goes is false if it does not
// return, or if the processor may be asked in it.
func (m *machine) leave(to value) (end ending, goes bool) {
	name := m.symbol(to)
	switch {
	case neverReturns(name):
		return failed, false
	case asksProcessor(name):
		return unknown, false
	case name == "PyModuleDef_Init" && m.regs[rdi].known:
		m.defined = append(m.defined, m.regs[rdi].v)
	case name == "__libc_start_main" && m.regs[rdi].known:
		m.main = m.regs[rdi].v
	}
	for _, r := range []int{rdi, rsi, rdx, rcx, r8, r9} {
		const most = 256 // bytes of an argument that the function may change
		if v := m.regs[r]; v.known && (v.v >= stackEnd && v.v < stackTop || m.c.Writable(v.v)) {
			m.forget(v.v, most)
		}
	}
	for _, r := range []int{rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11} {
		m.regs[r] = m.unknown()
	}
	m.flags = flags{}
	return failed, true
}

// neverReturns reports whether a function ends the process or throws an exception. An exception
// that leaves the initialization of a module ends the import.
func neverReturns(name string) bool {
	switch name {
	case "abort", "exit", "_exit", "__stack_chk_fail", "__assert_fail", "__cxa_throw", "__cxa_rethrow",
		"_Unwind_Resume", "__cxa_bad_cast", "__cxa_throw_bad_array_new_length", "_ZSt9terminatev",
		"longjmp", "__longjmp_chk", "Py_FatalError", "_Py_FatalErrorFunc", "__cxa_pure_virtual",
		"__fortify_fail", "__chk_fail", "__cxa_call_terminate":
		return true
	}
	return strings.HasPrefix(name, "_ZSt") && strings.Contains(name, "__throw_")
}

// asksProcessor reports whether a function is for code that runs on some processors only.
func asksProcessor(name string) bool {
	return name == "getauxval" || strings.Contains(name, "cpuid") || strings.Contains(name, "cpu_") ||
		strings.Contains(name, "cpuinfo") || strings.HasPrefix(name, "omp_get_num_proc")
}

// symbol returns the name of the symbol that an address stands for.
func (m *machine) symbol(to value) string {
	if to.known && to.v >= outside && to.v-outside < uint64(len(m.symbols)) {
		return m.symbols[to.v-outside]
	}
	return ""
}

// unknown returns a value that is not known, and different from all others.
func (m *machine) unknown() value {
	m.fresh++
	return value{id: m.fresh}
}

// branch executes a conditional jump; both ways if its condition is not known. It returns false if
// the same was followed before.
func (m *machine) branch(in *instruction, code byte, next uint64) bool {
	target := next
	if r, ok := in.Args[0].(x86asm.Rel); ok {
		target = next + uint64(int64(r))
	}
	known, taken := m.flags.known && code>>1 != 5, m.flags.condition(code)
	if code == ecxZero {
		v := m.regs[rcx]
		known, taken = v.known, v.v == 0
	}
	if known {
		m.pc = next
		if taken {
			m.pc = target
		}
		return true
	}
	if !m.visit() {
		return false
	}
	other := m.state
	other.pc = target
	other.assume(code, true)
	other.mark = len(m.log)
	m.todo = append(m.todo, other)
	m.pc = next
	m.assume(code, false)
	return true
}

// visit joins what is known with what was known when the place was reached before. It returns false
// if nothing new can follow.
func (m *machine) visit() bool {
	p := place{pc: m.pc, sp: m.regs[rsp].v}
	if m.calls != nil {
		p.calls = m.calls.sum
	}
	v := m.seen[p]
	if v == nil {
		m.seen[p] = &visited{regs: m.regs, level: m.level, stack: m.stack, static: m.static}
		return true
	}
	again := m.level < v.level
	v.level = min(v.level, m.level)
	for i, before := range v.regs {
		both := join(before, m.regs[i])
		again = again || both.known != before.known || both.nonzero != before.nonzero
		if both.known != m.regs[i].known || both.nonzero != m.regs[i].nonzero {
			m.regs[i] = both
		}
		v.regs[i] = both
	}
	m.level = v.level
	if !again && (v.stack != m.stack || v.static != m.static) && !v.widened {
		again = true
		if v.count++; v.count >= sameMemory {
			v.widened = true
			m.forgetStack()
		}
	}
	v.stack, v.static = m.stack, m.static
	return again
}

// assume adds to a state what follows from a condition about a value that was compared with 0.
func (s *state) assume(code byte, taken bool) {
	zero := s.flags.zero
	if zero.id == 0 || code == ecxZero {
		return
	}
	var is, not bool
	switch code >> 1 {
	case 2: // JE, JNE
		is = taken != (code&1 != 0)
		not = !is
	case 4, 6: // JS, JL: negative
		not = taken != (code&1 != 0)
	case 7: // JG: positive
		not = taken == (code&1 != 0)
	}
	if not || is && s.flags.width >= 4 {
		s.facts = &fact{zero.id, is, s.facts}
	}
	for i := range s.regs {
		s.regs[i] = s.facts.of(s.regs[i])
	}
}

// of adds what is known of a value.
func (f *fact) of(v value) value {
	const most = 32
	for range most {
		if f == nil || v.id == 0 {
			break
		}
		if f.id == v.id && f.zero {
			return constant(0)
		}
		v.nonzero = v.nonzero || f.id == v.id
		f = f.outer
	}
	return v
}

// vector executes an instruction with a VEX or EVEX prefix.
func (m *machine) vector(v *vector) {
	if m.first[v.level] == 0 {
		m.first[v.level] = m.pc
	}
	m.level = max(m.level, v.level)
	if v.store && v.base >= 0 && m.regs[v.base].known {
		m.forget(m.regs[v.base].v+uint64(v.disp), v.bytes)
	}
	for _, r := range v.writes {
		m.regs[r] = m.unknown()
	}
	if v.flags {
		m.flags = flags{}
	}
	m.pc += uint64(v.length)
}

// decode returns the instruction at an address. Its length is 0 if it is not known.
func (m *machine) decode(pc uint64) *instruction {
	if in, ok := m.code[pc]; ok {
		return in
	}
	in := &instruction{}
	b := m.fetch(pc)
	if v, ok := decodeVector(b); ok {
		in.vec, in.length = v, v.length
	} else if len(b) >= 4 && b[0] == 0xf3 && b[1] == 0x0f && b[2] == 0x1e && b[3]>>6 == 3 {
		in.Op, in.length = x86asm.NOP, 4 // ENDBR64
	} else if len(b) > 0 && b[0] != 0x62 && b[0] != 0xc4 && b[0] != 0xc5 {
		if i, err := x86asm.Decode(b, 64); err == nil {
			in.Inst, in.length = i, i.Len
		}
	}
	m.code[pc] = in
	return in
}

// fetch returns up to 15 bytes of code, the most that an instruction has.
func (m *machine) fetch(pc uint64) []byte {
	if !m.c.Executable(pc) {
		return nil
	}
	out := make([]byte, 0, 15)
	for len(out) < cap(out) {
		p := m.page(pc / pageSize)
		if p == nil {
			break
		}
		from := p[pc%pageSize:]
		take := min(len(from), cap(out)-len(out))
		out = append(out, from[:take]...)
		pc += uint64(take)
	}
	return out
}

// page returns the bytes of a page before relocation; nil for one that is not mapped, and if too
// many were read.
func (m *machine) page(n uint64) *[pageSize]byte {
	p, ok := m.pages[n]
	if !ok && len(m.pages) < maxPages {
		p = &[pageSize]byte{}
		if have := m.c.Load(n*pageSize, p[:]); have == 0 {
			p = nil
		}
		m.pages[n] = p
	}
	return p
}

// load returns n bytes of memory.
func (m *machine) load(addr uint64, n int) value {
	if w := m.words[addr/8]; addr%8 == 0 && w.id != 0 && n >= 4 {
		return m.facts.of(value{id: w.id})
	}
	var v uint64
	for i := range n {
		at := addr + uint64(i)
		w := m.words[at/8]
		bit := uint8(1) << (at % 8)
		switch {
		case w.set&bit != 0 && w.known&bit != 0:
			v |= uint64(w.b[at%8]) << (8 * i)
		case w.set&bit != 0:
			return m.unknown()
		default:
			b, ok := m.initial(at)
			if !ok {
				return m.unknown()
			}
			v |= uint64(b) << (8 * i)
		}
	}
	return constant(v)
}

// initial returns a byte of the object that the code which is followed has not stored.
func (m *machine) initial(at uint64) (byte, bool) {
	if _, changed := m.stale[at/8]; changed {
		return 0, false
	}
	if _, relocated := m.targets[at&^7]; !relocated && m.allStale && m.c.Writable(at) {
		return 0, false
	}
	return m.loaded(at)
}

// loaded returns a byte of the object as the loader leaves it, before any code has run.
func (m *machine) loaded(at uint64) (byte, bool) {
	if t, ok := m.targets[at&^7]; ok {
		if t.Unknown {
			return 0, false
		}
		to := t.Addr
		if t.Symbol != "" {
			if to = m.bySymbol[t.Symbol]; to == 0 {
				to = outside + uint64(len(m.symbols))
				m.symbols = append(m.symbols, t.Symbol)
				m.bySymbol[t.Symbol] = to
			}
		}
		return byte(to >> (8 * (at & 7))), true
	}
	if !m.c.Mapped(at) {
		return 0, false
	}
	p := m.page(at / pageSize)
	if p == nil {
		return 0, false
	}
	return p[at%pageSize], true
}
