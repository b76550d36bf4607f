package processor

// vector is an instruction with a VEX or EVEX prefix.
type vector struct {
	length   int
	level    Level
	rm, reg  int // the general registers that ModRM would name
	vvvv     int
	writes   []int // general registers that it changes
	flags    bool  // it changes the flags
	store    bool  // it writes to memory, or to another register
	base     int   // of a memory operand without an index: the register; -1 without one
	disp     int64
	bytes    int  // the most that a store writes
	inMemory bool // it has a memory operand
}

// decodeVector decodes an instruction with a VEX or EVEX prefix in 64-bit mode, where 0xc4, 0xc5
// and 0x62 begin nothing else. ok is false for other and incomplete ones, and for maps of opcodes
// that are not known.
func decodeVector(b []byte) (v vector, ok bool) {
	at := 0
	var opmap, pp, rexR, rexX, rexB, vvvv, length byte
	take := func() byte {
		if at >= len(b) {
			at = len(b) + 1
			return 0
		}
		at++
		return b[at-1]
	}
	evex := false
	switch take() {
	case 0xc5:
		p := take()
		rexR, vvvv, length, pp, opmap = ^p>>7&1, ^p>>3&15, p>>2&1, p&3, 1
	case 0xc4:
		p, q := take(), take()
		rexR, rexX, rexB, opmap = ^p>>7&1, ^p>>6&1, ^p>>5&1, p&31
		vvvv, length, pp = ^q>>3&15, q>>2&1, q&3
	case 0x62:
		p, q, r := take(), take(), take()
		evex = true
		rexR, rexX, rexB, opmap = ^p>>7&1, ^p>>6&1, ^p>>5&1, p&7
		vvvv, length, pp = ^q>>3&15, r>>5&3, q&3
		if q&4 == 0 || p&8 != 0 {
			return v, false
		}
	default:
		return v, false
	}
	if opmap == 0 || opmap > 3 && (!evex || opmap != 5 && opmap != 6) {
		return v, false
	}
	op := take()
	v.level, v.vvvv, v.base = vectorLevel(evex, opmap, pp, op, length), int(vvvv), -1
	if opmap == 1 && op == 0x77 && !evex { // VZEROUPPER, VZEROALL
		v.length = at
		return v, at <= len(b)
	}
	m := take()
	v.rm, v.reg = int(m&7|rexB<<3), int(m>>3&7|rexR<<3)
	mod := m >> 6
	if mod != 3 {
		v.inMemory = true
		v.base = v.rm
		if m&7 == 4 {
			sib := take()
			v.base = int(sib&7 | rexB<<3)
			if sib>>3&7|rexX<<3 != 4 {
				v.base = -1 // with an index
			}
			if sib&7 == 5 && mod == 0 {
				v.base, mod = -1, 2
			}
		} else if m&7 == 5 && mod == 0 {
			v.base, mod = -1, 2 // relative to the next instruction
		}
		switch mod {
		case 1:
			v.disp = int64(int8(take()))
			if evex {
				v.disp *= 16 << length
			}
		case 2:
			var d uint32
			for i := range 4 {
				d |= uint32(take()) << (8 * i)
			}
			v.disp = int64(int32(d))
		}
	}
	if opmap == 3 || opmap == 1 && immediate.has(op) {
		take()
	}
	v.length, v.bytes = at, 16<<length
	v.effects(opmap, pp, op)
	return v, at <= len(b)
}

