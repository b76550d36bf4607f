//go:build growth

package growth

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/report"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/webhook"
)

const (
	atMost = 11.5 // times the cost for ten times the size
	rounds = 5    // of which the least cost counts: other programs only add to it
	// Rounds are added up to this number of times while the ratio is above the limit: programs that
	// use the memory and the caches at the same time slow the larger size more.
	more = 3
)

// ballast makes the heap of both sizes as large as that of a service. With a heap below the least
// at which the collector starts, the small size would cost no collection, and the large one
// several.
var ballast = make([]byte, 128<<20)

// TestGrowth compares the CPU time of each size with that of ten times the size.
func TestGrowth(t *testing.T) {
	for _, x := range []struct {
		name string
		n    int
		// make prepares work on something of size n
		make func(t *testing.T, n int) func()
	}{
		{"objects in a wheel", 300, objects},
		{"imports of an object", 20_000, imports},
		{"exports of an object", 20_000, exports},
		{"findings", 500, findings},
		{"findings of a report: page, archive, SARIF", 500, outputs},
		{"artifacts", 100, artifacts},
		{"packages of an environment", 100, environment},
		{"requirements with --with", 1000, requirements},
		{"entries of uv.lock", 1000, lockEntries},
		{"lines of requirements.txt", 1000, requirementLines},
		{"lines of a log", 20_000, logLines},
		{"errors in a log", 2000, logErrors},
		{"lines of a diff", 10_000, diffLines},
		{"delimiters in a comment", 2000, commentDelimiters},
		{"nested lists in a comment", 2000, commentLists},
	} {
		t.Run(x.name, func(t *testing.T) {
			f, g := x.make(t, x.n), x.make(t, 10*x.n)
			one, ten := costs(f, g)
			for n := 0; n < more && ten.Seconds() > atMost*one.Seconds(); n++ {
				a, b := costs(f, g)
				one, ten = min(one, a), min(ten, b)
			}
			ratio := ten.Seconds() / one.Seconds()
			t.Logf("| %s | %d | %d | %.3f s, %.3f s | %.1f |", x.name, x.n, 10*x.n, one.Seconds(),
				ten.Seconds(), ratio)
			if ratio > atMost {
				t.Errorf("ten times as many cost %.1f times as much, want at most %.1f", ratio, atMost)
			}
		})
	}
	runtime.KeepAlive(ballast)
}

// costs returns the CPU time of f and g in user mode, the least of several rounds. In a round each
// runs until it has used a tenth of a second.
func costs(f, g func()) (one, ten time.Duration) {
	cost := func(f func()) time.Duration {
		runtime.GC()
		start, runs := user(), 0
		for runs == 0 || user()-start < 100*time.Millisecond {
			f()
			runs++
		}
		return (user() - start) / time.Duration(runs)
	}
	one, ten = cost(f), cost(g)
	for range rounds - 1 {
		one, ten = min(one, cost(f)), min(ten, cost(g))
	}
	return one, ten
}

func user() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano())
}

// object returns a library with imports and exports, each a line of elftest.
func object(t *testing.T, name string, lines ...string) []byte {
	t.Helper()
	data := elftest.File(t, "elf x86_64\nsoname "+name+"\nneeded libc.so.6\n"+
		strings.Join(lines, "\n")+"\n")
	return data
}

// wheel returns a wheel with these files.
func wheel(name string, files map[string][]byte) analyzer.Input {
	w := cases.Wheel{
		Name: name, Version: "1.0", Tags: []string{"py3-none-manylinux2014_x86_64"}, Files: files,
	}
	file, content := w.File()
	return analyzer.Input{Name: file, Content: bytes.NewReader(content), Size: int64(len(content))}
}

// check analyzes inputs and expects a number of findings.
func check(t *testing.T, want int, o analyzer.Options, inputs ...analyzer.Input) *analyzer.Report {
	t.Helper()
	o.NoIndex = true
	r, err := analyzer.New(rules.All()).Check(t.Context(), inputs, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) != want {
		t.Fatalf("%d findings, want %d", len(r.Findings), want)
	}
	return r
}

