package machoobj

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// An edited file has the changed commands in each slice, and a valid signature where it had one or
// the kernel requires one. A file without room for the commands is refused.
func TestEdit(t *testing.T) {
	object := func(arch string, signed bool) *Object {
		o := &Object{Arch: arch, Type: Bundle, Platform: MacOS, MinOS: Make(12, 0), TwoLevel: true,
			Needed:   []Needed{{Path: "/build/libh.dylib"}, {Path: "/usr/lib/libSystem.B.dylib"}},
			RunPaths: []string{"@loader_path"}}
		if signed {
			o.Signature = &Signature{AdHoc: true}
		}
		return o
	}
	edit := Edit{
		Change:   map[string]string{"/build/libh.dylib": "@rpath/libh.dylib"},
		RunPaths: []string{"@loader_path", "@loader_path/../lib/of/the/package"}, MinOS: Make(11, 0),
	}
	for _, objects := range [][]*Object{
		{object("arm64", true)}, {object("arm64", false)}, {object("x86_64", false)},
		{object("x86_64", true)}, {object("x86_64", true), object("arm64", false)},
	} {
		data, err := write(objects, 4096)
		if err != nil {
			t.Fatal(err)
		}
		out, err := edit.Apply(data)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Read(bytes.NewReader(out), int64(len(out)))
		if err != nil {
			t.Fatal(err)
		}
		for n, s := range f.Slices {
			if s.Err != nil {
				t.Fatal(s.Err)
			}
			o := s.Object
			if o.Needed[0].Path != "@rpath/libh.dylib" || o.Needed[1] != objects[n].Needed[1] ||
				!slices.Equal(o.RunPaths, edit.RunPaths) || o.MinOS != edit.MinOS {
				t.Errorf("%s: %+v", o.Arch, o)
			}
			signs := objects[n].Signature != nil || o.Arch == "arm64"
			if signs != (o.Signature != nil) || signs && o.Signature.Stale != "" {
				t.Errorf("%s: signature %+v", o.Arch, o.Signature)
			}
		}
		if again, err := edit.Apply(out); err != nil || !bytes.Equal(again, out) {
			t.Errorf("the second edit changed something: %v", err)
		}
	}
	tight, err := write([]*Object{object("arm64", true)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := edit.Apply(tight); !errors.Is(err, ErrEdit) {
		t.Errorf("a file without room was edited: %v", err)
	}
}

// Sign renews a signature that does not match the file.
func TestSign(t *testing.T) {
	o := &Object{Arch: "arm64", Type: Bundle, Platform: MacOS, TwoLevel: true,
		Signature: &Signature{AdHoc: true, Stale: "edited"}}
	data, err := write([]*Object{o}, 4096)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Edit{Sign: true}.Apply(data)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(bytes.NewReader(out), int64(len(out)))
	if err != nil || f.Slices[0].Object.Signature.Stale != "" {
		t.Errorf("%v, %+v", err, f.Slices[0].Object)
	}
}

// FuzzEdit checks that an edit of any bytes is refused or gives a file that can be read if the
// original could.
func FuzzEdit(f *testing.F) {
	data, err := write([]*Object{{Arch: "arm64", Type: Bundle, Platform: MacOS,
		Signature: &Signature{AdHoc: true}}}, 4096)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := Edit{RunPaths: []string{"@loader_path"}}.Apply(b)
		if err != nil {
			return
		}
		before, errBefore := Read(bytes.NewReader(b), int64(len(b)))
		after, errAfter := Read(bytes.NewReader(out), int64(len(out)))
		if errBefore == nil && before.Slices[0].Err == nil && before.Slices[0].Object.Signature == nil &&
			(errAfter != nil || after.Slices[0].Err != nil) {
			t.Errorf("the result cannot be read: %v", errAfter)
		}
	})
}
