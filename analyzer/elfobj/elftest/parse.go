package elftest

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"github.com/compat-app/compat/analyzer/elfobj"
	"slices"
	"strconv"
	"strings"
)

// Parse parses the text form that the package comment describes. An error contains the line
// number.
func Parse(text string) (*elfobj.Object, error) {
	p := &parser{
		o: &elfobj.Object{Needed: []string{}, VersionNeeds: []elfobj.VersionNeed{},
			VersionDefs: []elfobj.VersionDef{}},
	}
	n := 0
	for s := range strings.Lines(text) {
		n++
		s = strings.TrimSpace(s)
		if s == "" || s[0] == '#' {
			continue
		}
		if err := p.line(s); err != nil {
			return nil, fmt.Errorf("line %d: %w in %.80q", n, err, s)
		}
	}
	if p.o.Type == "" {
		return nil, fmt.Errorf(
			"line %d: the text has no line, and the first one should be: elf x86_64",
			n,
		)
	}
	o := p.o
	implyRelocs(o, p.imports)
	o.Imports, o.Exports = elfobj.NewImports(p.imports...), elfobj.NewExports(p.exports...)
	if o.ExecStack == "" {
		o.ExecStack = usualStack(o)
	}
	if !p.exact {
		implyVersions(o)
	} else if s := unrecorded(o); s != "" {
		return nil, fmt.Errorf("the text has exact, but no verneed or verdef line names "+
			"the version of %s", s)
	}
	o.HasVersym = impliedVersym(o)
	if p.versym != "" {
		o.HasVersym = p.versym == "yes"
	}
	o.SetFlags(o.Flags)
	if o.NoSections && len(o.Comment)+len(o.Sections) > 0 {
		return nil, errors.New("the object has no section headers, but comment and section need them")
	}
	if !o.Dynamic &&
		(len(o.Needed)+o.Imports.Len()+o.Exports.Len()+len(o.VersionNeeds)+len(o.VersionDefs) > 0 ||
			o.SONAME+o.RPath+o.RunPath != "" || o.Flags|o.Flags1 != 0 || o.RelR || o.HasVersym ||
			o.Local != 0) {
		return nil, errors.New(
			"line 1: the object has no PT_DYNAMIC (static, rel or core), but other lines need it",
		)
	}
	o.Static = !o.Dynamic && loadable(o)
	if !loadable(o) &&
		(o.Interp+o.BuildID+o.ABITag+o.System != "" || o.ISA|o.ISAUsed != 0 || o.Guards != 0 ||
			o.GoBuildID || o.AndroidAPI != 0 || o.MaxPage != 0 || o.ExecStack != "unsaid") {
		return nil, errors.New(
			"line 1: the object has no program headers (rel or core), but interp, notes and execstack " +
				"need them",
		)
	}
	return o, nil
}

type parser struct {
	o       *elfobj.Object
	imports []elfobj.Import
	exports []elfobj.Export
	exact   bool
	versym  string
}

