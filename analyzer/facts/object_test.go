package facts

import (
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
)

func TestMusl(t *testing.T) {
	for _, c := range []struct {
		path   string
		needed []string
		want   bool
	}{
		{"m/_m.cpython-312-x86_64-linux-musl.so", nil, true},
		{"m/_m.cpython-312-arm-linux-musleabihf.so", []string{"libfoo.so.1"}, true},
		{"m/_m.cpython-312-x86_64-linux-musl.so", []string{"libc.so.6"}, false},
		{"m/_m.abi3.so", []string{"libc.musl-x86_64.so.1"}, true},
		{"m/_m.cpython-312-x86_64-linux-gnu.so", nil, false},
	} {
		o := newObject(c.path, "", &elfobj.Object{
			Needed: c.needed, Exports: elfobj.NewExports(), Imports: elfobj.NewImports(),
		})
		if o.Musl() != c.want {
			t.Errorf("%s that needs %q: musl %t, want %t", c.path, c.needed, o.Musl(), c.want)
		}
	}
}
