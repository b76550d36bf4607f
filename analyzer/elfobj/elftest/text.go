package elftest

import (
	"fmt"
	"github.com/compat-app/compat/analyzer/elfobj"
	"reflect"
	"strconv"
	"strings"
)

var typeNames = []struct{ typ, name string }{
	{"ET_DYN", "dyn"},
	{"ET_EXEC", "exec"},
	{"ET_REL", "rel"},
	{"ET_CORE", "core"},
}

// Text returns the canonical text form (see the package comment). Parse returns an equal
// object, except for Sections without Data.
func Text(o *elfobj.Object) string {
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
	if loadable(o) && !o.Dynamic {
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
	versionText(o, line)
	usual := usualRelocs(o)
	for _, i := range o.Imports.All() {
		s := importText(i)
		if i.Relocs != 0 && i.Relocs != usual(i.Kind) {
			s += " by=" + i.Relocs.String()
		}
		line("import %s", s)
	}
	for _, e := range o.Exports.All() {
		line("export %s", exportText(e))
	}
	if o.Flags != 0 {
		line("flags%s", flagText(o.Flags, elfobj.FlagNames))
	}
	if o.Flags1 != 0 {
		line("flags_1%s", flagText(o.Flags1, elfobj.Flag1Names))
	}
	if o.ExecStack != usualStack(o) {
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
	if o.AndroidAPI != 0 {
		line("android %d", o.AndroidAPI)
	}
	if o.MaxPage != 0 {
		line("max-page %#x", o.MaxPage)
	}
	if o.ISA != 0 {
		line("isa %#x", o.ISA)
	}
	if o.ISAUsed != 0 {
		line("isa-used %#x", o.ISAUsed)
	}
	value("guards", o.Guards.String())
	value("system", o.System)
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

// usualStack returns the ExecStack that the text form omits; .o and core files have no
// PT_GNU_STACK.
func usualStack(o *elfobj.Object) string {
	if loadable(o) {
		return "no"
	}
	return "unsaid"
}

func loadable(o *elfobj.Object) bool { return o.Type == "ET_DYN" || o.Type == "ET_EXEC" }

// versionText writes the version lines that Parse would not imply.
func versionText(o *elfobj.Object, line func(string, ...any)) {
	implied := elfobj.Object{SONAME: o.SONAME, Imports: o.Imports, Exports: o.Exports}
	implyVersions(&implied)
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
	if o.HasVersym != impliedVersym(o) {
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

func importText(i elfobj.Import) string {
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

func exportText(e elfobj.Export) string {
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

func symbolText(name, words string, k elfobj.Kind) string {
	if k != elfobj.Func {
		words += " " + string(k)
	}
	return strings.TrimPrefix(words+" "+quote(name, quoteSymbol), " ")
}

func flagText(v uint64, names []elfobj.FlagName) string {
	return " " + strings.Join(elfobj.NamesOfFlags(v, names), " ")
}

// What a value is, which determines when it needs quotes.
const (
	quoteLine   = iota // the rest of a line
	quoteWord          // one word
	quoteSymbol        // one word without @ that is not a keyword
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

// isModifier reports whether a word before a symbol's name is a keyword.
func isModifier(s string) bool {
	switch s {
	case "weak", "unique", "hidden":
		return true
	}
	_, ok := elfobj.ParseKind(s)
	return ok
}
