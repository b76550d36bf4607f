package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/spool"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// TestMain also implements the child process, and some that misbehave.
func TestMain(m *testing.M) {
	if len(os.Args) != 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "analyze":
		if err := Serve(context.Background(), os.Stdin, os.Stdout,
			analyzer.New(rules.All())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	case "free": // without the layers
		free := func() Layers { return Layers{} }
		if err := serve(context.Background(), os.Stdin, os.Stdout, analyzer.New(rules.All()),
			free); err != nil {
			panic(err)
		}
	case "eat":
		serveWith(func() {
			for all := [][]byte{}; len(all) < 1<<20; time.Sleep(10 * time.Millisecond) {
				all = append(all, bytes.Repeat([]byte{1}, 16<<20))
			}
		})
	case "sit":
		serveWith(func() {
			all := bytes.Repeat([]byte{1}, heavy+32<<20)
			defer runtime.KeepAlive(all)
			select {}
		})
	case "gulp":
		serveWith(func() { fmt.Fprintln(os.Stderr, len(bytes.Repeat([]byte{1}, 8<<30))) })
	case "threads":
		serveWith(func() {
			for range 2 * maxThreads {
				go func() {
					runtime.LockOSThread()
					select {}
				}()
			}
			select {}
		})
	case "hang":
		serveWith(func() { select {} })
	case "panic":
		serveWith(func() { panic("damaged\xff") })
	case "chatter":
		out := json.NewEncoder(os.Stdout)
		for i := 0; ; i++ {
			if out.Encode(&reply{Question: &question{ID: i, subject: subject{Name: "torch"}}}) != nil {
				os.Exit(1)
			}
		}
	case "die":
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
	case "parent":
		// Starts an analysis that hangs, prints its process ID, and waits to be killed.
		r := &Runner{Command: []string{os.Args[0], "hang"}}
		go func() { _, _, _ = r.Check(context.Background(), nil, analyzer.Options{}, nil, nil) }()
		select {}
	default:
		child := children[os.Args[1]]
		if child == nil {
			os.Exit(m.Run())
		}
		child()
	}
	os.Exit(0)
}

// children are further child processes, of tests that only some systems have.
var children = map[string]func(){}

// serveWith reads a request like Serve, and then calls f.
func serveWith(f func()) {
	if _, _, err := begin(json.NewDecoder(os.Stdin), confine); err != nil {
		panic(err)
	}
	f()
}

func runner(t *testing.T, what string) *Runner {
	return &Runner{Command: []string{os.Args[0], what}, Scratch: t.TempDir()}
}

func wheel(t *testing.T, w cases.Wheel) analyzer.Input {
	t.Helper()
	name, content := w.File()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return analyzer.Input{Name: name, Content: f, Size: int64(len(content))}
}

