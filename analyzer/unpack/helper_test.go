package unpack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
)

// item is a member to write: a regular file, or as described by a header.
type item struct {
	name, data string
	header     *zip.FileHeader
}

func zipOf(t testing.TB, items ...item) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, it := range items {
		h := &zip.FileHeader{Name: it.name, Method: zip.Deflate}
		if it.header != nil {
			h = it.header
			h.Name = it.name
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, it.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t testing.TB, headers ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		data := h.Uname // what the member holds
		h.Uname, h.Mode, h.Size = "", 0o644, int64(len(data))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, data)
	}
	w.Close()
	return b.Bytes()
}

func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// elfOrSO selects the same files as an analyzer.
func elfOrSO(_ *Package, path string, _ int64, head []byte) bool {
	return bytes.HasPrefix(head, []byte("\x7fELF")) || strings.HasSuffix(path, ".so")
}

// story formats a walk: packages, files, problems.
func story(t testing.TB, name string, data []byte, o Options) string {
	t.Helper()
	var b strings.Builder
	packages, problems, err := Walk(
		context.Background(),
		name,
		bytes.NewReader(data),
		int64(len(data)),
		o,
		func(f *File) error {
			content := make([]byte, f.Size)
			if _, err := f.Content.ReadAt(content, 0); err != nil && err != io.EOF {
				t.Errorf("%s: %v", f.Path, err)
			}
			if _, err := f.Content.ReadAt(make([]byte, 1), f.Size); err != io.EOF {
				t.Errorf("%s is longer than its size: %v", f.Path, err)
			}
			fmt.Fprintf(&b, "file %s : %s = %.40q\n", f.Package.Path, f.Path, content)
			return nil
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		parent := ""
		if p.Parent != nil {
			parent = " in " + p.Parent.Path
		}
		fmt.Fprintf(&b, "%s %s%s\n", p.Kind, p.Path, parent)
		if len(p.SHA256) != 64 {
			t.Errorf("%s has the digest %q", p.Path, p.SHA256)
		}
		if len(p.Duplicates) > 0 {
			fmt.Fprintf(&b, "again %s\n", strings.Join(p.Duplicates, " "))
		}
	}
	for _, p := range problems {
		fmt.Fprintf(&b, "problem %s: %s\n", p.Path, p.Reason)
	}
	return b.String()
}

func same(t testing.TB, got, want string) {
	t.Helper()
	if got = strings.TrimSpace(got); got != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, strings.TrimSpace(want))
	}
}
