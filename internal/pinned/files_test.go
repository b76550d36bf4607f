package pinned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// inFiles returns Files that read from a map.
func inFiles(files map[string]string, paths ...string) *Files {
	return &Files{Paths: paths, Read: func(path string) ([]byte, error) {
		text, ok := files[path]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return []byte(text), nil
	}}
}

// TestDeclared checks that the requirements of a project are those next to a lock file that is made
// from them, and apply to the system.
func TestDeclared(t *testing.T) {
	const lock = "version = 1\n[[package]]\nname = \"numpy\"\nversion = \"2.0.2\"\n" +
		"source = { registry = \"https://index.test\" }\n"
	f := inFiles(map[string]string{
		"app/uv.lock": lock, "pins.txt": "numpy==2.0.2\n",
		"app/pyproject.toml": "[project]\ndependencies = [\n \"numpy==2.0.2\",\n" +
			" \"numpy==1; sys_platform == 'win32'\"]\n",
		"pyproject.toml": "[project]\ndependencies = [\"numpy==2.0.2\"]\n",
	}, "app/uv.lock", "pins.txt")
	p, err := f.Pinned(packages.Target{Arch: "x86_64"})
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Declared; len(d) != 1 || d[0].File != "app/pyproject.toml" || d[0].Line != 3 ||
		d[0].Raw != "numpy==2.0.2" {
		t.Errorf("declared %+v", d)
	}
}

// A lock file that is older than the change of a requirement has a note.
func TestStaleLock(t *testing.T) {
	const lock = "version = 1\n[[package]]\nname = \"numpy\"\nversion = \"1.26.4\"\n" +
		"source = { registry = \"https://index.test\" }\n"
	for requirement, want := range map[string]string{
		"numpy==2.2.6": "pyproject.toml:2 requires numpy==2.2.6, but uv.lock pins 1.26.4; update the " +
			"lock file",
		"numpy>=1.20": "",
	} {
		p, err := inFiles(map[string]string{
			"uv.lock": lock, "pyproject.toml": "[project]\ndependencies = [\"" + requirement + "\"]\n",
		}, "uv.lock").Pinned(packages.Target{Arch: "x86_64"})
		if err != nil || strings.Join(p.Notes, "\n") != want {
			t.Errorf("%s: %q, %v", requirement, p.Notes, err)
		}
	}
}

// The requirements of a workspace are those of all its projects.
func TestDeclaredByMembers(t *testing.T) {
	const lock = "version = 1\n[manifest]\nmembers = [\"root\", \"api\"]\n[[package]]\n" +
		"name = \"api\"\nsource = { editable = \"packages/api\" }\n" +
		"dependencies = [{ name = \"numpy\" }]\n[[package]]\nname = \"numpy\"\n" +
		"version = \"2.0.2\"\nsource = { registry = \"https://index.test\" }\n[[package]]\n" +
		"name = \"root\"\nsource = { virtual = \".\" }\n"
	f := inFiles(map[string]string{
		"app/uv.lock":                     lock,
		"app/pyproject.toml":              "[project]\ndependencies = [\"scipy\"]\n",
		"app/packages/api/pyproject.toml": "[project]\ndependencies = [\n \"numpy==2.0.2\"]\n",
	}, "app/uv.lock")
	p, err := f.Pinned(packages.Target{Arch: "x86_64"})
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Declared; len(d) != 2 || d[0].Name != "scipy" || d[1].Project != "api" ||
		d[1].File != "app/packages/api/pyproject.toml" || d[1].Line != 3 {
		t.Errorf("declared %+v", d)
	}
}

