// Package proven checks that nothing is called compatible that is not.
package proven

import (
	"bytes"
	"fmt"
	"io"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/report"
	"github.com/compat-app/compat/internal/test/analyzertest"
)

// From cases in which everything is found, a symbol or a library is removed that an object needs.
// Then there is an error or a warning, or an import is undecided, and nothing says that everything
// is found.
func TestRemovedIsNotFound(t *testing.T) {
	files, err := filepath.Glob("../../../analyzer/rules/testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tried += removeEach(t, filepath.Base(file), a)
	}
	if tried < 20 {
		t.Errorf("only %d removals were tried", tried)
	}
}

// The same with random wheels, whose libraries are in the wheel and in packages that it requires.
func TestRemovedFromRandomWheels(t *testing.T) {
	tried := 0
	for seed := range int64(60) {
		a := randomCase(rand.New(rand.NewSource(seed)))
		n := removeEach(t, fmt.Sprint("seed ", seed), a)
		if n == 0 {
			t.Errorf("seed %d: it is not compatible:\n%s", seed, txtar.Format(a))
		}
		tried += n
	}
	if tried < 300 {
		t.Errorf("only %d removals were tried", tried)
	}
}

// removeEach checks a case without each thing that may be removed, and returns how many there are.
// It returns 0 for a case with a problem.
func removeEach(t *testing.T, name string, a *txtar.Archive) int {
	t.Helper()
	before := checked(t, a)
	if before == nil || before.Verdict != analyzer.Compatible || before.Problems() {
		return 0
	}
	undecided := before.Accounting().Undecided
	all := removals(a)
	for _, change := range all {
		r := checked(t, change.archive)
		what := name + " without " + change.what
		analyzertest.Accounted(t, r)
		if !r.Problems() && r.Verdict == analyzer.Compatible && r.Accounting().Undecided <= undecided {
			t.Errorf("%s: compatible, and everything is found", what)
		}
		for surface, text := range surfaces(t, r) {
			if says(text) {
				t.Errorf("%s: %s says that everything is found:\n%s", what, surface, text)
			}
		}
	}
	return len(all)
}

// randomCase returns a wheel with modules that need libraries, each of which has its own symbols:
// of C or C++, with or without versions.
func randomCase(random *rand.Rand) *txtar.Archive {
	const wheel = "in/w-1.0-cp312-cp312-manylinux_2_17_x86_64.whl/"
	metadata := "Metadata-Version: 2.1\nName: w\nVersion: 1.0\n"
	a := &txtar.Archive{Comment: []byte("check\n")}
	add := func(name, text string) {
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	needs := make([]string, 1+random.Intn(3)) // of the modules
	for n := range 1 + random.Intn(4) {
		soname := fmt.Sprintf("libdep%d.so.1", n)
		library, runpath := "elf x86_64\nsoname "+soname+"\n", "$ORIGIN/../w.libs"
		node := ""
		if random.Intn(2) == 0 {
			node = fmt.Sprintf("LIB_%d", n)
			library += "verdef " + node + "\n"
		}
		user := random.Intn(len(needs))
		at := wheel + "w.libs/" + soname
		if random.Intn(2) == 0 {
			at = fmt.Sprintf("package/p%d==1.0/p%d/%s", n, n, soname)
			runpath = fmt.Sprintf("$ORIGIN/../p%d", n)
			metadata += fmt.Sprintf("Requires-Dist: p%d\n", n)
		}
		needs[user] += "needed " + soname + "\n:" + runpath + "\n"
		for k := range 1 + random.Intn(4) {
			name := fmt.Sprintf("lib%d_f%d", n, k)
			if random.Intn(2) == 0 {
				name = fmt.Sprintf("_ZN4lib%d1fEv%d", n, k)
			}
			if node == "" {
				library += "export " + name + "\n"
				needs[user] += "import " + name + "\n"
			} else {
				library += "export " + name + "@@" + node + "\n"
				needs[user] += "import " + name + "@" + node + " " + soname + "\n"
			}
		}
		add(at, library)
	}
	for n, text := range needs {
		var paths, lines []string
		for line := range strings.Lines(text) {
			if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), ":"); ok {
				paths = append(paths, path)
			} else {
				lines = append(lines, line)
			}
		}
		module := "elf x86_64\nneeded libc.so.6\n" + strings.Join(lines, "")
		if paths != nil {
			module += "runpath " + strings.Join(paths, ":") + "\n"
		}
		name := fmt.Sprintf("_m%d", n)
		add(wheel+"w/"+name+".cpython-312-x86_64-linux-gnu.so", module+"export PyInit_"+name+"\n")
	}
	add(wheel+"METADATA", metadata)
	return a
}

