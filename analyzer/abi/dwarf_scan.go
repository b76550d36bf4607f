package abi

import (
	"cmp"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/dwarf"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// maxScopes limits the depth of nested namespaces.
const maxScopes = 64

// scan finds the entries that define exports.
type scan struct {
	l     *Library
	d     *dwarf.Data
	names []int32      // exports, sorted by name
	addrs []position   // exports with an address, sorted by it
	found []definition // by export
	fresh []int32      // exports that the current unit defines
	// by export, the entry that describes it without an address: its definition, if another function
	// has its code, or a declaration, if it is written in assembly or chosen at load time
	described []definition
	chain     []dwarf.Entry // an entry, its abstract origin, and its specification

	imports   bool               // the symbols are imports: their declarations are wanted
	classes   map[string][]int32 // exports of typeinfo and virtual tables, by the class's last name
	qualified func(*dwarf.Entry) (string, error)
}

// position is the address of an export.
type position struct {
	addr   uint64
	export int32
}

// named returns the exports with a name.
func (s *scan) named(name []byte) []int32 {
	by := func(i int32) string { return s.l.Symbols[i].Name }
	from := sort.Search(len(s.names), func(k int) bool { return by(s.names[k]) >= string(name) })
	to := from
	for to < len(s.names) && by(s.names[to]) == string(name) {
		to++
	}
	return s.names[from:to]
}

// at returns the exports with an address.
func (s *scan) at(addr uint64) []position {
	from := sort.Search(len(s.addrs), func(k int) bool { return s.addrs[k].addr >= addr })
	to := from
	for to < len(s.addrs) && s.addrs[to].addr == addr {
		to++
	}
	return s.addrs[from:to]
}

// definition is the entry that defines an export.
type definition struct {
	ref   dwarf.Ref
	named bool // found by name, not by address as an alias; of described: no declaration
}

// read sets the types of the exports of a library, or of those from first on. The types of a unit
// are read before the next unit, so that few units are in memory. Without any unit, because the
// debug information is in files that were not found, the evidence stays as it is.
func (b *builder) read(d *dwarf.Data, addrs []uint64) error {
	l := b.l
	s := &scan{
		l:       l,
		d:       d,
		names:   make([]int32, 0, len(l.Symbols)-b.first),
		addrs:   make([]position, 0, len(addrs)),
		imports: addrs == nil,
	}
	if n := len(l.Symbols) - len(b.found); n > 0 {
		b.found = append(b.found, make([]definition, n)...)
		b.described = append(b.described, make([]definition, n)...)
	}
	s.found, s.described = b.found, b.described
	for i := b.first; i < len(l.Symbols); i++ {
		s.names = append(s.names, int32(i))
		if s.imports {
			continue
		}
		addr := addrs[i]
		if l.Machine == "arm" { // the lowest bit marks Thumb code
			addr &^= 1
		}
		if addrs[i] != 0 {
			s.addrs = append(s.addrs, position{addr, int32(i)})
		}
	}
	slices.SortFunc(s.names, func(a, b int32) int {
		return cmp.Or(strings.Compare(l.Symbols[a].Name, l.Symbols[b].Name), cmp.Compare(a, b))
	})
	slices.SortFunc(s.addrs, func(a, b position) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.export, b.export))
	})
	b.scan(s)
	s.classes, s.qualified = l.tablesByClass(b.first), b.qualified
	cursors := make([]dwarf.Cursor, maxScopes)
	var root dwarf.Entry
	for u, err := range d.Units() {
		if err != nil {
			return err
		}
		l.Evidence = EvidenceDWARF
		if u.TypeUnit && len(s.classes) == 0 || u.Assembler() { // assembly has no types
			continue
		}
		if err := d.Entry(u.Root(), &root); err != nil {
			return err
		}
		if !u.TypeUnit {
			l.Units++
			l.Unaligned = l.Unaligned || !recordsAlignment(root.String(dwarf.Producer))
		}
		cursors[0].Reset(d, &root)
		s.fresh = s.fresh[:0]
		b.begin(u)
		if err := s.scope(cursors, 0); err != nil {
			return err
		}
		slices.Sort(s.fresh)
		for _, i := range slices.Compact(s.fresh) {
			if err := b.symbol(&l.Symbols[i], s.found[i].ref); err != nil {
				return err
			}
		}
	}
	if err := s.describe(b); err != nil {
		return err
	}
	s.alias()
	if err := b.drain(); err != nil {
		return err
	}
	b.s.chain = nil
	return d.Err()
}

