package analyzertest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// archive packs files in the format of a suffix: .deb, .tgz, or else zip.
func archive(ending string, files map[string][]byte) ([]byte, error) {
	names := slices.Sorted(maps.Keys(files))
	switch ending {
	case ".deb":
		control, data := []string{}, []string{}
		inside := map[string][]byte{}
		for _, n := range names {
			if short, ok := strings.CutPrefix(n, "DEBIAN/"); ok {
				control, inside["./"+short] = append(control, "./"+short), files[n]
			} else {
				data, inside["./"+n] = append(data, "./"+n), files[n]
			}
		}
		return deb(control, data, inside)
	case ".tgz", ".apk":
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		packed, err := tarred(names, files)
		if err != nil {
			return nil, err
		}
		if _, err := z.Write(packed); err != nil {
			return nil, err
		}
		err = z.Close()
		return b.Bytes(), err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, n := range names {
		w, err := z.Create(n)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(files[n]); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

func tarred(names []string, files map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, n := range names {
		if to, ok := strings.CutPrefix(string(files[n]), "symlink "); ok {
			if err := w.WriteHeader(&tar.Header{
				Name: n, Typeflag: tar.TypeSymlink, Linkname: strings.TrimSpace(to),
			}); err != nil {
				return nil, err
			}
			continue
		}
		if err := w.WriteHeader(&tar.Header{Name: n, Mode: 0o644,
			Size: int64(len(files[n]))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(files[n]); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// deb returns an ar archive with three members (deb(5)).
func deb(control, data []string, files map[string][]byte) ([]byte, error) {
	out := []byte("!<arch>\n")
	add := func(name string, content []byte) {
		out = fmt.Appendf(
			out,
			"%-16s%-12d%-6d%-6d%-8s%-10d`\n",
			name,
			0,
			0,
			0,
			"100644",
			len(content),
		)
		out = append(append(out, content...), make([]byte, len(content)%2)...)
	}
	add("debian-binary", []byte("2.0\n"))
	for _, part := range []struct {
		name  string
		names []string
	}{{"control.tar", control}, {"data.tar", data}} {
		packed, err := tarred(part.names, files)
		if err != nil {
			return nil, err
		}
		add(part.name, packed)
	}
	return out, nil
}