func (p *parser) line(s string) error {
	key, rest, _ := strings.Cut(s, " ")
	l := &words{strings.TrimSpace(rest)}
	o := p.o
	if o.Type == "" && key != "elf" {
		return errors.New("the first line should be: elf ARCH, as in elf x86_64;")
	}
	switch key {
	case "elf":
		if o.Type != "" {
			return errors.New("a second elf line: one text is one object;")
		}
		return p.first(l)
	case "soname":
		return l.whole(&o.SONAME)
	case "rpath":
		return l.whole(&o.RPath)
	case "runpath":
		return l.whole(&o.RunPath)
	case "interp":
		return l.whole(&o.Interp)
	case "needed":
		o.Needed = append(o.Needed, "")
		return l.whole(&o.Needed[len(o.Needed)-1])
	case "comment":
		var c string
		err := l.whole(&c)
		if err == nil && c != "" && !slices.Contains(o.Comment, c) {
			o.Comment = append(o.Comment, c)
		}
		return err
	case "import":
		return p.importLine(l)
	case "export":
		return p.exportLine(l)
	case "verneed":
		return p.verneed(l)
	case "verdef":
		return p.verdef(l)
	case "local":
		return p.local(l)
	case "exact":
		p.exact = true
		return l.end()
	case "versym":
		return l.oneOf(&p.versym, "yes", "no")
	case "execstack":
		return l.oneOf(&o.ExecStack, "yes", "no", "unsaid")
	case "no-sections":
		o.NoSections = true
		return l.end()
	case "relr":
		o.RelR = true
		return l.end()
	case "flags":
		return l.flags(&o.Flags, elfobj.FlagNames)
	case "flags_1":
		return l.flags(&o.Flags1, elfobj.Flag1Names)
	case "osabi":
		n, err := strconv.ParseUint(l.rest, 0, 8)
		o.OSABI = uint8(n)
		return err
	case "build-id":
		if _, err := hex.DecodeString(l.rest); err != nil || l.rest == "" || len(l.rest) > 128 {
			return errors.New("a build ID is 1 to 64 bytes in hex;")
		}
		o.BuildID = strings.ToLower(l.rest)
		return nil
	case "abi-tag":
		n, err := elfobj.ParseABITag(l.rest)
		o.ABITag = elfobj.FormatABITag(n)
		return err
	case "android":
		n, err := strconv.Atoi(l.rest)
		o.AndroidAPI = n
		return err
	case "max-page":
		n, err := strconv.ParseUint(l.rest, 0, 16)
		o.MaxPage = n
		return err
	case "e-flags":
		return setWord(&o.EFlags, l.rest)
	case "isa", "isa-used":
		if o.Machine != elfobj.Machine(elf.EM_X86_64) {
			return errors.New("only x86_64 has an isa;")
		}
		return setWord(map[string]*uint32{"isa": &o.ISA, "isa-used": &o.ISAUsed}[key], l.rest)
	case "guards":
		for _, w := range strings.Fields(l.rest) {
			if err := o.Guards.Add(w); err != nil {
				return err
			}
		}
		if _, _, ok := o.Guards.Property(o.Machine); !ok {
			return fmt.Errorf("%s has no property for one of these guards;", o.Arch())
		}
		return nil
	case "system":
		if !slices.Contains([]string{"OpenBSD", "NetBSD", "DragonFly"}, l.rest) {
			return fmt.Errorf("unknown system %q", l.rest)
		}
		o.System = l.rest
		return nil
	case "go-build-id":
		o.GoBuildID = true
		return l.end()
	case "relocs":
		r, err := elfobj.ParseRelocs(l.rest)
		if err == nil && r.Has(elfobj.RelocNone) {
			err = errors.New("no relocs line means none;")
		}
		o.Local = r
		return err
	case "section":
		return p.section(l)
	}
	return fmt.Errorf("unknown keyword %q", key)
}

func setWord(to *uint32, s string) error {
	n, err := strconv.ParseUint(s, 0, 32)
	if err != nil {
		return fmt.Errorf("%.80q is no number of 32 bits;", s)
	}
	*to = uint32(n)
	return nil
}

func (p *parser) first(l *words) error {
	name, _, err := l.word()
	if err != nil {
		return err
	}
	if err := p.o.SetArch(name); err != nil {
		return err
	}
	p.o.Type, p.o.Dynamic = "ET_DYN", true
	for l.rest != "" {
		w, _, err := l.word()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(typeNames, func(t struct{ typ, name string }) bool { return t.name == w })
		switch {
		case w == "static":
			p.o.Dynamic = false
		case i >= 0:
			p.o.Type = typeNames[i].typ
			p.o.Dynamic = p.o.Dynamic && i < 2
		default:
			return fmt.Errorf("%q is not one of dyn, exec, rel, core and static", w)
		}
	}
	return nil
}

func (p *parser) importLine(l *words) error {
	s, err := l.symbol()
	if err != nil {
		return err
	}
	if s.unique || s.hidden || s.at == "@@" {
		return errors.New("unique, hidden and @@ are for exports;")
	}
	i := elfobj.Import{Name: s.name, Version: s.version, Weak: s.weak, Kind: s.kind}
	if s.version != "" {
		lib, quoted, err := l.word()
		if err != nil {
			return errors.New(
				"a versioned import names the library of its version after it, or - for one that the object " +
					"itself defines, as in import pow@GLIBC_2.29 libm.so.6;",
			)
		}
		if lib != "-" || quoted {
			i.Library = lib
		}
	}
	if i.Relocs, err = l.relocs(); err != nil {
		return err
	}
	p.imports = append(p.imports, i)
	return l.end()
}

