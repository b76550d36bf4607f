package processor

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// Codes of conditions, as the low four bits of opcodes have them. ecxZero stands for JRCXZ.
const ecxZero = 16

var jumps = map[x86asm.Op]byte{
	x86asm.JO: 0, x86asm.JNO: 1, x86asm.JB: 2, x86asm.JAE: 3, x86asm.JE: 4, x86asm.JNE: 5,
	x86asm.JBE: 6, x86asm.JA: 7, x86asm.JS: 8, x86asm.JNS: 9, x86asm.JP: 10, x86asm.JNP: 11,
	x86asm.JL: 12, x86asm.JGE: 13, x86asm.JLE: 14, x86asm.JG: 15, x86asm.JRCXZ: ecxZero,
}

var moves = map[x86asm.Op]byte{
	x86asm.CMOVO: 0, x86asm.CMOVNO: 1, x86asm.CMOVB: 2, x86asm.CMOVAE: 3, x86asm.CMOVE: 4,
	x86asm.CMOVNE: 5, x86asm.CMOVBE: 6, x86asm.CMOVA: 7, x86asm.CMOVS: 8, x86asm.CMOVNS: 9,
	x86asm.CMOVP: 10, x86asm.CMOVNP: 11, x86asm.CMOVL: 12, x86asm.CMOVGE: 13, x86asm.CMOVLE: 14,
	x86asm.CMOVG: 15,
}

var sets = map[x86asm.Op]byte{
	x86asm.SETO: 0, x86asm.SETNO: 1, x86asm.SETB: 2, x86asm.SETAE: 3, x86asm.SETE: 4, x86asm.SETNE: 5,
	x86asm.SETBE: 6, x86asm.SETA: 7, x86asm.SETS: 8, x86asm.SETNS: 9, x86asm.SETP: 10,
	x86asm.SETNP: 11, x86asm.SETL: 12, x86asm.SETGE: 13, x86asm.SETLE: 14, x86asm.SETG: 15,
}

// changesFlags are instructions for vector and floating-point registers that set flags.
var changesFlags = map[x86asm.Op]bool{
	x86asm.UCOMISS: true, x86asm.UCOMISD: true, x86asm.COMISS: true, x86asm.COMISD: true,
	x86asm.PTEST: true, x86asm.PCMPISTRI: true, x86asm.PCMPESTRI: true, x86asm.PCMPISTRM: true,
	x86asm.PCMPESTRM: true, x86asm.FCOMI: true, x86asm.FCOMIP: true, x86asm.FUCOMI: true,
	x86asm.FUCOMIP: true,
}

// implicit are the registers that instructions change without naming them.
var implicit = map[x86asm.Op][]int{
	x86asm.MUL: {rax, rdx}, x86asm.DIV: {rax, rdx}, x86asm.IDIV: {rax, rdx}, x86asm.CMPXCHG: {rax},
	x86asm.CMPXCHG8B: {rax, rdx}, x86asm.CMPXCHG16B: {rax, rdx}, x86asm.RDTSC: {rax, rdx},
	x86asm.RDTSCP: {rax, rcx, rdx}, x86asm.PCMPISTRI: {rcx}, x86asm.PCMPESTRI: {rcx},
	x86asm.LAHF: {rax}, x86asm.XLATB: {rax}, x86asm.CBW: {rax},
	x86asm.CWDE: {rax}, x86asm.CWD: {rdx}, x86asm.LODSB: {rax, rsi}, x86asm.LODSD: {rax, rsi},
	x86asm.LODSQ: {rax, rsi}, x86asm.LODSW: {rax, rsi},
	x86asm.SCASB: {rdi, rcx}, x86asm.SCASD: {rdi, rcx}, x86asm.SCASQ: {rdi, rcx},
	x86asm.CMPSB: {rdi, rsi, rcx}, x86asm.CMPSD: {rdi, rsi, rcx}, x86asm.CMPSQ: {rdi, rsi, rcx},
	x86asm.MOVSB: {rdi, rsi, rcx}, x86asm.MOVSD: {rdi, rsi, rcx}, x86asm.MOVSQ: {rdi, rsi, rcx},
	x86asm.MOVSW: {rdi, rsi, rcx}, x86asm.STOSB: {rdi, rcx}, x86asm.STOSW: {rdi, rcx},
	x86asm.STOSD: {rdi, rcx}, x86asm.STOSQ: {rdi, rcx},
}

