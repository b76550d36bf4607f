package main

import (
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/needs"
)

// TestRun runs the programs of all pairs with libraries of both compilers and all formats of debug
// information: DWARF 5 and 4, BTF, CTF. Clang takes half of the time, so that only each fourth pair
// is built with it, and those that are only for it. make abirun has all pairs and builds.
func TestRun(t *testing.T) {
	needs.Program(t, "gcc", "gcc", "no program is run with another library")
	needs.Program(t, "g++", "g++", "no program is run with another library")
	needs.Program(t, "clang", "clang", "no library of another compiler is compared")
	compat := filepath.Join(t.TempDir(), "compat")
	if out, err := exec.Command("go", "build", "-o", compat, "../../../cmd/compat").
		CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	var out strings.Builder
	wrong, err := run(t.Context(), &out, settings{
		compat: compat, pairs: "testdata", builds: "gcc,clang-4/4,btf,ctf", jobs: 2,
	})
	if err != nil || wrong > 0 {
		t.Errorf("%d wrong answers, %v\n%s", wrong, err, &out)
	}
}

func TestShares(t *testing.T) {
	got, err := shares("gcc,clang-4/4")
	if want := map[string]int{"gcc": 1, "clang-4": 4}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for _, wrong := range []string{"gxx", "gcc/0", "gcc/x"} {
		if _, err := shares(wrong); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}