func TestFiles(t *testing.T) {
	f := inFiles(map[string]string{
		"app/requirements.txt": "-r base/base.txt\n-c ../limits.txt\nnumpy>=1.20\nscipy==1.14.0\n",
		"app/base/base.txt":    "-r ../requirements.txt\nscipy==1.13.0\npure==1\n",
		"limits.txt":           "numpy<2\nother==1\n",
	}, "app/requirements.txt")
	p, err := f.Pinned(packages.Target{Arch: "x86_64"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, pin := range p.Pins {
		got = append(got, at(pin)+" "+pin.Requirement)
	}
	want := "app/requirements.txt:4 scipy==1.14.0, app/base/base.txt:3 pure==1"
	if strings.Join(got, ", ") != want {
		t.Errorf("pins %q", got)
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "base.txt:2 pins scipy==1.13.0") {
		t.Errorf("notes %q", p.Notes)
	}
	if p.On.Python != "3.12" || len(p.Unpinned) != 1 || len(p.Constraints) != 2 {
		t.Errorf("python %s, unpinned %v, constraints %v", p.On.Python, p.Unpinned, p.Constraints)
	}

	if err := p.Resolve(t.Context(), released{}); err != nil {
		t.Fatal(err)
	}
	if last := p.Pins[len(p.Pins)-1]; last.Requirement != "numpy==1.26.4" || last.Line != 3 {
		t.Errorf("resolved %+v", last)
	}
	if len(p.Notes) != 2 || !strings.Contains(p.Notes[1], "numpy==1.26.4") {
		t.Errorf("notes %q", p.Notes)
	}
}

func TestFilesFail(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"absent": {nil, "a.txt: file does not exist"},
		"include": {map[string]string{"a.txt": "numpy==1\n-r b.txt\n"},
			"a.txt: line 2: b.txt: file does not exist"},
		"broken": {map[string]string{"a.txt": "numpy==1\n???\n"}, "a.txt: line 2"},
	} {
		_, err := inFiles(c.files, "a.txt").Pinned(packages.Target{Arch: "x86_64"})
		var file *FileError
		if !errors.As(err, &file) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFilesPython(t *testing.T) {
	const locked = "[[package]]\nname = \"a\"\nversion = \"1\"\n"
	for requires, want := range map[string]string{
		">=3.10": "3.10", "==3.13.*": "3.13", ">=3.11.4,<3.14": "3.11", ">=2.7": "3.7", "": "",
	} {
		f := inFiles(map[string]string{"uv.lock": "requires-python = \"" + requires + "\"\n" + locked},
			"uv.lock")
		if got, _ := f.Python(); got != want {
			t.Errorf("%q: %s, want %s", requires, got, want)
		}
	}
	for _, c := range []struct {
		files        map[string]string
		python, from string
	}{
		{nil, "", ""},
		{map[string]string{"app/pyproject.toml": "[project]\nrequires-python = \">=3.9\"\n"}, "3.9",
			"the oldest that pyproject.toml allows"},
		{map[string]string{"app/uv.lock": "requires-python = \">=3.10\"\n" + locked,
			".python-version": "3.13.1\n"},
			"3.13", ".python-version"},
		{map[string]string{"app/uv.lock": "requires-python = \">=3.10\"\n" + locked,
			".python-version": "pypy3.10\n"},
			"3.10", "the oldest that uv.lock allows"},
		{map[string]string{"app/r.txt": "#\n# This file is autogenerated by pip-compile with Python 3.11\n#\n"},
			"3.11", "r.txt was compiled for it"},
		{map[string]string{"app/r.txt": "a==1\n# autogenerated by pip-compile with Python 3.11\n"}, "", ""},
	} {
		python, from := inFiles(c.files, "app/uv.lock", "app/r.txt").Python()
		if python != c.python || from != c.from {
			t.Errorf("%v: %s (%s)", c.files, python, from)
		}
	}
}

func TestBudget(t *testing.T) {
	f := inFiles(map[string]string{"r.txt": "native==1\nnative2==1\n"}, "r.txt")
	p, err := f.Pinned(packages.Target{Arch: "x86_64"})
	if err != nil {
		t.Fatal(err)
	}
	p.Budget = -1 // used up before the first wheel
	w, err := p.Open(t.Context(), opener{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if len(w.Unread) != 2 || len(w.Notes) != 1 || !strings.Contains(w.Notes[0], "2 of 2 packages") {
		t.Errorf("unread %v, notes %q", w.Unread, w.Notes)
	}
}

// A version is chosen that the interpreter can install.
func TestResolveForInterpreter(t *testing.T) {
	for python, want := range map[string]string{"3.8": "numpy==1.19.0", "3.9": "numpy==1.26.4"} {
		p, err := inFiles(map[string]string{"r.txt": "numpy>=1\n"}, "r.txt").
			Pinned(packages.Target{Arch: "x86_64", Python: python})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Resolve(t.Context(), released{}); err != nil || len(p.Pins) != 1 ||
			p.Pins[0].Requirement != want {
			t.Errorf("Python %s: %+v, %v", python, p.Pins, err)
		}
	}
}

// released is a source with some versions of numpy.
type released struct{}

func (released) Versions(
	_ context.Context,
	name string,
	on packages.Target,
) ([]string, error) {
	if name != "numpy" {
		return nil, packages.ErrUnknown
	}
	var out []string
	for _, v := range []struct{ version, python string }{
		{"1.19.0", ""}, {"1.26.4", ">=3.9"}, {"2.1.0", ">=3.10"},
	} {
		if on.Installs([]packages.File{{RequiresPython: v.python}}) {
			out = append(out, v.version)
		}
	}
	return out, nil
}

func (released) Release(_ context.Context, name, version string,
	_ packages.Target) (*packages.Release,
	error) {
	return &packages.Release{Name: name, Version: version, Known: true}, nil
}

// chain is a source in which package0 requires n other packages.
type chain int

func (n chain) Versions(context.Context, string, packages.Target) ([]string, error) {
	return []string{"1.0"}, nil
}

func (n chain) Release(
	_ context.Context,
	name, version string,
	_ packages.Target,
) (*packages.Release, error) {
	r := &packages.Release{Name: name, Version: version, Known: true}
	for i := 0; i < int(n) && name == "package0"; i++ {
		q, err := pkgmeta.ParseRequirement(fmt.Sprintf("required%d", i))
		if err != nil {
			return nil, err
		}
		r.Requires = append(r.Requires, q)
	}
	return r, nil
}

// TestResolveLarge checks that a requirement without a version is resolved next to many pins, and
// that the packages that only others require are limited, which is reported.
func TestResolveLarge(t *testing.T) {
	for _, required := range []int{100, 1000} {
		p := &Pinned{On: packages.Target{Python: "3.12", Arch: "x86_64"}}
		for i := range 600 {
			p.Pins = append(p.Pins, Pin{Pin: lockfile.Pin{Requirement: fmt.Sprintf("package%d==1.0", i)}})
		}
		p.Unpinned = []Pin{{Pin: lockfile.Pin{Requirement: "open"}}}
		if err := p.Resolve(t.Context(), chain(required)); err != nil {
			t.Fatal(err)
		}
		if last := p.Pins[len(p.Pins)-1].Requirement; last != "open==1.0" {
			t.Errorf("last pin %s", last)
		}
		if unread := p.unpinned(); len(unread) != required/1000 {
			t.Errorf("%d required: unread %v", required, unread)
		}
	}
}

// sources is a source whose second version of every package has no wheel.
type sources struct{ released }

func (sources) Versions(context.Context, string, packages.Target) ([]string, error) {
	return []string{"1.0", "2.0"}, nil
}

func (s sources) Release(
	ctx context.Context, name, version string, on packages.Target,
) (*packages.Release, error) {
	if version == "2.0" {
		return nil, fmt.Errorf("%s %s: %w", name, version, packages.ErrSource)
	}
	return s.released.Release(ctx, name, version, on)
}

// TestResolveSource checks that pip's choice is pinned though only its source is published.
func TestResolveSource(t *testing.T) {
	p := &Pinned{
		On: packages.Target{Python: "3.12", Arch: "x86_64"},
		Unpinned: []Pin{
			{Pin: lockfile.Pin{Requirement: "built>=1"}}, {Pin: lockfile.Pin{Requirement: "none>2"}},
		},
	}
	if err := p.Resolve(t.Context(), sources{}); err != nil {
		t.Fatal(err)
	}
	if len(p.Pins) != 1 || p.Pins[0].Requirement != "built==2.0" {
		t.Errorf("pins %v", p.Pins)
	}
	if len(p.Unpinned) != 1 || p.Unpinned[0].Requirement != "none>2" {
		t.Errorf("without a pin: %v", p.Unpinned)
	}
}
