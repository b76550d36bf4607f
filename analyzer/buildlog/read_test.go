package buildlog

import (
	"bytes"
	byteorder "encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const caseD = "/usr/bin/ld: /usr/local/cuda/lib64/libcufile.so: undefined reference to `dlopen'"

// TestLinesAreCounted checks line numbers for any position of a message in the blocks that are
// read, and for any reads.
func TestLinesAreCounted(t *testing.T) {
	for _, lines := range []int{1, 2, 4000, 9000} {
		log := strings.Repeat(strings.Repeat("x", 70)+"\n", lines-1) + caseD
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(log),
			"halves": iotest.HalfReader(strings.NewReader(log)), "newline": strings.NewReader(log + "\n")} {
			got, err := Read(r)
			if err != nil || len(got.Diagnoses) != 1 || got.Diagnoses[0].Line != lines ||
				got.Lines != lines {
				t.Errorf("%d lines, %s: %+v %v", lines, name, got, err)
			}
		}
	}
	if got, err := Read(strings.NewReader("")); err != nil || got.Lines != 0 ||
		len(got.Diagnoses) != 0 {
		t.Errorf("an empty log: %+v %v", got, err)
	}
}

func TestReaderFails(t *testing.T) {
	broken := errors.New("broken pipe")
	if _, err := Read(io.MultiReader(strings.NewReader("a\nb\n"),
		iotest.ErrReader(broken))); !errors.Is(
		err,
		broken,
	) {
		t.Errorf("%v", err)
	}
}

// TestLongLine checks that a message in a line of megabytes is found with its context.
func TestLongLine(t *testing.T) {
	got := read(
		t,
		strings.Repeat("y ", 3<<20)+caseD+strings.Repeat(" z", 3<<20)+"\nundefined symbol: next\n",
	)
	if len(got) != 2 || got[0].Symbol != "dlopen" || got[1].Line != 2 {
		t.Errorf("%s", format(got))
	}
}

// TestBounds checks that input made to take time or memory ends at a limit that is reported,
// and that a log full of one message still shows another one.
func TestBounds(t *testing.T) {
	var b bytes.Buffer
	for i := range 2 * maxPattern / len(caseD) {
		fmt.Fprintf(&b, "/usr/bin/ld: main%d.o: undefined reference to `dlopen'\n", i)
	}
	b.WriteString("OSError: ./bad.so: invalid ELF header\n")
	got, err := Read(&b)
	if err != nil || len(got.Diagnoses) != 2 ||
		!strings.Contains(got.Limit, "ld-undefined-reference") {
		t.Errorf("%d diagnoses, limit %q, %v", len(got.Diagnoses), got.Limit, err)
	}
	for i := range 3 * maxDiagnoses {
		fmt.Fprintf(&b, "undefined reference to `f%d'\n", i)
	}
	if got, err := Read(&b); err != nil || len(got.Diagnoses) != maxDiagnoses || got.Limit == "" {
		t.Errorf("%d diagnoses, limit %q, %v", len(got.Diagnoses), got.Limit, err)
	}
}

// repeat is a log of a given size that needs no memory.
type repeat struct {
	text []byte
	left int
	at   int
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.left)], r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	r.left -= n
	return n, nil
}

