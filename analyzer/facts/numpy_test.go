package facts

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// The errors were seen with numpy 2.1.3 by importing modules of pyerfa 2.0.0.3 (import_array),
// h5py 3.10.0 and pycocotools 2.0.7 (types of Cython) and soxr 0.3.5 (Cython calls import_array).
func TestNumPyBuild(t *testing.T) {
	const (
		umath  = "numpy.core._multiarray_umath\x00"
		failed = "numpy.core.multiarray failed to import"
		types  = "flatiter\x00%.200s.%.200s size changed, may indicate binary incompatibility\x00"
		auto   = " (auto-generated because you didn't call 'numpy.import_array()')\x00"
	)
	for _, c := range []struct {
		constants string
		build     NumPyBuild
		fails     NumPyError
	}{
		{umath + failed + "\x00", NumPy1, NumPyRaises},
		{umath + failed + "\x00" + types, NumPy1, NumPyCompares},
		{failed + "\x00" + types, NumPy1, NumPyCompares},
		{umath + failed + auto + failed + "\x00" + types, NumPy1, NumPyRaises},
		{umath + "numpy._core._multiarray_umath\x00", NumPy2, NumPyErrorUnknown},
		{types, NumPyUnknown, NumPyErrorUnknown},
	} {
		build, fails := readNumPyBuild(&elfobj.Object{}, strings.NewReader(c.constants),
			int64(len(c.constants)))
		if build != c.build || fails != c.fails {
			t.Errorf("%q: %q, %q; want %q, %q", c.constants, build, fails, c.build, c.fails)
		}
	}
}
