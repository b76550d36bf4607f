package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	home := t.TempDir()
	write := func(path, text string) string {
		t.Helper()
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own := write(
		"own.conf",
		"# mine\n[global]\nindex-url = https://own.example.com/simple\nextra_index_url =\n    "+
			"https://one.example.com/simple\n    https://two.example.com/simple\n\n[install]\nindex-url: "+
			"https://install.example.com/simple\n",
	)
	none := write(
		"none.conf",
		"[global]\nno-index = true\nindex-url = https://own.example.com/simple\n",
	)
	write(".config/pip/pip.conf", "[global]\nindex-url = https://user.example.com/simple\n"+
		"[install]\nextra-index-url = https://users.example.com/simple\n")
	extras := write("extras.conf", "[global]\nextra-index-url = https://extras.example.com/simple\n")
	write("xdg/pip/pip.conf", "[global]\nindex-url = https://system.example.com/simple\n")
	write("venv/pip.conf", "[global]\nextra-index-url = https://venv.example.com/simple\n")
	for _, c := range []struct {
		name, chosen, env string
		want              string
	}{
		{"nothing", "", "PIP_CONFIG_FILE=/dev/null", ""},
		{"chosen over everything", "https://chosen.example.com",
			"PIP_INDEX_URL=https://pip.example.com PIP_EXTRA_INDEX_URL=https://x.example.com " +
				"PIP_CONFIG_FILE=OWN", "https://chosen.example.com"},
		{"several", "https://b.example.com https://a.example.com https://b.example.com",
			"PIP_INDEX_URL=https://pip.example.com", "https://b.example.com https://a.example.com"},
		{"the file", "", "PIP_CONFIG_FILE=OWN", "https://install.example.com/simple " +
			"https://one.example.com/simple https://two.example.com/simple"},
		{"the environment over the file", "", "PIP_CONFIG_FILE=OWN " +
			"PIP_INDEX_URL=https://pip.example.com PIP_EXTRA_INDEX_URL=https://x.example.com",
			"https://pip.example.com https://x.example.com"},
		{"uv", "", "PIP_CONFIG_FILE=/dev/null UV_DEFAULT_INDEX=named=https://uv.example.com/?a=b " +
			"UV_INDEX=torch=https://torch.example.com UV_EXTRA_INDEX_URL=https://torch.example.com",
			"https://uv.example.com/?a=b https://torch.example.com"},
		{"no index", "", "PIP_NO_INDEX=1 PIP_CONFIG_FILE=/dev/null PIP_INDEX_URL=https://pip.example.com", ""},
		{"no index in the file", "", "PIP_CONFIG_FILE=NONE", ""},
		{"the user's", "", "", "https://user.example.com/simple https://users.example.com/simple"},
		{"a file replaces the user's", "", "PIP_CONFIG_FILE=EXTRAS", "https://extras.example.com/simple"},
		{"a file that does not exist", "", "PIP_CONFIG_FILE=EXTRAS.no",
			"https://user.example.com/simple https://users.example.com/simple"},
		{"a file and the system's", "", "PIP_CONFIG_FILE=EXTRAS XDG_CONFIG_DIRS=XDG",
			"https://system.example.com/simple https://extras.example.com/simple"},
		{"the environment's after the user's", "", "VIRTUAL_ENV=VENV",
			"https://user.example.com/simple https://users.example.com/simple"},
		{"the file after the environment's", "", "VIRTUAL_ENV=VENV PIP_CONFIG_FILE=EXTRAS",
			"https://extras.example.com/simple"},
		{"only an extra one", "", "PIP_CONFIG_FILE=/dev/null PIP_EXTRA_INDEX_URL=https://x.example.com",
			"https://x.example.com"},
	} {
		env := map[string]string{"HOME": home}
		for _, v := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = strings.NewReplacer("OWN", own, "NONE", none, "EXTRAS", extras,
				"XDG", filepath.Join(home, "xdg"), "VENV", filepath.Join(home, "venv")).
				Replace(value)
			// directory names may contain spaces
		}
		got, err := Find(strings.Fields(c.chosen), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if err != nil || strings.Join(got.URLs, " ") != c.want ||
			got.Netrc != filepath.Join(home, ".netrc") {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	env := map[string]string{"VIRTUAL_ENV": filepath.Join(home, "venv"), "NETRC": "/elsewhere"}
	got, err := Find(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil || !slices.Contains(got.URLs, "https://venv.example.com/simple") ||
		got.Netrc != "/elsewhere" {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzParsePipConfig(f *testing.F) {
	f.Add(
		"[global]\nindex-url = https://user:pass@host/simple\n  more\n# x\n[install]\nno_index: yes\n",
	)
	f.Add(" indented = first\n[\n]\n=\n")
	f.Fuzz(func(t *testing.T, text string) {
		size := 0
		for section, keys := range parsePipConfig(text) {
			for key, value := range keys {
				if size += len(value); strings.Contains(key, "_") ||
					strings.ContainsAny(value, "\n") ||
					!strings.Contains(text, section) {
					t.Errorf("[%q] %q = %q", section, key, value)
				}
			}
		}
		if size > len(text)+strings.Count(text, "\n") {
			t.Errorf("%d bytes of values in %d", size, len(text))
		}
	})
}

func TestFindUV(t *testing.T) {
	home := t.TempDir()
	project := filepath.Join(home, "work", "project", "src")
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const user = `index-url = "https://user.example.com/simple"
extra-index-url = ["https://more.example.com/simple"]
keyring-provider = "subprocess"
`
	const tool = `[project]
name = "x"
[tool.uv]
[[tool.uv.index]]
name = "torch"
url = "https://torch.example.com/whl"
[[tool.uv.index]]
name = "own"
url = "https://own.example.com/whl"
explicit = true
[[tool.uv.index]]
url = "https://default.example.com/simple"
default = true
`
	for _, c := range []struct {
		name    string
		files   map[string]string
		env     string
		want    string
		keyring bool
	}{
		{"the user's", map[string]string{".config/uv/uv.toml": user}, "",
			"https://user.example.com/simple https://more.example.com/simple", true},
		{"the project's first", map[string]string{
			".config/uv/uv.toml": user, "work/project/pyproject.toml": tool,
		}, "", "https://default.example.com/simple https://torch.example.com/whl " +
			"https://more.example.com/simple", true},
		{"uv.toml before pyproject.toml", map[string]string{
			"work/project/pyproject.toml": tool, "work/project/uv.toml": "no-index = true",
		}, "", "", false},
		{"pyproject.toml without uv", map[string]string{
			"work/project/src/pyproject.toml": "[project]\nname = \"x\"\n",
			"work/project/uv.toml":            `index-url = "https://above.example.com"`,
		}, "", "https://above.example.com", false},
		{"the environment", map[string]string{".config/uv/uv.toml": user},
			"UV_DEFAULT_INDEX=https://env.example.com PIP_KEYRING_PROVIDER=disabled",
			"https://env.example.com https://more.example.com/simple", false},
		{"no configuration", map[string]string{".config/uv/uv.toml": user}, "UV_NO_CONFIG=1", "", false},
		{"another file", map[string]string{".config/uv/uv.toml": user, "own.toml": `index-url = "https://a.b"`},
			"UV_CONFIG_FILE=HOME/own.toml", "https://a.b", false},
	} {
		for path, text := range c.files {
			write(path, text)
		}
		if err := os.MkdirAll(project, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Chdir(project)
		env := map[string]string{"HOME": home, "PIP_CONFIG_FILE": os.DevNull}
		for _, v := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = strings.ReplaceAll(value, "HOME", home)
		}
		got, err := Find(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if err != nil || strings.Join(got.URLs, " ") != c.want || got.Keyring != c.keyring {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
		for path := range c.files {
			if err := os.Remove(filepath.Join(home, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("work/project/uv.toml", "index-url = [")
	if _, err := Find(nil, func(name string) (string, bool) { return "", false }); err == nil ||
		!strings.Contains(err.Error(), "set UV_NO_CONFIG=1") {
		t.Errorf("a file that is not TOML: %v", err)
	}
}

func TestKeyring(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\n[ \"$1 $3\" = 'get oauth2accesstoken' ] || exit 2\n" +
		"case $2 in 127.0.0.1:*) echo secret ;; *) exit 1 ;; esac\n"
	if err := os.WriteFile(filepath.Join(bin, "keyring"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	s := serve(t, demo(t))
	for user, want := range map[string]string{
		"oauth2accesstoken":       header("oauth2accesstoken", "secret"),
		"oauth2accesstoken:other": header("oauth2accesstoken", "other"),
		"somebody":                header("somebody", ""),
	} {
		s.auth = nil
		i := s.index(t, func(o *Options) {
			o.URL = strings.Replace(s.URL, "://", "://"+user+"@", 1) + "/simple/"
			o.Keyring = true
		})
		if _, err := i.Release(ctx, "demo", "1.0", linux); err != nil {
			t.Fatal(err)
		}
		if len(s.auth) == 0 || s.auth[0] != want {
			t.Errorf("%s: the Authorization is %q, want %q", user, s.auth, want)
		}
	}
}

// The index of an installed pip is read from it: that of the virtual environment, then those of
// PATH.
func TestPipDefault(t *testing.T) {
	root := t.TempDir()
	for dir, address := range map[string]string{
		"a[1]/lib/python3.12/site-packages": "https://a.example/",
		"b/lib/python3/dist-packages":       "https://b.example",
	} {
		file := filepath.Join(root, dir, "pip/_internal/models/index.py")
		text := fmt.Sprintf("x = 1\nPyPI = PackageIndex(\n    %q, file_storage_domain=\"f\")\n", address)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct{ venv, path, want string }{
		{"a[1]", "b/bin", "https://a.example/simple/"},
		{"none", "c/bin:b/bin", "https://b.example/simple/"},
		{"", "b/sbin", ""},
	} {
		env := map[string]string{}
		if x.venv != "" {
			env["VIRTUAL_ENV"] = filepath.Join(root, x.venv)
		}
		for dir := range strings.SplitSeq(x.path, ":") {
			env["PATH"] += filepath.Join(root, dir) + string(filepath.ListSeparator)
		}
		getenv := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
		if got, file := PipDefault(getenv); got != x.want || (file == "") != (x.want == "") {
			t.Errorf("%+v: %q in %q", x, got, file)
		}
		found, err := Find([]string{OfPip}, getenv)
		if (err != nil) != (x.want == "") || err == nil && found.URLs[0] != x.want {
			t.Errorf("%+v: %v, %v", x, found, err)
		}
	}
}
