package pinned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// requiringIndex is a source with the requirements of releases, as NAME==VERSION.
type requiringIndex map[string][]string

func (x requiringIndex) Versions(
	_ context.Context, name string, _ packages.Target,
) (out []string, err error) {
	for id := range x {
		if n, version, _ := strings.Cut(id, "=="); n == name {
			out = append(out, version)
		}
	}
	if out == nil {
		return nil, fmt.Errorf("%s: %w", name, packages.ErrUnknown)
	}
	slices.Sort(out)
	return out, nil
}

func (x requiringIndex) Release(
	_ context.Context, name, version string, _ packages.Target,
) (*packages.Release, error) {
	r := &packages.Release{Name: name, Version: version, Known: true}
	for _, text := range x[name+"=="+version] {
		if text == "source" {
			return nil, fmt.Errorf("%s: %w", name, packages.ErrSource)
		}
		q, err := pkgmeta.ParseRequirement(text)
		if err != nil {
			return nil, err
		}
		r.Requires = append(r.Requires, q)
	}
	return r, nil
}

// pip installs what the packages of a requirements file need too, within the constraints.
func TestImplied(t *testing.T) {
	source := requiringIndex{
		"beads==1.0": {"thread>=1", "glue", "wax>1", "six"}, "thread==1.0": nil,
		"thread==2.0": {"silk[fine]"},
		"thread==3.0": nil, "silk==1.0": {`dye; extra == "fine"`}, "dye==1.0": nil,
		"glue==1.0": {"source"},
	}
	const hash = " --hash=sha256:" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, test := range []struct {
		name, text string
		pins       string // what is added, with what needs it
		notes      string
	}{
		{
			"a pin", "beads==1.0\n",
			"glue==1.0 needed by beads==1.0, thread==3.0 needed by beads==1.0",
			"not in the file, but needed by its packages, so checked at the versions that pip would " +
				"install today: thread==3.0, glue==1.0; not in the file, but needed by its packages, and " +
				"could not be looked up, so not checked: six", // which has no native code
		},
		{
			"a constraint, and extras of what is not in the file", "beads==1.0\n-c limits.txt\n",
			"dye==1.0 needed by silk==1.0, glue==1.0 needed by beads==1.0, " +
				"silk==1.0 needed by thread==2.0, thread==2.0 needed by beads==1.0", "",
		},
		{"in the file", "beads==1.0\nthread==1.0\nglue==1.0\n", "", ""},
		{"hashes: pip installs nothing else", "beads==1.0" + hash + "\n", "", ""},
	} {
		f := inFiles(map[string]string{"a.txt": test.text, "limits.txt": "thread<3\nother<2\n"}, "a.txt")
		p, err := f.Pinned(packages.Target{Python: "3.12", Arch: "x86_64", Libc: "glibc"})
		if err := errors.Join(err, p.Resolve(t.Context(), source)); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		var got []string
		for _, pin := range p.Pins {
			if pin.For != "" {
				got = append(got, pin.Requirement+" "+at(pin))
			}
			if pin.File != "a.txt" {
				t.Errorf("%s: %s is in %q", test.name, pin.Requirement, pin.File)
			}
		}
		slices.Sort(got)
		if strings.Join(got, ", ") != test.pins {
			t.Errorf("%s: added %q, want %q", test.name, got, test.pins)
		}
		unread := p.unpinned()
		if len(unread) > 1 || test.notes != "" && fmt.Sprint(unread) !=
			"[{wax>1 beads==1.0, which a.txt names, requires it, and it could not be looked up: "+
				"versions of wax: wax: not known}]" {
			t.Errorf("%s: unread %q", test.name, unread)
		}
		if notes := strings.Join(p.Notes, "; "); test.notes != "" && notes != test.notes {
			t.Errorf("%s: notes %q, want %q", test.name, notes, test.notes)
		}
	}
}