// says reports whether a text states without an exception that everything is found.
func says(text string) bool {
	return strings.Contains(text, "All needed symbols") ||
		strings.Contains(text, "All symbols and libraries") ||
		strings.HasPrefix(text, "Compatible") && !strings.Contains(text, "undecided")
}

// surfaces returns the texts about a report, by their name.
func surfaces(t *testing.T, r *analyzer.Report) map[string]string {
	t.Helper()
	out := map[string]string{"title": comment.Render(comment.Input{Report: r}).Title}
	writers := map[string]func(io.Writer) error{
		"text":     func(w io.Writer) error { return report.Text(w, r, report.TextOptions{}) },
		"markdown": func(w io.Writer) error { return report.Markdown(w, r, nil) },
		"junit":    func(w io.Writer) error { return report.JUnit(w, r, analyzer.Error) },
		"github":   func(w io.Writer) error { return report.GitHub(w, r, nil) },
	}
	if len(r.Artifacts) > 1 {
		delete(writers, "junit") // it has a test for each artifact
	}
	for name, write := range writers {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		out[name] = b.String()
	}
	return out
}

// checked returns the report of a case; nil for one of an environment.
func checked(t *testing.T, a *txtar.Archive) *analyzer.Report {
	t.Helper()
	if slices.ContainsFunc(a.Files, func(f txtar.File) bool { return f.Name == "environment" }) {
		return nil
	}
	in, options, err := analyzertest.Inputs(a)
	if err != nil {
		t.Fatal(err)
	}
	options.NoFixes = true
	r, err := analyzer.New(rules.All()).Check(t.Context(), in, options)
	if err != nil {
		t.Fatal(err)
	}
	r.Decide(analyzer.Error)
	return r
}

// removal is a case from which something was removed.
type removal struct {
	archive *txtar.Archive
	what    string
}

// removals returns the cases without one symbol that one file exports and another one imports, and
// without one library of a package that an object needs.
func removals(a *txtar.Archive) (out []removal) {
	for i, f := range a.Files {
		lines := strings.Split(string(f.Data), "\n")
		for n, line := range lines {
			word, name, _ := strings.Cut(line, " ")
			switch {
			case word == "export" && only(a, i, line) && imported(a, i, name):
				rest := strings.Join(slices.Delete(slices.Clone(lines), n, n+1), "\n")
				out = append(out, removal{with(a, i, rest), line + " of " + f.Name})
			case word == "soname" && strings.HasPrefix(f.Name, "package/") &&
				used(a, i, "needed "+name) && only(a, i, line):
				out = append(out, removal{with(a, i, ""), f.Name})
			}
		}
	}
	return out
}

// imported reports whether an object that is checked imports a symbol that file number i exports as
// NAME, NAME@@VERSION or NAME@VERSION.
func imported(a *txtar.Archive, i int, export string) bool {
	return slices.ContainsFunc(a.Files, func(f txtar.File) bool {
		return f.Name != a.Files[i].Name && strings.HasPrefix(f.Name, "in/") &&
			slices.ContainsFunc(strings.Split(string(f.Data), "\n"), func(line string) bool {
				text, ok := strings.CutPrefix(line, "import ")
				name, _, _ := strings.Cut(text, " ")
				return ok && name == strings.ReplaceAll(export, "@@", "@")
			})
	})
}

// used reports whether a file other than number i has a line, and is an object that is checked.
func used(a *txtar.Archive, i int, line string) bool {
	for j, f := range a.Files {
		if j != i && strings.HasPrefix(f.Name, "in/") &&
			slices.Contains(strings.Split(string(f.Data), "\n"), line) {
			return true
		}
	}
	return false
}

// only reports whether no file but number i has a line.
func only(a *txtar.Archive, i int, line string) bool {
	return !slices.ContainsFunc(a.Files, func(f txtar.File) bool {
		return f.Name != a.Files[i].Name && slices.Contains(strings.Split(string(f.Data), "\n"), line)
	})
}

// with returns an archive in which file number i has other content; "" removes it.
func with(a *txtar.Archive, i int, text string) *txtar.Archive {
	out := &txtar.Archive{Comment: a.Comment, Files: slices.Clone(a.Files)}
	if out.Files[i].Data = []byte(text); text == "" {
		out.Files = slices.Delete(out.Files, i, i+1)
	}
	return out
}
