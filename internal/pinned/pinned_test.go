package pinned

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/index"
)

// opener is a fake index with four packages.
type opener struct{}

func (opener) Open(
	_ context.Context,
	name, version string,
	_ packages.Target,
	_ int64,
) (*index.Wheel, error) {
	file := name + "-" + version + "-cp311-cp311-manylinux_2_17_x86_64.whl"
	switch name {
	case "native":
		content := strings.NewReader("PK")
		return &index.Wheel{ReaderAt: content, File: file, SHA256: "ab", Size: 2}, nil
	case "pure":
		return &index.Wheel{File: "pure-1-py3-none-any.whl", SHA256: "cd", Pure: true}, nil
	case "source":
		return nil, &index.NoWheelError{Name: name, Version: version, Source: true}
	case "large":
		return nil, &index.TooLargeError{File: file, Packed: 4 << 30}
	}
	return nil, packages.ErrUnknown
}

func TestOpen(t *testing.T) {
	p := Pinned{On: packages.Target{Python: "3.11", Arch: "x86_64"}}
	for i, r := range []string{
		"native==1.0", "pure==1", "large==2", "absent==3", "range>=4", "any==1.*", "source==5",
	} {
		p.Pins = append(p.Pins, Pin{
			Pin: lockfile.Pin{Requirement: r, Line: i + 1}, File: "requirements.txt",
		})
	}
	w, err := p.Open(t.Context(), opener{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if len(w.Wheels) != 1 || w.Wheels[0].SHA256 != "ab" {
		t.Errorf("opened %+v", w.Wheels)
	}
	var listed, unread []string
	for _, a := range w.Listed {
		listed = append(listed, a.Path)
	}
	want := "pure-1-py3-none-any.whl"
	if got := strings.Join(listed, " "); got != want {
		t.Errorf("listed %s", got)
	}
	for _, u := range w.Unread {
		unread = append(unread, u.Path+" "+u.Reason[:len("requirements.txt:4")])
	}
	want = "large==2 requirements.txt:3, absent==3 requirements.txt:4, range>=4 requirements.txt:5, any==1.* requirements.txt:6"
	if got := strings.Join(unread, ", "); got != want {
		t.Errorf("unread %s", got)
	}
	if len(w.Notes) != 2 || !strings.Contains(w.Notes[1], "1 of 7 packages were not read") ||
		w.Notes[0] != "1 of 7 packages is published as source only and was not checked: source==5" {
		t.Errorf("notes %q", w.Notes)
	}
}

func TestOpenEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := Pinned{Pins: []Pin{{Pin: lockfile.Pin{Requirement: "native==1.0"}, File: "r"}}}
	if _, err := p.Open(ctx, opener{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// onDisk is the Place of this machine.
func onDisk(path string) (string, error) { return path, nil }

func TestOpenInstalled(t *testing.T) {
	dir := t.TempDir()
	site := filepath.Join(dir, "lib", "python3.11", "site-packages")
	for name, content := range map[string]string{
		"native-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: native\nVersion: 1.0\n",
		"native-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_17_x86_64\n" +
			"Tag: cp311-cp311-manylinux2014_x86_64\n",
		"native-1.0.dist-info/RECORD": "native/_a.so,,\n../../../bin/native.so,,\n" +
			"native/__init__.py,,\nnative/removed.py,,\n",
		"native/_a.so":                "ELF or not",
		"native/__init__.py":          "import ctypes",
		"../../../bin/native.so":      "outside of site-packages",
		"pure-2.dist-info/METADATA":   "Metadata-Version: 2.1\nName: pure\nVersion: 2\n",
		"pure-2.dist-info/RECORD":     "pure.py,,\n",
		"broken-3.dist-info/METADATA": "Metadata-Version: 2.1\nName: broken\nVersion: 3\n",
	} {
		file := filepath.Join(site, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in, err := OpenInstalled(dir, onDisk, packages.Target{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Wheels.Close()
	w := &in.Wheels
	const name = "native-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
	if len(w.Wheels) != 1 || w.Wheels[0].Name != name {
		t.Fatalf("opened %+v", w.Wheels)
	}
	data := make([]byte, w.Wheels[0].Size)
	if n, err := w.Wheels[0].Content.ReadAt(data, 0); n != len(data) ||
		err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("read %d of %d bytes: %v", n, len(data), err)
	}
	if !strings.Contains(string(data), "ELF or not") ||
		!strings.Contains(string(data), "native/__init__.pyimport ctypes") ||
		!strings.Contains(string(data), "native-1.0.data/data/bin/native.so") {
		t.Errorf("the wheel is %q", data)
	}
	if len(w.Listed) != 1 || w.Listed[0].Wheel.Name != "pure" {
		t.Errorf("listed %+v", w.Listed)
	}
	if len(w.Unread) != 1 || !strings.Contains(w.Unread[0].Path, "broken-3.dist-info") {
		t.Errorf("unread %+v", w.Unread)
	}
	if w.On.Python != "3.11" {
		t.Errorf("python %q", w.On.Python)
	}
}

func TestOpenInstalledElsewhere(t *testing.T) {
	if _, err := OpenInstalled(t.TempDir(), onDisk, packages.Target{}); err == nil ||
		!strings.Contains(err.Error(), "give the folder of a virtual environment") {
		t.Errorf("error %v", err)
	}
}

// Describe reads no shared object: a folder in place of one is not noticed.
func TestDescribeReadsNoObjects(t *testing.T) {
	dir := t.TempDir()
	site := filepath.Join(dir, "lib", "python3.12", "site-packages")
	info := filepath.Join(site, "widget-1.0.dist-info")
	for _, folder := range []string{info, filepath.Join(site, "widget.so")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"METADATA": "Metadata-Version: 2.1\nName: widget\nVersion: 1.0\n", "RECORD": "widget.so,,\n",
	} {
		if err := os.WriteFile(filepath.Join(info, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	described, err := Describe(dir, onDisk)
	if err != nil || len(described.Wheels.Unread) > 0 || len(described.Wheels.Wheels) > 0 ||
		!slices.Equal(described.DistInfo, []string{"widget-1.0.dist-info"}) {
		t.Errorf("described: %+v, %v", described, err)
	}
	opened, err := OpenInstalled(dir, onDisk, packages.Target{})
	if err != nil || len(opened.Wheels.Unread) != 1 {
		t.Errorf("opened: %+v, %v", opened, err)
	}
}

// sizedOpener opens each wheel with the same size.
type sizedOpener int64

func (size sizedOpener) Open(
	_ context.Context,
	name, version string,
	_ packages.Target,
	_ int64,
) (*index.Wheel, error) {
	return &index.Wheel{File: name + "-" + version + ".whl", Size: int64(size)}, nil
}

// Other versions of installed packages are read, up to the limit for all wheels.
func TestOthersOfInstalled(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "lib/python3.11/site-packages"), 0o700); err != nil {
		t.Fatal(err)
	}
	in, err := OpenInstalled(dir, onDisk, packages.Target{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if in.Wheels.Other != nil {
		t.Error("others are read without an index")
	}
	in.Wheels.ReadOthersFrom(sizedOpener(DefaultBudget/2 + 1))
	for _, want := range []string{"numpy-2.0.whl", "numpy-2.1.whl", ""} {
		_, version, _ := strings.Cut(strings.TrimSuffix(want, ".whl"), "-")
		other, err := in.Wheels.Other(t.Context(), "numpy", version)
		if err != nil || (other == nil) != (want == "") || other != nil && other.Name != want {
			t.Errorf("%q: %+v, %v", want, other, err)
		}
	}
}

// A distribution of RPM has no RECORD; its files are those of its top-level modules.
func TestOpenInstalledWithoutRecord(t *testing.T) {
	dir := t.TempDir()
	site := filepath.Join(dir, "lib64", "python3.12", "site-packages")
	for name, content := range map[string]string{
		"PyWidget-1.0.dist-info/METADATA":      "Metadata-Version: 2.1\nName: PyWidget\nVersion: 1.0\n",
		"PyWidget-1.0.dist-info/top_level.txt": "_widget\nwidget\n",
		"_widget.cpython-312.so":               "module",
		"widget/sub/_c.so":                     "nested",
		"widget/sub/_c.py":                     "",
		"widget/__init__.pyc":                  "compiled",
		"widget/__pycache__/a.cpython-312.pyc": "of a source",
		"widget/py.typed":                      "",
		"other/_c.so":                          "of no distribution",
		"plain-2.dist-info/METADATA":           "Metadata-Version: 2.1\nName: plain\nVersion: 2\n",
		"plain/_p.so":                          "named like it",
	} {
		file := filepath.Join(site, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, err := OpenInstalled(dir, onDisk, packages.Target{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var got []string
	for _, w := range in.Wheels.Wheels {
		members, err := unpack.Directory(w.Content, w.Size, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			got = append(got, m.Path)
		}
	}
	want := []string{
		"_widget.cpython-312.so", "widget/sub/_c.so", "widget/__init__.pyc", "widget/sub/_c.py",
		"pywidget-1.0.dist-info/METADATA",
		"plain/_p.so", "plain-2.dist-info/METADATA",
	}
	if !slices.Equal(got, want) || len(in.Wheels.Unread) > 0 {
		t.Errorf("members %q, unread %+v", got, in.Wheels.Unread)
	}
}
