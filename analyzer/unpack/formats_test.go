package unpack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"
)

func oneTar(t testing.TB) []byte {
	return tarOf(
		t,
		&tar.Header{Name: "./usr/lib/libx.so.1", Uname: elf},
		&tar.Header{Name: "./usr/share/doc/x", Uname: "text"},
	)
}

// Small archives of every supported format, which all contain the same file.
func TestFormats(t *testing.T) {
	plain := oneTar(t)
	control := string(
		gzipped(
			tarOf(
				t,
				&tar.Header{Name: "./control", Uname: "Package: x\n"},
				&tar.Header{Name: "./postinst", Uname: "#!/bin/sh"},
			),
		),
	)
	stored := func() *zip.FileHeader { return &zip.FileHeader{Method: zip.Store} }
	conda := zipOf(
		t,
		item{name: "metadata.json", data: "{}", header: stored()},
		item{name: "pkg-x-1-0.tar.zst", data: string(zstded(t, plain)), header: stored()},
		item{
			name:   "info-x-1-0.tar.zst",
			data:   string(zstded(t, tarOf(t, &tar.Header{Name: "info/index.json", Uname: "{}"}))),
			header: stored(),
		},
	)
	deb := func(part string, data []byte) []byte {
		return arOf("debian-binary", "2.0\n", "control.tar.gz", control, part, string(data))
	}
	cpio := cpioOf("./usr/lib/libx.so.1", elf, "./usr/share/doc/x", "text")
	zipped := zipOf(
		t,
		item{name: "usr/lib/libx.so.1", data: elf},
		item{name: "__main__.py", data: "x"},
	)
	for _, c := range []struct {
		name, format string
		data         []byte
	}{
		{"x.tar", FormatTar, plain},
		{"x.tar.gz", FormatTar, gzipped(plain)},
		{"x.tar.xz", FormatTar, xzed(plain)},
		{"x.tar.zst", FormatTar, zstded(t, plain)},
		{"x.tar.zst", FormatTar, append([]byte("\x50\x2a\x4d\x18\x04\x00\x00\x00skip"),
			zstded(t, plain)...)},
		{"x-1-0.conda", FormatConda, conda},
		{"x.deb", FormatDeb, deb("data.tar.gz", gzipped(plain))},
		{"x.deb", FormatDeb, deb("data.tar.xz", xzed(plain))},
		{"x.deb", FormatDeb, deb("data.tar.zst/", zstded(t, plain))},
		{"x.deb", FormatDeb, deb("data.tar", plain)},
		{"without an ending", FormatDeb, deb("data.tar", plain)},
		{"x.rpm", FormatRPM, rpmOf(gzipped(cpio))},
		{"x.rpm", FormatRPM, rpmOf(xzed(cpio))},
		{"x.rpm", FormatRPM, rpmOf(zstded(t, cpio), "libc.so.6()(64bit)", "rpmlib(X)")},
		{"x.jar", FormatJar, zipped},
		{"x.aar", FormatJar, zipped},
		{"x.pex", FormatZip, append([]byte("#!/usr/bin/env python3\n"), zipped...)},
		{"tool", FormatZip, append([]byte("#!/usr/bin/env python3\n"), zipped...)},
	} {
		got := story(t, c.name, c.data, Options{Want: elfOrSO})
		same(
			t,
			got,
			"file "+c.name+` : usr/lib/libx.so.1 = "\x7fELF and so on"`+"\narchive "+c.name,
		)
		packages, _, err := Walk(
			context.Background(),
			c.name,
			bytes.NewReader(c.data),
			int64(len(c.data)),
			Options{},
			func(*File) error { return nil },
		)
		if err != nil || packages[0].Format != c.format {
			t.Errorf("%s: format %s, %v", c.name, packages[0].Format, err)
		}
		if c.name == "x.rpm" && len(packages[0].Requires) > 0 &&
			!slices.Equal(packages[0].Requires, []string{"libc.so.6()(64bit)", "rpmlib(X)"}) {
			t.Errorf("requires %q", packages[0].Requires)
		}
		if c.name == "x.rpm" && packages[0].Arch != "riscv64" {
			t.Errorf("architecture %q", packages[0].Arch)
		}
	}
	same(
		t,
		story(
			t,
			"x.deb",
			deb("data.tar.gz", gzipped(plain)),
			Options{Want: func(_ *Package, p string, _ int64, _ []byte) bool { return p == DebianControl }},
		),
		"file x.deb : DEBIAN/control = \"Package: x\\n\"\narchive x.deb",
	)
	old, err := os.ReadFile("testdata/conda-v1.tar.bz2")
	if err != nil {
		t.Fatal(err)
	}
	same(
		t,
		story(t, "x.tar.bz2", old, Options{Want: elfOrSO}),
		"file x.tar.bz2 : lib/libx.so = \"\\x7fELF and so on\"\narchive x.tar.bz2",
	)
}