// register returns the number of a general register and its size in bytes, 0 for another register.
// high is set for AH, CH, DH and BH.
func register(r x86asm.Reg) (n, size int, high bool) {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL:
		return int(r - x86asm.AL), 1, false
	case r >= x86asm.AH && r <= x86asm.BH:
		return int(r - x86asm.AH), 1, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return int(r-x86asm.SPB) + rsp, 1, false
	case r >= x86asm.AX && r <= x86asm.R15W:
		return int(r - x86asm.AX), 2, false
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return int(r - x86asm.EAX), 4, false
	case r >= x86asm.RAX && r <= x86asm.R15:
		return int(r - x86asm.RAX), 8, false
	}
	return 0, 0, false
}

// low returns the n low bytes of a value.
func low(v value, n int) value {
	if v.known && n < 8 {
		v.v &= 1<<(8*n) - 1
	}
	return v
}

// signed returns the n low bytes of a value with their sign.
func signed(v value, n int) value {
	if v.known {
		v.v = uint64(int64(v.v<<(64-8*n)) >> (64 - 8*n))
	} else {
		v.id = 0
	}
	return v
}

// address returns the address of an operand in memory.
func (m *machine) address(a x86asm.Mem, next uint64) value {
	sum := uint64(a.Disp)
	part := func(r x86asm.Reg, scale uint64) bool {
		if r == 0 {
			return true
		}
		if r == x86asm.RIP {
			sum += next
			return true
		}
		n, size, _ := register(r)
		v := m.regs[n]
		if size != 8 || !v.known {
			return false
		}
		sum += v.v * scale
		return true
	}
	if a.Segment == x86asm.FS || a.Segment == x86asm.GS || !part(a.Base, 1) ||
		!part(a.Index, uint64(a.Scale)) {
		return value{}
	}
	return constant(sum)
}

// operand is an argument of an instruction of n bytes.
func (m *machine) operand(a x86asm.Arg, n int) value {
	switch a := a.(type) {
	case x86asm.Imm:
		return low(constant(uint64(int64(a))), n)
	case x86asm.Reg:
		r, size, high := register(a)
		switch {
		case size == 0:
			return m.unknown()
		case high:
			v := m.regs[r]
			return low(value{known: v.known, v: v.v >> 8}, 1)
		case size < 4 && !m.regs[r].known:
			return m.unknown()
		}
		return low(m.regs[r], min(size, n))
	case x86asm.Mem:
		if at := m.address(a, m.pc); at.known {
			return m.load(at.v, n)
		}
	}
	return m.unknown()
}

// set stores the result of an instruction of n bytes.
func (m *machine) set(a x86asm.Arg, n int, v value) {
	switch a := a.(type) {
	case x86asm.Reg:
		r, size, high := register(a)
		switch {
		case size == 0:
		case size >= 4:
			m.regs[r] = low(v, size)
		case !v.known || !m.regs[r].known:
			m.regs[r] = m.unknown()
		default:
			mask, shift := uint64(1)<<(8*size)-1, 0
			if high {
				shift = 8
			}
			m.regs[r].v = m.regs[r].v&^(mask<<shift) | v.v&mask<<shift
		}
	case x86asm.Mem:
		if at := m.address(a, m.pc); at.known {
			m.store(at.v, n, v)
		}
	}
}

// width returns the size of an argument in bytes.
func width(in *instruction, a x86asm.Arg) int {
	if r, ok := a.(x86asm.Reg); ok {
		_, n, _ := register(r)
		return n
	}
	return in.MemBytes
}

// compared sets the flags for a result of n bytes.
func (m *machine) compared(v value, n int) {
	m.flags = flags{zero: v, width: n}
	if v.known {
		v = low(v, n)
		m.flags = flags{known: true, zf: v.v == 0, sf: v.v>>(8*n-1)&1 != 0}
	}
}