// series returns n lines of a format with a number.
func series(format string, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf(format, i)
	}
	return lines
}

func objects(t *testing.T, n int) func() {
	files := map[string][]byte{}
	for i := range n {
		name := fmt.Sprintf("lib%d.so", i)
		files["many/"+name] = object(t, name, "import malloc@GLIBC_2.2.5 libc.so.6",
			fmt.Sprintf("export function%d", i))
	}
	in := wheel("many", files)
	return func() { check(t, 0, analyzer.Options{}, in) }
}

// imports and exports have a library of which another object uses all symbols, or one.
func imports(t *testing.T, n int) func() { return symbols(t, n, n) }

func exports(t *testing.T, n int) func() { return symbols(t, 1, n) }

func symbols(t *testing.T, imports, exports int) func() {
	in := wheel("symbols", map[string][]byte{
		"symbols/libb.so": object(t, "libb.so", series("export a_function_of_b_%d", exports)...),
		"symbols/liba.so": object(t, "liba.so", append(series("import a_function_of_b_%d", imports),
			"needed libb.so", "runpath $ORIGIN")...),
	})
	return func() { check(t, 0, analyzer.Options{}, in) }
}

func undefined(t *testing.T, n int) analyzer.Input {
	return wheel("undefined", map[string][]byte{
		"undefined/liba.so": object(t, "liba.so", series("import missing_function_%d", n)...),
	})
}

func findings(t *testing.T, n int) func() {
	in := undefined(t, n)
	return func() { check(t, n, analyzer.Options{}, in) }
}

func outputs(t *testing.T, n int) func() {
	r := check(t, n, analyzer.Options{}, undefined(t, n))
	return func() {
		v := report.NewView(r)
		if _, err := store.EncodeReport(r, v); err != nil {
			t.Fatal(err)
		}
		if err := report.Page(io.Discard, v, "id"); err != nil {
			t.Fatal(err)
		}
		if err := report.SARIF(io.Discard, r, nil, nil); err != nil {
			t.Fatal(err)
		}
		comment.Render(comment.Input{Report: r, SHA: strings.Repeat("a", 40)})
	}
}

func artifacts(t *testing.T, n int) func() {
	inputs := wheels(t, n)
	return func() { check(t, 0, analyzer.Options{}, inputs...) }
}

func wheels(t *testing.T, n int) []analyzer.Input {
	var inputs []analyzer.Input
	for i := range n {
		name := fmt.Sprintf("lib%d.so", i)
		inputs = append(inputs, wheel(fmt.Sprintf("package%d", i), map[string][]byte{
			fmt.Sprintf("package%d/%s", i, name): object(t, name, "import malloc@GLIBC_2.2.5 libc.so.6"),
		}))
	}
	return inputs
}

// published are releases by name.
type published map[string]*packages.Release

// Versions implements packages.Source.
func (p published) Versions(context.Context, string, packages.Target) ([]string, error) {
	return []string{"1.0"}, nil
}

// Release implements packages.Source.
func (p published) Release(
	_ context.Context,
	name, _ string,
	_ packages.Target,
) (*packages.Release, error) {
	if r := p[name]; r != nil {
		return r, nil
	}
	return nil, packages.ErrUnknown
}

