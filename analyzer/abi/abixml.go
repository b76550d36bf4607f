package abi

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// node is an XML element of libabigail's format.
type node struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Nodes   []node     `xml:",any"`
}

func (n *node) get(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (n *node) number(name string) uint64 {
	v, err := strconv.ParseUint(n.get(name), 10, 63)
	if err != nil {
		return 0
	}
	return v
}

func (n *node) yes(name string) bool { return n.get(name) == "yes" }

// maxXMLDepth is far above the depth of abidw's output, which nests classes.
const maxXMLDepth = 200

// parseXML reads the description of a library, or of a group of them, that libabigail wrote. The
// libraries of a group share types.
func parseXML(b []byte) ([]*Library, error) {
	if err := checkDepth(b); err != nil {
		return nil, err
	}
	var root node
	if err := xml.Unmarshal(b, &root); err != nil {
		return nil, fmt.Errorf("not an ABI in the XML format of libabigail (abidw): %w", err)
	}
	corpora := []*node{&root}
	if root.XMLName.Local == "abi-corpus-group" {
		corpora = nil
		for i := range root.Nodes {
			if n := &root.Nodes[i]; n.XMLName.Local == "abi-corpus" {
				corpora = append(corpora, n)
			}
		}
	}
	if len(corpora) == 0 {
		return nil, errors.New("it describes no library")
	}
	types := xmlTypes{map[string]*node{}, map[*node]string{}}
	var all []*abiXML
	for _, n := range corpora {
		all = append(all, types.corpus(n))
	}
	var out []*Library
	for _, x := range all { // a type may be in a later one
		if err := x.types(); err != nil {
			return nil, err
		}
		if err := x.l.check(); err != nil {
			return nil, err
		}
		out = append(out, x.l)
	}
	return out, nil
}

// corpus reads the element of one library, without its types.
func (t xmlTypes) corpus(root *node) *abiXML {
	l := &Library{
		Name:     root.get("path"),
		SONAME:   root.get("soname"),
		Class:    64,
		Order:    "little",
		Evidence: EvidenceSymbols, Unaligned: true,
		NoBits:   true,
		Partial:  true,
		Needed:   []string{},
		Versions: []string{},
	}
	if l.Name == "" {
		l.Name = l.SONAME
	}
	// elf-amd-x86_64, elf-arm-aarch64, elf-intel-80386
	arch := root.get("architecture")
	for suffix, machine := range map[string]string{
		"x86_64": "x86_64", "aarch64": "aarch64", "80386": "i686",
	} {
		if strings.HasSuffix(arch, suffix) {
			l.Machine = machine
		}
	}
	if l.Machine == "i686" {
		l.Class = 32
	}
	x := &abiXML{xmlTypes: t, l: l, ids: map[string]TypeID{}, typed: map[string]*node{}}
	for i := range root.Nodes {
		n := &root.Nodes[i]
		switch n.XMLName.Local {
		case "elf-needed":
			for k := range n.Nodes {
				l.Needed = append(l.Needed, n.Nodes[k].get("name"))
			}
		case "elf-function-symbols", "elf-variable-symbols":
			for k := range n.Nodes {
				x.symbol(&n.Nodes[k])
			}
		case "abi-instr":
			x.collect(n, "", 0)
		}
	}
	l.Versym = len(l.Versions) > 0
	return x
}

// checkDepth returns an error for XML that is nested too deeply for the recursive decoder.
func checkDepth(b []byte) error {
	d := xml.NewDecoder(bytes.NewReader(b))
	for depth := 0; ; {
		t, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not an ABI in the XML format of libabigail (abidw): %w", err)
		}
		switch t.(type) {
		case xml.StartElement:
			if depth++; depth > maxXMLDepth {
				return fmt.Errorf("its elements are nested more than %d deep", maxXMLDepth)
			}
		case xml.EndElement:
			depth--
		}
	}
}

// xmlTypes are the elements of types of all libraries.
type xmlTypes struct {
	nodes map[string]*node // by id
	names map[*node]string // qualified names
}

// abiXML converts the elements that a library uses to types.
type abiXML struct {
	xmlTypes
	l     *Library
	typed map[string]*node  // functions and variables by elf-symbol-id
	ids   map[string]TypeID // converted types
}

