package abi

import (
	"cmp"
	"errors"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dwarf"
)

const (
	// types of one library; the exports of libLLVM use about 100 thousand
	maxTypes     = 4 << 20
	maxTypeDepth = 256 // nested pointers and arrays
	maxSteps     = 64  // qualifiers and typedefs in a row
)

var (
	errTooManyTypes = errors.New("its debug information has more types than compat reads")
	errTooDeep      = errors.New("its debug information is nested deeper than compat reads")
)

// builder converts entries to types. Each unit has its own entries for the types of included
// headers; entries with the same name, size and line become one type.
type builder struct {
	s       *scan
	l       *Library
	unit    *dwarf.Unit // the unit whose exports are read
	own     known       // its entries
	shared  known       // the entries of other units, such as partial units and type units
	byKey   map[typeKey]TypeID
	elems   map[elemKey]TypeID
	opaque  map[string]TypeID // declared types by name
	missing TypeID            // the type Unknown, once it is used
	work    []pending
	first   int // the first export whose type is read
	// scan.found and scan.described, for all files of a library
	found, described []definition
	seed             maphash.Seed
	names            [1024]string // names read last, by hash
}

// known contains what was read of entries.
type known struct {
	types     map[dwarf.Ref]TypeID
	scopes    map[dwarf.Ref][]scope
	functions map[dwarf.Ref]TypeID // function types: aliases share one
}

func newKnown() known {
	return known{map[dwarf.Ref]TypeID{}, map[dwarf.Ref][]scope{}, map[dwarf.Ref]TypeID{}}
}

type pending struct {
	id  TypeID
	ref dwarf.Ref
}

type typeKey struct {
	kind Kind
	name string
	size uint64
	line uint32
	file string
}

type elemKey struct {
	kind Kind
	elem TypeID
	size uint64
}

func newBuilder(l *Library) *builder {
	b := &builder{
		l:      l,
		own:    newKnown(),
		shared: newKnown(),
		byKey:  map[typeKey]TypeID{},
		elems:  map[elemKey]TypeID{},
		opaque: map[string]TypeID{},
		seed:   maphash.MakeSeed(),
	}
	// C libraries have about as many types as exports, and Type is large
	b.l.Types = append(make([]Type, 0, 1+len(l.Symbols)*5/4), Type{Kind: Void})
	return b
}

// scan begins another file: entries that were read are of the file before.
func (b *builder) scan(s *scan) {
	b.s, b.own, b.shared = s, newKnown(), newKnown()
}

// begin forgets the entries of the last unit: other units do not refer to them.
func (b *builder) begin(u *dwarf.Unit) {
	b.unit = u
	clear(b.own.types)
	clear(b.own.scopes)
	clear(b.own.functions)
}

// known returns what is known of the entries in the unit of an entry.
func (b *builder) known(ref dwarf.Ref) *known {
	if b.unit.Contains(ref) {
		return &b.own
	}
	return &b.shared
}

// string returns a copy of a name. Frequent names share one copy.
func (b *builder) string(text []byte) string {
	s := &b.names[maphash.Bytes(b.seed, text)%uint64(len(b.names))]
	if *s != string(text) {
		*s = string(text)
	}
	return *s
}

// same returns an equal name, so that frequent names share one copy.
func (b *builder) same(text string) string {
	s := &b.names[maphash.String(b.seed, text)%uint64(len(b.names))]
	if *s != text {
		*s = text
	}
	return *s
}

func (b *builder) add(t Type) TypeID {
	b.l.Types = append(b.l.Types, t)
	return TypeID(len(b.l.Types) - 1)
}