// execute executes an instruction other than jumps and calls. m.pc is already that of the next one.
func (m *machine) execute(in *instruction) {
	a, b := in.Args[0], in.Args[1]
	n := 0
	if a != nil {
		n = width(in, a)
	}
	if code, ok := moves[in.Op]; ok {
		v := m.operand(b, n)
		switch {
		case !m.flags.known || code>>1 == 5:
			v = join(v, m.operand(a, n))
		case !m.flags.condition(code):
			v = m.operand(a, n)
		}
		m.set(a, n, v)
		return
	}
	if code, ok := sets[in.Op]; ok {
		v := m.unknown()
		if m.flags.known && code>>1 != 5 {
			v = constant(0)
			if m.flags.condition(code) {
				v = constant(1)
			}
		}
		m.set(a, 1, v)
		return
	}
	switch in.Op {
	case x86asm.NOP, x86asm.PAUSE, x86asm.PREFETCHNTA, x86asm.PREFETCHT0, x86asm.PREFETCHT1,
		x86asm.PREFETCHT2, x86asm.PREFETCHW, x86asm.MFENCE, x86asm.LFENCE, x86asm.SFENCE, x86asm.EMMS,
		x86asm.FWAIT, x86asm.CLD:
	case x86asm.MOV:
		m.set(a, n, m.operand(b, n))
	case x86asm.MOVZX:
		m.set(a, n, low(m.operand(b, width(in, b)), width(in, b)))
	case x86asm.MOVSX, x86asm.MOVSXD:
		m.set(a, n, low(signed(m.operand(b, width(in, b)), width(in, b)), n))
	case x86asm.LEA:
		v := value{}
		if mem, ok := b.(x86asm.Mem); ok {
			v = m.address(mem, m.pc)
		}
		if !v.known {
			v = m.unknown()
		}
		m.set(a, n, v)
	case x86asm.PUSH:
		m.push(m.operand(a, 8))
	case x86asm.POP:
		v := m.pop()
		m.set(a, 8, v)
	case x86asm.LEAVE:
		m.regs[rsp] = m.regs[rbp]
		m.regs[rbp] = m.pop()
	case x86asm.CDQE:
		m.regs[rax] = signed(low(m.regs[rax], 4), 4)
	case x86asm.CDQ, x86asm.CQO:
		m.regs[rdx] = m.unknown()
		if v := m.regs[rax]; v.known {
			w := map[bool]int{true: 8, false: 4}[in.Op == x86asm.CQO]
			m.regs[rdx] = low(constant(uint64(int64(signed(v, w).v)>>63)), w)
		}
	case x86asm.XCHG:
		x, y := m.operand(a, n), m.operand(b, n)
		m.set(a, n, y)
		m.set(b, n, x)
	case x86asm.NOT:
		v := m.operand(a, n)
		v.v = ^v.v
		m.set(a, n, result(v.known, v.v, n, m))
	case x86asm.ADD, x86asm.SUB, x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.CMP, x86asm.TEST,
		x86asm.INC, x86asm.DEC, x86asm.NEG, x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.SBB, x86asm.ADC:
		m.arithmetic(in, n)
	case x86asm.IMUL:
		m.multiply(in, n)
	default:
		m.other(in, n)
	}
}

func result(known bool, v uint64, n int, m *machine) value {
	if !known {
		return m.unknown()
	}
	return low(constant(v), n)
}

func (m *machine) push(v value) {
	m.regs[rsp] = result(m.regs[rsp].known, m.regs[rsp].v-8, 8, m)
	if m.regs[rsp].known {
		m.store(m.regs[rsp].v, 8, v)
	}
}

func (m *machine) pop() value {
	v := m.unknown()
	if m.regs[rsp].known {
		v = m.load(m.regs[rsp].v, 8)
	}
	m.regs[rsp] = result(m.regs[rsp].known, m.regs[rsp].v+8, 8, m)
	return v
}

