package pinned

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/internal/index"
)

// TestLockedHashes compares the hashes of packages from the indexes that are used.
func TestLockedHashes(t *testing.T) {
	hash := " --hash=sha256:" + strings.Repeat("ab", 32) + "\n"
	uv := func(registry string) string {
		return "[[package]]\nname = \"a\"\nversion = \"1.0\"\nsource = { registry = \"" + registry +
			"\" }\nsdist = { url = \"https://f.test/a-1.0.tar.gz\", hash = \"sha256:" +
			strings.Repeat("ab", 32) + "\" }\n[[package]]\nname = \"b\"\nversion = \"2\"\n" +
			"source = { registry = \"https://main.test/simple\" }\n[[package]]\nname = \"c\"\n" +
			"version = \"2\"\nsource = { registry = \"https://main.test/simple\" }\n"
	}
	for _, c := range []struct {
		file, text string
		want       bool
	}{
		{"r.txt", "a==1.0" + hash, true},
		{"r.txt", "a==1.0\n", false},
		{"r.txt", "a==1.0" + hash + "--index-url https://ASKED.test/simple/\n", true},
		{"r.txt", "a==1.0" + hash + "--extra-index-url https://other.test/simple\n", false},
		{"r.txt", "-f wheels\na==1.0" + hash, false},
		{"r.txt", "a @ https://f.test/a-1.0-py3-none-any.whl" + hash, false},
		{"uv.lock", uv("https://main.test/simple"), true},
		{"uv.lock", uv("https://other.test/simple"), false},
		{"uv.lock", uv("https://asked.test/simple"), true},
	} {
		p, err := inFiles(map[string]string{c.file: c.text}, c.file).Pinned(packages.Target{})
		if err != nil {
			t.Fatal(err)
		}
		l := Locked([]string{"https://user@asked.test/simple"}, p)
		got := l.Digests[packages.ID{Name: "a", Version: "1.0"}]
		if (len(got) == 1) != c.want {
			t.Errorf("%s: digests %v, want %v\n%s", c.file, got, c.want, c.text)
		}
	}
}

// TestAnyPython is about interpreters that neither the user nor the lock file names.
func TestAnyPython(t *testing.T) {
	files := map[string]string{
		"uv.lock":           "requires-python = \">=3.11\"\n[[package]]\nname = \"a\"\nversion = \"1\"\n",
		"r.txt":             "a==1\n",
		"p/r.txt":           "a==1\n",
		"p/pyproject.toml":  "[project]\nrequires-python = \">=3.11\"\n",
		"v/r.txt":           "a==1\n",
		"v/.python-version": "3.11\n",
	}
	for file, want := range map[string]bool{
		"uv.lock": false, "r.txt": true, "p/r.txt": true, "v/r.txt": false,
	} {
		p, err := inFiles(files, file).Pinned(packages.Target{})
		if err != nil || Locked(nil, p).AnyPython != want {
			t.Errorf("%s: %+v, %v", file, p, err)
		}
		if p, err = inFiles(files, file).Pinned(packages.Target{Python: "3.12"}); err != nil ||
			Locked(nil, p).AnyPython {
			t.Errorf("%s for a named Python: %+v, %v", file, p, err)
		}
	}
}

