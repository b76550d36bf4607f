package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// checked runs compat check with a cache below home, and returns its output, its exit code, and
// whether the result was cached.
func checked(t *testing.T, home string, args ...string) (printed string, code int, again bool) {
	t.Helper()
	var out, errs bytes.Buffer
	vars := map[string]string{"HOME": home, "PIP_CONFIG_FILE": os.DevNull}
	code = run(
		context.Background(),
		append([]string{"check", "--verbose", "--format", "json"}, args...),
		environment{
			Getenv: func(name string) (string, bool) {
				v, ok := vars[name]
				return v, ok
			}, In: strings.NewReader(""), Out: &out, Err: &errs},
	)
	return out.String(), code, strings.Contains(errs.String(), "use --no-cache to check again")
}

func TestTheSameFilesAgain(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	wheel := filepath.Join(dir, "m-1-cp312-cp312-manylinux_2_17_x86_64.whl")
	write := func(symbol string) {
		data := madeWheel(
			t,
			"m",
			"1",
			nil,
			"m.cpython-312-x86_64-linux-gnu.so",
			"elf x86_64\nneeded libc.so.6\nimport "+symbol+" libc.so.6\nverneed libc.so.6 "+
				"GLIBC_2.34\nexport PyInit_m",
		)
		if err := os.WriteFile(wheel, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("dlopen@GLIBC_2.34")
	first, code, again := checked(t, home, wheel)
	if again || code != exitIncompatible {
		t.Fatalf("the first check: exit %d, from the cache: %v\n%s", code, again, first)
	}
	same := func(why string, want bool, args ...string) {
		t.Helper()
		printed, code, again := checked(t, home, append(args, wheel)...)
		if again != want || code != exitIncompatible || len(args) == 0 && printed != first {
			t.Errorf("%s: exit %d, from the cache: %v, the same: %v", why, code, again, printed == first)
		}
	}
	same("the second check", true)
	same("without the cache", false, "--no-cache")
	same("on another platform", false, "--platform", "manylinux_2_28")
	same("on another platform again", true, "--platform", "manylinux_2_28")

	entries, err := filepath.Glob(filepath.Join(home, ".cache", "compat", "checks", "*"))
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(e)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 1
		if err := os.WriteFile(e, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	same("with a damaged entry", false)
	same("after it was stored again", true)

	write("dlsym@GLIBC_2.34")
	if printed, _, again := checked(t, home, wheel); again || !strings.Contains(printed, "dlsym") {
		t.Errorf("another file under the same name: from the cache: %v\n%s", again, printed)
	}
}

func TestManyChecksAtOnce(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	wheel := filepath.Join(dir, "m-1-cp312-cp312-manylinux_2_17_x86_64.whl")
	if err := os.WriteFile(wheel, madeWheel(t, "m", "1", nil, "m.cpython-312-x86_64-linux-gnu.so",
		"elf x86_64\nneeded libc.so.6\nexport PyInit_m"), 0o600); err != nil {
		t.Fatal(err)
	}
	want, _, _ := checked(t, t.TempDir(), wheel)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 3 {
				if got, _, _ := checked(t, home, wheel); got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
			}
		})
	}
	all.Wait()
}