// A report from another process has the same bytes.
func TestSameReport(t *testing.T) {
	diagnoses := []buildlog.Diagnosis{
		{Line: 3, Class: "symbol-version", Symbol: "pow", Version: "GLIBC_2.29", Object: "warp.so"},
		{Line: 4, Symbol: "nothing"},
	}
	for _, o := range []analyzer.Options{
		{Version: "v1", Today: "2026-01-02",
			Rules: map[string]analyzer.Severity{"symbol-version-too-new": analyzer.Warning}},
		{Platforms: []string{"debian12"}, With: []string{"torch==2.7.0"},
			Accept: []analyzer.Accept{{Symbol: "pow", Because: "it is \xff <so>"}}},
		{NoFixes: true, NoIndex: true},
		{Source: source{}},
		{Source: readingSource{}},
	} {
		inputs := []analyzer.Input{
			wheel(t, cases.CaseA("1.5.0")),
			wheel(t, cases.CaseB("1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9")),
		}
		own := o
		own.Scratch = spool.In(t.TempDir())
		want, wantJudged, err := Judge(t.Context(), analyzer.New(rules.All()), inputs, own, diagnoses)
		if err != nil {
			t.Fatal(err)
		}
		got, judged, err := runner(t, "analyze").Check(t.Context(), inputs, o, diagnoses, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := o.Source.(readingSource); ok &&
			!slices.ContainsFunc(
				got.Findings,
				func(f analyzer.Finding) bool { return f.Rule == "symbol-missing-in-package" },
			) {
			t.Errorf("what was read on demand says nothing: %s", marshal(t, got))
		}
		a, b := marshal(t, []any{want, wantJudged}), marshal(t, []any{got, judged})
		if !bytes.Equal(a, b) {
			t.Errorf("in a process of its own:\n%s\nhere:\n%s", b, a)
		}
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// source is a package index with newer releases.
type source struct{}

func (source) Versions(_ context.Context, name string, _ packages.Target) ([]string, error) {
	if name != "nvidia-nvjitlink-cu12" {
		return nil, fmt.Errorf("%s: %w", name, packages.ErrUnavailable)
	}
	return []string{"12.8.1", "12.9.1"}, nil
}

func (source) Release(
	_ context.Context,
	name, version string,
	_ packages.Target,
) (*packages.Release, error) {
	if version == "12.8.1" {
		return nil, fmt.Errorf("%s: %w", version, packages.ErrUnknown)
	}
	return &packages.Release{
		Name:    name,
		Version: version,
		Known:   true,
		Libraries: []packages.Library{
			{
				Path:   "nvidia/nvjitlink/lib/libnvJitLink.so.12",
				SONAME: "libnvJitLink.so.12",
				Known:  true,
			},
		},
	}, nil
}

// readingSource is an index that reads libraries when requested, and whose libraries need
// everything that is requested.
type readingSource struct{ source }

func (s readingSource) Release(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*packages.Release, error) {
	r, err := s.source.Release(ctx, name, "12.9.1", on)
	if err == nil {
		r.Version, r.Libraries[0] = version, packages.Library{
			Path:   r.Libraries[0].Path,
			Unread: true,
		}
	}
	return r, err
}

func (s readingSource) Read(
	_ context.Context,
	r *packages.Release,
	_ packages.Target,
	worth func(path string) int64,
) (*packages.Release, error) {
	out := *r
	out.Libraries = slices.Clone(r.Libraries)
	if l := &out.Libraries[0]; l.Unread && worth(l.Path) > 0 {
		l.Unread, l.SONAME, l.Known = false, "libnvJitLink.so.12", true
	}
	return &out, nil
}

func TestUnusableOptions(t *testing.T) {
	_, _, err := runner(t, "analyze").Check(t.Context(), []analyzer.Input{wheel(t, cases.Clean("1"))},
		analyzer.Options{Platforms: []string{"plan9"}}, nil, nil)
	if f := (*Failure)(nil); err == nil || errors.As(err, &f) ||
		!strings.Contains(err.Error(), "plan9") {
		t.Errorf("%v", err)
	}
	if _, _, err := runner(t, "analyze").Check(t.Context(),
		[]analyzer.Input{{Name: "x", Content: strings.NewReader("")}}, analyzer.Options{}, nil,
		nil); err == nil {
		t.Error("an input without a file was taken")
	}
}

func TestFailures(t *testing.T) {
	for _, test := range []struct {
		what   string
		memory int64
		time   time.Duration
		limit  bool
		reason string
	}{
		{"eat", 200 << 20, 0, true, "more than 200 MiB of memory"},
		{"gulp", 200 << 20, 0, true, "more than 200 MiB of memory"},
		{"threads", 64 << 30, 0, false, "more than 1000 threads"},
		{"hang", 0, 200 * time.Millisecond, true, "longer than 200ms"},
		{"panic", 0, 0, false, "ended unexpectedly"},
		{"die", 0, 0, false, "the system killed the analysis process"},
		{"chatter", 0, 0, false, ""},
	} {
		t.Run(test.what, func(t *testing.T) {
			r := runner(t, test.what)
			r.Memory, r.Time = test.memory, test.time
			// limited by the size of its output; here by time, because that is faster
			if test.what == "chatter" {
				r.Time, test.limit, test.reason = 2*time.Second, true, "longer than"
			}
			_, _, err := r.Check(t.Context(), nil, analyzer.Options{}, nil, nil)
			f := (*Failure)(nil)
			if !errors.As(err, &f) || f.Limit != test.limit ||
				!strings.Contains(f.Reason, test.reason) {
				t.Fatalf("%#v", err)
			}
			if test.what == "panic" && !strings.Contains(f.Detail, "panic: damaged") {
				t.Errorf("detail %q", f.Detail)
			}
		})
	}
}

func TestRisky(t *testing.T) {
	r := runner(t, "sit")
	r.Memory = 2 << 30
	calls := 0
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := r.Check(ctx, nil, analyzer.Options{}, nil, func() {
		calls++
		time.AfterFunc(4*look, cancel) // waits for a second call of risky
	})
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, _, err := runner(t, "hang").Check(ctx, nil, analyzer.Options{}, nil, nil); !errors.Is(
		err,
		context.Canceled,
	) {
		t.Errorf("%v", err)
	}
}

// A child inherits nothing that was not passed to it, and is killed with its parent.
func TestProcessIsIsolated(t *testing.T) {
	t.Setenv("WEBHOOK_SECRET", "hidden")
	self, err := os.StartProcess(
		"/proc/self/exe",
		[]string{os.Args[0], "parent"},
		&os.ProcAttr{Env: os.Environ(), Files: []*os.File{nil, nil, os.Stderr}},
	)
	if err != nil {
		t.Fatal(err)
	}
	children := func() (pids []int) {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", self.Pid))
		all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", self.Pid))
		for _, f := range all {
			more, _ := os.ReadFile(f)
			data = append(append(data, ' '), more...)
		}
		for _, f := range strings.Fields(string(data)) {
			n, err := strconv.Atoi(f)
			line, _ := os.ReadFile("/proc/" + f + "/cmdline") // the runtime has other short-lived children
			if err == nil && !slices.Contains(pids, n) &&
				bytes.HasSuffix(line, []byte("\x00hang\x00")) {
				pids = append(pids, n)
			}
		}
		return pids
	}
	wait(t, "an analysis", func() bool { return len(children()) == 1 })
	pid := children()[0]
	wait(t, "its limits", func() bool {
		limits, _ := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
		return len(limits) > 0 &&
			!strings.Contains(string(limits), "Max data size             unlimited")
	})
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if len(env) > 0 { // unreadable for a user other than root: the process is not dumpable
		t.Errorf("its environment: %q %v", env, err)
	}
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("its group: %d %v", group, err)
	}
	if err := self.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = self.Wait()
	wait(t, "its end", func() bool {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || bytes.Contains(state, []byte(") Z"))
	})
}

func wait(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come", what)
		}
	}
}

