package historydata

import (
	"bytes"
	"compress/gzip"
	"reflect"
	"strings"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	f := func(names ...string) (list []Export) {
		for _, n := range names {
			list = append(list, Export{Name: n, Version: "libx.so.1", Kind: "func"})
		}
		return list
	}
	lib := func(exports []Export) []Library {
		return []Library{
			{Path: "x/lib/libx.so.1", SONAME: "libx.so.1", Known: true, Needed: []string{"libc.so.6", "libm.so.6"}, RunPath: "$ORIGIN", Versions: []string{"libx.so.1"}, Exports: exports},
			{Path: "x/lib/libbig.so.1", SONAME: "libbig.so.1", Needed: []string{"libx.so.1"}, RunPath: "$ORIGIN"},
		}
	}
	odd := []Export{{Name: "plain"}, {Name: "v", Version: "V1", Kind: "object", Hidden: true}, {Name: "v", Version: "V2", Kind: "object", Weak: true, Unique: true}}
	want := []Release{
		{Name: "x", Version: "1.9", Arch: "x86_64", Wheel: "x-1.9-py3-none-any.whl", Libraries: lib(f("a", "b"))},
		{Name: "x", Version: "1.10", Arch: "x86_64", Wheel: "x-1.10.whl", Yanked: true, Requires: []string{`y>=1; platform_machine == "x86_64"`, "z"}, Libraries: lib(f("b", "c"))},
		{Name: "x", Version: "2", Arch: "x86_64", Wheel: "x-2.whl", Libraries: lib(odd)},
		{Name: "y", Version: "1", Arch: "aarch64", Wheel: "y.whl"},
	}
	byLength := func(a, b string) int { return strings.Index("1.9 1.10 2 1", a) - strings.Index("1.9 1.10 2 1", b) }
	packed, err := Encode([]string{"made by a test"}, []Release{want[3], want[1], want[2], want[0]}, byLength)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(packed)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{"requires x", "package x y\n+ a", "package x y\nrelease 1 w\n+ a", "package x y\nrelease 1 w\nname a b\n+ a", "package x y\nrelease 1 w\nlibrary a b\nnonsense"} {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(b.Bytes()); err == nil {
			t.Errorf("%q was read without an error", text)
		}
	}
	if _, err := Decode([]byte("not gzip")); err == nil {
		t.Error("bytes that are no gzip were read without an error")
	}
}