// symbol sets the type of an export from its entry. An entry with the name of an export replaces
// one with its address.
func (b *builder) symbol(s *Symbol, ref dwarf.Ref) error {
	s.Type, s.File, s.Line, s.Align, s.Inline = 0, "", 0, 0, false
	var e dwarf.Entry
	if err := b.s.d.Entry(ref, &e); err != nil {
		return err
	}
	if kindOf(e.Tag) == Struct { // of typeinfo or a virtual table
		var err error
		s.Type, err = b.intern(ref, 0)
		return err
	}
	if err := b.s.follow(&e); err != nil {
		return err
	}
	chain := b.s.chain
	for i := len(chain) - 1; i >= 0; i-- { // programs see the declaration
		if chain[i].Has(dwarf.DeclLine) && s.Line == 0 {
			s.Line = uint32(chain[i].Value(dwarf.DeclLine))
			s.File = b.same(chain[i].FileName())
		}
	}
	if e.Tag == dwarf.TagVariable {
		for i := range chain {
			s.Align = max(s.Align, uint32(chain[i].Value(dwarf.Alignment)))
			s.Inline = s.Inline || s.Weak && chain[i].Has(dwarf.Inline)
			if chain[i].Has(dwarf.Type) && s.Type == 0 {
				var err error
				if s.Type, err = b.typeOf(&chain[i], 0); err != nil {
					return err
				}
			}
		}
		return nil
	}
	s.Inline = s.Weak && b.s.inline()
	if id, ok := b.own.functions[ref]; ok {
		s.Type = id
		return nil
	}
	f := Type{Kind: Function}
	for i := range chain {
		if chain[i].Has(dwarf.Type) {
			var err error
			if f.Elem, err = b.typeOf(&chain[i], 0); err != nil {
				return err
			}
			break
		}
	}
	last := &chain[len(chain)-1]
	if last.Has(dwarf.AbstractOrigin) || last.Has(dwarf.Specification) {
		return nil // the rest is in a file that was not found
	}
	for i := len(b.s.chain) - 1; i >= 0; i-- {
		if err := b.params(&f, &b.s.chain[i]); err != nil {
			return err
		}
		if len(f.Params) > 0 || f.Variadic {
			break
		}
	}
	for i := range b.s.chain {
		f.Convention = max(f.Convention, convention(&b.s.chain[i]))
	}
	first := &b.s.chain[0]
	prototyped := slices.ContainsFunc(b.s.chain, func(e dwarf.Entry) bool {
		return e.Flag(dwarf.Prototyped)
	})
	if first.Unit.C() && !prototyped {
		if f.Unprototyped = len(f.Params) == 0; f.Unprototyped {
			f.Variadic = false
		}
		b.promote(&f)
	}
	s.Type = b.add(f)
	b.own.functions[ref] = s.Type
	return nil
}

// convention returns the calling convention of a function or function type; 0 for the normal one.
func convention(e *dwarf.Entry) uint8 {
	if cc := e.Value(dwarf.CallingConvention); cc > 1 {
		return uint8(cc)
	}
	return 0
}

// promote replaces the types of parameters of a function without prototype that callers pass as
// another type: float as double (C17, 6.5.2.2).
func (b *builder) promote(f *Type) {
	for i := range f.Params {
		if t := b.l.Types[f.Params[i].Type]; t.Kind == Base && t.Encoding == encodingFloat &&
			t.Size < 8 && b.l.format(&t) == "" {
			t.Name, t.Size = "double", 8
			f.Params[i].Type = b.interned(t)
		}
	}
}

// params reads the parameters of a function or function type.
func (b *builder) params(f *Type, e *dwarf.Entry) error {
	c := b.s.d.Children(e)
	for c.Next() {
		switch c.Tag {
		case dwarf.TagParameter:
			if c.Flag(dwarf.Artificial) && len(f.Params) > 0 {
				continue // of a destructor of a class with virtual bases; only gcc lists it
			}
			id, err := b.typeOf(&c.Entry, 0)
			if err != nil {
				return err
			}
			f.Params = append(f.Params, Param{b.string(c.Bytes(dwarf.Name)), id})
		case dwarf.TagVariadic:
			f.Variadic = true
		}
	}
	return c.Err()
}

