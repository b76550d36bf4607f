package facts

import (
	"testing"

	"github.com/compat-app/compat/analyzer/unpack"
)

// A file x.node of a wheel is a library only by its content: meshes of triangulations have the same
// name. That of an npm package is an addon, damaged or not.
func TestWantNode(t *testing.T) {
	const at = "triangle/data/spiral.node"
	for _, c := range []struct {
		kind, head string
		want       bool
	}{
		{KindWheel, "# spiral.node\n15 2 0 0\n", false},
		{KindWheel, "\x7fELF\x02\x01\x01", true},
		{KindArchive, "version https://git-lfs", true},
	} {
		if got := want(&unpack.Package{Kind: c.kind}, at, 100, []byte(c.head)); got != c.want {
			t.Errorf("%s, %q: %v", c.kind, c.head, got)
		}
	}
}
