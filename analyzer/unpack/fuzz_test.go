package unpack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"io"
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

// For any input there is no panic, limits are kept, and names are safe. For a zip without a
// problem, archive/zip reads the same files with the same content.
func FuzzWalk(f *testing.F) {
	wheel := zipOf(
		f,
		item{name: "a/x.so", data: elf},
		item{name: "b.txt", data: strings.Repeat("b", 300)},
	)
	f.Add("x.whl", wheel)
	f.Add(
		"x.zip",
		zipOf(
			f,
			item{name: "dist/x.whl", data: string(wheel)},
			item{name: "../y", data: "y", header: &zip.FileHeader{}},
		),
	)
	f.Add("x.tar.gz", gzipped(tarOf(f, &tar.Header{Name: "x.so", Uname: elf})))
	f.Add("x.tar", tarOf(f, &tar.Header{Name: "x.whl", Uname: string(wheel)}))
	f.Add("x.so", []byte(elf))
	plain := oneTar(f)
	f.Add("x.tar.xz", xzed(plain))
	f.Add("x.tar.zst", zstded(f, plain))
	f.Add(
		"x.deb",
		arOf("debian-binary", "2.0\n", "control.tar", string(plain), "data.tar.xz", string(xzed(plain))),
	)
	f.Add("x.rpm", rpmOf(gzipped(cpioOf("./usr/x.so", elf, "./y", "y")), "libc.so.6()(64bit)"))
	f.Add("x.rpm", rpmOf(cpioOf("./usr/x.so", elf)))
	f.Add("x.tar", imageOf(f))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		limits := Limits{Entries: 1000, Bytes: 1 << 20, FileBytes: 1 << 18, Depth: 2}
		var read int64
		content := map[string]string{}
		packages, problems, err := Walk(
			context.Background(),
			name,
			bytes.NewReader(data),
			int64(len(data)),
			Options{Limits: limits},
			func(f *File) error {
				b := make([]byte, f.Size)
				if _, err := f.Content.ReadAt(b, 0); err != nil && err != io.EOF {
					t.Fatal(err)
				}
				if f.Size > limits.FileBytes && f.Package.Kind != KindObject ||
					!utf8.ValidString(f.Path) ||
					strings.ContainsAny(f.Path, "\x00\n\r\x1b\x7f") {
					t.Fatalf("%q of %d bytes", f.Path, f.Size)
				}
				if f.Package.Kind != KindObject {
					read += f.Size
				}
				if f.Package.Parent == nil {
					content[f.Path] = string(b)
				}
				return nil
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		if read > limits.Bytes {
			t.Fatalf("%d bytes visited", read)
		}
		for _, p := range problems {
			if p.Reason == "" || !utf8.ValidString(p.Path+p.Reason) ||
				strings.ContainsAny(p.Path+p.Reason, "\x00\n\r\x1b\x7f") {
				t.Fatalf("%q", p)
			}
		}
		if len(packages) == 0 && len(problems) == 0 {
			t.Fatal("neither a package nor a problem")
		}
		if len(problems) > 0 || sniff(name, data) != formatZip {
			return
		}
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return // archive/zip is stricter about a few records that nobody needs
		}
		theirs := map[string]string{}
		for _, e := range z.File {
			if strings.HasSuffix(e.Name, "/") || ArchiveName(e.Name) || !e.Mode().IsRegular() {
				continue
			}
			r, err := e.Open()
			if err != nil {
				t.Fatalf("%q: %v", e.Name, err)
			}
			b, err := io.ReadAll(r)
			if err != nil {
				return // it compares data descriptors too, which installers do not
			}
			theirs[Safe(path.Clean(e.Name))] = string(b)
		}
		for name, b := range theirs {
			if content[name] != b {
				t.Fatalf("%q: %q, and archive/zip reads %q", name, content[name], b)
			}
		}
	})
}

func FuzzSafe(f *testing.F) {
	for _, s := range []string{"a/b.so", "a\x1b[2J\u202e\xff", "\u200b\ufeff\U000e0001é日"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Safe(s)
		if !utf8.ValidString(got) || Safe(got) != got ||
			strings.ContainsAny(got, "\x00\x07\n\r\x1b\x7f\u0085\u009b\u202e\u2028\u2066") {
			t.Fatalf("%q: %q", s, got)
		}
	})
}