// arithmetic executes an instruction with one or two arguments that sets the flags.
func (m *machine) arithmetic(in *instruction, n int) {
	a := in.Args[0]
	x, y := m.operand(a, n), constant(1)
	if in.Args[1] != nil {
		y = m.operand(in.Args[1], n)
	}
	sign := func(v uint64) bool { return v>>(8*n-1)&1 != 0 }
	same := in.Args[1] != nil && a == in.Args[1]
	known := x.known && y.known
	if y.known { // an immediate number may be longer
		y = low(y, n)
	}
	switch in.Op {
	case x86asm.ADD, x86asm.INC:
		r := result(known, x.v+y.v, n, m)
		m.set(a, n, r)
		m.compared(r, n)
		m.flags.cf, m.flags.of = r.v < x.v, sign(x.v) == sign(y.v) && sign(r.v) != sign(x.v)
	case x86asm.SUB, x86asm.CMP, x86asm.DEC, x86asm.NEG:
		if in.Op == x86asm.NEG {
			known, x, y = x.known, value{known: x.known}, x
		}
		if same {
			known, x.v, y.v = true, 0, 0
		}
		r := result(known, x.v-y.v, n, m)
		if in.Op == x86asm.CMP {
			if m.compared(r, n); !known && y.is(0) {
				m.flags.zero = x
			} else if !known {
				m.flags.zero = value{}
			}
		} else {
			m.set(a, n, r)
			m.compared(r, n)
		}
		m.flags.cf, m.flags.of = x.v < y.v, sign(x.v) != sign(y.v) && sign(r.v) != sign(x.v)
	case x86asm.SBB, x86asm.ADC:
		r := m.unknown()
		if in.Op == x86asm.SBB && same && m.flags.known {
			r = constant(0)
			if m.flags.cf {
				r = low(constant(^uint64(0)), n)
			}
		}
		m.set(a, n, r)
		m.flags = flags{}
	case x86asm.AND, x86asm.TEST:
		r := result(known || x.is(0) || y.is(0), x.v&y.v, n, m)
		if same {
			r = x
		}
		if in.Op == x86asm.AND {
			m.set(a, n, r)
		}
		m.compared(r, n)
		if in.Op == x86asm.TEST && !same && !r.known {
			m.flags.zero = value{}
		}
	case x86asm.OR:
		ones := low(constant(^uint64(0)), n).v
		r := result(known || y.is(ones), x.v|y.v, n, m)
		if y.is(ones) {
			r = constant(ones)
		}
		m.set(a, n, r)
		m.compared(r, n)
	case x86asm.XOR:
		r := result(known || same, x.v^y.v, n, m)
		if same {
			r = constant(0)
		}
		m.set(a, n, r)
		m.compared(r, n)
	case x86asm.SHL, x86asm.SHR, x86asm.SAR:
		by, r := y.v&63, uint64(0)
		if n < 8 {
			by &= 31
		}
		switch in.Op {
		case x86asm.SHL:
			r = x.v << by
		case x86asm.SHR:
			r = x.v >> by
		case x86asm.SAR:
			r = uint64(int64(signed(x, n).v) >> by)
		}
		v := result(known, r, n, m)
		m.set(a, n, v)
		m.flags = flags{}
	}
}

// multiply executes IMUL.
func (m *machine) multiply(in *instruction, n int) {
	m.flags = flags{}
	a, x, y := in.Args[0], in.Args[1], in.Args[2]
	if x == nil {
		m.regs[rax], m.regs[rdx] = m.unknown(), m.unknown()
		return
	}
	if y == nil {
		y = a
	}
	v, w := m.operand(x, n), m.operand(y, n)
	m.set(a, n, result(v.known && w.known, v.v*w.v, n, m))
}

// other executes an instruction of which only the kind of effect is known: it changes its first
// argument.
func (m *machine) other(in *instruction, n int) {
	vectors := in.Op.String()[0] == 'F'
	for _, a := range in.Args {
		if r, ok := a.(x86asm.Reg); ok && r >= x86asm.M0 && r <= x86asm.X15 {
			vectors = true
		}
	}
	if !vectors || changesFlags[in.Op] {
		m.flags = flags{}
	}
	if to := m.regs[rdi]; to.known && slices.Contains(implicit[in.Op], rdi) {
		m.forget(to.v, pageSize)
	}
	switch a := in.Args[0].(type) {
	case x86asm.Reg:
		if r, size, _ := register(a); size != 0 {
			m.regs[r] = m.unknown()
		}
	case x86asm.Mem:
		if at := m.address(a, m.pc); at.known {
			m.forget(at.v, max(n, 8))
		}
	}
	if r, ok := in.Args[1].(x86asm.Reg); ok && in.Op == x86asm.XADD {
		i, _, _ := register(r)
		m.regs[i] = m.unknown()
	}
	for _, r := range implicit[in.Op] {
		m.regs[r] = m.unknown()
	}
}
