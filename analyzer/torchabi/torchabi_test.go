package torchabi

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

func TestAudit(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  Use
	}{
		{[]string{"PyList_New", "_ZN2at5emptyEv", "torch_of_olympia"}, Use{}},
		{[]string{"aoti_torch_delete_tensor_object", "free"},
			Use{Functions: 1, Oldest: "2.4.1", Last: "aoti_torch_delete_tensor_object"}},
		{[]string{"torch_string_length", "aoti_torch_get_dim", "torch_list_size"},
			Use{Functions: 3, Oldest: "2.10.0", Last: "torch_list_size"}},
		{[]string{"torch_list_size", "torch_of_the_future", "torch_from_blob"},
			Use{Functions: 3, Last: "torch_of_the_future"}},
	} {
		if got := Audit(slices.Values(c.names)); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.names, got, c.want)
		}
	}
}

// A function that a later release does not have ends the range.
func TestWith(t *testing.T) {
	old := Use{Functions: 1, Oldest: "2.6.0", Last: "a", Newest: "2.7.1"}
	for _, c := range []struct{ with, want Use }{
		{Use{}, old},
		{Use{Functions: 2, Oldest: "2.4.1", Last: "b"},
			Use{Functions: 3, Oldest: "2.6.0", Last: "a", Newest: "2.7.1"}},
		{Use{Functions: 2, Oldest: "2.9.0", Last: "b"}, Use{Functions: 3, Last: "b"}},
	} {
		for _, got := range []Use{old.With(c.with), c.with.With(old)} {
			if got != c.want {
				t.Errorf("with %+v: %+v, want %+v", c.with, got, c.want)
			}
		}
	}
}

func TestTable(t *testing.T) {
	n := 0
	for name, f := range functions.Get().All() {
		n++
		for _, v := range f {
			if _, err := pkgmeta.ParseVersion(v); err != nil || !Stable(name) || len(f) > 2 {
				t.Errorf("%s %v: %v", name, f, err)
			}
		}
	}
	if n < 500 || First() != "2.4.1" {
		t.Errorf("%d functions, from torch %s", n, First())
	}
}
