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
			l, err := choose(words[0], lock.Data, c)
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

// choose returns what a Choice installs of a lock file.
func choose(name string, data []byte, c lockfile.Choice) (*lockfile.Chosen, error) {
	l, err := lockfile.Read(name, data)
	if err != nil {
		return nil, err
	}
	return l.Choose(c)
}

func show(l *lockfile.Chosen) string {
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
		l, err := choose(name, data, c)
		if err != nil {
			return
		}
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

func TestPython(t *testing.T) {
	const one = "[[package]]\nname = \"a\"\nversion = \"1\"\n"
	for _, c := range []struct{ name, text, want string }{
		{"uv.lock", "requires-python = \">=3.10\"\n" + one, ">=3.10"},
		{"pylock.toml", "requires-python = \">=3.10\"\n[[packages]]\nname = \"a\"\n", ">=3.10"},
		{"pdm.lock", one + "[metadata]\nrequires_python = \">=3.10\"\n", ">=3.10"},
		{"poetry.lock", one + "[metadata]\npython-versions = \">=3.10\"\n", ">=3.10"},
		{"poetry.lock", one + "[metadata]\npython-versions = \"3.11\"\n", "==3.11.*"},
		// Poetry's operators are not part of PEP 440.
		{"poetry.lock", one + "[metadata]\npython-versions = \"^3.10\"\n", ">=3.10,<4"},
		{"poetry.lock", one + "[metadata]\npython-versions = \"^3.10.2, !=3.11.1\"\n",
			">=3.10.2,<4,!=3.11.1"},
		{"poetry.lock", one + "[metadata]\npython-versions = \"~3.11\"\n", ">=3.11,<3.12"},
		{"poetry.lock", one + "[metadata]\npython-versions = \"~3.11.4\"\n", ">=3.11.4,<3.12"},
		{"poetry.lock", one + "[metadata]\npython-versions = \"~3\"\n", ">=3,<4"},
		{"poetry.lock", one + "[metadata]\npython-versions = \"3.11.*\"\n", "==3.11.*"},
		{"poetry.lock", one + "[metadata]\npython-versions = \"~2.7 || ^3.6\"\n", ""},
		{"Pipfile.lock", `{"_meta": {"requires": {"python_version": "3.11"}}, "default": {}}`, "==3.11.*"},
		{"requirements.txt", "a==1\n", ""},
	} {
		if l, err := lockfile.Read(c.name, []byte(c.text)); err != nil || l.Python != c.want {
			t.Errorf("%s %q: %+v, error %v, want %q", c.name, c.text, l, err, c.want)
		}
	}
}

// A lock file with another name is known by its content.
func TestReadByContent(t *testing.T) {
	a, err := txtar.ParseFile(filepath.Join("testdata", "read.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	c := lockfile.Choice{Python: "3.12", Arch: "x86_64"}
	tried := map[string]bool{}
	for i := 0; i+1 < len(a.Files); i += 2 {
		f := a.Files[i]
		base := filepath.Base(strings.Fields(f.Name)[0])
		switch base { // lines that all files of these tools have
		case "poetry.lock":
			f.Data = append(f.Data, "[metadata]\npython-versions = \"*\"\n"...)
		case "pdm.lock":
			f.Data = append(f.Data, "[metadata]\nlock_version = \"4.5.0\"\n"...)
		}
		chosen, err := choose(base, f.Data, c)
		if err != nil || len(chosen.Pins) == 0 || !lockfile.OfProject(base) && base != "pylock.toml" &&
			base != "Pipfile.lock" && base != "requirements.txt" {
			continue
		}
		tried[base] = true
		for _, name := range []string{"old.lock", "-", "old"} {
			again, err := choose(name, f.Data, c)
			if err != nil || show(again) != show(chosen) {
				t.Errorf("%s as %s: %v, %v, want %v", f.Name, name, again, err, chosen)
			}
		}
	}
	if len(tried) < 6 {
		t.Errorf("tried only %v", tried)
	}
	_, err = choose("deps.lock", []byte("version = 1\n"), lockfile.Choice{})
	if err == nil || !strings.Contains(err.Error(), "such as uv.lock") {
		t.Errorf("an unknown lock file: %v", err)
	}
	_, err = choose("deps.txt", []byte("version = 1\n"), lockfile.Choice{})
	if err == nil || strings.Contains(err.Error(), "uv.lock") {
		t.Errorf("a broken requirements file: %v", err)
	}
}

func TestCompiledFor(t *testing.T) {
	for line, want := range map[string]string{
		"# This file is autogenerated by pip-compile with Python 3.11": "3.11",
		"# This file is autogenerated by pip-compile with python 3.9":  "3.9",
		"#    uv pip compile a.in --python-version 3.12.1 -o a.txt":    "3.12",
		"#    uv pip compile a.in --python-version=3.13t -o a.txt":     "3.13t",
		"#    uv pip compile --universal -p python3.10 a.in":           "3.10",
		"#    uv pip compile a.in --python /usr/bin/python3 -o a.txt":  "",
		"#    uv pip compile a.in -o py-3.11.txt":                      "",
		"# needs Python 3.11":                       "",
		"uv pip compile a.in --python-version 3.12": "",
	} {
		l, err := lockfile.Read("r.txt", []byte("#\r\n"+line+"\r\nnumpy==2.0.0\n"))
		if err == nil && l.CompiledFor != want || err != nil && strings.HasPrefix(line, "#") {
			t.Errorf("%s: %+v, error %v, want %q", line, l, err, want)
		}
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
		l, err := choose(c.name, []byte(c.text), lockfile.Choice{Python: "3.12"})
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
		l, err := choose("r.txt", []byte(c.text), lockfile.Choice{Python: "3.12"})
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
		l, err := choose("uv.lock", []byte(text), lockfile.Choice{Python: "3.12"})
		if err != nil || len(l.Pins) != 1 {
			t.Fatal(l, err)
		}
		if got := strings.Join(l.Pins[0].Needs, " "); got != "b c d e" {
			t.Fatalf("needs %s", got)
		}
	}
}

// TestHashes reads the hashes that lock files list, with the line of the first, and the indexes that
// the package is from.
func TestHashes(t *testing.T) {
	ab, cd := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	const toml = "name = \"a\"\nversion = \"1\"\n"
	files := "files = [\n  {file = \"a-1-py3-none-any.whl\", hash = \"sha256:" + ab + "\"},\n" +
		"  {file = \"a-1.tar.gz\", hash = \"sha256:" + cd + "\"},\n]\n"
	other := func(name, registry string) string {
		return "[[package]]\nname = \"" + name + "\"\nversion = \"1\"\nsource = { registry = \"" + registry +
			"\" }\n"
	}
	for _, c := range []struct{ name, text, want string }{
		{"r.txt", "a==1 --hash=sha256:" + strings.ToUpper(ab), "a==1 1 " + ab},
		{"r.txt", "\na==1 \\\n    --hash=sha256:" + ab + " \\\n    --hash=sha256:" + cd + "\n    # via b\n",
			"a==1 3 " + ab + "," + cd},
		{"r.txt", "a==1 --hash sha256:" + ab, "a==1 1 " + ab},
		{"r.txt", "a==1 --config-settings=x=y --hash=sha256:" + ab, "a==1 1 " + ab},
		{"r.txt", "a==1 --hash=sha256:" + ab + " --hash=sha512:" + cd + cd, "a==1 1 -"},
		{"r.txt", "a==1 --hash=sha256:ab", "a==1 1 -"},
		{"r.txt", "a==1", "a==1 1 -"},
		{"r.txt", "a @ https://h.test/a-1-py3-none-any.whl#sha256=" + ab, "a==1 1 " + ab + " from ?"},
		{"uv.lock", other("a", "r") + "sdist = { url = \"https://h.test/a-1.tar.gz\", hash = \"sha256:" + cd +
			"\" }\nwheels = [\n  { url = \"https://h.test/a-1-py3-none-any.whl\", hash = \"sha256:" + ab +
			"\" },\n]\n", "a==1 5 " + cd + "," + ab},
		{"uv.lock", other("a", "r") + "wheels = [{ url = \"https://h.test/a-1-py3-none-any.whl\" }]\n",
			"a==1 5 -"},
		{"uv.lock", other("a", "https://x.test/cpu") + other("b", "r") + other("c", "r"),
			"a==1 3 - from https://x.test/cpu; b==1 7 -; c==1 11 -"},
		{"poetry.lock", "[[package]]\n" + toml + files, "a==1 4 " + ab + "," + cd},
		{"poetry.lock", "[[package]]\n" + toml + files + "[package.source]\ntype = \"legacy\"\n" +
			"url = \"https://x.test/cpu\"\n" + strings.Repeat("[[package]]\nname = \"b\"\nversion = \"1\"\n", 2),
			"a==1 4 " + ab + "," + cd + " from https://x.test/cpu; b==1 13 -"},
		{"pdm.lock", "[[package]]\n" + toml + files, "a==1 4 " + ab + "," + cd},
		{"pylock.toml", "[[packages]]\n" + toml + "wheels = [{name = \"a-1-py3-none-any.whl\", " +
			"hashes = {sha256 = \"" + ab + "\"}}]\n", "a==1 4 " + ab},
		{"Pipfile.lock", "{\"_meta\": {\"sources\": [{\"name\": \"main\"}]}, \"default\": {\n\"a\": {\n" +
			"  \"hashes\": [\n    \"sha256:" + ab + "\",\n    \"sha256:" + cd + "\"\n  ],\n" +
			"  \"index\": \"main\",\n  \"version\": \"==1\"\n}}}", "a==1 3 " + ab + "," + cd},
		{"Pipfile.lock", "{\"_meta\": {\"sources\": [{\"name\": \"main\"}]}, \"default\": {\n\"a\": {" +
			"\"index\": \"cpu\", \"version\": \"==1\", \"hashes\": [\"sha256:" + ab + "\"]}}}",
			"a==1 2 " + ab + " from ?"},
		{"conda-lock.yml", "package:\n- name: a\n  version: '1'\n  manager: pip\n  platform: linux-64\n" +
			"  url: https://h.test/a-1-py3-none-any.whl\n  hash:\n    sha256: " + ab + "\n", "a==1 8 " + ab},
		{"pixi.lock", "environments:\n  default:\n    indexes: [https://i.test/simple]\n    packages:\n" +
			"      linux-64:\n      - pypi: https://h.test/a-1-py3-none-any.whl\npackages:\n" +
			"- pypi: https://h.test/a-1-py3-none-any.whl\n  name: a\n  version: '1'\n  sha256: " + ab + "\n",
			"a==1 11 " + ab},
		{"environment.yml", "dependencies:\n- pip:\n  - a==1 --hash=sha256:" + ab + "\n",
			"a==1 3 " + ab},
	} {
		l, err := choose(c.name, []byte(c.text), lockfile.Choice{Python: "3.12", Arch: "x86_64"})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, p := range l.Pins {
			line := p.HashLine
			if line == 0 {
				line = p.Line
			}
			text := fmt.Sprintf("%s %d %s", p.Requirement, line, strings.Join(p.SHA256(), ","))
			if p.SHA256() == nil {
				text += "-"
			}
			for _, x := range p.Indexes {
				if x == "" {
					x = "?"
				}
				text += " from " + x
			}
			got = append(got, text)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: got %q, want %q\n%s", c.name, strings.Join(got, "; "), c.want, c.text)
		}
	}
}

// TestUnhashed lists the requirements that pip refuses because others of the file have a hash, and
// the indexes that the file names.
func TestUnhashed(t *testing.T) {
	const hashed = "a==1 --hash=sha256:ab\n"
	for _, c := range []struct{ text, want string }{
		{hashed + "b==2\nc>=3\nd==4 ; sys_platform == 'win32'\n", "true b==2 2, c>=3 3 []"},
		{hashed + "b==2 \\\n  --hash=sha512:cd\n", "true  []"},
		{"a==1\nb==2\n", "false a==1 1, b==2 2 []"},
		{"--require-hashes\na==1\n", "true a==1 2 []"},
		{hashed + "-i https://i.test/simple\n--extra-index-url=https://x.test/\n-f wheels\n",
			"true  [{https://i.test/simple -i 2} {https://x.test/ --extra-index-url 3} { -f 4}]"},
		{hashed + "./local\nx @ git+https://h.test/x\n", "true  []"},
	} {
		l, err := choose("r.txt", []byte(c.text), lockfile.Choice{Python: "3.12"})
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, p := range l.Unhashed {
			list = append(list, fmt.Sprintf("%s %d", p.Requirement, p.Line))
		}
		if got := fmt.Sprintf("%v %s %v", l.Hashed, strings.Join(list, ", "), l.Indexes); got != c.want {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
}

// TestRenew writes hashes again with the tool of the file.
func TestRenew(t *testing.T) {
	for file, want := range map[string]string{
		"a/uv.lock":        "uv lock --upgrade-package numpy",
		"poetry.lock":      "poetry update --lock numpy",
		"pdm.lock":         "pdm lock --refresh",
		"Pipfile.lock":     "pipenv upgrade numpy",
		"pixi.lock":        "pixi update numpy",
		"conda-lock.yml":   "conda-lock lock --update numpy",
		"requirements.txt": "pip-compile --generate-hashes --no-reuse-hashes",
		"req/dev tools.txt": "pip-compile --generate-hashes --no-reuse-hashes --output-file " +
			"'req/dev tools.txt' 'req/dev tools.in'",
		"pylock.toml":     "",
		"environment.yml": "",
	} {
		if got := string(lockfile.Renew(file, "numpy")); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
}

// The packages of other systems are those of their markers and of conda's names for them.
func TestChooseForSystem(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"requirements.txt", "linux==1; sys_platform == 'linux'\n" +
			"win==1; platform_machine == 'AMD64'\nmac==1; platform_machine == 'arm64'\n"},
		{"conda-lock.yml", "package:\n" + condaPackage("linux", "linux-64") +
			condaPackage("win", "win-64") + condaPackage("mac", "osx-arm64")},
	} {
		for _, on := range []lockfile.Choice{
			{Python: "3.12", Arch: "x86_64"}, {Python: "3.12", Arch: "amd64", System: "windows"},
			{Python: "3.12", Arch: "arm64", System: "macos"},
		} {
			l, err := choose(c.name, []byte(c.text), on)
			want := map[string]string{"": "linux==1", "windows": "win==1", "macos": "mac==1"}[on.System]
			if err != nil || len(l.Pins) != 1 || l.Pins[0].Requirement != want {
				t.Errorf("%s on %s: %v, %v, want %s", c.name, on.System, l, err, want)
			}
		}
	}
}

func condaPackage(name, platform string) string {
	return "- name: " + name + "\n  version: '1'\n  manager: pip\n  platform: " + platform +
		"\n  url: https://h.test/" + name + "-1-py3-none-any.whl\n"
}
