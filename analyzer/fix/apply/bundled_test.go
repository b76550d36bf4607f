package apply_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/fix/apply"
)

// bundle returns a wheel as a program writes it that copies a library into another one: with other
// times, in another order, and with folders.
func bundle(t *testing.T, entries []entry) apply.Artifact {
	t.Helper()
	made := []entry{
		{"tool.libs/", "", 0o040755, zip.Store},
		{"tool.libs/libz-1234.so.1", object(t), 0o100755, zip.Deflate},
	}
	for _, e := range slices.Backward(entries) {
		if e.name == "tool/_a.so" {
			e.text += "edited"
		}
		e.method = zip.Store
		made = append(made, e)
	}
	return pack(t, made...)
}

func TestBundled(t *testing.T) {
	old := pack(t, whole(t)...)
	r, err := apply.Bundled(old, bundle(t, whole(t)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r.Reader())
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	before, err := zip.NewReader(old.Content, old.Size)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range before.File {
		g := z.File[i]
		kept := !slices.Contains(r.Changed, f.Name)
		if g.Name != f.Name || !g.Modified.Equal(f.Modified) || g.Mode() != f.Mode() ||
			kept && g.CompressedSize64 != f.CompressedSize64 {
			t.Errorf("%s became %s", f.Name, g.Name)
		}
	}
	want := []string{"tool-1.0.dist-info/RECORD", "tool.libs/libz-1234.so.1", "tool/_a.so"}
	if !slices.Equal(r.Changed, want) {
		t.Errorf("changed %v, want %v", r.Changed, want)
	}
	record, err := z.Open("tool-1.0.dist-info/RECORD")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(record)
	if err != nil || !bytes.Contains(text, []byte("\ntool.libs/libz-1234.so.1,sha256=")) ||
		bytes.Contains(text, []byte("tool.libs/,")) {
		t.Errorf("%v\n%s", err, text)
	}
	again, err := apply.Bundled(old, bundle(t, whole(t)))
	if err != nil {
		t.Fatal(err)
	}
	other, err := io.ReadAll(again.Reader())
	if err != nil || !bytes.Equal(other, data) {
		t.Error("the second time the bytes are others", err)
	}
}

func TestBundledHostile(t *testing.T) {
	old := pack(t, whole(t)...)
	for _, e := range []entry{
		{"../outside.so", "x", 0o644, zip.Store}, {"tool/_a.so", "x", 0o644, zip.Store},
	} {
		if _, err := apply.Bundled(old, pack(t, append(whole(t), e)...)); !errors.Is(err, apply.ErrRefused) {
			t.Errorf("%s: %v", e.name, err)
		}
	}
}