// describe sets the types of exports whose code was not found, or was found by the address of a
// function with other types that has the same code.
func (s *scan) describe(b *builder) error {
	var rest []int32
	for i := b.first; i < len(s.described); i++ {
		if d := s.described[i]; d.ref != 0 && (s.found[i].ref == 0 || d.named && !s.found[i].named) {
			rest = append(rest, int32(i))
		}
	}
	slices.SortFunc(rest, func(i, k int32) int {
		return cmp.Compare(s.described[i].ref, s.described[k].ref)
	})
	var e dwarf.Entry
	for _, i := range rest {
		if err := s.d.Entry(s.described[i].ref, &e); err != nil {
			return err
		}
		if e.Unit != b.unit {
			b.begin(e.Unit)
		}
		if err := b.symbol(&s.l.Symbols[i], s.described[i].ref); err != nil {
			return err
		}
	}
	return nil
}

// alias sets the types of exports that were not found from others at their address: a constructor
// has two names, and one entry.
func (s *scan) alias() {
	for i := 0; i < len(s.addrs); {
		end := i + 1
		for end < len(s.addrs) && s.addrs[end].addr == s.addrs[i].addr {
			end++
		}
		var typed *Symbol
		for _, p := range s.addrs[i:end] {
			if x := &s.l.Symbols[p.export]; x.Type != 0 && !isTable(x.Name) {
				typed = x
			}
		}
		for _, p := range s.addrs[i:end] {
			x := &s.l.Symbols[p.export]
			if typed != nil && x.Type == 0 && x.Kind == typed.Kind {
				x.Type, x.File, x.Line = typed.Type, typed.File, typed.Line
			}
		}
		i = end
	}
}

// tablesByClass returns the exports of typeinfo and virtual tables, from first on, by the last part
// of the class's name. Programs catch objects of such a class, or call its virtual functions, also
// if no function has it as a parameter.
func (l *Library) tablesByClass(first int) map[string][]int32 {
	out := map[string][]int32{}
	for i := first; i < len(l.Symbols); i++ {
		name := l.Symbols[i].Name
		if (strings.HasPrefix(name, "_ZTI") || strings.HasPrefix(name, "_ZTV")) &&
			!isStandardLibrary(l, name) {
			last := lastName(classOf(name))
			out[last] = append(out[last], int32(i))
		}
	}
	return out
}

// lastName returns a class's name without namespaces; for that of a pointer, of its class.
func lastName(class string) string {
	class = strings.TrimSuffix(strings.TrimRight(class, "* "), " const")
	head, _, _ := strings.Cut(class, "<")
	return class[strings.LastIndexByte(head, ':')+1:]
}

var gnuProducer = lazyregexp.New(`^GNU \S+ ([0-9]+)\.`)

// recordsAlignment reports whether a compiler writes DW_AT_alignment of DWARF 5, which some write
// in DWARF 4 too: GCC 7 and later, and those that are made of LLVM. producer is DW_AT_producer; one
// that is not known does not count against it.
func recordsAlignment(producer string) bool {
	if m := gnuProducer.FindStringSubmatch(producer); m != nil {
		major, err := strconv.Atoi(m[1])
		return err != nil || major >= 7
	}
	return producer == "" || strings.Contains(producer, "clang") ||
		strings.Contains(producer, "LLVM") || strings.HasPrefix(producer, "GNU ")
}

// scope visits the entries of a unit or namespace, and of a class if declarations are wanted.
func (s *scan) scope(cursors []dwarf.Cursor, depth int) error {
	c := &cursors[depth]
	for c.Next() {
		switch c.Tag {
		case dwarf.TagSubprogram, dwarf.TagVariable:
			if err := s.entry(&c.Entry); err != nil {
				return err
			}
		case dwarf.TagClass, dwarf.TagStruct, dwarf.TagUnion:
			if err := s.class(&c.Entry); err != nil {
				return err
			}
			if !s.imports { // definitions of members are not in their class
				continue
			}
			if err := s.inner(cursors, depth); err != nil {
				return err
			}
		case dwarf.TagNamespace, dwarf.TagModule:
			if err := s.inner(cursors, depth); err != nil {
				return err
			}
		}
	}
	return c.Err()
}

