package buildlog

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// Patterns of file names in messages: a path, or a name with an extension that linkers and
// loaders use.
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

// base returns the last element of a path, which may be one of Windows.
func base(p string) string { return p[strings.LastIndexAny(p, `/\`)+1:] }

// word returns the file name in a part of a message: for " ERR_DLOPEN_FAILED ./x.node" it is
// ./x.node. A path may contain spaces if the part starts with it.
func word(s string) string {
	s = unquote(s)
	if !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "./") && !strings.HasPrefix(s, "../") ||
		strings.Contains(s, " /") ||
		strings.Contains(s, " (") {
		s = s[strings.LastIndexAny(s, " \t=")+1:]
	}
	return unquote(s)
}

// unquote removes quotes and brackets around a name, but not those of "libz.a(gzlib.o)".
func unquote(s string) string {
	s = strings.Trim(strings.TrimSpace(s), "`'\"‘’“”,;[]{}")
	s = strings.TrimLeft(s, "(")
	if !strings.Contains(s, "(") {
		s = strings.TrimRight(s, ")")
	}
	return s
}

// fileBefore returns the last file name in the parts of a message (each ends in ": "), and the
// text before it. linkOnly accepts only inputs of a linker (objects, archives, shared
// libraries).
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

// program returns the name at the start of a message of the loader: "./prog: error while
// loading shared libraries".
func program(text string) string {
	text = strings.TrimSuffix(strings.TrimRight(text, " \t"), ":")
	p := word(text[strings.LastIndex(text, ": ")+1:])
	if strings.HasSuffix(p, "Error") || strings.HasSuffix(p, "Exception") {
		return ""
	}
	return p
}
