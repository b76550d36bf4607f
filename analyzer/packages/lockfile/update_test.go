package lockfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages/lockfile"
)

const pyproject = `[project]
name = "app"
dependencies = [
    "numpy==2.0.2", # a comment
    "Pandas[performance]==2.2.2 ; python_version < '3.13'",
    "certifi",
]
[project.optional-dependencies]
old = ["scipy==1.13.1"]
[dependency-groups]
dev = ["pyyaml==6.0.1", { include-group = "lint" }]
lint = ["ruff<1"]
[tool.uv]
constraint-dependencies = ["idna<3.7"]
[tool.pdm.dev-dependencies]
test = ["pytest==7"]
[tool.poetry.dependencies]
python = "^3.11"
flask = "^2"
click = { version = "^8", extras = ["x"] }
[tool.poetry.group.docs.dependencies]
sphinx = "6"
`

// TestProject checks that the requirements of pyproject.toml are found with their lists and lines.
func TestProject(t *testing.T) {
	var got []string
	for _, d := range lockfile.Project([]byte(pyproject)) {
		got = append(got, strings.Join(strings.Fields(fmt.Sprintf("%d %s %s %s %s %t",
			d.Line, d.Raw, d.Tool, d.Extra, d.Group, d.Manual)), " "))
	}
	want := []string{
		"4 numpy==2.0.2 false",
		"5 Pandas[performance]==2.2.2 ; python_version < '3.13' false",
		"6 certifi false",
		"9 scipy==1.13.1 old false",
		"11 pyyaml==6.0.1 dev false",
		"12 ruff<1 lint false",
		"14 idna<3.7 uv true",
		"16 pytest==7 pdm test false",
		"19 flask poetry false",
		"20 click poetry true",
		"22 sphinx poetry docs false",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if broken := lockfile.Project([]byte("dependencies = [\n")); broken != nil {
		t.Errorf("of a broken file: %v", broken)
	}
}

// TestMembers checks that the members of a workspace are found, but no other folder.
func TestMembers(t *testing.T) {
	const lock = `version = 1
[manifest]
members = [ "root", "api", "evil", "abs", "model" ]
[[package]]
name = "root"
source = { virtual = "." }
[[package]]
name = "api"
source = { editable = "packages/api" }
[[package]]
name = "evil"
source = { editable = "../other" }
[[package]]
name = "abs"
source = { editable = "/etc" }
[[package]]
name = "local"
source = { editable = "vendor/local" }
[[package]]
name = "model"
source = { virtual = "packages/model" }
`
	l, err := lockfile.Read("a/uv.lock", []byte(lock))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(l.Members)
	if want := "[{api packages/api} {model packages/model}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if l, err := lockfile.Read("poetry.lock", []byte(lock)); err != nil || l.Members != nil {
		t.Errorf("of another file: %v", l)
	}
}

