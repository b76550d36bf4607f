package dynlink

import (
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// A root without a libc.so.6 is searched like Debian's.
func TestArchivedWithoutLibc(t *testing.T) {
	own := &elfobj.Object{SONAME: "libown.so.1"}
	if err := own.SetArch("x86_64"); err != nil {
		t.Fatal(err)
	}
	loader := *own
	loader.SONAME = "ld-linux-x86-64.so.2"
	a := &Archived{Name: "root", Objects: []ArchivedObject{
		{Path: "lib64/ld-linux-x86-64.so.2", Object: &loader},
		{Path: "usr/lib/x86_64-linux-gnu/libown.so.1", Object: own},
	}}
	p := a.Platform("x86_64")
	if p == nil {
		t.Fatal("no platform")
	}
	if l := p.Library("libown.so.1"); l == nil || l.Path != "/usr/lib/x86_64-linux-gnu/libown.so.1" {
		t.Errorf("found %+v", l)
	}
}
