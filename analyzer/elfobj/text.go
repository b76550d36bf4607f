package elfobj

import (
	"debug/elf"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// flagName is a name that the text form has for bits of Flags or Flags1.
type flagName struct {
	bits uint64
	name string
}

var flagNames = []flagName{
	{
		uint64(elf.DF_ORIGIN),
		"origin",
	}, {uint64(elf.DF_SYMBOLIC), "symbolic"}, {uint64(elf.DF_TEXTREL), "textrel"},
	{uint64(elf.DF_BIND_NOW), "now"}, {uint64(elf.DF_STATIC_TLS), "static-tls"},
}

var flag1Names = []flagName{
	{
		uint64(elf.DF_1_NOW),
		"now",
	}, {uint64(elf.DF_1_GLOBAL), "global"}, {uint64(elf.DF_1_NODELETE), "nodelete"},
	{
		uint64(elf.DF_1_INITFIRST),
		"initfirst",
	}, {uint64(elf.DF_1_NOOPEN), "noopen"}, {uint64(elf.DF_1_ORIGIN), "origin"},
	{
		uint64(elf.DF_1_INTERPOSE),
		"interpose",
	}, {uint64(elf.DF_1_NODEFLIB), "nodeflib"}, {uint64(elf.DF_1_PIE), "pie"},
}

var typeNames = []struct{ typ, name string }{
	{"ET_DYN", "dyn"},
	{"ET_EXEC", "exec"},
	{"ET_REL", "rel"},
	{"ET_CORE", "core"},
}

// Text is the canonical text form (see the package comment). Parse gives back an equal object, but
// for Sections without Data.
func (o *Object) Text() string {
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	value := func(key, v string) {
		if v != "" {
			line("%s %s", key, quote(v, quoteLine))
		}
	}
	b.WriteString("elf " + o.Arch())
	for _, t := range typeNames {
		if t.typ == o.Type && t.name != "dyn" {
			b.WriteString(" " + t.name)
		}
	}
	if o.loadable() && !o.Dynamic {
		b.WriteString(" static")
	}
	b.WriteByte('\n')
	value("interp", o.Interp)
	value("soname", o.SONAME)
	value("rpath", o.RPath)
	value("runpath", o.RunPath)
	for _, n := range o.Needed {
		line("needed %s", quote(n, quoteLine))
	}
	o.versionText(line)
	usual := o.usualRelocs()
	for _, i := range o.Imports.All() {
		s := i.text()
		if i.Relocs != 0 && i.Relocs != usual(i.Kind) {
			s += " by=" + i.Relocs.String()
		}
		line("import %s", s)
	}
	for _, e := range o.Exports.All() {
		line("export %s", e.text())
	}
	if o.Flags != 0 {
		line("flags%s", flagText(o.Flags, flagNames))
	}
	if o.Flags1 != 0 {
		line("flags_1%s", flagText(o.Flags1, flag1Names))
	}
	if o.ExecStack != o.usualStack() {
		line("execstack %s", o.ExecStack)
	}
	if o.RelR {
		line("relr")
	}
	if o.Local != 0 {
		line("relocs %s", o.Local)
	}
	if o.OSABI != 0 {
		line("osabi %d", o.OSABI)
	}
	if o.EFlags != 0 {
		line("e-flags %#x", o.EFlags)
	}
	value("build-id", o.BuildID)
	value("abi-tag", o.ABITag)
	if o.ISA != 0 {
		line("isa %#x", o.ISA)
	}
	if o.ISAUsed != 0 {
		line("isa-used %#x", o.ISAUsed)
	}
	value("guards", o.Guards.String())
	if o.GoBuildID {
		line("go-build-id")
	}
	if o.NoSections {
		line("no-sections")
	}
	for _, c := range o.Comment {
		line("comment %s", quote(c, quoteLine))
	}
	for _, s := range o.Sections {
		if s.Data != nil {
			line("section %s %x", quote(s.Name, quoteWord), s.Data)
		}
	}
	return b.String()
}

// usualStack is the ExecStack that the text form does not mention; .o and core files have no
// PT_GNU_STACK.
func (o *Object) usualStack() string {
	if o.loadable() {
		return "no"
	}
	return "unsaid"
}

func (o *Object) loadable() bool { return o.Type == "ET_DYN" || o.Type == "ET_EXEC" }

// versionText writes the version lines that Parse would not imply.
func (o *Object) versionText(line func(string, ...any)) {
	implied := Object{SONAME: o.SONAME, Imports: o.Imports, Exports: o.Exports}
	implied.implyVersions()
	if !sameList(implied.VersionNeeds, o.VersionNeeds) ||
		!sameList(implied.VersionDefs, o.VersionDefs) {
		line("exact")
		for _, n := range o.VersionNeeds {
			s := quote(n.Library, quoteWord)
			for _, v := range n.Versions {
				s += " " + quote(v.Name, quoteWord) + word(v.Weak, "weak")
			}
			line("verneed %s", s)
		}
		for _, d := range o.VersionDefs {
			s := quote(d.Name, quoteWord) + word(d.Base, "base") + word(d.Weak, "weak")
			for _, p := range d.Parents {
				s += " " + quote(p, quoteWord)
			}
			line("verdef %s", s)
		}
	}
	if o.HasVersym != o.impliedVersym() {
		line("versym %s", map[bool]string{true: "yes", false: "no"}[o.HasVersym])
	}
}

func sameList[T any](a, b []T) bool {
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}

func word(on bool, w string) string {
	if on {
		return " " + w
	}
	return ""
}

func (i Import) text() string {
	s := symbolText(i.Name, word(i.Weak, "weak"), i.Kind)
	if i.Version == "" {
		return s
	}
	lib := "-"
	if i.Library != "" {
		lib = quote(i.Library, quoteWord)
	}
	return s + "@" + quote(i.Version, quoteSymbol) + " " + lib
}

func (e Export) text() string {
	s := symbolText(
		e.Name,
		word(e.Weak, "weak")+word(e.Unique, "unique")+word(e.Hidden && e.Version == "", "hidden"),
		e.Kind,
	)
	switch {
	case e.Version != "" && e.Hidden:
		s += "@" + quote(e.Version, quoteSymbol)
	case e.Version != "":
		s += "@@" + quote(e.Version, quoteSymbol)
	}
	if e.Size != 0 {
		s += fmt.Sprintf(" size=%d", e.Size)
	}
	if e.Relocs != 0 {
		s += " by=" + e.Relocs.String()
	}
	return s
}

func symbolText(name, words string, k Kind) string {
	if k != Func {
		words += " " + string(k)
	}
	return strings.TrimPrefix(words+" "+quote(name, quoteSymbol), " ")
}

func flagText(
	v uint64,
	names []flagName,
) string {
	return " " + strings.Join(flagList(v, names), " ")
}

// flagList names the bits of v; those without a name are one number at the end.
func flagList(v uint64, names []flagName) []string {
	out := []string{}
	for _, n := range names {
		if v&n.bits != 0 {
			out = append(out, n.name)
			v &^= n.bits
		}
	}
	if v != 0 {
		out = append(out, fmt.Sprintf("%#x", v))
	}
	return out
}

// What makes a value need quotes.
const (
	quoteLine   = iota // the rest of a line
	quoteWord          // one word
	quoteSymbol        // one word without @ that is no keyword
)

func quote(s string, as int) string {
	plain := s != "" && s[0] != '"' && strings.TrimSpace(s) == s
	for i := 0; plain && i < len(s); i++ {
		c := s[i]
		plain = c >= ' ' && c < 0x7f && !(as != quoteLine && c == ' ') &&
			!(as == quoteSymbol && c == '@')
	}
	if as == quoteWord {
		plain = plain && s != "-" && !isModifier(s) && s != "base"
	}
	if as == quoteSymbol {
		plain = plain && !isModifier(s)
	}
	if plain {
		return s
	}
	return strconv.Quote(s)
}

// isModifier tells whether a bare word before a symbol's name means something.
func isModifier(s string) bool {
	switch s {
	case "weak", "unique", "hidden":
		return true
	}
	_, ok := parseKind(s)
	return ok
}

func parseKind(s string) (Kind, bool) {
	return Kind(s), s != "" && slices.Contains(kinds[:], Kind(s))
}
