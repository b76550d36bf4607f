package unpack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
)

const elf = "\x7fELF and so on"

func TestWheelInAnArtifact(t *testing.T) {
	wheel := zipOf(
		t,
		item{name: "warp/bin/"},
		item{name: "warp/bin/warp.so", data: elf},
		item{name: "warp/tool", data: elf},
		item{name: "warp/a.py", data: "import x"},
	)
	stored := &zip.FileHeader{Method: zip.Store}
	outer := zipOf(
		t,
		item{name: "dist/warp-1-py3-none-any.whl", data: string(wheel), header: stored},
		item{name: "dist/libx.so", data: elf},
		item{name: "notes.txt", data: "hello"},
		item{
			name: "more/inner.tar.gz",
			data: string(
				gzipped(
					tarOf(
						t,
						&tar.Header{Name: "./lib/y.so", Uname: elf},
						&tar.Header{
							Name:     "lib/z.so",
							Linkname: "/etc/passwd",
							Typeflag: tar.TypeSymlink,
						},
					),
				),
			),
		},
	)
	got := story(t, "artifact.zip", outer, Options{Want: elfOrSO})
	same(t, got, `
file artifact.zip/dist/warp-1-py3-none-any.whl : warp/bin/warp.so = "\x7fELF and so on"
file artifact.zip/dist/warp-1-py3-none-any.whl : warp/tool = "\x7fELF and so on"
file artifact.zip : dist/libx.so = "\x7fELF and so on"
file artifact.zip/more/inner.tar.gz : lib/y.so = "\x7fELF and so on"
archive artifact.zip
wheel artifact.zip/dist/warp-1-py3-none-any.whl in artifact.zip
archive artifact.zip/more/inner.tar.gz in artifact.zip
`)
	if again := story(t, "artifact.zip", outer, Options{Want: elfOrSO}); again != got {
		t.Error("the same bytes give another story")
	}
	packages, _, err := Walk(
		context.Background(),
		"artifact.zip",
		bytes.NewReader(outer),
		int64(len(outer)),
		Options{},
		func(*File) error { return nil },
	)
	if err != nil {
		t.Fatal(err)
	}
	for i, data := range [][]byte{outer, wheel} {
		if sum := sha256.Sum256(data); packages[i].SHA256 != hex.EncodeToString(sum[:]) ||
			packages[i].Size != int64(len(data)) {
			t.Errorf("%s: digest or size is not that of its own bytes", packages[i].Path)
		}
	}
	if packages[1].Entries != 4 {
		t.Errorf("%d entries", packages[1].Entries)
	}
}

func TestSingleFiles(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"build/libx.so": {elf, "file build/libx.so : libx.so = \"\\x7fELF and so on\"\nobject " +
			"build/libx.so"},
		"cut.so": {"\x7fEL", "file cut.so : cut.so = \"\\x7fEL\"\nobject cut.so"},
		"tool":   {elf, "file tool : tool = \"\\x7fELF and so on\"\nobject tool"},
		"notes.txt": {"hello", "problem notes.txt: not a wheel, package, archive or binary that " +
			"compat can read"},
		"x.whl": {"", "problem x.whl: the file is empty"},
		"y.whl": {"not a zip", "wheel y.whl\nproblem y.whl: the file is truncated or " +
			"damaged: it is not a ZIP archive, or its end is missing"},
		"z.zip": {string(zipOf(t)),
			"archive z.zip\nproblem z.zip: the archive contains no files"},
		"a\x1b[2J\xff.so": {elf, "file a\\x1b[2J\\xff.so : a\\x1b[2J\\xff.so = \"\\x7fELF and so " +
			"on\"\nobject a\\x1b[2J\\xff.so"},
		"t.tar": {string(tarOf(t, &tar.Header{Name: "x.so", Uname: elf})),
			"file t.tar : x.so = \"\\x7fELF and so on\"\narchive t.tar"},
	} {
		same(t, story(t, name, []byte(c.data), Options{Want: elfOrSO}), c.want)
	}
}