// Every option is sent to the child.
func TestOptionsAreCarried(t *testing.T) {
	elsewhere := []string{
		"Base",
		"Source",
		"Scratch",
		"Progress",
		"Root",
		"LibraryPath",
		"Conda",
	} // the last three: the service has no directories of a user
	var o analyzer.Options
	v := reflect.ValueOf(&o).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); !slices.Contains(elsewhere, v.Type().Field(i).Name) {
			fill(f)
		}
	}
	r, _, err := newRequest(nil, o, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	var back request
	if err := json.Unmarshal(marshal(t, r), &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Options; !reflect.DeepEqual(got, o) {
		t.Errorf("%+v\nbecame\n%+v", o, got)
	}
}

// The base and earlier builds are also read in the child.
func TestEarlierBuilds(t *testing.T) {
	library := func(exports string) analyzer.Input {
		t.Helper()
		b := elftest.File(t, "elf x86_64\nsoname libx.so.1\nneeded libc.so.6\n"+exports)
		path := filepath.Join(t.TempDir(), "libx.so.1")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return analyzer.Input{Name: "libx.so.1", Content: f, Size: int64(len(b))}
	}
	o := analyzer.Options{
		Platforms: []string{"debian12"},
		Base:      []analyzer.Input{library("export a\nexport b\n")},
		BaseName:  "main",
		Earlier: []analyzer.Earlier{
			{Name: "v1", Inputs: []analyzer.Input{library("export a\nexport b\nexport c\n")}},
		},
	}
	inputs := []analyzer.Input{library("export a\n")}
	got, _, err := runner(t, "analyze").Check(t.Context(), inputs, o, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var against []string
	for _, c := range got.ABI {
		against = append(against, fmt.Sprint(c.Against, " ", c.Broken, " of ", c.Interfaces))
	}
	if want := []string{"main 1 of 2", "v1 2 of 3"}; !slices.Equal(against, want) {
		t.Errorf("compared with %q, want %q", against, want)
	}
	if len(got.Findings) != 1 || !slices.Equal(got.Findings[0].Against, []string{"main", "v1"}) {
		t.Errorf("findings %+v", got.Findings)
	}
}

// fill sets a value to a non-zero value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" { // files; TestEarlierBuilds
				fill(v.Field(i))
			}
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.SetMapIndex(key, value)
	default:
		panic("an option of kind " + v.Kind().String())
	}
}

