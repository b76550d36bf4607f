package pinned

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
)

// A release that differs from the base and is not installed is named with the option that selects
// it, in each format that has releases.
func TestBeyond(t *testing.T) {
	for _, c := range []struct{ file, option, text string }{
		{"uv.lock", "--extra dl", `version = 1
[[package]]
name = "app"
version = "1.0"
source = { editable = "." }
dependencies = [{ name = "base" }]
[package.optional-dependencies]
dl = [{ name = "other" }]
[[package]]
name = "base"
version = "1.0"
source = { registry = "index" }
[[package]]
name = "other"
version = "VERSION"
source = { registry = "index" }
`},
		{"uv.lock", "--group docs", `version = 1
[[package]]
name = "app"
version = "1.0"
source = { editable = "." }
[package.dev-dependencies]
docs = [{ name = "other" }]
[[package]]
name = "other"
version = "VERSION"
source = { registry = "index" }
`},
		{"poetry.lock", "--extra dl", `[[package]]
name = "other"
version = "VERSION"
optional = true
groups = ["main"]
markers = "extra == \"dl\""
[extras]
dl = ["other"]
`},
		{"poetry.lock", "--group docs", `[[package]]
name = "other"
version = "VERSION"
optional = false
groups = ["docs"]
`},
		{"pdm.lock", "--group dl", `[metadata]
strategy = ["inherit_metadata"]
[[package]]
name = "other"
version = "VERSION"
groups = ["dl"]
`},
		{"pylock.toml", "--extra dl", `lock-version = "1.0"
extras = ["dl"]
[[packages]]
name = "other"
version = "VERSION"
marker = "'dl' in extras"
`},
		{"Pipfile.lock", "--group develop", `{"_meta": {}, "default": {},
"develop": {"other": {"version": "==VERSION"}}}`},
		{"requirements.txt", "", "other==VERSION; sys_platform == 'win32'\n"},
		{"uv.lock", "", `version = 1
[[package]]
name = "app"
version = "1.0"
source = { editable = "." }
dependencies = [{ name = "other", marker = "sys_platform == 'win32'" }]
[[package]]
name = "other"
version = "VERSION"
source = { registry = "index" }
`},
	} {
		read := func(version string, extras, groups []string) []*Pinned {
			f := Files{Paths: []string{c.file}, Extras: extras, Groups: groups,
				Read: func(string) ([]byte, error) {
					return []byte(strings.ReplaceAll(c.text, "VERSION", version)), nil
				}}
			p, err := f.Pinned(packages.Target{Python: "3.12", Arch: "x86_64", Libc: "glibc"})
			if err != nil {
				t.Fatalf("%s: %v", c.file, err)
			}
			return []*Pinned{p}
		}
		want := Unselected{packages.ID{Name: "other", Version: "2.0"}, c.option}
		got := Beyond(read("2.0", nil, nil), read("1.0", nil, nil))
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want %v", c.file, got, want)
		}
		if got := Beyond(read("2.0", nil, nil), read("2.0", nil, nil)); got != nil {
			t.Errorf("%s: %v differs from itself", c.file, got)
		}
		if got := Beyond(read("2.0.0", nil, nil), read("2.0", nil, nil)); got != nil {
			t.Errorf("%s: %v is another spelling of the same", c.file, got)
		}
		kind, name, _ := strings.Cut(c.option, " ")
		var extras, groups []string
		switch kind {
		case "--extra":
			extras = []string{name}
		case "--group":
			groups = []string{name}
		default:
			continue
		}
		if got := Beyond(read("2.0", extras, groups), read("1.0", extras, groups)); got != nil {
			t.Errorf("%s: %v is selected", c.file, got)
		}
	}
}
