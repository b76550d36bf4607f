package dynlink

import (
	"fmt"
	"testing"
)

// A library that is listed twice counts once, whatever their number.
func TestListedTwice(t *testing.T) {
	root := &Library{Path: "pkg/_root.so"}
	all := []*Library{root, root}
	for n := range 63 {
		name := fmt.Sprintf("lib%d.so", n)
		all = append(all, &Library{Path: "pkg/" + name, SONAME: name})
		root.Needed = append(root.Needed, name)
	}
	e := NewEnvironment("glibc", all, nil, nil)
	if got := len(e.Load(root).Found); got != 64 {
		t.Errorf("%d libraries are loaded, want 64", got)
	}
}
