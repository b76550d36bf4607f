package lockfile_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"golang.org/x/tools/txtar"
)

// Each file of testdata/read.txtar is a lock file; extras and groups follow its name: "uv.lock +gpu
// @dev". The next file is the expected result on x86_64 with Python 3.12.
func TestRead(t *testing.T) {
	a, err := txtar.ParseFile(filepath.Join("testdata", "read.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(a.Files); i += 2 {
		lock, want := a.Files[i], a.Files[i+1]
		t.Run(lock.Name, func(t *testing.T) {
			words := strings.Fields(lock.Name)
			c := lockfile.Choice{Python: "3.12", Arch: "x86_64"}
			for _, w := range words[1:] {
				if w[0] == '+' {
					c.Extras = append(c.Extras, w[1:])
				} else {
					c.Groups = append(c.Groups, w[1:])
				}
			}
			l, err := lockfile.Read(words[0], lock.Data, c)
			var got string
			if err != nil {
				got = "error: " + err.Error() + "\n"
			} else {
				got = show(l)
			}
			if got != string(want.Data) {
				t.Errorf("got\n%swant\n%s", got, want.Data)
			}
		})
	}
}

func show(l *lockfile.Lock) string {
	var b strings.Builder
	for _, p := range l.Pins {
		fmt.Fprintf(&b, "%d: %s\n", p.Line, p.Requirement)
	}
	for _, p := range l.Open {
		fmt.Fprintf(&b, "%d: open %s\n", p.Line, p.Requirement)
	}
	for _, i := range l.Includes {
		fmt.Fprintf(&b, "%d: include %s\n", i.Line, i.Path)
	}
	for _, i := range l.Constraints {
		fmt.Fprintf(&b, "%d: constraints %s\n", i.Line, i.Path)
	}
	for _, n := range l.Notes {
		fmt.Fprintf(&b, "%s\n", n)
	}
	return b.String()
}

func FuzzRead(f *testing.F) {
	a, err := txtar.ParseFile(filepath.Join("testdata", "read.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for i := 0; i < len(a.Files); i += 2 {
		f.Add(a.Files[i].Name, a.Files[i].Data)
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		name, _, _ = strings.Cut(name, " ")
		c := lockfile.Choice{Python: "3.12", Arch: "x86_64", Extras: []string{"gpu"}}
		l, err := lockfile.Read(name, data, c)
		if err != nil {
			return
		}
		lockfile.RequiresPython(name, data)
		lines := strings.Count(string(data), "\n") + 1
		for _, p := range l.Pins {
			q, err := pkgmeta.ParseRequirement(p.Requirement)
			if err != nil || !strings.HasPrefix(q.Spec, "==") || q.Marker != "" {
				t.Fatalf("%q of %s is not a pin: %v", p.Requirement, name, err)
			}
			if p.Line < 0 || p.Line > lines {
				t.Fatalf("%q is in line %d of %d of %s", p.Requirement, p.Line, lines, name)
			}
		}
	})
}

func TestRequiresPython(t *testing.T) {
	for name, data := range map[string]string{
		"uv.lock":     "requires-python = \">=3.10\"\n",
		"pylock.toml": "requires-python = \">=3.10\"\n",
		"pdm.lock":    "[metadata]\nrequires_python = \">=3.10\"\n",
		"poetry.lock": "[metadata]\npython-versions = \">=3.10\"\n",
	} {
		if got := lockfile.RequiresPython(name, []byte(data)); got != ">=3.10" {
			t.Errorf("%s: %q", name, got)
		}
	}
	// Poetry's caret operator is not part of PEP 440.
	caret := []byte("[metadata]\npython-versions = \"^3.10\"\n")
	if got := lockfile.RequiresPython("poetry.lock", caret); got != "" {
		t.Errorf("%q", got)
	}
}

// TestFiles reads the files that lock files list of a package.
func TestFiles(t *testing.T) {
	const file = `{%s = "a-1-py3-none-any.whl", hash = "sha256:ab"}`
	want := lockfile.File{Name: "a-1-py3-none-any.whl", SHA256: "ab"}
	linked := want
	linked.URL, linked.Size = "https://index.test/x/a-1-py3-none-any.whl", 7
	const uv = "[[package]]\nname = \"a\"\nversion = \"1\"\nsource = { registry = \"r\" }\n" +
		"wheels = [{ url = \"https://index.test/x/a-1-py3-none-any.whl\", hash = \"sha256:ab\", size = 7 }]\n"
	const pylock = "[[packages]]\nname = \"a\"\nversion = \"1\"\n"
	for _, c := range []struct {
		name, text string
		want       lockfile.File
	}{
		{"uv.lock", uv, linked},
		{"poetry.lock", "[[package]]\nname = \"a\"\nversion = \"1\"\nfiles = [" +
			fmt.Sprintf(file, "file") + "]\n", want},
		{"pylock.toml", pylock + "wheels = [{name = \"a-1-py3-none-any.whl\", " +
			"hashes = {sha256 = \"ab\"}}]\n", want},
		{"pylock.toml", pylock + "[[packages.wheels]]\nname = \"a-1-py3-none-any.whl\"\n" +
			"[packages.wheels.hashes]\nsha256 = \"ab\"\n", want},
	} {
		l, err := lockfile.Read(c.name, []byte(c.text), lockfile.Choice{Python: "3.12"})
		if err != nil || len(l.Pins) != 1 || len(l.Pins[0].Files) != 1 ||
			l.Pins[0].Files[0] != c.want || !l.Complete {
			t.Errorf("%s: %+v, error %v", c.name, l, err)
		}
	}
}

// TestAnnotations reads what depends on what from the comments of pip-compile and uv.
func TestAnnotations(t *testing.T) {
	const hash = " \\\n    --hash=sha256:ab"
	for _, c := range []struct {
		text string
		want string // NAME: NEEDS of each pin; "" = unknown
	}{
		{
			"# via pip-compile\na==1" + hash + "\n    # via\n    #   -r main.in\n    #   B.C\n" +
				"b-c==1" + hash + "\n    # via -r main.in\n\n# end\n",
			"a==1: ; b-c==1: a; ",
		},
		{"a==1 --hash=sha256:ab  # via b, app (pyproject.toml)\nb==1 --hash=sha256:ab # via app (x)\n",
			"a==1: ; b==1: a; "},
		{"a==1" + hash + "\n    # via b\nb==1" + hash + "\n", ""},
		{"a==1" + hash + "\n    # via other\n", ""},
		{"a==1\n    # via -r main.in\n", ""},
	} {
		l, err := lockfile.Read("r.txt", []byte(c.text), lockfile.Choice{Python: "3.12"})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range l.Pins {
			got += p.Requirement + ": " + strings.Join(p.Needs, " ") + "; "
		}
		if c.want != "" && got != c.want || l.Graph != (c.want != "") {
			t.Errorf("%q: %s, graph %v", c.text, got, l.Graph)
		}
	}
}

// TestNeedsAreSorted reads a lock file several times: what is read has to be the same each time.
func TestNeedsAreSorted(t *testing.T) {
	const text = "[[package]]\nname = \"a\"\nversion = \"1\"\nsource = { registry = \"r\" }\n" +
		"dependencies = [{ name = \"c\" }]\n[package.optional-dependencies]\n" +
		"x = [{ name = \"b\" }]\ny = [{ name = \"e\" }, { name = \"c\" }]\nz = [{ name = \"d\" }]\n"
	for range 20 {
		l, err := lockfile.Read("uv.lock", []byte(text), lockfile.Choice{Python: "3.12"})
		if err != nil || len(l.Pins) != 1 {
			t.Fatal(l, err)
		}
		if got := strings.Join(l.Pins[0].Needs, " "); got != "b c d e" {
			t.Fatalf("needs %s", got)
		}
	}
}