func TestShare(t *testing.T) {
	for available, want := range map[int64]int64{0: 512 << 20, 1 << 30: 512 << 20, 6 << 30: 2 << 30,
		64 << 30: 4 << 30} {
		if got := share(available); got != want {
			t.Errorf("of %d: %d, want %d", available, got, want)
		}
	}
	if n := available(); n < 64<<20 {
		t.Errorf("this machine has %d bytes of memory", n)
	}
}

// BenchmarkLayers measures the cost of the sandbox: the median time of analyses of a small wheel in
// the process that waits, in a process without layers that is started for each, and in this one.
func BenchmarkLayers(b *testing.B) {
	name, content := cases.Clean("1.0").File()
	path := filepath.Join(b.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	inputs := []analyzer.Input{{Name: name, Content: f, Size: int64(len(content))}}
	confined := &Runner{Command: []string{os.Args[0], "analyze"}, Spare: true}
	defer confined.Close()
	free := &Runner{Command: []string{os.Args[0], "free"}}
	free.noNamespaces.Store(true)
	here := analyzer.New(rules.All())
	ways := []func() error{
		func() error {
			_, _, err := confined.Check(b.Context(), inputs, analyzer.Options{}, nil, nil)
			return err
		},
		func() error {
			_, _, err := free.Check(b.Context(), inputs, analyzer.Options{}, nil, nil)
			return err
		},
		func() error {
			_, err := here.Check(b.Context(), inputs, analyzer.Options{})
			return err
		},
	}
	times := make([][]time.Duration, len(ways))
	for b.Loop() {
		for i, check := range ways {
			start := time.Now()
			if err := check(); err != nil {
				b.Fatal(err)
			}
			times[i] = append(times[i], time.Since(start))
		}
	}
	median := func(i int) float64 {
		slices.Sort(times[i])
		return float64(times[i][len(times[i])/2].Microseconds()) / 1000
	}
	b.ReportMetric(median(0), "ms-confined")
	b.ReportMetric(median(1), "ms-free")
	b.ReportMetric(median(2), "ms-in-process")
	b.ReportMetric(median(0)-median(2), "ms-sandbox")
}

// grid is a package index with two releases of grid.
type grid struct{}

func (grid) Versions(context.Context, string, packages.Target) ([]string, error) {
	return []string{"1.0", "1.1"}, nil
}

func (grid) Release(
	_ context.Context,
	name, version string,
	_ packages.Target,
) (*packages.Release, error) {
	return &packages.Release{Name: name, Version: version, Known: true}, nil
}

// A newer release of a package is read by the child, though it was not among its artifacts.
func TestOtherWheels(t *testing.T) {
	release := func(version, text string) analyzer.Input {
		data := elftest.File(t, "elf x86_64\nneeded libc.so.6\nexport PyInit__x\n"+text)
		return wheel(t, cases.Wheel{
			Name: "grid", Version: version, Tags: []string{"cp312-cp312-manylinux2014_x86_64"},
			Files: map[string][]byte{"grid/_x.cpython-312-x86_64-linux-gnu.so": data},
		})
	}
	asked := 0
	pinned := func(other other) *analyzer.Environment {
		return &analyzer.Environment{
			On:       packages.Target{Python: "3.12", Arch: "x86_64", Libc: "glibc", LibcVersion: "2.41"},
			Platform: "debian13", With: []string{"grid==1.0"}, Other: other,
			Wheels:  []analyzer.Input{release("1.0", "execstack yes\n")},
			Origins: map[string]analyzer.Origin{"grid==1.0": {File: "pins.txt", Line: 4}},
		}
	}
	heads := []*analyzer.Environment{pinned(nil), pinned(
		func(_ context.Context, name, version string) (*analyzer.Input, error) {
			if asked++; name != "grid" || version != "1.1" {
				return nil, nil
			}
			in := release(version, "")
			return &in, nil
		})}
	r, err := runner(t, "analyze").CheckEnvironments(t.Context(), heads[1:], nil,
		analyzer.Options{Source: grid{}})
	if err != nil || len(r.Causes) != 1 || len(r.Causes[0].Fixes) != 1 {
		t.Fatalf("%s, %v", marshal(t, r), err)
	}
	if x := r.Causes[0].Fixes[0]; x.Title.String() != "Change grid from 1.0 to 1.1 in pins.txt:4" ||
		!x.Verified || asked != 1 {
		t.Errorf("asked %d times: %+v", asked, x)
	}
	r, err = runner(t, "analyze").CheckEnvironments(t.Context(), heads[:1], nil,
		analyzer.Options{Source: grid{}})
	if err != nil || len(r.Causes) != 1 || len(r.Causes[0].Fixes) != 0 {
		t.Errorf("without others: %s, %v", marshal(t, r), err)
	}
}

// A child that asks for wheels again and again, or of no head, gets none.
func TestOtherWheelsAreLimited(t *testing.T) {
	asked := 0
	by := &answerer{dir: t.TempDir(), others: []other{
		func(context.Context, string, string) (*analyzer.Input, error) {
			asked++
			return nil, nil
		},
		nil,
	}}
	for _, head := range []int{-1, 2, 3} {
		if s := by.answer(t.Context(), &question{Head: head}); s.Wheel != nil || s.err() != nil {
			t.Errorf("head %d: %+v", head, s)
		}
	}
	for range 2 * maxOthers {
		by.answer(t.Context(), &question{Head: 1})
	}
	if asked != maxOthers {
		t.Errorf("asked %d times", asked)
	}
}

// broken is a source that panics.
type broken struct{ packages.Source }

func (broken) Versions(context.Context, string, packages.Target) ([]string, error) {
	panic("a page that nobody thought of")
}

// A panic over the data of an index is the error of one answer, and does not end the service.
func TestAnswerOfABrokenSource(t *testing.T) {
	q := &question{ID: 3, subject: subject{Name: "torch"}}
	by := &answerer{source: broken{}}
	if s := by.answer(t.Context(), q); s == nil || s.ID != 3 ||
		!errors.Is(s.err(), packages.ErrUnavailable) {
		t.Errorf("answered %+v", s)
	}
}

// withTexts is a source with the Python sources of releases.
type withTexts struct{ readingSource }

func (withTexts) Texts(
	_ context.Context,
	r *packages.Release,
	on packages.Target,
	top string,
	files []string,
) (packages.Sources, error) {
	return packages.Sources{
		Texts:  map[string]string{top + ".py": r.ID().String() + " " + on.Python},
		Others: files,
	}, nil
}

// A question for Python sources has them as its answer, or that the source has none.
func TestAnswerWithTexts(t *testing.T) {
	q := &question{
		subject: subject{Name: "dep", Version: "1.0", On: packages.Target{Python: "3.12"}}, Top: "dep",
		Files: []string{"dep/a.py"},
	}
	s := (&answerer{source: withTexts{}}).answer(t.Context(), q)
	if s.err() != nil || s.Texts["dep.py"] != "dep==1.0 3.12" ||
		!slices.Equal(s.Others, q.Files) {
		t.Errorf("answered %+v", s)
	}
	s = (&answerer{source: source{}}).answer(t.Context(), q)
	if !errors.Is(s.err(), packages.ErrUnknown) {
		t.Errorf("answered %+v", s)
	}
}

// A child that exploits a reader may send many small objects, which take far more memory decoded.
func TestObjectsOfAReplyAreBounded(t *testing.T) {
	text := strings.Repeat("{},", maxObjects+1)
	_, err := io.ReadAll(&countedObjects{strings.NewReader(text), maxObjects})
	if !errors.Is(err, errObjects) {
		t.Errorf("%d objects: %v", maxObjects+1, err)
	}
	data, err := io.ReadAll(&countedObjects{strings.NewReader(text[:3*maxObjects]), maxObjects})
	if err != nil || len(data) != 3*maxObjects {
		t.Errorf("%d objects: %d bytes, %v", maxObjects, len(data), err)
	}
}
