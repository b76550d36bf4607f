package facts

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// Names in constants are found at any place of a large section, also after the bytes of a number.
// What only ends like a name is none.
func TestReadOpened(t *testing.T) {
	o := elftest.Object(t, "elf x86_64\nneeded libc.so.6\nimport dlopen@GLIBC_2.2.5 libc.so.6\n")
	long := "not-" + strings.Repeat("a", 40) + "libwrong.so"
	const size = 2 * piece
	want := []string{"libplug.so", "libplug.so.1"}
	for at := piece - 2*maxName - 64; at < piece+64; at++ {
		constants := make([]byte, size)
		copy(constants[at:], "\x05\x10\xfflibplug.so\x00libplug.so.1\x00"+long)
		o.Sections = []elfobj.Section{{Name: ".rodata", Size: size}}
		if got := readOpened(o, bytes.NewReader(constants)); !slices.Equal(got, want) {
			t.Fatalf("at %d: %q, want %q", at, got, want)
		}
	}
}
