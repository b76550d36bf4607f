// Package processor finds out whether an object can be loaded, and a module be imported, by a
// processor that has no more than the baseline of x86_64.
//
//	need := processor.Of(object, contents)
//	if need.Level >= processor.AVX2 { … } // loading it ends with SIGILL without AVX2
//
// Code that a compiler was allowed to write for newer processors (-march=native, -mavx2) fails at
// its first such instruction. Libraries that read first what it has contain the same
// instructions, so what matters is whether they are executed on every path. Of follows the code
// that the loader and Python call (initializers, PyInit_, the functions of Py_mod_exec, main)
// through direct calls and jumps. Where a condition is not known, both sides are followed. The
// result is a level only if all paths on which the import succeeds execute an instruction of it
// before code reads what the processor has (CPUID, XGETBV). All else is Baseline: a path that ends
// without one, and one of which it is not known where it continues before it has reached one.
//
// Values are known if they follow from the bytes of the object: constants, its data before
// anything has run, the stack. Data that an initializer may have changed is not known afterwards;
// that is all data, once one of its paths was not followed to its end, as where it reads what the
// processor has. What other libraries return is not known. That they change data through a pointer
// that they kept is not considered.
//
// The input is untrusted. Of executes at most maxSteps instructions, which store at most maxTouched
// words, and reads only mapped addresses, in at most maxPages pages. Instructions of the baseline
// are decoded by golang.org/x/arch, and those with a VEX or EVEX prefix by vex.go, as far as their
// length and their effect on general registers.
package processor

import (
	"strings"

	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/elfobj"
)

// Level is a set of instructions beyond the baseline, each including the ones before.
type Level uint8

const (
	Baseline Level = iota // or not known
	AVX
	AVX2 // also FMA and BMI: x86-64-v3
	AVX512
)

// String returns the name of the instructions, "" for Baseline.
func (l Level) String() string {
	return [...]string{"", "AVX", "AVX2, FMA or BMI", "AVX-512"}[l]
}

// Need is what a processor must have, so that an object can be loaded.
type Need struct {
	Level Level
	// Entry is the function that executes it: "PyInit_m", "Py_mod_exec", "main" or "an initializer".
	// Addr is the address of the first one of the level that was found.
	Entry string
	Addr  uint64
}

// Of returns what loading an object for x86_64 needs, and importing it if it is a module of Python.
func Of(o *elfobj.Object, c *elfobj.Contents) (Need, error) {
	if c.Segments() > maxSegments {
		return Need{}, nil
	}
	targets, err := c.Targets()
	if err != nil {
		return Need{}, err
	}
	return relocated(o, c, targets)
}

// maxSegments limits the segments, in all of which an address is searched. Usual are 4 to 10.
const maxSegments = 128

// relocated is Of for an object with what the loader stores in it.
func relocated(
	o *elfobj.Object, c *elfobj.Contents, targets map[uint64]elfobj.Target,
) (Need, error) {
	m := newMachine(c, targets)
	var need Need
	run := func(name string, addr uint64, ok func(value) bool) {
		if need.Level == AVX512 {
			return
		}
		if n := m.run(addr, ok); n.Level > need.Level {
			need = Need{n.Level, name, n.Addr}
		}
	}
	anything := func(value) bool { return true }
	init, array := c.Initializers()
	if init != 0 {
		run("an initializer", init, anything)
	}
	for at := array.Addr; at < array.Addr+min(array.Size, maxInitializers*8); at += 8 {
		if t, ok := targets[at]; ok && t.Symbol == "" && !t.Unknown {
			run("an initializer", t.Addr, anything)
		}
	}
	places, err := c.Places()
	if err != nil {
		return Need{}, err
	}
	if o.Interp != "" {
		run("_start", c.Entry(), anything)
		if m.main != 0 {
			run("main", m.main, anything)
		}
	}
	for i, e := range o.Exports.All() {
		if _, ok := cpython.ParseHook(e.Name); !ok || i >= len(places) ||
			!strings.HasPrefix(e.Name, "PyInit_") {
			continue
		}
		run(e.Name, places[i].Addr, func(v value) bool { return !v.is(0) })
	}
	for _, def := range m.defined {
		for _, exec := range m.execSlots(def) {
			run("Py_mod_exec", exec, func(v value) bool { return v.low32(0) || !v.nonzero && !v.known })
		}
	}
	return need, nil
}

// maxInitializers and maxSlots limit the entries of tables of functions that are followed.
const (
	maxInitializers = 256
	maxSlots        = 16
)

// execSlots returns the functions that Python calls after PyInit_ has returned a definition of a
// module (PEP 489): those of its slots Py_mod_exec.
func (m *machine) execSlots(def uint64) (out []uint64) {
	const modExec = 2
	// The offset of m_slots in PyModuleDef; the free-threaded build has a larger PyObject.
	for _, field := range []uint64{72, 88} {
		slots, ok := m.targets[def+field]
		if !ok || slots.Symbol != "" || slots.Unknown {
			continue
		}
		for i := range uint64(maxSlots) {
			kind, known := m.loadedWord(slots.Addr + 16*i) // nothing changes the table
			f := m.targets[slots.Addr+16*i+8]
			if !known || kind == 0 || kind > 64 {
				break
			}
			if kind == modExec && f.Symbol == "" && !f.Unknown && f.Addr != 0 {
				out = append(out, f.Addr)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

// loadedWord returns four bytes of the object as the loader leaves them.
func (m *machine) loadedWord(at uint64) (v uint32, known bool) {
	for i := range uint64(4) {
		b, ok := m.loaded(at + i)
		if !ok {
			return 0, false
		}
		v |= uint32(b) << (8 * i)
	}
	return v, true
}
