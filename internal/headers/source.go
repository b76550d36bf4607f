package headers

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// Source is what programs compile into their own code when they include the headers.
type Source struct {
	macros   map[string]string // without functions, attributes, and macros that have no text
	inline   map[string]string // bodies by declaration, with the scope
	defaults map[string]string // default arguments by declaration, with the scope
	read     map[string]bool   // files
}

// Source preprocesses the headers. cxx means that the library exports functions of C++; otherwise
// the headers are read as C, or as C++ if fewer are rejected then. It returns the headers that the
// compiler rejects also without the others, unless another header includes them.
func (h *Headers) Source(
	ctx context.Context, c Compiler, cxx bool,
) (found *Source, bad []Rejected, err error) {
	h.cxx = cxx || slices.ContainsFunc(h.files, func(f string) bool {
		ext := filepath.Ext(f)
		return ext != ".h"
	})
	dir, err := os.MkdirTemp("", "compat-headers-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	if bad, err = h.group(ctx, c, dir); err != nil {
		return nil, nil, err
	}
	if len(bad) > 0 && !h.cxx {
		as := *h
		as.cxx = true
		if other, err := as.group(ctx, c, dir); err == nil && len(other) < len(bad) {
			*h, bad = as, other
		}
	}
	own := map[string]bool{}
	for _, f := range h.files {
		own[f] = true
	}
	found = newSource()
	for _, g := range h.groups {
		s := &source{headers: g, cxx: h.cxx}
		if err := s.write(dir, ""); err != nil {
			return nil, nil, err
		}
		out, errs, err := c.run(ctx, dir, append(h.arguments(), "-E", "-dD", s.name())...)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w: %s", c[0], err, firstError(errs))
		}
		found.add(string(out), own)
	}
	return found, slices.DeleteFunc(bad, func(r Rejected) bool { return found.read[r.Header] }), nil
}

// group finds out which headers can be included together, and returns those that cannot be included
// at all.
func (h *Headers) group(ctx context.Context, c Compiler, dir string) (bad []Rejected, err error) {
	h.groups = nil
	for left := h.files; len(left) > 0 && len(h.groups) < maxGroups; {
		s := &source{headers: slices.Clone(left), cxx: h.cxx}
		if bad, err = s.compiles(ctx, c, dir, "", h.arguments()); err != nil {
			return nil, err
		}
		if h.provide(bad) {
			continue
		}
		if len(s.headers) == 0 {
			break
		}
		h.groups = append(h.groups, s.headers)
		left = nil
		for _, r := range bad {
			left = append(left, r.Header)
		}
	}
	return bad, nil
}

var (
	// # 12 "/usr/include/foo.h" 1 3
	lineMarker = lazyregexp.New(`^# \d+ "((?:\\.|[^"\\])*)"`)
	define     = lazyregexp.New(`^#define ([A-Za-z_]\w*) (.+)$`)
	undefine   = lazyregexp.New(`^#undef ([A-Za-z_]\w*)$`)
	token      = lazyregexp.New(`"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[A-Za-z_]\w*|\.?\d[\w.]*|::|->|[^\s\w]`)
)

func newSource() *Source {
	return &Source{map[string]string{}, map[string]string{}, map[string]string{}, map[string]bool{}}
}

// add reads the output of a preprocessor with macros and line markers. own are the files that
// count.
func (s *Source) add(text string, own map[string]bool) {
	var code strings.Builder
	mine := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := lineMarker.FindStringSubmatch(line); m != nil {
			file := filepath.Clean(strings.ReplaceAll(m[1], `\\`, `\`))
			if mine = own[file]; mine {
				s.read[file] = true
			}
			continue
		}
		if !mine {
			continue
		}
		if m := define.FindStringSubmatch(line); m != nil {
			s.macros[m[1]] = strings.Join(strings.Fields(m[2]), " ")
		} else if m := undefine.FindStringSubmatch(line); m != nil {
			delete(s.macros, m[1])
		} else if !strings.HasPrefix(line, "#") {
			code.WriteString(line + "\n")
		}
	}
	values := maps.Clone(s.macros) // one may be the name of another
	maps.DeleteFunc(s.macros, func(name, _ string) bool { return attribute(values, name) })
	d := declarations{Source: s, tokens: withoutAttributes(token.FindAllString(code.String(), -1))}
	d.scope("")
}

// maxAliases limits how far a macro that stands for another one is followed.
const maxAliases = 8

// attribute reports whether a macro has no value but an attribute, such as visibility, or the name
// of such a macro.
func attribute(macros map[string]string, name string) bool {
	for range maxAliases {
		text, ok := macros[name]
		if strings.HasPrefix(text, "__attribute__") || strings.HasPrefix(text, "__declspec") ||
			strings.HasPrefix(text, "[[") {
			return true
		} else if !ok || !identifier.MatchString(text) {
			return false
		}
		name = text
	}
	return false
}

// withoutAttributes removes what only a declaration or a definition has: attributes, inline,
// static.
func withoutAttributes(tokens []string) (kept []string) {
	for i := 0; i < len(tokens); i++ {
		switch tokens[i] {
		case "__attribute__", "__declspec", "alignas", "_Alignas", "__asm__", "__asm":
			depth := 0
			for i++; i < len(tokens); i++ {
				if tokens[i] == "(" {
					depth++
				} else if tokens[i] == ")" {
					depth--
				}
				if depth <= 0 {
					break
				}
			}
		case "__extension__", "__restrict", "__inline", "__inline__", "inline", "extern", "static",
			"constexpr":
			// extern "C" opens a scope
			if tokens[i] == "extern" && i+1 < len(tokens) && strings.HasPrefix(tokens[i+1], `"`) {
				kept = append(kept, tokens[i])
			}
		default:
			kept = append(kept, tokens[i])
		}
	}
	return kept
}