func (x *abiXML) symbol(n *node) {
	if n.XMLName.Local != "elf-symbol" || n.get("is-defined") == "no" {
		return
	}
	s := Symbol{
		Name:      n.get("name"),
		Version:   n.get("version"),
		Kind:      elfobj.Func,
		Weak:      n.get("binding") == "weak-binding" || n.get("binding") == "gnu-unique-binding",
		Protected: n.get("visibility") == "protected-visibility",
	}
	if crc, err := strconv.ParseUint(n.get("crc"), 0, 32); err == nil {
		s.CRC, x.l.Form = uint32(crc), Module
	}
	if s.Namespace = n.get("namespace"); s.Namespace != "" {
		x.l.Form = Module
	}
	s.Hidden = s.Version != "" && n.get("is-default-version") == "no"
	switch n.get("type") {
	case "object-type", "common-type":
		s.Kind, s.Size = elfobj.Data, n.number("size")
	case "tls-type":
		s.Kind, s.Size = elfobj.TLS, n.number("size")
	case "gnu-ifunc-type":
		s.Kind = elfobj.IFunc
	}
	if s.Version != "" && !slices.Contains(x.l.Versions, s.Version) {
		x.l.Versions = append(x.l.Versions, s.Version)
	}
	if !elfobj.OfLinker(s.Name) {
		x.l.Symbols = append(x.l.Symbols, s)
	}
}

// collect finds the types, functions and variables in an element. scope is the enclosing namespace
// or class.
func (x *abiXML) collect(n *node, scope string, depth int) {
	for i := range n.Nodes {
		c := &n.Nodes[i]
		name := c.get("name")
		if scope != "" && name != "" {
			name = scope + "::" + name
		}
		x.names[c] = name
		if id := c.get("id"); id != "" {
			if have := x.nodes[id]; have == nil || have.yes("is-declaration-only") {
				x.nodes[id] = c
			}
		}
		if id := c.get("elf-symbol-id"); id != "" {
			x.typed[id] = c
		}
		inner := scope
		switch c.XMLName.Local {
		case "namespace-decl", "class-decl", "union-decl":
			inner = name
		}
		x.collect(c, inner, depth+1)
	}
}

// types sets the types of the symbols.
func (x *abiXML) types() error {
	l := x.l
	l.Types = []Type{{Kind: Void}}
	found := false
	for i := range l.Symbols {
		s := &l.Symbols[i]
		n := x.typed[s.ID()]
		if n == nil {
			continue
		}
		found = true
		s.File, s.Line = n.get("filepath"), uint32(n.number("line"))
		if n.XMLName.Local == "var-decl" {
			s.Type = x.intern(n.get("type-id"), "", 0)
			continue
		}
		id := TypeID(len(l.Types))
		l.Types = append(l.Types, Type{Kind: Function})
		s.Type = id
		l.Types[id] = x.function(n, 0)
		if len(l.Types) > maxTypes {
			return errTooManyTypes
		}
	}
	if !found {
		l.Types = nil
		return nil
	}
	l.Evidence = EvidenceDWARF // abidw reads DWARF unless told to read CTF or BTF
	return nil
}

func (x *abiXML) function(n *node, depth int) Type {
	t := Type{Kind: Function}
	for i := range n.Nodes {
		c := &n.Nodes[i]
		switch c.XMLName.Local {
		case "parameter":
			if c.yes("is-variadic") {
				t.Variadic = true
				continue
			}
			if c.yes("is-artificial") && len(t.Params) > 0 {
				continue // of a destructor of a class with virtual bases
			}
			t.Params = append(t.Params, Param{
				Name: c.get("name"), Type: x.intern(c.get("type-id"), "", depth+1),
			})
		case "return":
			t.Elem = x.intern(c.get("type-id"), "", depth+1)
		}
	}
	return t
}

// intern returns the type with an id, without qualifiers and typedefs.
func (x *abiXML) intern(id, typedef string, depth int) TypeID {
	n := x.nodes[id]
	for range maxSteps {
		if n == nil {
			break
		}
		switch n.XMLName.Local {
		case "typedef-decl":
			typedef = x.names[n]
		case "qualified-type-def":
		default:
			return x.convert(id, n, typedef, depth)
		}
		id = n.get("type-id")
		n = x.nodes[id]
	}
	return x.add(Type{Kind: Unknown})
}

func (x *abiXML) add(t Type) TypeID {
	x.l.Types = append(x.l.Types, t)
	return TypeID(len(x.l.Types) - 1)
}

