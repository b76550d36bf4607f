package apply_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/fix/apply"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

const file = "tool-1.0-7-cp312-cp312-manylinux1_x86_64.whl"

// entry is a member of a wheel.
type entry struct {
	name, text string
	mode       uint32
	method     uint16
}

func pack(t *testing.T, entries ...entry) apply.Artifact {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: e.method, CreatorVersion: 3 << 8,
			ExternalAttrs: e.mode << 16, Modified: time.Date(2020, 1, 2+i, 3, 4, 6, 0, time.UTC)}
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.SetComment("by hand"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return apply.Artifact{
		Path: "dist/" + file, Content: bytes.NewReader(b.Bytes()), Size: int64(b.Len()),
	}
}

func object(t *testing.T) string {
	t.Helper()
	b := elftest.File(t, "elf x86_64\nneeded libc.so.6\nexport PyInit__a\n")
	return string(b)
}

// whole are the members of a wheel whose RECORD has a wrong row, one for a file that is not there,
// and none for a program.
func whole(t *testing.T) []entry {
	return []entry{
		{"tool/__init__.py", "x = 1\n", 0o100644, zip.Deflate},
		{"tool/_a.so", object(t), 0o100755, zip.Deflate},
		{"tool/run", "#!/bin/sh\n", 0o100755, zip.Store},
		{"tool-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tool\nVersion: 1.0\n" +
			"Requires-Dist: torch>=2; python_version > \"3.8\"\nRequires-Dist: torch; extra == \"t\"\n" +
			"\nRequires-Dist: no header\n", 0o100644, zip.Deflate},
		{"tool-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\r\nTag: cp312-cp312-linux_x86_64\r\n" +
			"Build: 7\r\n", 0o100644, zip.Deflate},
		{"tool-1.0.dist-info/RECORD", "tool/__init__.py,sha256=00,6\ngone.py,sha256=00,1\n" +
			"tool/_a.so,sha256=00,1\n", 0o100644, zip.Deflate},
	}
}

func titled(c fix.Change) fix.Fix { return fix.Fix{Title: fix.Titled("x"), Change: c} }

