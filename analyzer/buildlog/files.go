package buildlog

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// A file name as messages print it: a path, or a name with an ending that linkers and loaders deal
// with.
var (
	binary = lazyregexp.New(
		`\.(?:so|node|o|a|obj|oS|lo|os|rlib|rmeta|pyd|jnilib|dylib|bundle|dll|exe)(?:[.\-][0-9A-Za-z_.\-]+)?(?:\([^()\s]*\))?$`,
	)
	tool = lazyregexp.New(
		`^(?:[\w.+\-]*-)?(?:ld|ld\.(?:bfd|gold|lld|mold)|ld64\.lld|gold|lld|rust-lld|mold|wasm-ld|collect2|gcc|g\+\+|cc|c\+\+|clang|clang\+\+|nvlink|nvcc|hipcc|ptxas)(?:-\d+)?(?:\.exe)?$`,
	)
	section = lazyregexp.New(
		`:(?:\(\.[^()]*\)|\([^()]*\+0x[0-9a-f]+\)|[^:]*:function .*|function .*|\d+(?::\d+)?)$`,
	)
)

// base is the last element of a path.
func base(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

// word cuts a piece of a message down to the file in it: "  ERR_DLOPEN_FAILED ./x.node" is
// ./x.node. A path may hold spaces when the piece begins with it.
func word(s string) string {
	s = unquote(s)
	if !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "./") && !strings.HasPrefix(s, "../") ||
		strings.Contains(s, " /") ||
		strings.Contains(s, " (") {
		s = s[strings.LastIndexAny(s, " \t=")+1:]
	}
	return unquote(s)
}

// unquote drops the quotes and brackets around a name, and not those of "libz.a(gzlib.o)".
func unquote(s string) string {
	s = strings.Trim(strings.TrimSpace(s), "`'\"‘’“”,;[]{}")
	s = strings.TrimLeft(s, "(")
	if !strings.Contains(s, "(") {
		s = strings.TrimRight(s, ")")
	}
	return s
}

// fileBefore is the last piece of a message (pieces end in ": ") that names a file, and the text
// before it; linkOnly takes only what a linker reads (objects, archives, shared libraries).
func fileBefore(text string, linkOnly bool) (file, before string) {
	text = strings.TrimRight(text, " \t")
	text = strings.TrimSuffix(text, ":")
	for text != "" {
		i := strings.LastIndex(text, ": ")
		piece := text
		if i >= 0 {
			piece = text[i+2:]
		}
		trimmed := section.ReplaceAllString(strings.TrimSpace(piece), "")
		if linkOnly {
			if j := strings.Index(trimmed, ":"); j > 0 && binary.MatchString(word(trimmed[:j])) {
				trimmed = trimmed[:j] // gold: obj.o:src.c:function main
			}
		}
		trimmed = word(trimmed)
		if j := strings.IndexByte(trimmed, ':'); j > 0 && tool.MatchString(base(trimmed[:j])) {
			trimmed = trimmed[j+1:] // "/usr/bin/ld:./libfoo.so: file format not recognized"
		}
		if isBinary := binary.MatchString(trimmed); isBinary ||
			!linkOnly && strings.Contains(trimmed, "/") && !strings.Contains(trimmed, "://") {
			if !tool.MatchString(base(trimmed)) {
				return trimmed, text[:max(i, 0)]
			}
		}
		if i < 0 {
			break
		}
		text = text[:i]
	}
	return "", ""
}

// program is the name that begins a message of the loader: "./prog: error while loading shared
// libraries".
func program(text string) string {
	text = strings.TrimSuffix(strings.TrimRight(text, " \t"), ":")
	p := word(text[strings.LastIndex(text, ": ")+1:])
	if strings.HasSuffix(p, "Error") || strings.HasSuffix(p, "Exception") {
		return ""
	}
	return p
}