// environment has packages whose libraries each use that of the package before.
func environment(t *testing.T, n int) func() {
	source := published{}
	e := &analyzer.Environment{
		With: series("package%d==1.0", n), On: packages.Target{Python: "3.12", Arch: "x86_64"},
	}
	for i := range n {
		name, library := fmt.Sprintf("package%d", i), fmt.Sprintf("lib%d.so", i)
		lines := []string{fmt.Sprintf("export function_%d", i), "import malloc@GLIBC_2.2.5 libc.so.6"}
		r := &packages.Release{Name: name, Version: "1.0", Known: true}
		if i%10 > 0 {
			lines = append(lines, fmt.Sprintf("needed lib%d.so", i-1),
				fmt.Sprintf("import function_%d", i-1))
			q, err := pkgmeta.ParseRequirement(fmt.Sprintf("package%d", i-1))
			if err != nil {
				t.Fatal(err)
			}
			r.Requires = []pkgmeta.Requirement{q}
		}
		data := object(t, library, lines...)
		o, err := elfobj.Read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		r.Libraries = []packages.Library{packages.NewLibrary(name+"/"+library, o, nil)}
		source[name] = r
		e.Wheels = append(e.Wheels, wheel(name, map[string][]byte{name + "/" + library: data}))
	}
	a := analyzer.New(rules.All())
	return func() {
		r, err := a.CheckEnvironments(
			t.Context(), []*analyzer.Environment{e}, nil, analyzer.Options{Source: source},
		)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Artifacts) != n || len(r.Findings)+len(r.Unread) > 0 || len(r.Targets[0].With) != n {
			t.Fatalf("%d artifacts, want %d; findings %v, unread %v", len(r.Artifacts), n, r.Findings,
				r.Unread)
		}
	}
}

func requirements(t *testing.T, n int) func() {
	in := wheel("one", map[string][]byte{"one/liba.so": object(t, "liba.so")})
	o := analyzer.Options{With: series("package-%d==1.0", n)}
	return func() { check(t, 0, o, in) }
}

func lockEntries(t *testing.T, n int) func() {
	text := &strings.Builder{}
	text.WriteString("version = 1\nrequires-python = \">=3.9\"\n")
	for i := range n {
		fmt.Fprintf(text, `
[[package]]
name = "package-%d"
version = "1.%[1]d"
source = { registry = "https://example.com/simple" }
wheels = [
    { url = "https://example.com/package_%[1]d-1.%[1]d-py3-none-any.whl", hash = "sha256:%064[1]x", size = 1 },
]
`, i)
	}
	data := []byte(text.String())
	return func() {
		pinned(t, "uv.lock", data, n)
	}
}

func requirementLines(t *testing.T, n int) func() {
	data := []byte(strings.Join(series("package-%d==1.0 ; python_version >= '3.9'", n), "\n"))
	return func() {
		pinned(t, "requirements.txt", data, n)
	}
}

// pinned reads a file that pins n packages.
func pinned(t *testing.T, name string, data []byte, n int) {
	l, err := lockfile.Read(name, data)
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := l.Choose(lockfile.Choice{Python: "3.12", Arch: "x86_64"})
	if err != nil || len(chosen.Pins) != n {
		t.Fatalf("%+v: %v", chosen, err)
	}
}

func logLines(t *testing.T, n int) func() {
	return logs(t, n, "2025-01-02T03:04:05.6789012Z [%d/9999] Building CXX object src/a.cc.o")
}

func logErrors(t *testing.T, n int) func() {
	return logs(t, n, "ld: a.o: undefined reference to `function_%d'")
}

func logs(t *testing.T, n int, format string) func() {
	text := strings.Join(series(format, n), "\n")
	return func() {
		r, err := buildlog.Read(strings.NewReader(text))
		if err != nil || r.Lines == 0 {
			t.Fatalf("%d lines: %v", r.Lines, err)
		}
	}
}

func diffLines(t *testing.T, n int) func() {
	patch := fmt.Sprintf("@@ -0,0 +1,%d @@\n", n) + strings.Join(series("+line %d", n), "\n")
	return func() {
		d := comment.ParseDiff([]comment.DiffFile{{Path: "a.txt", Patch: patch}})
		if !d.Has("a.txt", n) {
			t.Fatal("the last line is not part of the diff")
		}
	}
}

func commentDelimiters(t *testing.T, n int) func() { return commands(t, strings.Repeat("_a*", n)) }

func commentLists(t *testing.T, n int) func() { return commands(t, strings.Repeat("- ", n)+"x") }

func commands(t *testing.T, text string) func() {
	body := "/compat help\n\n" + text
	return func() {
		if got := webhook.Commands(body); len(got) != 1 {
			t.Errorf("the commands are %v", got)
		}
	}
}
