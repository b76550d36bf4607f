package settings_test

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/settings"
)

func TestPins(t *testing.T) {
	pins, err := settings.Pins("# made by pip-compile\n-r other.txt\ntorch==2.7.0 \\\n    --hash=sha256:00\nnumpy>=1.26  # not a pin\n\ntriton==3.3.0; platform_system == \"Linux\"\n")
	if err != nil || strings.Join(pins, "|") != "torch==2.7.0|triton==3.3.0; platform_system == \"Linux\"" {
		t.Errorf("%q, %v", pins, err)
	}
	_, err = settings.Pins("torch==2.7.0\n[[package]]\n")
	if err == nil || !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "uv export") {
		t.Errorf("a uv.lock is refused with %v", err)
	}
}

func FuzzPins(f *testing.F) {
	f.Add("torch==2.7.0 \\\n    --hash=sha256:00\n# x\n-r other.txt\nsetuptools>=1\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := settings.Pins(text)
		if err != nil {
			return
		}
		again, err := settings.Pins(strings.Join(all, "\n"))
		if err != nil || strings.Join(again, "\n") != strings.Join(all, "\n") {
			t.Fatalf("%q gives %q, which gives %q, %v", text, all, again, err)
		}
	})
}