// kindOf returns the kind of a type's entry; "" for qualifiers, typedefs and unknown tags.
func kindOf(t dwarf.Tag) Kind {
	switch t {
	case dwarf.TagClass, dwarf.TagStruct, dwarf.TagInterface:
		return Struct
	case dwarf.TagUnion:
		return Union
	case dwarf.TagEnumeration:
		return Enum
	case dwarf.TagPointer:
		return Pointer
	case dwarf.TagReference, dwarf.TagRvalueReference:
		return Reference
	case dwarf.TagMemberPointer:
		return MemberPointer
	case dwarf.TagArray:
		return Array
	case dwarf.TagSubroutine:
		return Function
	case dwarf.TagBase, dwarf.TagUnspecified:
		return Base
	}
	return ""
}

// typeOf returns the type of an entry: void without DW_AT_type, Unknown if it is in a file that was
// not found.
func (b *builder) typeOf(e *dwarf.Entry, depth int) (TypeID, error) {
	ref := e.Reference(dwarf.Type)
	if ref == 0 && e.Has(dwarf.Type) {
		return b.unknown(), nil
	}
	return b.intern(ref, depth)
}

// unknown returns the type Unknown.
func (b *builder) unknown() TypeID {
	if b.missing == 0 {
		b.missing = b.add(Type{Kind: Unknown})
	}
	return b.missing
}

// intern returns the type of an entry, without qualifiers and typedefs. 0 is void.
func (b *builder) intern(ref dwarf.Ref, depth int) (TypeID, error) {
	if ref == 0 {
		return 0, nil
	}
	if id, ok := b.known(ref).types[ref]; ok {
		return id, nil
	}
	from := ref
	var e dwarf.Entry
	var typedef dwarf.Ref
	var kind Kind
	for step := 0; ; step++ {
		if ref == 0 {
			return b.remember(from, from, 0), nil
		}
		if err := b.s.d.Entry(ref, &e); err != nil {
			return 0, err
		}
		if kind = kindOf(e.Tag); kind != "" {
			break
		}
		switch e.Tag {
		case dwarf.TagTypedef:
			typedef = ref
		case dwarf.TagConst,
			dwarf.TagVolatile,
			dwarf.TagRestrict,
			dwarf.TagAtomic,
			dwarf.TagImmutable,
			dwarf.TagSubrange:
		default:
			return b.remember(from, ref, b.unknown()), nil
		}
		if step >= maxSteps {
			return 0, errTooDeep
		}
		ref = e.Reference(dwarf.Type)
		if ref == 0 && e.Has(dwarf.Type) {
			return b.remember(from, from, b.unknown()), nil
		}
	}
	if id, ok := b.known(ref).types[ref]; ok {
		return b.remember(from, ref, id), nil
	}
	if len(b.l.Types) >= maxTypes {
		return 0, errTooManyTypes
	}
	if depth > maxTypeDepth {
		return 0, errTooDeep
	}
	var id TypeID
	var err error
	switch kind {
	case Base:
		id = b.base(&e)
	case Pointer, Reference, MemberPointer, Array:
		id, err = b.elem(kind, &e, depth)
	case Function:
		f := Type{Kind: Function, Unprototyped: e.Unit.C() && !e.Flag(dwarf.Prototyped)}
		id = b.remember(from, ref, b.add(f))
		b.work = append(b.work, pending{id, ref})
		if depth == 0 {
			err = b.drain()
		}
	default:
		id, err = b.named(kind, &e, typedef, depth)
	}
	if err != nil {
		return 0, err
	}
	return b.remember(from, ref, id), nil
}

func (b *builder) remember(from, ref dwarf.Ref, id TypeID) TypeID {
	b.known(from).types[from] = id
	b.known(ref).types[ref] = id
	return id
}

