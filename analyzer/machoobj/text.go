package machoobj

import (
	"fmt"
	"slices"
	"strings"
)

// Parse reads a file in the text form. It is meant for tests, with Write.
func Parse(text string) ([]*Object, error) {
	var out []*Object
	for n, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		var err error
		switch {
		case words[0] == "macho":
			var o *Object
			if o, err = newObject(words[1:]); err == nil {
				out = append(out, o)
			}
		case len(out) == 0:
			err = fmt.Errorf("the first line should be macho ARCH")
		default:
			err = out[len(out)-1].line(words[0], words[1:])
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no line begins with macho")
	}
	for _, o := range out {
		if o.Type == "" {
			o.Type = Bundle
		}
		sortExports(o)
	}
	return out, nil
}

func newObject(words []string) (*Object, error) {
	if len(words) == 0 || len(words) > 2 {
		return nil, fmt.Errorf("macho takes an architecture and a type")
	}
	if _, ok := archNumbers.Get()[words[0]]; !ok {
		return nil, fmt.Errorf("architecture %q is not known", words[0])
	}
	o := &Object{Arch: words[0], TwoLevel: true, Platform: MacOS, MinOS: Make(11, 0),
		SDK: Make(14, 0), Fixups: Chained, Needed: []Needed{}, RunPaths: []string{},
		Imports: []Import{}, Exports: []Export{}}
	if strings.HasPrefix(o.Arch, "arm64") {
		o.Signature = &Signature{AdHoc: true}
	}
	if len(words) == 2 {
		o.Type = Type(words[1])
		if !slices.Contains([]Type{Executable, Dylib, Bundle, Relocs, Symbols}, o.Type) {
			return nil, fmt.Errorf("type %q is not known", words[1])
		}
	}
	return o, nil
}

// line parses a line about an object.
func (o *Object) line(keyword string, words []string) (err error) {
	least := map[string]int{"flat-namespace": 0, "thread-locals": 0, "import": 2, "version": 2}
	if n, ok := least[keyword]; ok && len(words) < n || !ok && len(words) < 1 {
		return fmt.Errorf("%s lacks a value", keyword)
	}
	switch keyword {
	case "install-name":
		o.InstallName = words[0]
		if o.Type == "" {
			o.Type, o.Current, o.Compatibility = Dylib, Make(1, 0), Make(1, 0)
		}
	case "version":
		if o.Current, err = ParseVersion(words[0]); err == nil {
			o.Compatibility, err = ParseVersion(words[1])
		}
	case "needed":
		return o.needs(words)
	case "rpath":
		o.RunPaths = append(o.RunPaths, words[0])
	case "minos":
		o.MinOS, err = ParseVersion(words[0])
	case "sdk":
		o.SDK, err = ParseVersion(words[0])
	case "platform":
		o.Platform = Platform(words[0])
	case "import":
		return o.imports(words)
	case "export":
		return o.exports(words)
	case "fixups":
		o.Fixups = Fixups(words[0])
		if !slices.Contains([]Fixups{Chained, Opcodes, Table}, o.Fixups) {
			err = fmt.Errorf("fixups are chained, opcodes or symtab, not %q", words[0])
		}
	case "signature":
		switch words[0] {
		case "none":
			o.Signature = nil
		case "adhoc":
			o.Signature = &Signature{AdHoc: true}
		case "stale":
			o.Signature = &Signature{AdHoc: true, Stale: "yes"}
		default:
			err = fmt.Errorf("a signature is none, adhoc or stale, not %q", words[0])
		}
	case "flat-namespace":
		o.TwoLevel = false
	case "thread-locals":
		o.ThreadLocals = true
	default:
		err = fmt.Errorf("keyword %q is not known", keyword)
	}
	return err
}

// needs parses [weak|reexport|upward|lazy] PATH [current=1.2] [compat=1.0].
func (o *Object) needs(words []string) (err error) {
	n := Needed{Current: Make(1, 0), Compatibility: Make(1, 0)}
	for _, w := range words {
		value, ok := strings.CutPrefix(w, "compat=")
		to := &n.Compatibility
		if !ok {
			value, ok = strings.CutPrefix(w, "current=")
			to = &n.Current
		}
		switch {
		case ok:
			*to, err = ParseVersion(value)
		case w == "weak":
			n.Weak = true
		case w == "reexport":
			n.Reexport = true
		case w == "upward":
			n.Upward = true
		case w == "lazy":
			n.Lazy = true
		case n.Path == "":
			n.Path = w
		default:
			err = fmt.Errorf("unexpected %q", w)
		}
		if err != nil {
			return err
		}
	}
	o.Needed = append(o.Needed, n)
	return nil
}

// ordinal returns the library ordinal below 1 that a word of the text form stands for.
func ordinal(name string) (_ int, ok bool) {
	switch name {
	case "flat":
		return Flat, true
	case "self":
		return Self, true
	case "main":
		return Main, true
	case "any":
		return AnyDef, true
	}
	return 0, false
}

func (o *Object) ordinal(from string) (int, error) {
	if n, ok := ordinal(from); ok {
		return n, nil
	}
	n := slices.IndexFunc(o.Needed, func(n Needed) bool { return n.Path == from })
	if n < 0 {
		return 0, fmt.Errorf("no needed line before has the path %q", from)
	}
	return n + 1, nil
}

// imports parses [weak] NAME FROM.
func (o *Object) imports(words []string) (err error) {
	var i Import
	if words[0] == "weak" && len(words) == 3 {
		i.Weak, words = true, words[1:]
	}
	if len(words) != 2 {
		return fmt.Errorf("an import is [weak] NAME FROM")
	}
	i.Name = words[0]
	if i.Ordinal, err = o.ordinal(words[1]); err != nil {
		return err
	}
	o.Imports = append(o.Imports, i)
	return nil
}

// exports parses [weak] [tlv] NAME [= OTHER FROM].
func (o *Object) exports(words []string) (err error) {
	var e Export
	for len(words) > 1 && (words[0] == "weak" || words[0] == "tlv") {
		e.Weak, e.ThreadLocal = e.Weak || words[0] == "weak", e.ThreadLocal || words[0] == "tlv"
		words = words[1:]
	}
	e.Name = words[0]
	switch {
	case len(words) == 4 && words[1] == "=":
		e.As = words[2]
		if e.Ordinal, err = o.ordinal(words[3]); err == nil && e.Ordinal < 1 {
			err = fmt.Errorf("a library cannot export a symbol of %q", words[3])
		}
	case len(words) != 1:
		err = fmt.Errorf("an export is [weak] [tlv] NAME [= OTHER FROM]")
	}
	o.Exports = append(o.Exports, e)
	return err
}