// Fixes are applied together. Members that they do not concern keep their bytes, and all keep their
// times and permissions. RECORD is right, and a second run gives the same bytes.
func TestFixesTogether(t *testing.T) {
	w := pack(t, whole(t)...)
	name, err := pkgmeta.ParseWheelName(file)
	if err != nil {
		t.Fatal(err)
	}
	wheel := &fix.Wheel{Path: w.Path, File: file, Tags: name.Tags, Build: name.Build}
	retag := titled(fix.Retag{Platform: "manylinux_2_17_x86_64/x86_64"})
	retag.Retags = []fix.Retagging{{Wheel: wheel, To: pkgmeta.Tag{Platform: "manylinux_2_17_x86_64"}}}
	fixes := []fix.Fix{
		titled(fix.WriteRecord{}), retag,
		titled(fix.All{fix.SetRunPath{Object: "tool/_a.so", RunPath: "$ORIGIN/lib"},
			fix.AddNeeded{Object: "tool/_a.so", Libraries: []string{"libx.so"}},
			fix.SetRunPath{Object: "other/_a.so", RunPath: "$ORIGIN"}}),
		titled(fix.Pin{Requirement: "torch>=2.7", Direct: true}),
		titled(fix.Pin{Requirement: "nvidia-nvtx-cu12<12.9", Direct: true}),
	}
	for _, x := range fixes {
		if !apply.Can(x, w.Path) {
			t.Fatalf("%+v cannot be applied", x.Change)
		}
	}
	r, err := apply.To(w, fixes, apply.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r.Reader())
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(r.Reader(), data); err != nil {
		t.Error(err)
	}
	if again, err := apply.To(w, fixes, apply.Options{}); err != nil {
		t.Error(err)
	} else if b, err := io.ReadAll(again.Reader()); err != nil || !bytes.Equal(b, data) {
		t.Errorf("the second run gives other bytes: %v", err)
	}
	if r.File != "tool-1.0-7-cp312-cp312-manylinux_2_17_x86_64.whl" {
		t.Errorf("file name %s", r.File)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	old, err := zip.NewReader(w.Content, w.Size)
	if err != nil {
		t.Fatal(err)
	}
	if z.Comment != old.Comment || len(z.File) != len(old.File) {
		t.Fatalf("comment %q, %d members", z.Comment, len(z.File))
	}
	text := map[string]string{}
	for i, f := range z.File {
		o := old.File[i]
		if f.Name != o.Name || f.ExternalAttrs != o.ExternalAttrs || !f.Modified.Equal(o.Modified) ||
			f.Method != o.Method {
			t.Errorf("%s: header %+v, was %+v", f.Name, f.FileHeader, o.FileHeader)
		}
		c, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(c)
		if err != nil {
			t.Fatal(err)
		}
		text[f.Name] = string(b)
	}
	const info = "tool-1.0.dist-info/"
	tags := "Wheel-Version: 1.0\r\nTag: cp312-cp312-manylinux_2_17_x86_64\r\nBuild: 7\r\n"
	if text[info+"WHEEL"] != tags {
		t.Errorf("WHEEL %q", text[info+"WHEEL"])
	}
	const want = "Metadata-Version: 2.1\nName: tool\nVersion: 1.0\n" +
		"Requires-Dist: torch>=2.7; python_version > \"3.8\"\nRequires-Dist: torch; extra == \"t\"\n" +
		"Requires-Dist: nvidia-nvtx-cu12<12.9\n\nRequires-Dist: no header\n"
	if text[info+"METADATA"] != want {
		t.Errorf("METADATA %q", text[info+"METADATA"])
	}
	so := text["tool/_a.so"]
	if o, err := elfobj.Read(strings.NewReader(so), int64(len(so))); err != nil ||
		o.RunPath != "$ORIGIN/lib" || len(o.Needed) != 2 {
		t.Errorf("%v: %+v", err, o)
	}
	var rows strings.Builder
	for _, n := range []string{
		"tool/__init__.py", "tool/_a.so", "tool/run", info + "METADATA", info + "WHEEL",
	} {
		sum := sha256.Sum256([]byte(text[n]))
		fmt.Fprintf(&rows, "%s,sha256=%s,%d\n", n, base64.RawURLEncoding.EncodeToString(sum[:]),
			len(text[n]))
	}
	if got := text[info+"RECORD"]; got != rows.String()+info+"RECORD,,\n" {
		t.Errorf("RECORD\n%s", got)
	}
}

// A wheel without RECORD gets one, as its last member.
func TestNoRecord(t *testing.T) {
	entries := whole(t)
	r, err := apply.To(pack(t, entries[:len(entries)-1]...),
		[]fix.Fix{titled(fix.WriteRecord{})}, apply.Options{})
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(r, r.Size)
	if err != nil || z.File[len(z.File)-1].Name != "tool-1.0.dist-info/RECORD" {
		t.Errorf("%v: %+v", err, z)
	}
}

// Hostile wheels are refused.
func TestHostile(t *testing.T) {
	for _, extra := range []entry{
		{"../tool.py", "", 0, 0}, {"/tool.py", "", 0, 0}, {`tool\a.py`, "", 0, 0},
		{"tool/__init__.py", "", 0, 0}, {"other-1.0.dist-info/WHEEL", "", 0, 0}, {"tool//a.py", "", 0, 0},
	} {
		w := pack(t, append(whole(t), extra)...)
		_, err := apply.To(w, []fix.Fix{titled(fix.WriteRecord{})}, apply.Options{})
		if !errors.Is(err, apply.ErrRefused) {
			t.Errorf("%q: %v", extra.name, err)
		}
	}
	w := pack(t, whole(t)...)
	if _, err := apply.To(w, []fix.Fix{titled(fix.All{
		fix.Rename{File: "tool/_a.so", To: "tool/_b.so"}, fix.Rename{File: "tool/run", To: "tool/_b.so"},
	})}, apply.Options{}); !errors.Is(err, apply.ErrRefused) {
		t.Errorf("two members with one name: %v", err)
	}
	w.Size /= 2
	if _, err := apply.To(w, nil, apply.Options{}); !errors.Is(err, apply.ErrRefused) {
		t.Errorf("half a wheel: %v", err)
	}
}

// A fix that changes the environment, or something that no file of the wheel has, cannot be applied
// to its bytes.
// A large binary is not changed if that is limited; the metadata of its wheel is.
func TestLargest(t *testing.T) {
	binary := titled(fix.SetRunPath{Object: "tool/_a.so", RunPath: "$ORIGIN"})
	for _, c := range []struct {
		fix     fix.Fix
		largest int64
		want    error
	}{
		{binary, 0, nil},
		{binary, 1 << 20, nil},
		{binary, 600, apply.ErrLarge},
		{titled(fix.Pin{Requirement: "torch>=2.7", Direct: true}), 600, nil},
	} {
		_, err := apply.To(pack(t, whole(t)...), []fix.Fix{c.fix}, apply.Options{Largest: c.largest})
		if !errors.Is(err, c.want) {
			t.Errorf("%+v with at most %d: %v, want %v", c.fix.Change, c.largest, err, c.want)
		}
	}
}

func TestCan(t *testing.T) {
	for _, c := range []fix.Change{
		nil, fix.Pin{Requirement: "torch==2.7"}, fix.Retag{Platform: "manylinux_2_28_x86_64/x86_64"},
		fix.All{fix.WriteRecord{}, fix.Bundle{DLL: "a.dll"}},
		fix.LinkWith{Libraries: []string{"libm.so.6"}},
	} {
		if apply.Can(titled(c), "dist/"+file) {
			t.Errorf("%+v", c)
		}
	}
	if apply.Can(titled(fix.WriteRecord{}), "libx.so") {
		t.Error("a library has a RECORD")
	}
	if !apply.Can(titled(fix.ClearExecStack{Object: "libx.so"}), "libx.so") {
		t.Error("the stack of a library cannot be changed")
	}
}