func (b *builder) base(e *dwarf.Entry) TypeID {
	t := Type{
		Kind:     Base,
		Name:     b.string(e.Bytes(dwarf.Name)),
		Size:     e.Value(dwarf.ByteSize),
		Encoding: uint8(e.Value(dwarf.Encoding)),
	}
	if t.Size == 0 && e.Has(dwarf.BitSize) {
		t.Size = (e.Value(dwarf.BitSize) + 7) / 8
	}
	if e.Tag == dwarf.TagUnspecified {
		if t.Name != "decltype(nullptr)" {
			return b.unknown()
		}
		t.Size = uint64(b.l.Class / 8)
	}
	return b.interned(t)
}

// interned returns the one type that is equal to a base type.
func (b *builder) interned(t Type) TypeID {
	k := typeKey{kind: Base, name: t.Name, size: t.Size, line: uint32(t.Encoding)}
	if id, ok := b.byKey[k]; ok {
		return id
	}
	id := b.add(t)
	b.byKey[k] = id
	return id
}

// elem adds a pointer, reference or array type.
func (b *builder) elem(kind Kind, e *dwarf.Entry, depth int) (TypeID, error) {
	elem, err := b.typeOf(e, depth+1)
	if err != nil {
		return 0, err
	}
	t := Type{Kind: kind, Elem: elem, Size: e.Value(dwarf.ByteSize)}
	if kind != Array {
		if t.Size == 0 && kind != MemberPointer {
			t.Size = uint64(b.l.Class / 8)
		}
		k := elemKey{kind, elem, t.Size}
		if id, ok := b.elems[k]; ok {
			return id, nil
		}
		id := b.add(t)
		b.elems[k] = id
		return id, nil
	}
	c := b.s.d.Children(e)
	for c.Next() {
		if c.Tag == dwarf.TagSubrange {
			t.Counts = append(t.Counts, count(&c.Entry))
		}
	}
	return b.add(t), c.Err()
}

// count returns the number of elements of a dimension; -1 if it is open or computed.
func count(e *dwarf.Entry) int64 {
	if n, ok := e.Number(dwarf.Count); ok && n < 1<<62 {
		return int64(n)
	}
	n, ok := e.Number(dwarf.UpperBound)
	switch {
	case !ok || n >= 1<<62 && n != 1<<64-1:
		return -1
	case n == 1<<64-1 || n == 1<<32-1: // int a[0]
		return 0
	}
	return int64(n) + 1
}

// named adds a structure, union or enumeration. drain reads its members later, because they may
// refer to it.
func (b *builder) named(kind Kind, e *dwarf.Entry, typedef dwarf.Ref, depth int) (TypeID, error) {
	if ref := e.Reference(dwarf.Signature); ref != 0 && ref != e.Ref() && depth < maxTypeDepth {
		return b.intern(ref, depth+1)
	}
	name, err := b.qualified(e)
	if err != nil {
		return 0, err
	}
	if e.Flag(dwarf.Declaration) || e.Has(dwarf.Signature) {
		if id, ok := b.opaque[name]; ok && name != "" {
			return id, nil
		}
		id := b.add(Type{Kind: kind, Name: name, Declared: true, Class: !e.Unit.C()})
		b.opaque[name] = id
		return id, nil
	}
	if name == "" && typedef != 0 {
		var t dwarf.Entry
		if err := b.s.d.Entry(typedef, &t); err != nil {
			return 0, err
		}
		if name, err = b.qualified(&t); err != nil {
			return 0, err
		}
	}
	t := Type{
		Kind:    kind,
		Name:    name,
		Size:    e.Value(dwarf.ByteSize),
		Align:   uint32(e.Value(dwarf.Alignment)),
		Line:    uint32(e.Value(dwarf.DeclLine)),
		Passing: uint8(e.Value(dwarf.CallingConvention)),
		IsClass: e.Tag == dwarf.TagClass,
	}
	file := b.same(e.FileName())
	k := typeKey{kind, name, t.Size, t.Line, short(file)}
	if id, ok := b.byKey[k]; ok && name != "" {
		return id, nil
	}
	if kind == Enum {
		if err := b.underlying(&t, e); err != nil {
			return 0, err
		}
	}
	t.File, t.Private, t.System = file, source(file), system(file)
	id := b.add(t)
	if name != "" {
		b.byKey[k] = id
	}
	b.remember(e.Ref(), e.Ref(), id)
	b.work = append(b.work, pending{id, e.Ref()})
	if depth == 0 {
		return id, b.drain()
	}
	return id, nil
}