// TestUpdateOfMember checks that a requirement is changed in the project of the workspace that has
// it. The commands were run with uv.
func TestUpdateOfMember(t *testing.T) {
	d := lockfile.Project([]byte("[project]\ndependencies = [\"numpy==1.26.3\"]\n"))[0]
	d.File, d.Member = "a/packages/api/pyproject.toml", lockfile.Member{
		Project: "api", Folder: "packages/api"}
	own := d
	own.File, own.Member = "a/pyproject.toml", lockfile.Member{}
	for _, c := range []struct {
		declared []lockfile.Declared
		want     string
	}{
		{[]lockfile.Declared{d}, "uv add --package api numpy==1.26.4"},
		{[]lockfile.Declared{own, d},
			"uv add --frozen numpy==1.26.4 && uv add --package api numpy==1.26.4"},
	} {
		got := lockfile.Update("a/uv.lock", lockfile.Change{Requirement: "numpy==1.26.4",
			Declared: c.declared})
		if string(got) != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestUpdate checks the commands that change and add packages. Those of uv, Poetry and PDM were run
// with a project like the one above.
func TestUpdate(t *testing.T) {
	for _, c := range []struct{ file, requirements, want string }{
		{"uv.lock", "six==1.16", "uv lock --upgrade-package six==1.16"},
		{"uv.lock", "certifi==2024.2.2", "uv lock --upgrade-package certifi==2024.2.2"},
		{"uv.lock", "numpy==1.26.4", "uv add numpy==1.26.4"},
		{"uv.lock", "numpy<2", "uv add 'numpy<2'"},
		{"uv.lock", "pandas==2.2.3", `uv add 'pandas[performance]==2.2.3 ; python_version < '\''3.13'\'''`},
		{"uv.lock", "scipy==1.14.1", "uv add --optional old scipy==1.14.1"},
		{"uv.lock", "numpy==1.26.4 six==1.16 pyyaml==6.0.2", "uv add --frozen numpy==1.26.4 && " +
			"uv add --group dev pyyaml==6.0.2 --upgrade-package six==1.16"},
		{"uv.lock", "idna==3.6", "uv lock --upgrade-package idna==3.6"},
		{"uv.lock", "idna==3.7", ""}, // no command changes a constraint
		{"uv.lock", "flask==3", "uv lock --upgrade-package flask==3"},
		{"uv.lock", "+new", "uv add new"},
		{"uv.lock", "pandas[gcp]==2.2.2",
			`uv add 'pandas[gcp,performance]==2.2.2 ; python_version < '\''3.13'\'''`},
		{"uv.lock", "certifi[x]==2024.2.2", "uv add 'certifi[x]==2024.2.2'"},
		{"uv.lock", "pyyaml[x]==6.0.1", "uv add --group dev 'pyyaml[x]==6.0.1'"},
		{"uv.lock", "idna[x]==3.6", "uv add 'idna[x]==3.6'"}, // the constraint admits it
		{"uv.lock", "ruff[x]==0.9", "uv add --group lint 'ruff[x]<1'"},
		{"uv.lock", "six[x]==1.16", "uv add 'six[x]==1.16'"},
		{"Pipfile.lock", "six[x]==1.16", "pipenv install 'six[x]==1.16'"},
		{"conda-lock.yml", "six[x]==1.16", ""},
		{"uv.lock", "+new==1 six==1.16", "uv add new==1 --upgrade-package six==1.16"},
		{"poetry.lock", "six==1.16", "poetry add six==1.16"},
		{"poetry.lock", "flask==3", "poetry add flask==3"},
		{"poetry.lock", "sphinx==7", "poetry add --group docs sphinx==7"},
		{"poetry.lock", "click==8.1", ""}, // "poetry add" loses the extras of a table
		{"pdm.lock", "six==1.16 +new", "pdm add six==1.16 new"},
		{"pdm.lock", "pyyaml==6.0.2", "pdm add --dev --group dev pyyaml==6.0.2"},
		{"pdm.lock", "scipy==1.14.1", "pdm add --group old scipy==1.14.1"},
		{"Pipfile.lock", "six==1.16", "pipenv upgrade six==1.16"},
		{"Pipfile.lock", "+new", "pipenv install new"},
		{"pixi.lock", "+new==1", "pixi add --pypi new==1"},
		{"pixi.lock", "six==1.16", ""},
		{"conda-lock.yml", "six==1.16", "conda-lock lock --update six==1.16"},
		{"conda-lock.yml", "+new", ""},
		{"requirements.txt", "+new", ""},
		{"app/uv.lock", "numpy==1.26.4", "uv lock --upgrade-package numpy==1.26.4"}, // another project
		{"uv.lock", "", ""},
	} {
		var changes []lockfile.Change
		for r := range strings.FieldsSeq(c.requirements) {
			r, added := strings.CutPrefix(r, "+")
			name := r[:strings.IndexAny(r+"=", "=<[")]
			changes = append(changes, lockfile.Change{
				Requirement: r, New: added,
				Declared: lockfile.Of(lockfile.Project([]byte(pyproject)), name),
			})
		}
		if got := string(lockfile.Update(c.file, changes...)); got != c.want {
			t.Errorf("%s: %s: got %q, want %q", c.file, c.requirements, got, c.want)
		}
	}
}