func TestNotRead(t *testing.T) {
	for name, data := range map[string]string{
		"x.7z": "7z\xbc\xaf\x27\x1c", "x.AppImage": "\x7fELF\x02\x01\x01\x00AI\x02" +
			strings.Repeat("\x00", 20), "x.snap": "hsqs\x01\x00", "x.rar": "Rar!\x1a\x07\x01\x00",
		"x.tar.lz4": "\x04\x22\x4d\x18", "x.tar.lz": "LZIP\x01",
	} {
		if got := story(t, name, []byte(data), Options{Want: elfOrSO}); !strings.Contains(
			got,
			"problem "+name+": ",
		) ||
			!strings.Contains(got, "which compat does not read") {
			t.Error(got)
		}
	}
	inside := zipOf(
		t,
		item{name: "dist/x.AppImage", data: "\x7fELF\x02\x01\x01\x00AI\x02"},
		item{name: "x.7z", data: "7z\xbc\xaf\x27\x1c"},
		item{name: "x.rar", data: "Rar!\x1a\x07\x01\x00"},
		item{name: "x.snap", data: "hsqs\x01\x00"},
		item{name: "x.tar.lz4", data: "\x04\x22\x4d\x18"},
	)
	if got := story(t, "a.zip", inside, Options{Want: elfOrSO}); strings.Count(
		got,
		"which compat does not read",
	) != 5 {
		t.Error(got)
	}
}

// Packages in an archive are read like those that are given.
func TestPackagesInArchives(t *testing.T) {
	for _, name := range []string{"x.egg", "x.nupkg", "x.vsix", "x.whl", "x.jar", "x.apk"} {
		inner := string(zipOf(t, item{name: "lib/libx.so", data: elf}))
		got := story(t, "a.zip", zipOf(t, item{name: "dist/" + name, data: inner}),
			Options{Want: elfOrSO})
		if !strings.Contains(got, "file a.zip/dist/"+name+" : lib/libx.so") {
			t.Errorf("%s: %s", name, got)
		}
	}
	data := tarOf(t, &tar.Header{Name: "ext/libx.so", Uname: elf})
	gem := tarOf(t, &tar.Header{Name: "data.tar.gz", Uname: string(gzipped(data))})
	got := story(t, "a.zip", zipOf(t, item{name: "x.gem", data: string(gem)}),
		Options{Want: elfOrSO})
	if !strings.Contains(got, "file a.zip/x.gem/data.tar.gz : ext/libx.so") {
		t.Error(got)
	}
}

// Files that a package installs are not walked, whatever their names; archives in jars and
// archives are.
func TestWhichArchivesAreOpened(t *testing.T) {
	bad := "no archive"
	same(
		t,
		story(
			t,
			"x.deb",
			arOf(
				"debian-binary",
				"2.0\n",
				"control.tar",
				string(tarOf(t, &tar.Header{Name: "control", Uname: "x"})),
				"data.tar",
				string(tarOf(t, &tar.Header{Name: "t/bad.zip", Uname: bad})),
			),
			Options{Want: elfOrSO},
		),
		"archive x.deb",
	)
	same(
		t,
		story(
			t,
			"x.tgz",
			gzipped(
				tarOf(
					t,
					&tar.Header{Name: "package/package.json", Uname: "{}"},
					&tar.Header{Name: "package/test/bad.zip", Uname: bad},
				),
			),
			Options{Want: elfOrSO},
		),
		"archive x.tgz",
	)
	jar := zipOf(
		t,
		item{name: "lib/inner.jar", data: string(zipOf(t, item{name: "libx.so", data: elf}))},
		item{name: "t/bad.zip", data: bad},
	)
	same(
		t,
		story(t, "x.jar", jar, Options{Want: elfOrSO}),
		"file x.jar/lib/inner.jar : libx.so = \"\\x7fELF and so on\"\narchive x.jar\narchive "+
			"x.jar/lib/inner.jar in x.jar",
	)
}