// underlying sets the size and the encoding of an enumeration from its integer type.
func (b *builder) underlying(t *Type, e *dwarf.Entry) error {
	id, err := b.typeOf(e, 1)
	if err != nil {
		return err
	}
	if in := &b.l.Types[id]; in.Kind == Base {
		t.Encoding = in.Encoding
		if t.Size == 0 {
			t.Size = in.Size
		}
	}
	return nil
}

// drain reads the members of the queued types.
func (b *builder) drain() error {
	for len(b.work) > 0 {
		p := b.work[len(b.work)-1]
		b.work = b.work[:len(b.work)-1]
		if err := b.body(p); err != nil {
			return err
		}
	}
	return nil
}

// finish merges types that some units only declare with their definitions in other units. A name
// with several definitions stays unknown.
func (b *builder) finish() {
	defined := map[string]TypeID{}
	for i := range b.l.Types {
		t := &b.l.Types[i]
		if _, wanted := b.opaque[t.Name]; !wanted || t.Declared ||
			t.Kind != Struct && t.Kind != Union && t.Kind != Enum {
			continue
		}
		if _, twice := defined[t.Name]; twice {
			defined[t.Name] = 0
			continue
		}
		defined[t.Name] = TypeID(i)
	}
	for name, id := range b.opaque {
		if to := defined[name]; to != 0 {
			b.l.Types[id] = b.l.Types[to]
		}
	}
}

// body reads the contents of a type.
func (b *builder) body(p pending) error {
	var e dwarf.Entry
	if err := b.s.d.Entry(p.ref, &e); err != nil {
		return err
	}
	t := b.l.Types[p.id]
	if t.Kind == Function {
		var err error
		if t.Elem, err = b.typeOf(&e, 1); err != nil {
			return err
		}
		if err := b.params(&t, &e); err != nil {
			return err
		}
		t.Unprototyped = t.Unprototyped && len(t.Params) == 0
		t.Convention = convention(&e)
		b.l.Types[p.id] = t
		return nil
	}
	c := b.s.d.Children(&e)
	for c.Next() {
		if err := b.part(&t, &c.Entry); err != nil {
			return err
		}
	}
	slices.SortFunc(
		t.Virtuals,
		func(a, c Virtual) int {
			return cmp.Or(cmp.Compare(a.Slot, c.Slot), cmp.Compare(a.Name, c.Name))
		},
	)
	b.l.Types[p.id] = t
	return c.Err()
}