func TestNames(t *testing.T) {
	link := &zip.FileHeader{}
	link.SetMode(fs.ModeSymlink | 0o777)
	data := zipOf(
		t,
		item{name: "../../evil.so", data: elf},
		item{name: "/abs.so", data: elf},
		item{name: `C:\x.so`, data: elf},
		item{name: `..\up.so`, data: elf},
		item{name: "a/../b.so", data: elf},
		item{
			name: "nul.so\x00.txt",
			data: elf,
		},
		item{name: strings.Repeat("n", 5000) + ".so", data: elf},
		item{name: "a/\u202eos.\x1b\xff.so", data: elf},
		item{name: "link.so", data: "/etc/passwd", header: link},
		item{name: "./a//good.so", data: elf},
	)
	same(t, story(t, "x.whl", data, Options{Want: elfOrSO}), `
file x.whl : a/\u202eos.\x1b\xff.so = "\x7fELF and so on"
file x.whl : a/good.so = "\x7fELF and so on"
wheel x.whl
problem x.whl/../../evil.so: its name leaves the archive with "..", which would be written outside the installation folder
problem x.whl//abs.so: its name is an absolute path, which would be written outside the installation folder
problem x.whl/C:\x.so: its name starts with a drive letter, which would be written outside the installation folder
problem x.whl/..\up.so: its name leaves the archive with "..", which would be written outside the installation folder
problem x.whl/a/../b.so: its name leaves the archive with "..", which would be written outside the installation folder
problem x.whl/nul.so\x00.txt: its name contains a NUL byte, which different tools interpret differently
problem x.whl/`+strings.Repeat("n", 160)+`…(5003 bytes): its name is longer than 4096 bytes, so it cannot be unpacked
`)
}

func TestLastEntryOfANameCounts(t *testing.T) {
	// A folder with the same name does not hide an earlier file.
	data := zipOf(
		t,
		item{name: "a.so", data: "first"},
		item{name: "b.so", data: "b"},
		item{name: "./a.so", data: "second"},
		item{name: "a.so", data: "third"},
		item{name: "a.so/"},
	)
	same(t, story(t, "x.whl", data, Options{Want: elfOrSO}), `
file x.whl : b.so = "b"
file x.whl : a.so = "third"
wheel x.whl
again a.so
`)
}

func TestArchiveInsideAWheelIsData(t *testing.T) {
	broken := zipOf(t, item{name: "x.so", data: elf})[:40]
	same(
		t,
		story(
			t,
			"x.whl",
			zipOf(t, item{name: "tests/broken.zip", data: string(broken)}),
			Options{Want: elfOrSO},
		),
		"wheel x.whl",
	)
	same(
		t,
		story(
			t,
			"x.zip",
			zipOf(
				t,
				item{name: "tests/broken.zip", data: string(broken)},
				item{name: "p.rpm", data: "\xed\xab\xee\xdb"},
				item{name: "q.tgz", data: "?"},
			),
			Options{Want: elfOrSO},
		),
		`
archive x.zip
archive x.zip/tests/broken.zip in x.zip
archive x.zip/p.rpm in x.zip
problem x.zip/tests/broken.zip: the file is truncated or damaged: it is not a ZIP archive, or its end is missing
problem x.zip/p.rpm: the file is truncated or damaged: its signature starts at offset 96, but the file has 4 bytes
problem x.zip/q.tgz: it is named like an archive, but is not one
`,
	)
}

// patch changes bytes of a zip after the nth occurrence of marker.
func patch(data []byte, marker string, n, offset int, with string) []byte {
	data = bytes.Clone(data)
	at := 0
	for range n {
		at += bytes.Index(data[at:], []byte(marker)) + 1
	}
	copy(data[at-1+offset:], with)
	return data
}

