package index

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
)

// An extra index is used like pip does, and one that is down makes the result an error.
func TestSeveralIndexes(t *testing.T) {
	lib := string(object(t, "libdemo.so.1", "demo_run", "DEMO_1"))
	first := serve(
		t,
		map[string][]wheel{"demo": {build(t, "demo-1.0-py3-none-win_amd64.whl", "pywin32")}},
	)
	second := serve(
		t,
		map[string][]wheel{
			"demo": {
				build(t, "demo-1.0-py3-none-manylinux2014_x86_64.whl", "", "demo/libdemo.so.1", lib),
				build(t, "demo-2.0-py3-none-any.whl", ""),
			},
		},
	)
	both := Several{first.index(t, nil), second.index(t, nil)}
	if got, err := both.Versions(ctx, "demo", packages.Target{}); err != nil ||
		!slices.Equal(got, []string{"1.0", "2.0"}) {
		t.Error(got, err)
	}
	r, err := both.Release(ctx, "demo", "1.0", linux)
	if err != nil || !r.Known || len(r.Libraries) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = both.Read(ctx, r, linux, everything); err != nil || !r.Libraries[0].Known {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = both.Release(ctx, "demo", "3.0", linux)
	if !errors.Is(err, packages.ErrUnknown) || !strings.Contains(err.Error(), both[0].Name()) ||
		!strings.Contains(err.Error(), both[1].Name()) {
		t.Error(err)
	}
	if c := both.Cost(); c.Requests != both[0].Cost().Requests+both[1].Cost().Requests ||
		c.Requests < 3 {
		t.Errorf("%+v", c)
	}
	first.fail = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	down := Several{first.index(t, nil), second.index(t, nil)}
	if _, err := down.Versions(ctx, "demo", packages.Target{}); !errors.Is(err, packages.ErrUnavailable) {
		t.Error(err)
	}
	if _, err := down.Release(ctx, "demo", "1.0", linux); !errors.Is(err, packages.ErrUnavailable) {
		t.Error(err)
	}
}

// TestOtherVersionsWithAWheel checks which versions are offered for one without a compatible wheel.
func TestOtherVersionsWithAWheel(t *testing.T) {
	var wheels []wheel
	for version, tag := range map[string]string{
		"0.9": "py3-none-any", "1.0": "cp310-abi3-manylinux2014_x86_64",
		"1.1": "cp310-cp310-linux_x86_64", "1.2": "py3-none-win_amd64",
		"1.10": "py3-none-any", "1.9": "py3-none-any",
		"2.0rc1": "py3-none-any",
	} {
		wheels = append(wheels, build(t, "demo-"+version+"-"+tag+".whl", ""))
	}
	wheels = append(wheels, build(t, "demo-1.9-py3-none-manylinux2014_x86_64.whl", ""))
	i := serve(t, map[string][]wheel{"demo": wheels}).index(t, nil)
	var none *NoWheelError
	on := packages.Target{Python: "3.12", Arch: "x86_64"}
	if _, err := i.Open(ctx, "demo", "1.1", on, 1<<20); !errors.As(err, &none) {
		t.Fatalf("error %v", err)
	}
	if got := strings.Join(none.Others, " "); got != "1.9 1.10 1.0 0.9" {
		t.Errorf("others %s", got)
	}
	if none.Misfit.Python != "3.10" ||
		none.Error() != "demo==1.1 has no wheel for Python 3.12; there are wheels for Python 3.10" {
		t.Errorf("misfit %+v, error %v", none.Misfit, none)
	}
}
