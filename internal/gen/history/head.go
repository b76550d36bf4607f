package main

import (
	"archive/zip"
	"bytes"
	"io"
	"path"
	"regexp"
	"slices"

	"github.com/compat-app/compat/analyzer/packages/historydata"
)

// Of a large library only the beginning is read. It contains the symbols and .dynstr; the dynamic
// section is at the end of the file. headMost is for C++ libraries with about 100,000 names.
const (
	headBytes = 2 << 20
	headMost  = 32 << 20
)

var needable = regexp.MustCompile(`^(lib[^/]*\.so(\.[0-9]+[a-z]?)*|ld-linux[a-z0-9-]*\.so\.[0-9]+)$`)

// named returns the name of a library, what it needs, its search path and, if the beginning of the
// file contains them, its exports. The needed libraries are read from .dynstr: the library names in
// it are DT_NEEDED and DT_SONAME, in the order in which the linker wrote them. Without .dynstr only
// the name is known.
func named(f *zip.File) (historydata.Library, error) {
	l := described{historydata.Library{Path: installed(f.Name), SONAME: path.Base(f.Name)}}
	r, err := f.Open()
	if err != nil {
		return l.Library, err
	}
	defer r.Close()
	head := make([]byte, min(headBytes, f.UncompressedSize64))
	if _, err := io.ReadFull(r, head); err != nil {
		return l.Library, err
	}
	for _, s := range dynamicStrings(head) {
		switch {
		case s == l.SONAME:
		case needable.MatchString(s) && !slices.Contains(l.Needed, s):
			l.Needed = append(l.Needed, s)
		case bytes.Contains([]byte(s), []byte("$ORIGIN")):
			l.RunPath = s
		}
	}
	o, ok := fromHead(head)
	if more := min(headMost, f.UncompressedSize64); !ok && more > headBytes && endsInText(head) {
		rest := make([]byte, more-headBytes)
		if _, err := io.ReadFull(r, rest); err != nil {
			return l.Library, err
		}
		o, ok = fromHead(append(head, rest...))
	}
	if ok {
		l.symbols(o)
	}
	return l.Library, nil
}

// endsInText reports whether a head ends inside a string table, so that more must be read.
func endsInText(head []byte) bool {
	const last = 4 << 10
	return !bytes.ContainsFunc(
		head[len(head)-last:],
		func(r rune) bool { return r != 0 && (r < ' ' || r >= 0x7f) },
	)
}

// dynamicStrings returns the strings of the table that contains "libc.so.6": the printable bytes
// around it, up to two consecutive NULs.
func dynamicStrings(head []byte) []string {
	i := bytes.Index(head, []byte("\x00libc.so.6\x00"))
	if i < 0 {
		return nil
	}
	in := func(j int) bool {
		return j >= 0 && j < len(head) &&
			(head[j] >= ' ' && head[j] < 0x7f || head[j] == 0 && j > 0 && head[j-1] != 0)
	}
	start, end := i, i+1
	for in(start) {
		start--
	}
	for in(end) {
		end++
	}
	var list []string
	for s := range bytes.SplitSeq(head[start+1:end], []byte{0}) {
		list = append(list, string(s))
	}
	return list
}