func TestDamage(t *testing.T) {
	good := zipOf(
		t,
		item{name: "a.so", data: elf},
		item{name: "b.so", data: elf},
		item{name: "c.py", data: "c"},
	)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"cut": {good[:len(good)/2],
			"problem x.whl: the file is truncated or damaged: it is not a ZIP archive, or its end is missing"},
		"crc": {patch(good, sigHeader, 1, 16, "\x00\x00\x00\x00"), "problem x.whl/a.so: the " +
			"file is damaged: its CRC-32 is d2123cf2, but the directory has 00000000"},
		"size": {patch(good, sigHeader, 1, 24, "\x05"),
			"problem x.whl/a.so: the file is damaged: the central directory declares 5 bytes, but it has 14"},
		"size of 2 GiB": {patch(good, sigHeader, 1, 24, "\x00\x00\x00\x80"), "problem x.whl/a.so: the " +
			"file is damaged: the central directory declares 2147483648 bytes, but it has 14"},
		"no zip64": {patch(good, sigHeader, 1, 24, "\xff\xff\xff\xff"),
			"problem x.whl/a.so: its zip64 sizes are missing"},
		"encrypted": {patch(good, sigHeader, 1, 8, "\x01\x00"),
			"problem x.whl/a.so: it is encrypted"},
		"method": {patch(good, sigHeader, 1, 10, "\x0e\x00"), "problem x.whl/a.so: it is " +
			"compressed with method 14; compat supports stored (0) and deflated (8)"},
		"method of .py": {patch(good, sigHeader, 3, 10, "\x0e\x00"), ""},
		"local name": {patch(good, sigLocal, 1, localSize, "z"), "problem x.whl/a.so: its name in " +
			"the local header differs from the one in the central directory, which different tools " +
			"interpret differently"},
		"local header": {patch(good, sigLocal, 1, 0, "??"),
			"problem x.whl/a.so: the file is damaged: no local header at 0"},
		"far": {patch(good, sigHeader, 1, 42, "\xf0\xff\xff\x7f"),
			"problem x.whl/a.so: the file is truncated or damaged: its declared offset is 2147483632 of "},
		"long": {patch(good, sigHeader, 1, 20, "\xff\xff\xff\x0f"),
			"problem x.whl: 1 entries overlap other entries; they were not read"},
		"more entries": {patch(good, sigEOCD, 1, 10, "\x07\x00"),
			"problem x.whl: the central directory is damaged: it declares 7 entries and has 3"},
		"directory size": {patch(good, sigEOCD, 1, 12, "\x50\x00"),
			"problem x.whl: the central directory is damaged: "},
		"two ends": {append(bytes.Clone(good), zipOf(t)...),
			"problem x.whl: the archive contains no files"},
		"prefix": {append([]byte("#!/bin/sh\nexit\n"), good...), ""},
		"suffix": {append(bytes.Clone(good), "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"...), ""},
	} {
		got := story(t, "x.whl", c.data, Options{Want: elfOrSO})
		switch {
		case c.want == "" && (strings.Contains(got, "problem") || strings.Count(got, "file x.whl") != 2):
			t.Errorf("%s:\n%s", name, got)
		case !strings.Contains(got, c.want):
			t.Errorf("%s: want %s, got\n%s", name, c.want, got)
		case strings.Contains(c.want, "/a.so") && !strings.Contains(got, "file x.whl : b.so"):
			t.Errorf("%s: the file next to it is not visited:\n%s", name, got)
		}
	}
	compressed := gzipped(tarOf(t, &tar.Header{Name: "a.so", Uname: elf}))
	if got := story(t, "x.tar.gz", compressed[:len(compressed)-4], Options{}); !strings.Contains(
		got,
		"problem x.tar.gz: the file is truncated or damaged: its data ends too early",
	) {
		t.Error(got)
	}
}

// scratch is a file that counts missing calls of Close.
type scratch struct {
	*os.File
	open *int
}

func (s scratch) Close() error {
	*s.open--
	return errors.Join(s.File.Close(), os.Remove(s.Name()))
}

