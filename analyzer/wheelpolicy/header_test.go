package wheelpolicy

import (
	"bytes"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

func TestUnreadable(t *testing.T) {
	for _, arch := range []string{"x86_64", "i686", "s390x", "mips"} {
		b := elftest.File(t, "elf "+arch+"\nexport f\n")
		size := int64(len(b))
		known := arch != "mips"
		for name, c := range map[string]struct {
			head   []byte
			size   int64
			broken bool
			want   bool
		}{
			"whole":                   {b[:HeaderSize], size, false, false},
			"whole, and elfobj fails": {b[:HeaderSize], size, true, known},
			"cut off":                 {b[:HeaderSize], size - 1, false, true},
			"inside of the header":    {b[:40], 40, true, false},
			"no ELF":                  {bytes.Repeat([]byte{1}, 64), 64, true, false},
			"empty":                   {nil, 0, true, false},
			"class 7":                 {append([]byte("\x7fELF\x07"), b[5:64]...), size, true, false},
		} {
			if got := Unreadable(c.head, c.size, c.broken); got != c.want {
				t.Errorf("%s, %s: %t", arch, name, got)
			}
		}
	}
}
