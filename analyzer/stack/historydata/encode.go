package historydata

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
)

// Encode writes releases. They are put in order by name, architecture and the given order of versions, so the same releases
// always give the same bytes. header lines become comments.
func Encode(header []string, releases []Release, compareVersions func(a, b string) int) ([]byte, error) {
	releases = slices.Clone(releases)
	slices.SortFunc(releases, func(a, b Release) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Arch, b.Arch), compareVersions(a.Version, b.Version), cmp.Compare(a.Version, b.Version))
	})
	var b strings.Builder
	for _, h := range header {
		fmt.Fprintf(&b, "# %s\n", h)
	}
	var before Release
	for _, r := range releases {
		if r.Name != before.Name || r.Arch != before.Arch {
			fmt.Fprintf(&b, "package %s %s\n", r.Name, r.Arch)
			before = Release{}
		}
		word := "release"
		if r.Yanked {
			word = "yanked"
		}
		fmt.Fprintf(&b, "%s %s %s\n", word, r.Version, r.Wheel)
		for _, q := range r.Requires {
			fmt.Fprintf(&b, "requires %s\n", q)
		}
		for _, l := range r.Libraries {
			encodeLibrary(&b, l, before.export(l.Path))
		}
		before = r
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write([]byte(b.String())); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

func encodeLibrary(b *strings.Builder, l Library, before []Export) {
	word := "name"
	if l.Known {
		word = "library"
	}
	fmt.Fprintf(b, "%s %s %s\n", word, l.Path, dash(l.SONAME))
	if len(l.Needed) > 0 {
		fmt.Fprintf(b, "needed %s\n", strings.Join(l.Needed, " "))
	}
	if l.RunPath != "" {
		fmt.Fprintf(b, "runpath %s\n", l.RunPath)
	}
	if len(l.Versions) > 0 {
		fmt.Fprintf(b, "versions %s\n", strings.Join(l.Versions, " "))
	}
	if !l.Known {
		return
	}
	exports := slices.Clone(l.Exports)
	slices.SortFunc(exports, compareExports)
	i, j := 0, 0
	for i < len(before) || j < len(exports) {
		c := 1
		switch {
		case i == len(before):
		case j == len(exports):
			c = -1
		default:
			c = compareExports(before[i], exports[j])
		}
		switch {
		case c == 0:
			i, j = i+1, j+1
		case c < 0:
			b.WriteString("- " + before[i].text() + "\n")
			i++
		default:
			b.WriteString("+ " + exports[j].text() + "\n")
			j++
		}
	}
}

// export gives the exports of the library at the path, sorted; nil where the release has none there.
func (r Release) export(path string) []Export {
	for _, l := range r.Libraries {
		if l.Path == path {
			exports := slices.Clone(l.Exports)
			slices.SortFunc(exports, compareExports)
			return exports
		}
	}
	return nil
}

// text is "name version kind flags".
func (e Export) text() string {
	flags := ""
	for _, f := range []struct {
		set  bool
		char string
	}{{e.Hidden, "h"}, {e.Weak, "w"}, {e.Unique, "u"}} {
		if f.set {
			flags += f.char
		}
	}
	return strings.TrimRight(fmt.Sprintf("%s %s %s %s", e.Name, dash(e.Version), dash(e.Kind), flags), " ")
}

func compareExports(a, b Export) int { return cmp.Compare(a.text(), b.text()) }

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
