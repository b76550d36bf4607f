package index

import (
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
	write("venv/pip.conf", "[global]\nextra-index-url = https://venv.example.com/simple\n")
	for _, c := range []struct {
		name, chosen, env string
		want              string
	}{
		{"nothing", "", "PIP_CONFIG_FILE=/dev/null", ""},
		{"chosen over everything", "https://chosen.example.com",
			"PIP_INDEX_URL=https://pip.example.com PIP_EXTRA_INDEX_URL=https://x.example.com " +
				"PIP_CONFIG_FILE=OWN", "https://chosen.example.com"},
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
		{"only an extra one", "", "PIP_CONFIG_FILE=/dev/null PIP_EXTRA_INDEX_URL=https://x.example.com",
			"https://x.example.com"},
	} {
		env := map[string]string{"HOME": home}
		for _, v := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = strings.NewReplacer("OWN", own, "NONE", none).
				Replace(value)
			// directory names may contain spaces
		}
		got, err := Find(c.chosen, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if err != nil || strings.Join(got.URLs, " ") != c.want ||
			got.Netrc != filepath.Join(home, ".netrc") {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	env := map[string]string{
		"VIRTUAL_ENV": filepath.Join(home, "venv"),
		"NETRC":       "/elsewhere",
		"HOME":        home,
	}
	got, err := Find("", func(name string) (string, bool) { v, ok := env[name]; return v, ok })
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