// effects sets what the instruction changes other than vector registers.
func (v *vector) effects(opmap, pp, op byte) {
	writes := func(r ...int) { v.writes = append(v.writes, r...) }
	rm := func() {
		if !v.inMemory {
			writes(v.rm)
		}
	}
	switch opmap {
	case 1:
		switch op {
		case 0x11, 0x13, 0x17, 0x29, 0x2b, 0x7f, 0xd6, 0xe7, 0x91:
			v.store = v.inMemory
		case 0x2c, 0x2d, 0x50, 0x78, 0x79, 0xc5, 0xd7, 0x93:
			writes(v.reg)
		case 0x2e, 0x2f, 0x98, 0x99:
			v.flags = true
		case 0x7e:
			if pp == 1 {
				rm()
				v.store = v.inMemory
			}
		}
	case 2:
		switch op {
		case 0x0e, 0x0f, 0x17:
			v.flags = true
		case 0xf2, 0xf5, 0xf7:
			writes(v.reg)
			v.flags = true
		case 0xf3:
			writes(v.vvvv)
			v.flags = true
		case 0xf6:
			writes(v.reg, v.vvvv)
		case 0x2e, 0x2f, 0x8e, 0x8a, 0x8b, 0x63, 0xa0, 0xa1, 0xa2, 0xa3, 0x10, 0x11, 0x12, 0x13, 0x14,
			0x15, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35:
			v.store = v.inMemory
		}
	case 3:
		switch op {
		case 0x14, 0x15, 0x16, 0x17:
			rm()
			v.store = v.inMemory
		case 0x19, 0x1b, 0x1d, 0x39, 0x3b:
			v.store = v.inMemory
		case 0x60, 0x61, 0x62, 0x63:
			writes(rcx)
			v.flags = true
		case 0xf0:
			writes(v.reg)
		}
	}
}

// immediate are the opcodes of map 1 that a number follows, as it does all of map 3.
var immediate = opcodes{{0x70, 0x73}, {0xc2, 0xc2}, {0xc4, 0xc6}}

// opcodes are ranges of opcodes, first and last.
type opcodes [][2]byte

func (o opcodes) has(op byte) bool {
	for _, r := range o {
		if op >= r[0] && op <= r[1] {
			return true
		}
	}
	return false
}

// Opcodes that are newer than AVX, by their map (Intel's manual, volume 2).
var (
	// operations on mask registers, which have a VEX prefix
	maskMap1 = opcodes{{0x41, 0x4b}, {0x90, 0x93}, {0x98, 0x99}}
	maskMap3 = opcodes{{0x30, 0x33}}
	// FMA, BMI, and what AVX2 added
	avx2Map2 = opcodes{
		{0x16, 0x16}, {0x36, 0x36}, {0x45, 0x47}, {0x58, 0x5a}, {0x78, 0x79}, {0x8c, 0x8c}, {0x8e, 0x8e},
		{0x90, 0x93}, {0x96, 0x9f}, {0xa6, 0xaf}, {0xb6, 0xbf}, {0xf2, 0xf3}, {0xf5, 0xf7},
	}
	avx2Map3 = opcodes{{0x00, 0x02}, {0x38, 0x39}, {0x46, 0x46}, {0xf0, 0xf0}}
	// operations on integers, which AVX has for 128 bits and AVX2 for 256
	wideMap1 = opcodes{
		{0x60, 0x6d}, {0x70, 0x76}, {0xd1, 0xd5}, {0xd7, 0xe5}, {0xe8, 0xff},
	}
	wideMap2 = opcodes{{0x00, 0x0b}, {0x1c, 0x2b}, {0x30, 0x40}}
)

// vectorLevel returns the level of an opcode. Only what is surely newer than AVX is AVX2.
func vectorLevel(evex bool, opmap, pp, op, length byte) Level {
	wide := length == 1
	switch {
	case evex,
		opmap == 1 && (pp < 2 || op == 0x92 || op == 0x93) && maskMap1.has(op),
		opmap == 3 && maskMap3.has(op):
		return AVX512
	case opmap == 2 && avx2Map2.has(op),
		opmap == 3 && avx2Map3.has(op),
		opmap == 1 && wide && pp == 1 && wideMap1.has(op),
		opmap == 2 && wide && wideMap2.has(op):
		return AVX2
	}
	return AVX
}