// inner visits the entries inside the current one.
func (s *scan) inner(cursors []dwarf.Cursor, depth int) error {
	if depth+1 == len(cursors) {
		return errTooDeep
	}
	cursors[depth+1].Reset(s.d, &cursors[depth].Entry)
	return s.scope(cursors, depth+1)
}

// class records the entry of a class whose typeinfo or virtual table is an export or import: its
// definition, or a declaration of a program that imports it.
func (s *scan) class(e *dwarf.Entry) error {
	exports := s.classes[string(e.Bytes(dwarf.Name))]
	declared := e.Flag(dwarf.Declaration) && !e.Has(dwarf.Signature)
	if len(exports) == 0 || declared && !s.imports {
		return nil
	}
	name, err := s.qualified(e)
	if err != nil {
		return err
	}
	for _, i := range exports {
		class := classOf(s.l.Symbols[i].Name)
		if (s.found[i].ref == 0 || !s.found[i].named && !declared) &&
			strings.TrimSuffix(strings.TrimRight(class, "* "), " const") == name {
			s.found[i] = definition{e.Ref(), !declared}
			s.fresh = append(s.fresh, i)
		}
	}
	return nil
}

// entry records an entry that defines an export.
func (s *scan) entry(e *dwarf.Entry) error {
	placed := e.Has(dwarf.LowPC) || e.Has(dwarf.Location) || e.Has(dwarf.Ranges)
	if !placed {
		return s.description(e)
	}
	if s.imports {
		return nil
	}
	var at []position
	if addr, ok := e.Address(); ok {
		if at = s.at(addr); len(at) == 0 && e.Tag == dwarf.TagSubprogram {
			return nil
		}
	}
	if len(at) == 0 && e.Tag == dwarf.TagSubprogram && !e.Has(dwarf.Ranges) {
		return nil
	}
	name, err := s.name(e)
	if err != nil {
		return err
	}
	ref := e.Ref()
	named := s.named(name)
	if len(at) == 0 && len(named) > 0 {
		if err := s.follow(e); err != nil {
			return err
		}
		if !s.external() {
			named = nil
		}
	}
	for _, i := range named {
		if !s.found[i].named && s.fits(i, e) {
			s.found[i] = definition{ref, true}
			s.fresh = append(s.fresh, i)
		}
	}
	for _, p := range at {
		i := p.export
		if s.found[i].ref == 0 && s.fits(i, e) {
			s.found[i] = definition{ref, false}
			s.fresh = append(s.fresh, i)
		}
	}
	return nil
}

// description records an entry that describes an export or import without an address. One without a
// prototype says nothing, and of several versions of a symbol it describes the default one.
func (s *scan) description(e *dwarf.Entry) error {
	if e.Has(dwarf.AbstractOrigin) { // it describes code, and what it refers to describes the function
		return nil
	}
	name, err := s.name(e)
	if err != nil {
		return err
	}
	named := s.named(name)
	if len(named) == 0 && s.imports {
		named = s.structors(string(name))
	}
	if len(named) == 0 || e.Tag == dwarf.TagSubprogram && e.Unit.C() && !e.Flag(dwarf.Prototyped) {
		return nil
	}
	if err := s.follow(e); err != nil {
		return err
	}
	for _, i := range named {
		x := &s.l.Symbols[i]
		defines := !e.Flag(dwarf.Declaration)
		sameKind := isVariable(x.Kind) == (e.Tag == dwarf.TagVariable)
		if (s.described[i].ref == 0 || defines) && !x.Hidden && s.external() && sameKind {
			s.described[i] = definition{e.Ref(), defines}
		}
	}
	return nil
}

