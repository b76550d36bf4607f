package fix

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/internal/shellword"
)

func TestBundlingCommand(t *testing.T) {
	for want, b := range map[shellword.Line]Bundling{
		"auditwheel repair a.whl": {With: Auditwheel},
		"auditwheel repair --no-update-tags --exclude libcuda.so.1 --exclude 'libX*' a.whl": {
			With: Auditwheel, KeepTags: true, Exclude: []string{"libcuda.so.1", "libX*"},
		},
		"compat fix --write fixed a.whl": {
			With: Auditwheel, Exclude: []string{"liba.so", "libb.so", "libc.so", "libd.so"},
		},
		"delocate-wheel -v a.whl": {With: Delocate},
		"delvewheel repair a.whl": {With: Delvewheel},
	} {
		if got := b.Command("a.whl"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestFamilies(t *testing.T) {
	few := []string{"libXft.so.2", "libXi.so.6"}
	if got := Families(few, nil); !slices.Equal(got, few) {
		t.Error(got)
	}
	many := []string{"libXft.so.2", "libcuda.so.1", "libXi.so.6", "libwayland-egl.so.1",
		"libcudart.so.12", "libwayland-client.so.0", "*?.so", "*?.so.1"}
	got := Families(many, []string{"libcurl.so.4"})
	if want := []string{"libX*", "libcuda.so.1", "libw*", "libcudart.so.12", "*?.so",
		"*?.so.1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