func (x *abiXML) convert(id string, n *node, typedef string, depth int) TypeID {
	if have, ok := x.ids[id]; ok {
		return have
	}
	if depth > maxTypeDepth || len(x.l.Types) > maxTypes {
		return x.add(Type{Kind: Unknown})
	}
	name := x.names[n]
	if n.yes("is-anonymous") {
		name = ""
		if typedef != "" {
			name = typedef
		}
	}
	if name == "void" && n.XMLName.Local == "type-decl" {
		x.ids[id] = 0
		return 0
	}
	file := n.get("filepath")
	at := x.add(Type{Kind: Unknown})
	x.ids[id] = at
	t := Type{
		Name: name,
		Size: n.number("size-in-bits") / 8,
		File: file, Line: uint32(n.number("line")),
		Private: source(file), System: system(file),
		Declared: n.yes("is-declaration-only"),
	}
	elem := func() TypeID { return x.intern(n.get("type-id"), "", depth+1) }
	switch n.XMLName.Local {
	case "type-decl":
		t = Type{Kind: Base, Name: n.get("name"), Size: t.Size, Encoding: encoding(n.get("name"))}
	case "pointer-type-def", "reference-type-def", "pointer-to-member-type":
		t = Type{Kind: Pointer, Size: max(t.Size, uint64(x.l.Class/8)), Elem: elem()}
		switch n.XMLName.Local {
		case "reference-type-def":
			t.Kind = Reference
		case "pointer-to-member-type":
			t.Kind = MemberPointer
		}
	case "array-type-def":
		t = Type{Kind: Array, Elem: elem()}
		for i := range n.Nodes {
			if c := &n.Nodes[i]; c.XMLName.Local == "subrange" {
				length, err := strconv.ParseInt(c.get("length"), 10, 63)
				if err != nil {
					length = -1
				}
				t.Counts = append(t.Counts, length)
			}
		}
	case "function-type":
		t = x.function(n, depth+1)
	case "class-decl", "union-decl", "enum-decl":
		x.body(&t, n, depth)
	default:
		return at
	}
	x.l.Types[at] = t
	return at
}

// body reads the members of a class, union or enumeration.
func (x *abiXML) body(t *Type, n *node, depth int) {
	t.Kind = map[string]Kind{"class-decl": Struct, "union-decl": Union,
		"enum-decl": Enum}[n.XMLName.Local]
	t.IsClass = t.Kind == Struct && !n.yes("is-struct")
	for i := range n.Nodes {
		c := &n.Nodes[i]
		switch c.XMLName.Local {
		case "underlying-type":
			if under := x.nodes[c.get("type-id")]; under != nil {
				t.Size = under.number("size-in-bits") / 8
			}
		case "enumerator":
			v, err := strconv.ParseInt(c.get("value"), 10, 64)
			if err == nil {
				if t.Size > 0 && t.Size < 8 {
					v &= 1<<(8*t.Size) - 1
				}
				t.Enumerators = append(t.Enumerators, Enumerator{c.get("name"), v})
			}
		case "base-class":
			t.Bases = append(t.Bases, BaseClass{
				Type:    x.intern(c.get("type-id"), "", depth+1),
				Offset:  c.number("layout-offset-in-bits") / 8,
				Virtual: c.yes("is-virtual"),
			})
		case "data-member":
			if c.yes("static") || len(c.Nodes) == 0 {
				continue
			}
			v := &c.Nodes[0]
			t.Members = append(t.Members, Member{
				Name:   v.get("name"),
				Offset: c.number("layout-offset-in-bits"),
				Type:   x.intern(v.get("type-id"), "", depth+1),
			})
		case "member-function":
			slot := c.get("vtable-offset")
			if slot == "" || len(c.Nodes) == 0 {
				continue
			}
			f := &c.Nodes[0]
			v := Virtual{Name: f.get("mangled-name"), Slot: int64(c.number("vtable-offset"))}
			if v.Name == "" {
				v.Name = f.get("name")
			}
			t.Virtuals = append(t.Virtuals, v)
		}
	}
	slices.SortFunc(t.Virtuals, func(a, b Virtual) int { return int(a.Slot - b.Slot) })
}

// encoding derives DW_ATE_ from the name of a base type, because the XML does not contain it.
func encoding(name string) uint8 {
	switch {
	case name == "bool" || name == "_Bool":
		return encodingBool
	case strings.Contains(name, "float"), strings.Contains(name, "double"):
		return encodingFloat
	case name == "char" || name == "signed char":
		return encodingSignedChar
	case name == "unsigned char":
		return encodingUnsigChar
	case strings.HasPrefix(name, "char"): // char16_t
		return encodingUTF
	case strings.HasPrefix(name, "unsigned"):
		return encodingUnsigned
	}
	return encodingSigned
}