// structors returns the constructors or destructors that a declaration stands for: GCC names it
// with C4 or D4, which no symbol has.
func (s *scan) structors(name string) (all []int32) {
	for at := range len(name) - 1 {
		kinds := ""
		switch name[at : at+2] {
		case "C4":
			kinds = "123"
		case "D4":
			kinds = "012"
		}
		for _, kind := range kinds {
			all = append(all, s.named([]byte(name[:at+1]+string(kind)+name[at+2:]))...)
		}
	}
	return all
}

// fits reports whether the export and the entry are both functions or both variables.
func (s *scan) fits(i int32, e *dwarf.Entry) bool {
	k := s.l.Symbols[i].Kind
	if k == elfobj.IFunc { // its address is that of the function that chooses one
		return false
	}
	return (k == elfobj.Data || k == elfobj.TLS) == (e.Tag == dwarf.TagVariable)
}

// follow reads the chain of entries that an entry takes attributes from.
func (s *scan) follow(e *dwarf.Entry) error {
	s.chain = append(s.chain[:0], *e)
	for len(s.chain) < 8 {
		last := &s.chain[len(s.chain)-1]
		next := last.Reference(dwarf.AbstractOrigin)
		if next == 0 {
			next = last.Reference(dwarf.Specification)
		}
		if next == 0 {
			break
		}
		var x dwarf.Entry
		if err := s.d.Entry(next, &x); err != nil {
			return err
		}
		s.chain = append(s.chain, x)
	}
	return nil
}

// name returns the symbol name of an entry.
func (s *scan) name(e *dwarf.Entry) ([]byte, error) {
	s.chain = append(s.chain[:0], *e)
	if n := e.Bytes(dwarf.LinkageName); n != nil {
		return n, nil
	}
	if !e.Has(dwarf.AbstractOrigin) && !e.Has(dwarf.Specification) {
		return e.Bytes(dwarf.Name), nil
	}
	if err := s.follow(e); err != nil {
		return nil, err
	}
	for i := range s.chain {
		if n := s.chain[i].Bytes(dwarf.LinkageName); n != nil {
			return n, nil
		}
	}
	for i := range s.chain {
		if n := s.chain[i].Bytes(dwarf.Name); n != nil {
			return n, nil
		}
	}
	return nil, nil
}

// external reports whether the entry last passed to name, or one of its chain, is visible outside
// its unit.
func (s *scan) external() bool {
	for i := range s.chain {
		if s.chain[i].Flag(dwarf.External) {
			return true
		}
	}
	return false
}

// inline reports whether the function of the chain is defined in a class or a header, so that each
// program has its own copy. A definition has its own line if it is not the declaration.
func (s *scan) inline() bool {
	for i := range s.chain {
		e := &s.chain[i]
		if e.Flag(dwarf.Artificial) { // a destructor or constructor generated by the compiler
			return true
		}
		// only the declaration in the class has a file: it is also the definition
		if i == len(s.chain)-1 && i > 0 {
			return e.Has(dwarf.DeclFile)
		}
		if e.Has(dwarf.DeclFile) {
			return !source(e.FileName())
		}
		if i > 0 && e.Has(dwarf.DeclLine) ||
			i == 0 && e.Has(dwarf.DeclLine) && e.Has(dwarf.Specification) {
			return false // a different line of the same file
		}
	}
	return false
}

// source reports whether a file name is that of a source file, not of a header.
func source(file string) bool {
	switch ext := path.Ext(file); ext {
	case ".c",
		".C",
		".cc",
		".cpp",
		".cxx",
		".c++",
		".CPP",
		".cp",
		".m",
		".mm",
		".f",
		".F",
		".f90",
		".F90",
		".f95",
		".f03",
		".f08",
		".for",
		".rs",
		".go",
		".d",
		".pas",
		".adb",
		".cu",
		".s",
		".S":
		return true
	default:
		return strings.EqualFold(ext, ".i")
	}
}

// system reports whether a file is a header of the system or the compiler.
func system(file string) bool {
	for _, dir := range []string{
		"/usr/include/", "/usr/local/include/", "/usr/lib/gcc/",
		"/usr/lib/llvm", "/usr/lib/clang/", "/opt/rh/",
	} {
		if strings.HasPrefix(file, dir) {
			return true
		}
	}
	return strings.Contains(file, "/include/c++/") ||
		strings.Contains(file, "/sysroot/usr/include/")
}
