package unpack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"io"
	"io/fs"
	"slices"
	"testing"
)

type stored struct{ io.Writer }

func (stored) Close() error { return nil }

// List is called for all members of a wheel, including links, folders, and members that cannot
// be read.
func TestList(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, h := range []*zip.FileHeader{{Name: "p/"}, {Name: "p/a.so"}, {Name: "p/./b.txt"},
		{Name: "link"}, {Name: "../out"}, {Name: "odd", Method: 99}} {
		if h.Name == "link" {
			h.SetMode(fs.ModeSymlink | 0o777)
		}
		z.RegisterCompressor(99, func(w io.Writer) (io.WriteCloser, error) { return stored{w}, nil })
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if h.Name != "p/" {
			if _, err := w.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	var told []string
	o := Options{
		Want: func(*Package, string, int64, []byte) bool { return false },
		List: func(p *Package, path string) {
			if p.Kind != KindWheel {
				t.Errorf("package %+v", p)
			}
			told = append(told, path)
		},
	}
	if _, _, err := Walk(context.Background(), "t-1.0-py3-none-any.whl", bytes.NewReader(b.Bytes()),
		int64(b.Len()), o, func(*File) error {
			return nil
		}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"p/", "p/a.so", "p/b.txt", "link", "odd"}; !slices.Equal(told, want) {
		t.Errorf("visited %q, want %q", told, want)
	}
}

// Link is called for the links of a tar that lead to a path in it.
func TestLink(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []*tar.Header{
		{Name: "lib/a.so", Typeflag: tar.TypeReg},
		{Name: "lib/a.so.1", Typeflag: tar.TypeSymlink, Linkname: "a.so"},
		{Name: "./lib/up.so", Typeflag: tar.TypeSymlink, Linkname: "../opt/a.so"},
		{Name: "lib/system.so", Typeflag: tar.TypeSymlink, Linkname: "/lib/a.so"},
		{Name: "lib/out.so", Typeflag: tar.TypeSymlink, Linkname: "../../a.so"},
		{Name: "bin/same", Typeflag: tar.TypeLink, Linkname: "lib/a.so"},
	} {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	o := Options{
		Want: func(*Package, string, int64, []byte) bool { return false },
		Link: func(_ *Package, path, target string) { got = append(got, path+" "+target) },
	}
	if _, _, err := Walk(context.Background(), "x.tar", bytes.NewReader(b.Bytes()), int64(b.Len()), o,
		func(*File) error { return nil }); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"lib/a.so.1 lib/a.so", "lib/up.so opt/a.so", "lib/system.so lib/a.so", "bin/same lib/a.so",
	}
	if !slices.Equal(got, want) {
		t.Errorf("links %q, want %q", got, want)
	}
}
