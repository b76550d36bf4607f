package pinned

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"golang.org/x/tools/txtar"
)

// Each file of testdata/anywhere.txtar is a lock file; the next file, NAME.want, contains its pins
// for every interpreter and machine, or "error: " and a part of the error.
func TestAnywhere(t *testing.T) {
	a, err := txtar.ParseFile(filepath.Join("testdata", "anywhere.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(a.Files); i += 2 {
		lock, want := a.Files[i], a.Files[i+1]
		t.Run(lock.Name, func(t *testing.T) {
			if want.Name != lock.Name+".want" {
				t.Fatalf("%s follows %s", want.Name, lock.Name)
			}
			f := inFiles(map[string]string{lock.Name: string(lock.Data), "other.txt": "other==1\n"}, lock.Name)
			f.NoDefaultGroups = true
			p, err := f.Anywhere()
			var got string
			if err != nil {
				got = "error: " + err.Error()
			} else {
				got = strings.TrimSpace(list(p))
				installedAsPinned(t, f, p)
			}
			text := strings.TrimSpace(string(want.Data))
			if part, fails := strings.CutPrefix(text, "error: "); fails && strings.Contains(got, part) &&
				err != nil {
				return
			}
			if got != text {
				t.Errorf("got\n%s\nwant\n%s", got, text)
			}
		})
	}
}

func list(p *Pinned) string {
	var b strings.Builder
	for _, pin := range p.Pins {
		fmt.Fprintf(&b, "%d: %s\n", pin.Line, pin.Text())
	}
	return b.String()
}

// installedAsPinned checks the markers: what applies to a target is what Pinned returns for it.
func installedAsPinned(t *testing.T, f *Files, all *Pinned) {
	t.Helper()
	for _, on := range []packages.Target{
		{Python: "3.8", Arch: "x86_64"}, {Python: "3.12", Arch: "aarch64"}, {Python: "3.14", Arch: "s390x"},
	} {
		p, err := f.Pinned(on)
		if err != nil {
			continue // it cannot be installed there
		}
		var some Pinned
		for _, pin := range all.Pins {
			q, err := pkgmeta.ParseRequirement(pin.Text())
			if err != nil {
				t.Fatal(err)
			}
			if ok, err := q.Applies(pkgmeta.DefaultMarkerEnv(on.Python, on.Arch)); ok && err == nil {
				pin.Marker = ""
				some.Pins = append(some.Pins, pin)
			}
		}
		got, want := strings.Split(list(&some), "\n"), strings.Split(list(p), "\n")
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("on %+v %q are installed, but %q are pinned", on, got, want)
		}
	}
}
