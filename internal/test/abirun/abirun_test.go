package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/needs"
)

// TestRun runs the programs of all pairs with libraries of both compilers and all formats of debug
// information: DWARF 5 and 4, BTF, CTF. make abirun has all builds.
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
		compat: compat, pairs: "testdata", builds: "gcc,clang-4,btf,ctf", jobs: 2,
	})
	if err != nil || wrong > 0 {
		t.Errorf("%d wrong answers, %v\n%s", wrong, err, &out)
	}
}