func TestDamagedPackages(t *testing.T) {
	data, cpio := string(oneTar(t)), cpioOf("./a.so", elf)
	control := string(tarOf(t, &tar.Header{Name: "control", Uname: "x"}))
	good := arOf("debian-binary", "2.0\n", "control.tar", control, "data.tar", data)
	for want, c := range map[string][]byte{
		"it has no data.tar": arOf("debian-binary", "2.0\n", "control.tar",
			control),
		"it has no control.tar": arOf("debian-binary", "2.0\n", "data.tar",
			data),
		`its format is "9.9"; compat reads 2.x`: arOf("debian-binary", "9.9\n", "control.tar",
			control, "data.tar", data),
		"it has data.tar more than once": arOf("debian-binary", "2.0\n", "control.tar",
			control, "data.tar", data, "data.tar", data),
		"data.tar reaches beyond its end": good[:len(good)-100],
		"an ar header has a wrong end marker": append(bytes.Clone(good),
			strings.Repeat("x", 70)...),
		"it ends inside an ar header": append(bytes.Clone(good), "x"...),
		"an ar header has an invalid size": append([]byte(arMagic),
			"debian-binary   0           0     0     100644  -4        `\n2.0\n"...),
		"more members than the limit of 64": arOf(append([]string{"debian-binary",
			"2.0\n"}, slices.Repeat([]string{"_x", ""}, 64)...)...),
		"is not a Debian package": append([]byte(arMagic),
			"x.o             0           0     0     100644  0         `\n"...),
		"its signature has a wrong magic number": append([]byte(rpmMagic),
			make([]byte, 200)...),
		"its signature ends at offset": append(append([]byte(rpmMagic),
			make([]byte, 92)...), "\x8e\xad\xe8\x01\x00\x00\x00\x00\x00\x00\x00\xff\x00\x00\x00\xff"...),
		"more than the limits of 65536 and 67108864": append(append([]byte(rpmMagic),
			make([]byte, 92)...), "\x8e\xad\xe8\x01\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"...),
		"it has no payload":                               rpmOf(nil),
		"it is in the old LZMA format":                    rpmOf([]byte("\x5d\x00\x00\x80\x00")),
		"its cpio has a header with a wrong magic number": rpmOf(bytes.Repeat([]byte("x"), 200)),
		"its cpio has a header field that is not a number": rpmOf([]byte("070701" +
			strings.Repeat("z", 104))),
		"its cpio has a name of 4294967295 bytes": rpmOf([]byte("070701" +
			strings.Repeat("f", 104))),
		"it contains files of more than 4 GiB in an extended cpio format that compat does not": rpmOf([]byte("07070X" + strings.Repeat("0", 104))),
		"x.deb/a.so: the file is truncated or damaged: its data ends too early":                rpmOf(cpio[:bytes.Index(cpio, []byte(elf))+4]),
		"its name leaves the archive":                                               rpmOf(cpioOf("./../../a.so", elf)),
		"the file is truncated or damaged: xz: ":                                    append([]byte("\xfd7zXZ\x00"), "abcdefgh"...),
		"x.deb: the file is truncated or damaged: xz: data is truncated or corrupt": xzed(oneTar(t))[:2000],
		"it exceeds the limit of 1 entries; the rest ":                              rpmOf(cpioOf("./a.so", elf, "./b.so", elf)),
	} {
		limits := Limits{}
		if strings.Contains(want, "limit of 1 entries;") {
			limits.Entries = 1
		}
		if got := story(t, "x.deb", c, Options{Want: elfOrSO, Limits: limits}); !strings.Contains(
			got,
			want,
		) {
			t.Errorf("want %q, got\n%s", want, got)
		}
	}
}

// A bomb in each compression format is stopped with little memory; a large dictionary in a
// header is not allocated.
func TestPackedBombs(t *testing.T) {
	zeros := make([]byte, 1<<20)
	var gz bytes.Buffer
	for range 300 { // members of gzip and frames of zstd follow each other
		gz.Write(gzipped(zeros))
	}
	frames := bytes.Repeat(zstded(t, zeros), 300)
	for name, packed := range map[string][]byte{"gzip": gz.Bytes(), "zstd": frames} {
		for kind, data := range map[string][]byte{
			"x.tar": packed, "x.deb": arOf("debian-binary", "2.0\n", "control.tar", string(oneTar(t)),
				"data.tar.z", string(packed)), "x.rpm": rpmOf(packed),
		} {
			var got string
			used := allocated(func() { got = story(t, kind, data, Options{Want: elfOrSO}) })
			if !strings.Contains(got, "problem") || used > 100<<20 {
				t.Errorf("%s in %s: %d MiB allocated\n%s", name, kind, used>>20, got)
			}
		}
	}
	wide := xzed(oneTar(t))
	wide[16] = 40 // a dictionary of 4 GiB; the checksum of the header is correct
	binary.LittleEndian.PutUint32(wide[20:], crc32.ChecksumIEEE(wide[12:20]))
	var got string
	if used := allocated(func() { got = story(t, "x.tar.xz", wide, Options{}) }); !strings.Contains(
		got,
		"dictionary size exceeds max",
	) ||
		used > 20<<20 {
		t.Errorf("%d MiB allocated\n%s", used>>20, got)
	}
}