// TestMemoryIsFlat checks that reading 64 MiB allocates only a few blocks.
func TestMemoryIsFlat(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Read(&repeat{text: []byte("2024-05-02T10:11:12.1234567Z \x1b[1mgcc -O2 -c " +
		"main.c\x1b[0m\n" + caseD + "\n"), left: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("%d bytes were allocated", got)
	}
}

func BenchmarkRead(b *testing.B) {
	text := []byte(
		strings.Repeat(
			"2024-05-02T10:11:12.1234567Z [ 83%] Building CXX object CMakeFiles/x.dir/src/x.cpp.o\n",
			100,
		) + caseD + "\n",
	)
	b.SetBytes(16 << 20)
	for b.Loop() {
		if _, err := Read(&repeat{text: text, left: 16 << 20}); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzRead checks that there is no panic; that fields are limited and printable; that classes,
// causes and kinds of fixes are known ones; that the result is deterministic; that only plain
// names are used in commands; and that lines before a log only change line numbers.
func FuzzRead(f *testing.F) {
	for _, p := range patterns.Get() {
		f.Add([]byte(p.example + "\n" + p.similar))
	}
	f.Add(
		[]byte("\x1b[31mundefined reference to `$(rm -rf x)'\x1b[0m\r\n>>> referenced by a.o:(x)"),
	)
	f.Add([]byte("##[group]Run x\nundefined symbol: y\n##[endgroup]\nundefined symbol: z; rm"))
	f.Fuzz(func(t *testing.T, log []byte) {
		one, err := Read(bytes.NewReader(log))
		if err != nil {
			t.Fatal(err)
		}
		two, _ := Read(iotest.OneByteReader(bytes.NewReader(log)))
		if !reflect.DeepEqual(one, two) {
			t.Fatalf("%+v\n%+v", one, two)
		}
		for _, d := range one.Diagnoses {
			if d.Line < 1 || d.Line > one.Lines {
				t.Fatalf("line %d of %d", d.Line, one.Lines)
			}
			classOf(d.Class)
			for _, s := range []string{d.Symbol, d.Version, d.Library, d.Object, d.Message} {
				if len(s) > 3*maxField || !utf8.ValidString(s) ||
					strings.IndexFunc(s, unicode.IsControl) >= 0 && !strings.Contains(s, "\t") {
					t.Fatalf("field %q", s)
				}
			}
			for _, f := range d.Fixes {
				for _, s := range []string{d.Symbol, d.Version, d.Library, d.Object} {
					if strings.ContainsAny(s, "$;`|&<>\n'\" ()") && len(s) > 3 &&
						strings.Contains(string(f.Command), s) {
						t.Fatalf("%q is in the command %q", s, f.Command)
					}
				}
			}
		}
	})
}

// The message names NumPy, and the package whose traceback comes before or after it.
func TestMessageAboutNumPy(t *testing.T) {
	const frame = `  File "/app/.venv/lib/python3.11/site-packages/pandas/_libs/__init__.py", line 18, in <module>`
	numpy := strings.ReplaceAll(frame, "pandas", "numpy")
	const compiled = "A module that was compiled using NumPy 1.x cannot be run in"
	const abi = "the extension was built against another NumPy than the one that is installed, " +
		"such as NumPy 1 where NumPy 2 is"
	far := strings.Repeat("step\n", contextLines)
	for log, want := range map[string]string{
		compiled: abi,
		compiled + "\n" + frame + "\nAttributeError: _ARRAY_API not found": "pandas: " + abi,
		frame + "\n" + numpy + "\nValueError: numpy.dtype size changed, may indicate " +
			"binary incompatibility. Expected 96 from C header, got 88 from PyObject": "pandas: " + abi,
		frame + "\n" + far + compiled: abi,
		frame + "\nRuntimeError: module compiled against API version 0x11 but this version of numpy " +
			"is 0xf": "pandas: the extension was built against a newer NumPy than the one that is installed",
	} {
		r, err := Read(strings.NewReader(log))
		if err != nil || len(r.Diagnoses) != 1 || r.Diagnoses[0].Message != want {
			t.Errorf("%s\n got %+v, %v\nwant %q", log, r.Diagnoses, err, want)
		}
	}
}

// A module of Cython names a type or function of the package that it was not built for, which is
// not NumPy.
func TestCythonAPI(t *testing.T) {
	const frame = `  File "/v/lib/python3.9/site-packages/gevent/__init__.py", line 86, in <module>` + "\n"
	for log, want := range map[string]string{
		frame + "ValueError: greenlet.greenlet size changed, may indicate binary incompatibility. " +
			"Expected 152 from C header, got 40 from PyObject": "gevent greenlet.greenlet",
		"ValueError: sklearn.tree._criterion.Criterion size changed, may indicate binary " +
			"incompatibility. Expected 328 from C header, got 576": " sklearn.tree._criterion.Criterion",
		"ValueError: cymem.cymem.Pool has the wrong size, try recompiling. Expected 48, got 64": " " +
			"cymem.cymem.Pool",
		"ImportError: scipy.linalg.cython_blas does not export expected C function dgemm": " " +
			"scipy.linalg.cython_blas.dgemm",
		"TypeError: C function blis.cy.gemm has wrong signature (expected void (int), got int " +
			"(int))": " blis.cy.gemm",
	} {
		r, err := Read(strings.NewReader(log))
		if err != nil || len(r.Diagnoses) != 1 {
			t.Errorf("%s\n got %+v, %v", log, r.Diagnoses, err)
			continue
		}
		d := r.Diagnoses[0]
		used, _, _ := strings.Cut(d.Symbol, ".")
		if got := d.named + " " + d.Symbol; got != want || d.Rule != cythonAPI ||
			!strings.Contains(d.Fixes[1].Title.String(), "against a current "+used) {
			t.Errorf("%s\n got %q, %+v\nwant %q", log, got, d, want)
		}
	}
}

// TestUTF16 checks a log that a shell of Windows wrote, with and without a byte order mark.
func TestUTF16(t *testing.T) {
	const log = "building\r\nImportError: DLL load failed while importing _gain: " +
		"%1 is not a valid Win32 application.\r\n"
	for _, order := range []byteorder.AppendByteOrder{byteorder.LittleEndian, byteorder.BigEndian} {
		for _, start := range []string{"\ufeff", ""} {
			var b []byte
			for _, u := range utf16.Encode([]rune(start + log)) {
				b = order.AppendUint16(b, u)
			}
			got := read(t, string(b))
			if len(got) != 1 || got[0].Class != "wrong-platform" || got[0].Object != "_gain" || got[0].Line != 2 {
				t.Errorf("%v, %q: %+v", order, start, got)
			}
		}
	}
}

// TestReadingIsLinear checks that the work for a log grows with its size, by what is allocated and
// by the number of lines that are matched, whatever most lines look like.
func TestReadingIsLinear(t *testing.T) {
	for _, line := range []string{
		"2025-01-02T03:04:05.6789012Z \x1b[1mgcc -c a.c\x1b[0m\r\n",
		"    at Module._load (/srv/node_modules/gain/index.js:12:3)\n",
		"  File \"/opt/v/lib/python3.12/site-packages/gain/a.py\", line 1, in <module>\n",
		"ld: a.o: undefined reference to `gain'\n",
		"\tat java.base/java.lang.Thread.run(Thread.java:833)\n",
	} {
		measure := func(size int) (work int) {
			s := newReader()
			if _, err := scan(&repeat{text: []byte(line), left: size}, func(n int, raw []byte) bool {
				work += len(raw)
				return s.handleRaw(n, raw)
			}); err != nil {
				t.Fatal(err)
			}
			return work + s.work
		}
		small, large := measure(1<<20), measure(8<<20)
		if large > 8*small+len(line)*8 {
			t.Errorf("%q: %d bytes of work for 1 MiB, %d for 8 MiB", line, small, large)
		}
	}
}

// TestJobs: a log of several jobs names those that report an error.
func TestJobs(t *testing.T) {
	line := func(job, text string) string {
		return job + "\tBuild\t\ufeff2026-05-01T10:00:02.1234567Z " + text + "\n"
	}
	const undefined = "/usr/bin/ld: main.o: undefined reference to `gain_all'"
	got := read(t, line("build (ubuntu-22.04)", undefined)+line("build (ubuntu-22.04)", undefined)+
		line("test", "ImportError: libdial.so.1: cannot open shared object file: No such file or "+
			"directory")+line("build (debian)", undefined))
	if len(got) != 2 || got[0].Symbol != "gain_all" || got[1].Library != "libdial.so.1" {
		t.Fatalf("got\n%s", format(got))
	}
	if want := []string{"build (ubuntu-22.04)", "build (debian)"}; !slices.Equal(got[0].Jobs, want) {
		t.Errorf("jobs %q, want %q", got[0].Jobs, want)
	}
	if want := []string{"test"}; !slices.Equal(got[1].Jobs, want) {
		t.Errorf("jobs %q, want %q", got[1].Jobs, want)
	}
	if got := read(t, undefined); got[0].Jobs != nil {
		t.Errorf("a log of no job: %q", got[0].Jobs)
	}
}