func (p *parser) exportLine(l *words) error {
	s, err := l.symbol()
	if err != nil {
		return err
	}
	e := elfobj.Export{
		Name:    s.name,
		Version: s.version,
		Weak:    s.weak,
		Unique:  s.unique,
		Kind:    s.kind,
		Hidden:  s.hidden || s.at == "@",
	}
	if s.weak && s.unique || s.hidden && s.version != "" {
		return errors.New(
			"a symbol is weak or unique, and hidden only without a version (name@VERSION is hidden);",
		)
	}
	if n, ok := strings.CutPrefix(l.rest, "size="); ok {
		n, l.rest, _ = strings.Cut(n, " ")
		if e.Size, err = strconv.ParseUint(n, 0, 64); err != nil {
			return err
		}
		if e.Size > 1<<32-1 && p.o.Class == 32 {
			return errors.New("a size over 4 GB in a 32-bit object;")
		}
	}
	if e.Relocs, err = l.relocs(); err == nil && (e.Relocs.Has(elfobj.RelocNone) || l.rest != "") {
		err = errors.New("after the symbol there can be only size=N and by=WAY,…;")
	}
	p.exports = append(p.exports, e)
	return err
}

func (p *parser) verneed(l *words) error {
	lib, _, err := l.word()
	if err != nil {
		return err
	}
	n := elfobj.VersionNeed{Library: lib}
	for l.rest != "" {
		v, quoted, err := l.word()
		if err != nil {
			return err
		}
		if k := len(n.Versions) - 1; v == "weak" && !quoted && k >= 0 {
			n.Versions[k].Weak = true
			continue
		}
		n.Versions = append(n.Versions, elfobj.NeededVersion{Name: v})
	}
	if n.Versions == nil {
		return errors.New("a library without a version, as in verneed libc.so.6 GLIBC_2.34;")
	}
	p.o.VersionNeeds = append(p.o.VersionNeeds, n)
	return nil
}

func (p *parser) verdef(l *words) error {
	name, _, err := l.word()
	if err != nil {
		return err
	}
	d := elfobj.VersionDef{Name: name}
	for l.rest != "" {
		v, quoted, err := l.word()
		switch {
		case err != nil:
			return err
		case v == "base" && !quoted:
			d.Base = true
		case v == "weak" && !quoted:
			d.Weak = true
		default:
			d.Parents = append(d.Parents, v)
		}
	}
	p.o.VersionDefs = append(p.o.VersionDefs, d)
	return nil
}

func (p *parser) section(l *words) error {
	name, _, err := l.word()
	if err != nil {
		return err
	}
	b, err := hex.DecodeString(strings.ReplaceAll(l.rest, " ", ""))
	if err != nil {
		return err
	}
	p.add(name, b)
	return nil
}

// add adds a section.
func (p *parser) add(name string, b []byte) {
	typ := elf.SHT_PROGBITS
	switch name {
	case ".symtab":
		typ = elf.SHT_SYMTAB
	case ".strtab":
		typ = elf.SHT_STRTAB
	}
	p.o.Sections = append(
		p.o.Sections,
		elfobj.Section{Name: name, Type: uint32(typ), Size: uint64(len(b)), Data: b},
	)
}

// local adds a function to .symtab of an object with 64 bits in little-endian byte order, and to
// .strtab.
func (p *parser) local(l *words) error {
	name, _, err := l.word()
	if err != nil {
		return err
	}
	find := func(name string) int {
		return slices.IndexFunc(p.o.Sections, func(s elfobj.Section) bool { return s.Name == name })
	}
	if find(".symtab") < 0 {
		p.add(".symtab", make([]byte, 24))
		p.add(".strtab", []byte{0})
	}
	symbols, names := &p.o.Sections[find(".symtab")], &p.o.Sections[find(".strtab")]
	entry := binary.LittleEndian.AppendUint32(nil, uint32(len(names.Data)))
	entry = append(entry, byte(elf.STT_FUNC), 0, 1, 0) // in the first section
	symbols.Data = append(symbols.Data, append(entry, make([]byte, 16)...)...)
	names.Data = append(append(names.Data, name...), 0)
	symbols.Size, names.Size = uint64(len(symbols.Data)), uint64(len(names.Data))
	return l.end()
}
