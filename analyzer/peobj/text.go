package peobj

import (
	"fmt"
	"strconv"
	"strings"
)

// Text returns an object in the form that Parse reads:
//
//	pe amd64 [dll|exe] [arm64ec|arm64x|managed]
//	name libh.dll                       of the export directory
//	import KERNEL32.dll Sleep #9        a DLL, then names and ordinals
//	delay concrt140.dll f               the same, delay-loaded
//	export helper 7                     a name and its ordinal
//	export - 8                          without a name
//	export f 9 libb.helper              forwarded
//	assembly Microsoft.VC90.CRT
//	subsystem 6.0                       also os and linker
//	loadflags 0x800                     DependentLoadFlags, if there are any
//
// The second word of the first line defaults to dll. Words are separated by spaces; a word that is
// empty or contains a space, a quote or a control character is written as a Go string. Omitted
// export ordinals count up from 1.
func (o *Object) Text() string {
	var b strings.Builder
	line := func(words ...string) {
		for i, w := range words {
			if i > 0 {
				b.WriteByte(' ')
				w = quoted(w)
			}
			b.WriteString(w)
		}
		b.WriteByte('\n')
	}
	first := []string{"pe", o.Machine, "exe"}
	if o.DLL {
		first[2] = "dll"
	}
	if o.Hybrid != "" {
		first = append(first, o.Hybrid)
	}
	if o.Managed {
		first = append(first, "managed")
	}
	line(first...)
	if o.Name != "" {
		line("name", o.Name)
	}
	for _, d := range o.Imports {
		words := []string{"import", d.Name}
		if d.Delay {
			words[0] = "delay"
		}
		for _, s := range d.Symbols {
			words = append(words, s.String())
		}
		line(words...)
	}
	for _, e := range o.Exports {
		words := []string{"export", e.Name, strconv.FormatUint(uint64(e.Ordinal), 10)}
		if e.Name == "" {
			words[1] = "-"
		}
		if e.Forward != "" {
			words = append(words, e.Forward)
		}
		line(words...)
	}
	for _, a := range o.Assemblies {
		line("assembly", a)
	}
	line("subsystem", o.Subsystem)
	line("os", o.OperatingSystem)
	line("linker", o.Linker)
	if o.LoadFlags != 0 {
		line("loadflags", fmt.Sprintf("0x%x", o.LoadFlags))
	}
	return b.String()
}

func quoted(s string) string {
	if q := strconv.Quote(s); s == "" || strings.ContainsAny(s, " ") || q != `"`+s+`"` {
		return q
	}
	return s
}

// Parse reads the text form. Empty lines and lines that begin with # are ignored.
func Parse(text string) (*Object, error) {
	o := &Object{
		Imports: []DLL{}, Exports: []Export{}, Assemblies: []string{},
		Subsystem: "6.0", OperatingSystem: "6.0", Linker: "14.0", DLL: true,
	}
	for n, l := range strings.Split(text, "\n") {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		words, err := split(l)
		if err == nil {
			err = o.line(words)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if o.Machine == "" {
		return nil, fmt.Errorf("the text does not begin with a line like: pe amd64")
	}
	o.sortExports()
	return o, nil
}

// split splits a line into words.
func split(l string) ([]string, error) {
	var out []string
	for l = strings.TrimLeft(l, " "); l != ""; l = strings.TrimLeft(l, " ") {
		if l[0] == '"' {
			q, err := strconv.QuotedPrefix(l)
			if err != nil {
				return nil, fmt.Errorf("a quoted word does not end")
			}
			w, err := strconv.Unquote(q)
			if err != nil {
				return nil, err
			}
			out, l = append(out, w), l[len(q):]
			continue
		}
		w, rest, _ := strings.Cut(l, " ")
		out, l = append(out, w), rest
	}
	return out, nil
}

// line parses one line.
func (o *Object) line(words []string) error {
	key, args := words[0], words[1:]
	if len(args) == 0 {
		return fmt.Errorf("%s has no value", key)
	}
	switch key {
	case "pe":
		return o.first(args)
	case "name":
		o.Name = args[0]
	case "import", "delay":
		d := DLL{Name: args[0], Delay: key == "delay", Symbols: []Symbol{}}
		for _, w := range args[1:] {
			if n, ok := ordinal(w); ok {
				d.Symbols = append(d.Symbols, Symbol{Ordinal: n})
			} else {
				d.Symbols = append(d.Symbols, Symbol{Name: w})
			}
		}
		o.Imports = append(o.Imports, d)
	case "export":
		return o.export(args)
	case "assembly":
		o.Assemblies = append(o.Assemblies, args[0])
	case "subsystem":
		o.Subsystem = args[0]
	case "os":
		o.OperatingSystem = args[0]
	case "linker":
		o.Linker = args[0]
	case "loadflags":
		flags, err := strconv.ParseUint(args[0], 0, 16)
		if err != nil {
			return err
		}
		o.LoadFlags = uint16(flags)
	default:
		return fmt.Errorf("%q is not pe, name, import, delay, export, assembly, subsystem, os, linker "+
			"or loadflags", key)
	}
	return nil
}

func (o *Object) first(args []string) error {
	o.Machine = args[0]
	o.Bits = 64
	if o.Machine == X86 || o.Machine == ARM {
		o.Bits = 32
	}
	for _, w := range args[1:] {
		switch w {
		case "dll", "exe":
			o.DLL = w == "dll"
		case "arm64ec", "arm64x":
			o.Hybrid = w
		case "managed":
			o.Managed = true
		default:
			return fmt.Errorf("%q is not dll, exe, arm64ec, arm64x or managed", w)
		}
	}
	return nil
}

func (o *Object) export(args []string) error {
	e := Export{Name: args[0], Ordinal: 1}
	if e.Name == "-" {
		e.Name = ""
	}
	for _, x := range o.Exports {
		e.Ordinal = max(e.Ordinal, x.Ordinal+1)
	}
	args = args[1:]
	if len(args) > 0 {
		if n, err := strconv.ParseUint(args[0], 10, 32); err == nil {
			e.Ordinal, args = uint32(n), args[1:]
		}
	}
	if len(args) > 0 {
		e.Forward = args[0]
	}
	o.Exports = append(o.Exports, e)
	return nil
}
