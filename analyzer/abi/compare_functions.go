package abi

import (
	"fmt"
	"strings"
)

type functionPair struct {
	a, b TypeID
	by   implementer
}

// implementer is who implements a function: programs call those of a library, and implement what
// they pass to it.
type implementer uint8

const (
	either implementer = iota // a pointer in a structure, a virtual function
	library
	program
)

// other returns who implements the functions that are passed to one.
func (i implementer) other() implementer {
	switch i {
	case library:
		return program
	case program:
		return library
	}
	return either
}

// use is where and how two types are used.
type use struct {
	value bool   // they are used by value, not through a pointer
	step  string // description of the place
	depth int    // of pointers, arrays and functions
	by    implementer
	via   access // 0 = direct
}

// inside returns the use of an element.
func (u use) inside() use {
	u.depth++
	return u
}

// pointee returns the use of what a pointer or reference points to.
func (u use) pointee(k Kind) use {
	u.value, u.via = false, throughPointer
	if k == Reference {
		u.via = throughReference
	}
	return u.inside()
}

// signature compares the parameters and results of two functions. It returns the differences that
// are not changes of a named type.
func (t *typeComparison) signature(p *pair, x, y *Type, u use) []string {
	var out []string
	own := p.from == nil && u.depth == 0 // the function of an export
	result := u.inside()
	result.value, result.step, result.via = true, "its result", direct
	switch {
	case x.Elem == 0 && y.Elem != 0 && t.new.inMemory(y.Elem):
		out = append(out, fmt.Sprintf("it returned nothing and now returns %s in memory, whose address "+
			"callers have to pass", t.new.spell(y.Elem)))
	case x.Elem == 0 && y.Elem != 0 && t.new.onX87(y.Elem):
		out = append(out, fmt.Sprintf("it returned nothing and now leaves %s on the floating-point "+
			"stack, which callers have to remove", t.new.spell(y.Elem)))
	case x.Elem == 0 && (y.Elem == 0 || u.by == library || t.new.Types[y.Elem].Kind == Unknown),
		t.old.Types[x.Elem].Kind == Unknown:
		// a result in registers, which old programs do not use
	case x.Elem == 0:
		out = append(
			out,
			fmt.Sprintf("it returned nothing and now has to return %s", t.new.spell(y.Elem)),
		)
	case y.Elem == 0 && u.by == program && !t.old.inMemory(x.Elem) && !t.old.onX87(x.Elem):
		// a result in registers, which the library no longer uses
	case y.Elem == 0:
		out = append(out, fmt.Sprintf("it returned %s and now returns nothing", t.old.spell(x.Elem)))
	default:
		t.passing(p, x.Elem, y.Elem)
		if d := t.ref(p, x.Elem, y.Elem, result); d != "" {
			out = append(out, "its result "+d)
		}
	}
	if x.Unprototyped || y.Unprototyped {
		// Only the definition of an export says that an empty list is one.
		if n := len(y.Params); own && n > 0 {
			out = append(out, fmt.Sprintf("it took no parameters and now has %d", n))
		}
		return out
	}
	if len(x.Params) != len(y.Params) {
		return append(
			out,
			fmt.Sprintf("it had %s and now has %d", counted(len(x.Params), "parameter"), len(y.Params)),
		)
	}
	for k := range x.Params {
		parameter := result
		parameter.by = u.by.other()
		parameter.step = fmt.Sprintf("parameter %d", k+1)
		if n := x.Params[k].Name; n != "" {
			parameter.step += " (" + n + ")"
		}
		t.passing(p, x.Params[k].Type, y.Params[k].Type)
		if d := t.ref(p, x.Params[k].Type, y.Params[k].Type, parameter); d != "" {
			out = append(out, parameter.step+" "+d)
		}
	}
	// The name of a C++ function has its parameters, and not every compiler describes the variable
	// ones.
	mangled := own && strings.HasPrefix(t.old.Symbols[p.symbol].Name, "_Z")
	if x.Variadic != y.Variadic && !mangled {
		out = append(
			out,
			map[bool]string{
				true:  "it now takes variable arguments",
				false: "it no longer takes variable arguments",
			}[y.Variadic],
		)
	}
	return out
}

// function is signature for function types inside other types.
func (t *typeComparison) function(p *pair, a, b TypeID, u use) string {
	key := functionPair{a, b, u.by}
	if d, ok := t.functions[key]; ok {
		return d
	}
	t.functions[key] = "" // ends the recursion for a function type that contains itself
	x, y := &t.old.Types[a], &t.new.Types[b]
	out := t.signature(p, x, y, u.inside())
	if x.Convention != y.Convention {
		out = append(out, "its calling convention changed")
	}
	d := strings.Join(out, ", ")
	t.functions[key] = d
	return d
}

// passing reports a class that is no longer passed in registers but by reference to a copy, or the
// reverse.
func (t *typeComparison) passing(p *pair, a, b TypeID) {
	x, y := &t.old.Types[a], &t.new.Types[b]
	if !x.composite() || !y.composite() || x.Name != y.Name || x.System || x.Declared ||
		y.Declared ||
		t.reported[x.Name+" passing"] != "" {
		return
	}
	was, is := t.old.byReference(x), t.new.byReference(y)
	if was == is {
		return
	}
	t.reported[x.Name+" passing"] = Error
	c := Change{
		Rule:     RuleConvention,
		Severity: Error,
		Type:     x.Name,
		Old:      place(x.File, x.Line),
		New:      place(y.File, y.Line),
		Detail: x.Name + " was passed by value (in registers or on the stack), and the C++ ABI " +
			"now passes it by address: its destructor, copy constructor or move constructor is " +
			"no longer trivial.",
		Effect: "Existing programs pass a value where an address is expected.",
		Fix:    "Keep the class trivially copyable.",
	}
	if was {
		c.Detail = x.Name + " was passed by address, and the C++ ABI now passes it by value (in " +
			"registers or on the stack): its destructor, copy constructor and move constructor " +
			"are now trivial."
		c.Effect = "Existing programs pass an address where a value is expected."
		c.Fix = "Keep the destructor, copy constructor or move constructor that was not trivial."
	}
	c.Fix += " For new functions, take it by pointer or reference (const T&) in the declaration."
	t.note(p, a, c)
}
