package cause

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/result"
)

// Whatever a kind says of an error, the artifact may not be shipped; what it is only for is kept.
func TestNoErrorMayBeShipped(t *testing.T) {
	n := 0
	for _, severity := range []result.Severity{result.Error, result.Warning} {
		for bits := range 64 {
			of := func(bit int, s string) string {
				if bits&(1<<bit) == 0 {
					return ""
				}
				return s
			}
			x := Task{Actor: result.Builder, Do: "do it", Because: of(0, "it fails elsewhere"),
				Works: of(1, "c 1"), Today: of(2, "pip takes c 2"), Only: of(3, "Alpine 3.20")}
			kind := &Kind{Task: func(*Text) Task { return x }, NotShipped: bits&16 != 0}
			f := result.Finding{Rule: "r", Severity: severity, Unknown: bits&32 != 0}
			of1 := &artifact{Artifact: result.Artifact{Path: "w-1-py3-none-any.whl", Kind: "wheel",
				Wheel: &result.Wheel{Name: "w", Version: "1"}}, own: "w"}
			c := &result.Cause{Severity: severity}
			text := &Text{cause: c, report: result.New(""), group: &group{
				origin: origin{kind: kind}, artifact: of1, all: []*result.Finding{&f},
			}}
			text.action()
			n++
			may := strings.Contains(c.Ship, "may be shipped") && !strings.HasPrefix(c.Ship, "Whether ")
			if severity == result.Error && may {
				t.Errorf("%+v: %s", x, c.Ship)
			}
			only := severity == result.Error && !kind.NotShipped && !f.Unknown
			if (c.Only != "") != (only && x.Only != "") {
				t.Errorf("%+v: it is only for %q: %s", x, c.Only, c.Ship)
			}
			if forbids := strings.HasPrefix(c.Ship, "Do not ship "); forbids != only {
				t.Errorf("%+v: %s", x, c.Ship)
			}
		}
	}
	if n != 128 {
		t.Errorf("%d combinations", n)
	}
}
