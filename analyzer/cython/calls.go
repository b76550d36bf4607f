package cython

import (
	"bytes"
	"encoding/binary"
)

// Calls finds in machine code for x86_64 the calls that may import a type: whose arguments are
// names in the object and a constant. It looks only at the instructions directly before a call that
// load its arguments, of the first Sample bytes. The result does not depend on how the code is
// divided into calls of Write. The zero value is ready to use.
type Calls struct {
	at     int64              // of the first byte of kept
	kept   []byte             // the end of what was written
	parsed int64              // where the last call ends
	module int64              // the first argument of the last call that has only this one; 0 = none
	saved  map[register]int64 // addresses in registers that have no argument
	found  []site
}

// Sample is how many bytes of code are examined.
const Sample = 4 << 20

// Call is a call that may import a type.
type Call struct {
	Module, Class uint64 // addresses of the names
	Size          int64  // in bytes
}

// site is a Call with addresses relative to the beginning of the code.
type site struct{ module, class, size int64 }

const (
	// The instructions that load the arguments of a call have at most so many bytes on each side of
	// one of them.
	longest  = 64
	maxSites = 4096
	// The instructions that load one argument, and a call that follows.
	maxArguments = 8
)

// Write examines code. It never fails.
func (c *Calls) Write(p []byte) (int, error) {
	n := len(p)
	p = p[:min(n, max(Sample-int(c.at)-len(c.kept), 0))]
	if c.saved == nil {
		c.saved = map[register]int64{}
	}
	c.kept = append(c.kept, p...)
	if done := len(c.kept) - longest; done > longest {
		c.scan(done)
		c.at += int64(done - longest)
		c.kept = append(c.kept[:0], c.kept[done-longest:]...)
	}
	return n, nil
}

// Enough reports whether more code would not be examined.
func (c *Calls) Enough() bool { return int(c.at)+len(c.kept) >= Sample || len(c.found) >= maxSites }

// At returns the calls in code that begins at an address.
func (c *Calls) At(start uint64) []Call {
	c.scan(len(c.kept))
	out := make([]Call, len(c.found))
	for i, f := range c.found {
		out[i] = Call{start + uint64(f.module), start + uint64(f.class), f.size}
	}
	return out
}

// scan looks for calls of which an address is loaded before a place in what is kept.
func (c *Calls) scan(to int) {
	for i := max(int(c.parsed-c.at), 0); i < to && len(c.found) < maxSites; {
		next := bytes.IndexByte(c.kept[i:to], lea)
		if next < 0 {
			return
		}
		i += next
		end := i + 1
		if at := i - 1; at >= 0 {
			to, address, ok := c.address(at)
			switch {
			case ok && to.argument() != none:
				end = max(c.call(at), end)
			case ok:
				c.saved[to] = address
				end = max(c.call(at+leaLength), end)
			}
		}
		i = end
		c.parsed = c.at + int64(i)
	}
}

// lea is the opcode of the instruction that loads an address, after a prefix.
const (
	lea       = 0x8d
	leaLength = 7
)

// address reads a lea of an address relative to the next instruction, which is then relative to the
// beginning of the code.
func (c *Calls) address(i int) (to register, address int64, ok bool) {
	b := c.kept[min(i, len(c.kept)):]
	if len(b) < leaLength || b[0]&^4 != 0x48 || b[1] != lea || b[2]&0xc7 != 5 {
		return 0, 0, false
	}
	return register(b[2]>>3&7 | b[0]&4<<1), c.at + int64(i) + leaLength +
		int64(int32(binary.LittleEndian.Uint32(b[3:]))), true
}

// register is a register by its number.
type register byte

// The registers of the first four arguments (System V ABI for x86_64).
const (
	first = iota
	second
	third
	fourth
	none
)

// argument returns the argument that a register has.
func (r register) argument() int {
	switch r {
	case 7: // %rdi
		return first
	case 6: // %rsi
		return second
	case 2: // %rdx
		return third
	case 1: // %rcx
		return fourth
	}
	return none
}

// argument is what is known of an argument.
type argument struct {
	address  int64 // relative to the beginning of the code
	constant int64
	is       byte // 'a': an address, 'c': a constant, 0: not known
}

// call reads a call of which one argument is loaded at a place, and returns where the call ends; 0
// if something else follows.
func (c *Calls) call(i int) int {
	for range maxArguments {
		n := c.loadBefore(i)
		if n == 0 {
			break
		}
		i -= n
	}
	var args [none]argument
	for range maxArguments {
		n := c.load(i, &args)
		if n == 0 {
			break
		}
		i += n
	}
	if i >= len(c.kept) || c.kept[i] != 0xe8 && !bytes.HasPrefix(c.kept[i:], []byte{0xff, 0x15}) {
		return 0 // no call
	}
	switch {
	case args[second].is == 'a' && args[third].is == 'a' && args[fourth].is == 'c':
		c.add(args[second].address, args[third].address, args[fourth].constant)
	case args[second].is == 'a' && args[third].is == 'c':
		// The compiler left out the name of the module, which is the same in all calls.
		c.add(c.module, args[second].address, args[third].constant)
	case args[first].is == 'a' && args[second].is == 0 && args[third].is == 0:
		c.module = args[first].address
	}
	return i
}

func (c *Calls) add(module, class, size int64) {
	if module != 0 && size >= minSize && size < maxSize && size%8 == 0 {
		c.found = append(c.found, site{module, class, size})
	}
}

// loadBefore returns the length of the instruction before a place, if it loads an argument.
func (c *Calls) loadBefore(i int) int {
	for _, n := range []int{leaLength, 6, 5, 3} {
		if i >= n && c.load(i-n, nil) == n {
			return n
		}
	}
	return 0
}

// load reads an instruction that may be between the first that loads an argument and the call, and
// returns its length; 0 for another one. Without args nothing is recorded.
func (c *Calls) load(i int, args *[none]argument) int {
	set := func(r register, x argument) {
		switch at := r.argument(); {
		case args == nil:
		case at != none:
			args[at] = x
		default:
			delete(c.saved, r)
		}
	}
	if to, address, ok := c.address(i); ok && to.argument() != none {
		set(to, argument{is: 'a', address: address})
		return leaLength
	}
	b := c.kept[min(i, len(c.kept)):]
	switch {
	case len(b) >= 6 && b[0] == 0x41 && (b[1] == 0xb8 || b[1] == 0xb9): // mov $…, %r8d or %r9d
		return 6
	case len(b) >= 5 && (b[0] == 0xb9 || b[0] == 0xba): // mov $…, %ecx or %edx
		set(register(b[0]&7),
			argument{is: 'c', constant: int64(binary.LittleEndian.Uint32(b[1:]))})
		return 5
	case len(b) >= 3 && b[0] == 0x45 && b[1] == 0x31 && (b[2] == 0xc0 || b[2] == 0xc9):
		return 3 // xor of %r8d or %r9d with itself
	case len(b) >= 3 && b[0]&^5 == 0x48 && b[1] == 0x89 && b[2] >= 0xc0: // mov of a register
		to, from := register(b[2]&7|b[0]&1<<3), register(b[2]>>3&7|b[0]&4<<1)
		x := argument{}
		if address, ok := c.saved[from]; ok {
			x = argument{is: 'a', address: address}
		} else if args != nil && from.argument() != none {
			x = args[from.argument()]
		}
		set(to, x)
		return 3
	}
	return 0
}
