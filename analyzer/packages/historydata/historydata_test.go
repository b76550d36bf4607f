package historydata

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func byPlace(order string) func(a, b string) int {
	return func(a, b string) int { return strings.Index(order, a) - strings.Index(order, b) }
}

func TestRoundTrip(t *testing.T) {
	f := func(names ...string) (list []Export) {
		for _, n := range names {
			list = append(list, Export{Name: n, Version: "libx.so.1", Kind: "func"})
		}
		return list
	}
	lib := func(exports []Export) []Library {
		return []Library{
			{
				Path:     "x/lib/libx.so.1",
				SONAME:   "libx.so.1",
				Known:    true,
				Needed:   []string{"libc.so.6", "libm.so.6"},
				RunPath:  "$ORIGIN",
				Versions: []string{"libx.so.1"},
				Exports:  exports,
				Imports: []Import{
					{Name: exports[0].Name, Version: "liby.so.1", Library: "liby.so.1"}, {Name: "z"},
				},
				Linked: true,
			},
			{
				Path:    "x/lib/libbig.so.1",
				SONAME:  "libbig.so.1",
				Needed:  []string{"libx.so.1"},
				RunPath: "$ORIGIN",
				Linked:  true,
			},
			{Path: "x/lib/empty.so", Known: true},
		}
	}
	odd := []Export{
		{Name: "plain"},
		{Name: "v", Version: "V1", Kind: "object", Hidden: true},
		{Name: "v", Version: "V2", Kind: "object", Weak: true, Unique: true},
	}
	want := []Release{
		{Name: "x", Version: "1", Arch: "aarch64", Wheel: "x-1-a.whl"},
		{
			Name:      "x",
			Version:   "1.9",
			Arch:      "x86_64",
			Wheel:     "x-1.9-py3-none-any.whl",
			SHA256:    "00ff",
			Libraries: lib(f("a", "ab", "b")),
		},
		{
			Name:      "x",
			Version:   "1.10",
			Arch:      "x86_64",
			Wheel:     "x-1.10.whl",
			Yanked:    true,
			Tags:      "cp312-cp312",
			Own:       true,
			Requires:  []string{`y>=1; platform_machine == "x86_64"`, "z"},
			Libraries: lib(f("ab", "b", "c")),
		},
		{Name: "x", Version: "2", Arch: "x86_64", Wheel: "x-2.whl", Libraries: lib(odd)},
	}
	packed, err := Encode(
		"x",
		[]string{"made by a test"},
		[]Release{want[3], want[1], want[2], want[0]},
		byPlace("1.9 1.10 2 1"),
	)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Encode("x", []string{"made by a test"}, want, byPlace("1.9 1.10 2 1"))
	if err != nil || !bytes.Equal(packed, again) {
		t.Errorf("the same releases in another order give other bytes, %v", err)
	}
	file, err := Open(packed)
	if err != nil {
		t.Fatal(err)
	}
	for i := range file.Releases {
		for j := range file.Releases[i].Libraries {
			l := &file.Releases[i].Libraries[j]
			if l.Exports, err = file.Exports(l); err != nil {
				t.Fatal(err)
			}
			if len(l.Exports) == 0 {
				l.Exports = nil
			}
			if l.Imports, err = file.Imports(l); err != nil {
				t.Fatal(err)
			}
			l.exports, l.imports = place{}, place{}
		}
	}
	if file.Name != "x" || !reflect.DeepEqual(file.Releases, want) {
		t.Errorf("got  %+v\nwant %+v", file.Releases, want)
	}
	for n := range packed {
		if _, err := Open(packed[:n]); err == nil {
			t.Errorf("%d of %d bytes were read", n, len(packed))
		}
	}
}

func TestEncodeRefusesOtherPackages(t *testing.T) {
	if _, err := Encode("x", nil, []Release{{Name: "y", Version: "1"}}, strings.Compare); err == nil {
		t.Error("a release of y was written among those of x")
	}
}

func TestOpenRefuses(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, text := range []string{"requires x", "package x\nneeded a",
		"package x\nrelease 1 a w -\nneeded a", "package x\nrelease 1 a w -\nlibrary a b 0",
		"package x\ntable 1",
		"package x\nrelease 1 a w -\nname a b\nimports 0", "package x\nrelease 1 a w -\nname a b\nnonsense"} {
		catalog := z.EncodeAll([]byte(text), nil)
		if _, err := Open(append(binary.AppendUvarint([]byte(magic), uint64(len(catalog))),
			catalog...)); err == nil {
			t.Errorf("%q was read without an error", text)
		}
	}
	for _, data := range []string{"", "not a history", magic, magic + "\x05abc"} {
		if _, err := Open([]byte(data)); err == nil {
			t.Errorf("%q was read without an error", data)
		}
	}
}
