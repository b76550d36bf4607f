package facts_test

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
)

// Files that look like binaries and that no loader reads are skipped. One that is named like a
// shared library of Linux could not be read.
func TestNoLoaderReads(t *testing.T) {
	kernel := "\x7fELF\x02\x01" + strings.Repeat("\x00", 10) + "\x04\xff" + strings.Repeat("\x00", 46)
	attributes := "\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X" + strings.Repeat("\x00", 40)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range map[string]string{
		"m/kernel.ir": kernel, "m/libkernel.so.1": kernel, "m/._libm.dylib": attributes,
		"m/_m.cpython-312-x86_64-linux-gnu.so": "no module",
		"m-1.0.dist-info/METADATA":             "Name: m\nVersion: 1.0\n",
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	const wheel = "m-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
	in := facts.Input{Name: wheel, Size: int64(b.Len()), Content: bytes.NewReader(b.Bytes())}
	set, err := facts.Read(t.Context(), []facts.Input{in}, facts.Options{}, elfobj.NewNames())
	if err != nil {
		t.Fatal(err)
	}
	reasons := func(list []facts.Unread) map[string]string {
		out := map[string]string{}
		for _, u := range list {
			out[strings.TrimPrefix(u.Path, wheel+"/")] = u.Reason
		}
		return out
	}
	skipped, unread := reasons(set.Skipped), reasons(set.Unread)
	if len(skipped) != 2 || !strings.Contains(skipped["m/kernel.ir"], "no machine") ||
		!strings.Contains(skipped["m/._libm.dylib"], "AppleDouble") {
		t.Errorf("skipped: %q", skipped)
	}
	if len(unread) != 2 || !strings.Contains(unread["m/libkernel.so.1"], "no machine") ||
		unread["m/_m.cpython-312-x86_64-linux-gnu.so"] == "" {
		t.Errorf("unread: %q", unread)
	}
}
