package machoobj

import (
	"errors"
	"slices"
	"testing"
)

// FuzzRead checks that Read is deterministic, returns no more than its input can contain and only
// the documented errors, and that an object that Write can write is read back unchanged.
func FuzzRead(f *testing.F) {
	for _, text := range texts {
		b, _ := written(f, text)
		f.Add(b)
	}
	documented := []error{ErrNotMachO, ErrTruncated, ErrDamaged, ErrTooLarge, ErrForeign}
	known := func(err error) bool {
		return slices.ContainsFunc(documented, func(d error) bool { return errors.Is(err, d) })
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		last := int64(0)
		for _, r := range Unread(b) {
			if r[0] < last || r[1] <= r[0] {
				t.Fatalf("a range at %v before %d", r, last)
			}
			last = r[1]
		}
		file, err := read(b)
		again, err2 := read(b)
		if (err == nil) != (err2 == nil) || asJSON(t, file) != asJSON(t, again) {
			t.Fatal("two answers for the same bytes")
		}
		if err != nil {
			if file != nil || !known(err) {
				t.Fatalf("file %v, error %v", file, err)
			}
			return
		}
		for _, s := range file.Slices {
			if (s.Object == nil) == (s.Err == nil) || s.Err != nil && !known(s.Err) {
				t.Fatalf("object %v, error %v", s.Object, s.Err)
			}
			if s.Object != nil {
				checkSlice(t, s.Object, len(b))
			}
		}
	})
}

// checkSlice checks an object against the size of its slice.
func checkSlice(t *testing.T, o *Object, size int) {
	if n := len(o.Imports) + len(o.Exports); n > size {
		t.Errorf("%d symbols in %d bytes", n, size)
	}
	for _, i := range o.Imports {
		if i.Name == "" || i.Ordinal > len(o.Needed) || i.Ordinal < AnyDef {
			t.Errorf("import %+v, %d libraries", i, len(o.Needed))
		}
	}
	for n, e := range o.Exports {
		if n > 0 && o.Exports[n-1].Name >= e.Name {
			t.Errorf("export %q comes after %q", e.Name, o.Exports[n-1].Name)
		}
		if found, ok := o.Export(e.Name); !ok || found != e {
			t.Errorf("export %q is not found", e.Name)
		}
	}
	_, known := archNumbers.Get()[o.Arch]
	if !known || !o.Type.Loadable() || o.Type != Dylib && o.InstallName != "" {
		return
	}
	b, err := Write(o)
	if err != nil {
		return // more than Write can write
	}
	f, err := read(b)
	if err != nil || f.Slices[0].Err != nil {
		t.Fatalf("what was read cannot be read again after it was written: %v %v", err, f)
	}
	got := f.Slices[0].Object
	if !slices.Equal(got.Needed, single(o.Needed)) || !slices.Equal(got.RunPaths, o.RunPaths) {
		t.Errorf("needed %v, run paths %v; written again %v, %v", o.Needed, o.RunPaths,
			got.Needed, got.RunPaths)
	}
	if (o.Fixups == Chained || o.Fixups == Opcodes) && !slices.Equal(got.Exports, o.Exports) {
		t.Errorf("exports %v; written again %v", o.Exports, got.Exports)
	}
	if o.Fixups == Opcodes && len(got.Imports) != len(o.Imports) {
		t.Errorf("imports %v; written again %v", o.Imports, got.Imports)
	}
}

// single replaces each needed library by several with one attribute each, as load commands before
// macOS 15 have.
func single(ns []Needed) []Needed {
	out := slices.Clone(ns)
	for n := range out {
		x := &out[n]
		switch {
		case x.Weak:
			x.Reexport, x.Upward, x.Lazy = false, false, false
		case x.Reexport:
			x.Upward, x.Lazy = false, false
		case x.Upward:
			x.Lazy = false
		}
	}
	return out
}