// TestUnhashed is about requirements that pip refuses because others of the file have a hash.
func TestUnhashed(t *testing.T) {
	const hash = " --hash=sha256:ab\n"
	files := map[string]string{
		"one.txt":     "a==1" + hash + "b==2\nc>=3\n",
		"all.txt":     "-r one.txt\nd==4" + hash,
		"plain.txt":   "a==1\nb==2\n",
		"limited.txt": "-c limits.txt\na==1" + hash + "b==2\n",
		"limits.txt":  "b==2" + hash,
		"twice.txt":   "-r plain.txt\na==1" + hash + "b==2" + hash,
	}
	for _, c := range []struct{ files, want string }{
		{"one.txt", "one.txt: b==2 one.txt:2, c>=3 one.txt:3"},
		{"all.txt", "all.txt: b==2 one.txt:2, c>=3 one.txt:3"},
		{"plain.txt", ""},
		{"limited.txt", ""},
		{"twice.txt", ""},
		{"one.txt plain.txt", "one.txt: b==2 one.txt:2, c>=3 one.txt:3"},
	} {
		p, err := inFiles(files, strings.Fields(c.files)...).Pinned(packages.Target{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for file, list := range p.Unhashed {
			var names []string
			for _, u := range list {
				names = append(names, u.Requirement+" "+at(u))
			}
			got += file + ": " + strings.Join(names, ", ")
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.files, got, c.want)
		}
	}
}

// refusing is an opener whose files have other hashes.
type refusing struct{ err packages.HashError }

func (r refusing) Open(
	_ context.Context,
	name, version string,
	_ packages.Target,
	_ int64,
) (*index.Wheel, error) {
	if name == "md5" {
		return &index.Wheel{File: "md5-1-py3-none-any.whl", Pure: true}, nil
	}
	e := r.err
	e.Name, e.Version, e.File, e.SHA256 = name, version, "a.whl", "cd"
	return nil, fmt.Errorf("index: %w", &e)
}

// TestRefused checks what is said of a pin whose hashes are not those of the index.
func TestRefused(t *testing.T) {
	p, err := inFiles(map[string]string{"r.txt": "a==1 \\\n  --hash=sha256:" + strings.Repeat("ab", 32) +
		"\nmd5==1 --hash=sha256:" + strings.Repeat("ab", 32) + "\nb==2\n"}, "r.txt").Pinned(packages.Target{})
	if err != nil {
		t.Fatal(err)
	}
	p.Pins = p.Pins[:2]
	python := packages.Misfit{Lacks: "Python 3.12", Have: []string{"Python 3.11"}}
	for _, c := range []struct {
		err    packages.HashError
		source bool
		want   string
	}{
		{packages.HashError{}, false, "a==1 is pinned with hashes that match no file in the index; pip refuses to " +
			"install a.whl, whose hash is sha256:cd"},
		{packages.HashError{Listed: []string{"x.whl"}, Misfit: python}, false, "a==1 is pinned without the hash " +
			"of a wheel for Python 3.12; it has those of wheels for Python 3.11, and pip refuses a.whl"},
		{packages.HashError{Listed: []string{"x.whl", "x.zip"}, Misfit: python, Source: true}, true,
			"a==1 is pinned without the hash of a wheel for Python 3.12; it has those of wheels for " +
				"Python 3.11 and of the source archive"},
		{packages.HashError{Listed: []string{"x.zip"}, Source: true}, true, "a==1 is pinned without the hash " +
			"of a wheel for the environment; it has only that of the source archive"},
	} {
		w, err := p.Open(t.Context(), refusing{c.err})
		if err != nil || len(w.NoWheel) != 2 {
			t.Fatalf("%+v, error %v", w, err)
		}
		n := w.NoWheel[0]
		if n.Reason+"; "+n.Detail != c.want || n.Source != c.source || !n.Hash || n.At.String() != "r.txt:2" ||
			n.Renew == "" {
			t.Errorf("got %+v, want %s", n, c.want)
		}
		n = w.NoWheel[1]
		if n.Package != "b" || n.Version != "2" || !n.Hash || n.At.String() != "r.txt:4" ||
			n.Reason != "b==2 has no hash, but others of the file do" ||
			n.Detail != "pip refuses to install the requirements of r.txt" {
			t.Errorf("without a hash: %+v", n)
		}
		if len(w.Notes) == 0 || w.Notes[0] != "the index has no SHA-256 of their files, so the hashes "+
			"were not compared: md5==1" {
			t.Errorf("notes %q", w.Notes)
		}
	}
}