func TestScratch(t *testing.T) {
	open, made := 0, 0
	o := Options{Want: elfOrSO, Scratch: func(size int64) (Scratch, error) {
		f, err := os.CreateTemp(t.TempDir(), "scratch")
		open, made = open+1, made+1
		return scratch{f, &open}, err
	}}
	wheel := zipOf(t, item{name: "a.so", data: elf}, item{name: "b.txt", data: "b"})
	outer := zipOf(t, item{name: "x.whl", data: string(wheel)}, item{name: "bad.whl", data: "?"})
	outer = patch(outer, sigHeader, 2, 16, "????")
	got := story(t, "x.zip", outer, o)
	if open != 0 || made != 3 || !strings.Contains(got, "file x.zip/x.whl : a.so") {
		t.Errorf("%d of %d are open\n%s", open, made, got)
	}
	full := errors.New("no space left on device")
	o.Scratch = func(int64) (Scratch, error) { return nil, full }
	if _, _, err := Walk(context.Background(), "x.zip", bytes.NewReader(outer), int64(len(outer)), o,
		nil); !errors.Is(
		err,
		full,
	) {
		t.Errorf("a full disk gives %v", err)
	}
}

func TestEnds(t *testing.T) {
	data := zipOf(t, item{name: "a.so", data: elf}, item{name: "b.so", data: elf})
	stop := errors.New("stop")
	if _, _, err := Walk(context.Background(), "x.zip", bytes.NewReader(data), int64(len(data)),
		Options{}, func(*File) error {
			return stop
		}); !errors.Is(
		err,
		stop,
	) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	_, _, err := Walk(
		ctx,
		"x.zip",
		bytes.NewReader(data),
		int64(len(data)),
		Options{},
		func(*File) error { n++; cancel(); return nil },
	)
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Error(n, err)
	}
}

func TestContentIsReadAt(t *testing.T) {
	data := zipOf(t, item{name: "a.so", data: "0123456789"})
	_, _, err := Walk(
		context.Background(),
		"x.zip",
		bytes.NewReader(data),
		int64(len(data)),
		Options{},
		func(f *File) error {
			for _, off := range []int64{7, 0, 3} {
				b := make([]byte, 2)
				if n, err := f.Content.ReadAt(b, off); n != 2 || err != nil ||
					b[0] != byte('0'+off) {
					t.Errorf("%d bytes at %d: %q, %v", n, off, b, err)
				}
			}
			_, err := io.Copy(io.Discard, io.NewSectionReader(f.Content, 0, f.Size))
			return err
		},
	)
	if err != nil {
		t.Error(err)
	}
}

// reads counts the bytes that are read.
type reads struct {
	*bytes.Reader
	n int
}

func (r *reads) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.Reader.ReadAt(p, off)
	r.n += n
	return n, err
}

func TestSkipReadsNothing(t *testing.T) {
	stored := func() *zip.FileHeader { return &zip.FileHeader{Method: zip.Store} }
	data := zipOf(
		t,
		item{name: "big.so", data: strings.Repeat("x", 1<<20), header: stored()},
		item{name: "a.so", data: elf},
		item{name: "b.bin", data: strings.Repeat("y", 1<<20), header: stored()},
	)
	r := &reads{Reader: bytes.NewReader(data)}
	var skipped, visited []string
	o := Options{NoDigest: true, Skip: func(path string, size int64) bool {
		if size == 1<<20 {
			skipped = append(skipped, path)
			return true
		}
		return false
	}}
	packages, problems, err := Walk(
		context.Background(),
		"x.whl",
		r,
		int64(len(data)),
		o,
		func(f *File) error { visited = append(visited, f.Path); return nil },
	)
	if err != nil || len(problems) > 0 || strings.Join(skipped, " ") != "big.so b.bin" ||
		strings.Join(visited, " ") != "a.so" ||
		packages[0].SHA256 != "" {
		t.Errorf("skipped %v, visited %v, %v, %v, %+v", skipped, visited, problems, err, packages[0])
	}
	if r.n > 200<<10 {
		t.Errorf("%d bytes read", r.n)
	}
}