// sameTokens reports whether two texts differ in white space only.
func sameTokens(a, b string) bool {
	return slices.Equal(token.FindAllString(a, -1), token.FindAllString(b, -1))
}

// declarations reads declarations at the level of files, namespaces and classes.
type declarations struct {
	*Source
	tokens []string
	at     int
}

// scope reads up to the end of a scope, or of the text.
func (d *declarations) scope(name string) {
	var head []string
	for d.at < len(d.tokens) {
		t := d.tokens[d.at]
		switch t {
		case ";":
			d.declared(name, head)
			head = nil
		case "}":
			return
		case "{":
			d.at++
			switch inner, kind := named(head); {
			case kind != "":
				d.scope(name + inner)
			case function(head):
				from := d.at
				d.skip()
				d.declared(name, head)
				d.inline[declaration(name, head)] = strings.Join(d.tokens[from:min(d.at, len(d.tokens))], " ")
				head = nil
				d.at++
				continue
			default: // an enumeration, an initializer
				d.skip()
			}
			head = append(head, "{}")
		case ":":
			if len(head) == 1 && (head[0] == "public" || head[0] == "protected" || head[0] == "private") {
				head = nil
			} else {
				head = append(head, t)
			}
		default:
			head = append(head, t)
		}
		d.at++
	}
}

// skip goes to the brace that ends the current block.
func (d *declarations) skip() {
	for depth := 1; d.at < len(d.tokens); d.at++ {
		switch d.tokens[d.at] {
		case "{":
			depth++
		case "}":
			if depth--; depth == 0 {
				return
			}
		}
	}
}

// named returns the scope that a brace after some tokens opens, with ::, and its keyword; "" if it
// opens none. extern "C" has no name.
func named(head []string) (name, kind string) {
	for i, t := range head {
		switch t {
		case "namespace", "class", "struct", "union":
			if slices.Contains(head[i:], "(") && !slices.Contains(head[i:], ":") {
				return "", ""
			}
			for _, word := range head[i+1:] {
				if word == ":" || word == "final" {
					break
				}
				if identifier.MatchString(word) {
					name = word + "::"
				}
			}
			return name, t
		case "extern":
			if i == len(head)-2 && strings.HasPrefix(head[i+1], `"`) {
				return "", t
			}
		case "(", "=":
			return "", ""
		}
	}
	return "", ""
}

// function reports whether a brace after some tokens begins the body of a function.
func function(head []string) bool {
	return slices.Contains(head, ")") && !slices.Contains(head, "enum")
}

// declared records the default arguments of a declaration.
func (d *declarations) declared(scope string, head []string) {
	if _, given := parameters(head); len(given) > 0 {
		d.defaults[declaration(scope, head)] = strings.Join(given, ", ")
	}
}

// declaration returns a declaration without default arguments, and its scope: "int f ( int ) in C".
func declaration(scope string, head []string) string {
	rest, _ := parameters(head)
	text := strings.Join(rest, " ")
	if scope != "" {
		text += " in " + strings.TrimSuffix(scope, "::")
	}
	return text
}

// parameters separates the default arguments from the tokens of a function. An initializer list of
// a constructor, and what else follows the parameters, is left out.
func parameters(head []string) (rest, given []string) {
	depth, value := 0, []string(nil)
	for i, t := range head {
		switch t {
		case "(", "[", "<":
			depth++
		case ")", "]", ">":
			depth--
		}
		ends := depth == 0 && t == ")" || depth == 1 && t == ","
		switch {
		case value != nil && !ends:
			value = append(value, t)
			continue
		case value != nil:
			given = append(given, strings.Join(value, " "))
			value = nil
		case t == "=" && depth > 0 && i > 0 && head[i-1] != "operator":
			value = []string{}
			continue
		case t == ":" && depth == 0 && slices.Contains(rest, ")"):
			return rest, given
		}
		rest = append(rest, t)
	}
	return rest, given
}

// Kinds of differences.
const (
	Macro    = "macro"
	Inline   = "inline function"
	Argument = "default argument"
)

// Difference is something that two releases of the headers have in different forms.
type Difference struct {
	Kind string `json:"kind"` // Macro, Inline or Argument
	// Name is the name of a macro, or the declaration of a function.
	Name string `json:"name"`
	// Old and New are the texts; of an inline function both are "", and New is "" for a macro that
	// is gone.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// Compare returns what differs, sorted; what only the new headers have is no difference.
func Compare(old, new *Source) (all []Difference) {
	for _, kind := range []struct {
		name     string
		old, new map[string]string
	}{
		{Macro, old.macros, new.macros},
		{Inline, old.inline, new.inline},
		{Argument, old.defaults, new.defaults},
	} {
		for _, name := range slices.Sorted(maps.Keys(kind.old)) {
			a, b := kind.old[name], kind.new[name]
			_, there := kind.new[name]
			switch {
			case sameTokens(a, b), !there && kind.name != Macro: // gone, or its signature changed
				continue
			case kind.name == Inline:
				a, b = "", ""
			}
			all = append(all, Difference{kind.name, name, a, b})
		}
	}
	return all
}
