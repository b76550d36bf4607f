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

// run types a command into bash, which knows one program: it returns the arguments of each call.
func run(t testing.TB, command string) [][]string {
	t.Helper()
	dir := t.TempDir()
	tool := "#!/bin/sh\nfor a; do printf '%s\\0' \"$a\" >>" + dir + "/calls; done\nprintf '\\1\\0' >>" + dir + "/calls\n"
	if err := os.WriteFile(filepath.Join(dir, "patchelf"), []byte(tool), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("bash", "-n", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("bash -n refuses %q: %s", command, out)
	}
	work := t.TempDir()
	c := exec.Command("bash", "-c", command)
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
	for _, s := range []string{
		"libdl.so.2", "$(touch pwned).so", "`touch pwned`.so", "a;touch pwned;.so", "a'&touch pwned&'.so",
		`"$(touch pwned)".so`, "a b|touch pwned.so", "$IFS>pwned.so", "*?[a-z]{a,b}~.so", "-rf0.so",
		"--help", "~root", "#x", "!!", "a\nb", "a\rb", "\x1b[31mred", "\u202egnp.so", "\xff\xfe", "\x7f",
		"é", "\u200b", "'", `\`, "$'x'", "", " ", "a=b", "\x01" + "1", "%s", "=ls",
	} {
		f.Add(s, "x.so")
		f.Add("x.so", s)
	}
	f.Fuzz(func(t *testing.T, name, file string) {
		if strings.Contains(name+file, "\x00") || len(name)+len(file) > 1<<10 ||
			strings.Contains(name+file, "\x01") {
			return // no argument of a program has NUL; \x01 ends a call here
		}
		command := shellword.Command("patchelf", "--add-needed", name, shellword.File(file))
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
		if len(words) != 4 || strings.Join(words, " ") != command {
			t.Errorf("%q has the words %q", command, words)
		}
	})
}

func TestWords(t *testing.T) {
	for command, want := range map[string][]string{
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

func TestPlain(t *testing.T) {
	for word, want := range map[string]bool{"-lfoo": true, "": false, "a b": false, "$x": false, "-l:libc.so.6": true} {
		if got := shellword.Plain(word); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
	if got := shellword.Quote("a\tb"); bytes.ContainsAny([]byte(got), "\t") || got != `$'a\011b'` {
		t.Error(got)
	}
}