// part reads one child of a structure, union or enumeration.
func (b *builder) part(t *Type, e *dwarf.Entry) error {
	switch e.Tag {
	case dwarf.TagMember:
		if e.Flag(dwarf.Declaration) || e.Flag(dwarf.External) { // static
			return nil
		}
		id, err := b.typeOf(e, 1)
		if err != nil {
			return err
		}
		m := Member{
			Name: b.string(e.Bytes(dwarf.Name)),
			Type: id,
			Bits: uint32(e.Value(dwarf.BitSize)),
		}
		m.Offset = b.bitOffset(e, id)
		t.Members = append(t.Members, m)
	case dwarf.TagInheritance:
		id, err := b.typeOf(e, 1)
		if err != nil {
			return err
		}
		offset, constant := e.Offset()
		virtual := e.Value(dwarf.Virtuality) == 1 || !constant
		if virtual {
			offset = 0
		}
		t.Bases = append(t.Bases, BaseClass{id, offset, virtual})
	case dwarf.TagSubprogram:
		if t.Passing == 0 && b.special(t, e) {
			t.Passing = passByReference
		}
		if e.Value(dwarf.Virtuality) == 0 {
			return nil
		}
		name := e.Bytes(dwarf.LinkageName)
		if name == nil {
			name = e.Bytes(dwarf.Name)
		}
		v := Virtual{Name: b.string(name), Slot: -1}
		if n, ok := e.Slot(); ok && n < 1<<30 {
			v.Slot = int64(n)
		}
		f := Type{Kind: Function}
		var err error
		if f.Elem, err = b.typeOf(e, 1); err != nil {
			return err
		}
		if err := b.params(&f, e); err != nil {
			return err
		}
		v.Type = b.add(f)
		t.Virtuals = append(t.Virtuals, v)
	case dwarf.TagTemplateType:
		id, err := b.typeOf(e, 1)
		if err != nil {
			return err
		}
		if k := b.l.Types[id].Kind; k != Base && k != Void {
			t.Arguments = append(t.Arguments, id)
		}
	case dwarf.TagParameterPack:
		c := b.s.d.Children(e)
		for c.Next() {
			if err := b.part(t, &c.Entry); err != nil {
				return err
			}
		}
		return c.Err()
	case dwarf.TagVariantPart: // of Rust
		t.Members = append(t.Members, Member{Name: "variants", Type: b.unknown()})
	case dwarf.TagEnumerator:
		v := e.Value(dwarf.ConstValue)
		// the same bits may be encoded as a signed or an unsigned number
		if t.Size > 0 && t.Size < 8 {
			v &= 1<<(8*t.Size) - 1
		}
		t.Enumerators = append(t.Enumerators, Enumerator{b.string(e.Bytes(dwarf.Name)), int64(v)})
	}
	return nil
}

// DW_CC_ values of classes.
const (
	passByReference = 4
	passByValue     = 5
)

// special reports whether an entry is a destructor, or a copy or move constructor, that the source
// defines. A class with one is passed by reference (Itanium C++ ABI, 3.1.2.3); gcc does not write
// DW_AT_calling_convention.
func (b *builder) special(t *Type, e *dwarf.Entry) bool {
	if e.Flag(dwarf.Artificial) || e.Has(dwarf.Defaulted) && e.Value(dwarf.Defaulted) == 1 ||
		e.Has(dwarf.Deleted) {
		return false
	}
	name := e.Bytes(dwarf.Name)
	if len(name) > 0 && name[0] == '~' {
		return true
	}
	class := t.Name[strings.LastIndexByte(t.Name, ':')+1:]
	class, _, _ = strings.Cut(class, "<")
	if class == "" || string(name) != class {
		return false
	}
	var own []dwarf.Ref
	c := b.s.d.Children(e)
	for c.Next() {
		if c.Tag == dwarf.TagParameter && !c.Flag(dwarf.Artificial) {
			own = append(own, c.Reference(dwarf.Type))
		}
	}
	if len(own) != 1 {
		return false
	}
	var p dwarf.Entry
	if own[0] == 0 || b.s.d.Entry(own[0], &p) != nil ||
		p.Tag != dwarf.TagReference && p.Tag != dwarf.TagRvalueReference {
		return false
	}
	id, err := b.intern(p.Reference(dwarf.Type), 1)
	return err == nil && id != 0 && b.l.Types[id].Name == t.Name
}

// bitOffset returns the offset of a member from the start of its structure, in bits.
func (b *builder) bitOffset(e *dwarf.Entry, id TypeID) uint64 {
	if v, ok := e.Number(dwarf.DataBitOffset); ok {
		return v
	}
	bytes, _ := e.Offset()
	offset := 8 * bytes
	high, ok := e.Number(dwarf.BitOffset)
	if !ok {
		return offset
	}
	if e.BigEndian() {
		return offset + high
	}
	storage, ok := e.Number(dwarf.ByteSize)
	if !ok {
		storage = b.l.Types[id].Size
	}
	return offset + 8*storage - high - e.Value(dwarf.BitSize)
}
