package shellword_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/compat-app/compat/internal/shellword"
)

func TestQuote(t *testing.T) {
	for word, want := range map[string]shellword.Line{
		"":                               "''",
		"widget-1.0-cp312-cp312-any.whl": "widget-1.0-cp312-cp312-any.whl",
		"/opt/a:/opt/b":                  "/opt/a:/opt/b",
		"https://host:8080/a?b=c":        "'https://host:8080/a?b=c'",
		"$ORIGIN/../lib":                 "'$ORIGIN/../lib'",
		"a b":                            "'a b'",
		"it's":                           `'it'\''s'`,
		"~root":                          "'~root'",
		"a;b":                            "'a;b'",
		"ä":                              "'ä'",
		"a\tb":                           `$'a\011b'`,
		"\x01'\\":                        `$'\001\047\134'`,
	} {
		if got := shellword.Quote(word); got != want {
			t.Errorf("%q is %s, want %s", word, got, want)
		}
	}
}

func TestBare(t *testing.T) {
	for word, want := range map[string]shellword.Line{
		"libz.so.1": "file libz.so.1", "": "", "a b": "", "$x": "", "-rf": "", "a\nb": "",
		strings.Repeat("x", 201): "",
	} {
		if got := shellword.Bare("file %s", word); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := shellword.Plain([]string{"-lfoo", "-l:libc.so.6"}); got != "-lfoo -l:libc.so.6" {
		t.Error(got)
	}
	for _, words := range [][]string{{"-lfoo", "$(x)"}, {"a b"}, {""}} {
		if got := shellword.Plain(words); got != "" {
			t.Errorf("%q: %q", words, got)
		}
	}
}

func TestRequirement(t *testing.T) {
	for requirement, want := range map[string]shellword.Line{
		"torch[opt]>=2.7,!=2.8.*": "torch[opt]>=2.7,!=2.8.*", "x;touch y": "", "$(x)": "",
		"x>=1 ": "", "'x'": "",
	} {
		if got := shellword.Requirement(requirement); got != want {
			t.Errorf("%q: %q, want %q", requirement, got, want)
		}
	}
	for _, x := range []struct {
		line      shellword.Line
		old, with string
		want      shellword.Line
	}{
		{"numpy==2.0", "numpy==2.0", "numpy>=1,<2", "numpy>=1,<2"},
		{"pip install numpy==2.0 x", "numpy==2.0", "numpy>=1,<2", "pip install 'numpy>=1,<2' x"},
		{"pip install 'numpy>=1'", "numpy>=1", "numpy==1.1", "pip install numpy==1.1"},
	} {
		if got := x.line.WithRequirement(x.old, x.with); got != x.want {
			t.Errorf("%q: %q, want %q", x.line, got, x.want)
		}
	}
}

func TestWords(t *testing.T) {
	for command, want := range map[shellword.Line][]shellword.Line{
		"":                            nil,
		" a  b ":                      {"a", "b"},
		`patchelf 'a b' "c d" e\ f`:   {"patchelf", "'a b'", `"c d"`, `e\ f`},
		`x $'a\' b' 'it'\''s' ''`:     {"x", `$'a\' b'`, `'it'\''s'`, "''"},
		`LDFLAGS="-Wl,--x -l:y" make`: {`LDFLAGS="-Wl,--x -l:y"`, "make"},
	} {
		if got := shellword.Words(command); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

func TestSteps(t *testing.T) {
	for command, want := range map[shellword.Line][]shellword.Line{
		"":                        {""},
		"a b":                     {"a b"},
		"a 'x && y' && b  c && d": {"a 'x && y'", "b c", "d"},
	} {
		if got := shellword.Steps(command); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

// run types a command into bash, which knows one program: it returns the arguments of each call.
func run(t testing.TB, command shellword.Line) [][]string {
	t.Helper()
	dir := t.TempDir()
	tool := "#!/bin/sh\nfor a; do printf '%s\\0' \"$a\" >>" + dir +
		"/calls; done\nprintf '\\1\\0' >>" + dir + "/calls\n"
	if err := os.WriteFile(filepath.Join(dir, "patchelf"), []byte(tool), 0o700); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	c := exec.Command("bash", "-c", string(command))
	c.Dir, c.Env = work, []string{"PATH=" + dir, "HOME=" + work, "LC_ALL=C.UTF-8"}
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%q: %v %s", command, err, out)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Fatalf("%q wrote %v %v", command, left, err)
	}
	said, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	var calls [][]string
	for _, call := range strings.SplitAfter(string(said), "\x01\x00") {
		if call == "" {
			continue
		}
		call = strings.TrimSuffix(call, "\x01\x00")
		calls = append(calls, strings.Split(strings.TrimSuffix(call, "\x00"), "\x00"))
	}
	return calls
}

// FuzzCommand types commands with any names into a real bash: the program gets each name byte for
// byte, nothing else runs, and the command shows no control character.
func FuzzCommand(f *testing.F) {
	for _, s := range names(f) {
		f.Add(s, "x.so")
		f.Add("x.so", s)
	}
	f.Fuzz(func(t *testing.T, name, file string) {
		if strings.Contains(name+file, "\x00") || len(name)+len(file) > 1<<10 ||
			strings.Contains(name+file, "\x01") {
			return // no argument of a program has NUL; \x01 ends a call here
		}
		command := "patchelf --add-needed " + shellword.Quote(name) + " " +
			shellword.Quote(shellword.File(file))
		for _, r := range command {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q shows %q", command, r)
			}
		}
		calls := run(t, command+" && "+command)
		want := []string{"--add-needed", name, shellword.File(file)}
		if len(calls) != 2 || !slices.Equal(calls[0], want) || !slices.Equal(calls[1], want) {
			t.Errorf("%q gave %q, want twice %q", command, calls, want)
		}
		if strings.HasPrefix(calls[0][2], "-") {
			t.Errorf("%q names a file that looks like an option", command)
		}
		words := shellword.Words(command)
		if len(words) != 4 || shellword.Join(words, " ") != command {
			t.Errorf("%q has the words %q", command, words)
		}
	})
}

// TestShells: bash reads 5,000 words of TestHostileNames byte for byte. dash, which does not know
// $'…', reads as many words, and neither runs anything.
func TestShells(t *testing.T) {
	const count = 5_000
	make := newMaker(t, 1)
	var words []string
	var script bytes.Buffer
	script.WriteString("set --")
	for range count {
		word := make.name()
		words = append(words, word)
		script.WriteString(" " + string(shellword.Quote(word)))
	}
	script.WriteString("\nfor x; do printf '%s\\0' \"$x\"; done\n")
	for _, shell := range []string{"bash", "dash"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Fatalf("the test needs %s: %v", shell, err)
		}
		work := t.TempDir()
		c := exec.Command(path, "-s")
		c.Dir, c.Env, c.Stdin = work, []string{"HOME=" + work, "LC_ALL=C.UTF-8"},
			bytes.NewReader(script.Bytes())
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v", shell, err)
		}
		if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
			t.Errorf("%s wrote %v %v", shell, left, err)
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if len(got) != count {
			t.Fatalf("%s read %d words, want %d", shell, len(got), count)
		}
		for i, word := range words {
			if got[i] != word && (shell == "bash" || !strings.HasPrefix(string(shellword.Quote(word)),
				"$")) {
				t.Errorf("%s read %q as %q", shell, word, got[i])
			}
		}
	}
}
