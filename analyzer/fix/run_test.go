package fix

import (
	"testing"

	"github.com/compat-app/compat/internal/shellword"
)

// Commands of one tool are shown as they are; others are replaced by that of Run.
func TestSingleTool(t *testing.T) {
	for command, want := range map[shellword.Line]bool{
		"wheel tags --remove --platform-tag any a.whl":                             true,
		"(cd a && wheel tags --remove b.whl)\n(cd c && wheel tags --remove b.whl)": true,
		"patchelf --clear-execstack a.so":                                          true,
		"wheel unpack a.whl && wheel pack a":                                       false,
		"(cd a && wheel unpack a.whl && wheel pack a)":                             false,
		"nvidia-nvtx-cu12<12.9":                                                    false,
	} {
		if got := SingleTool(command); got != want {
			t.Errorf("%q: %t", command, got)
		}
	}
}

// Wheels of several folders have their whole paths.
func TestRun(t *testing.T) {
	got := Run("", []string{"dist/a.whl", "dist/b c.whl"})
	if got != "compat fix --write fixed a.whl 'b c.whl'" {
		t.Errorf("got %s", got)
	}
	if got := Run(" --platform x", []string{"a/a.whl", "b/a.whl"}); got !=
		"compat fix --write fixed --platform x a/a.whl b/a.whl" {
		t.Errorf("got %s", got)
	}
}
