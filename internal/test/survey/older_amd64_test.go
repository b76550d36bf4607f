package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/test/needs"
)

// A program that executes an instruction of a newer processor fails on the oldest one.
func TestOlder(t *testing.T) {
	const why = "no processor without the instructions of a program is tried"
	needs.Program(t, "qemu-x86_64", "qemu-user", why)
	gcc := needs.Program(t, "gcc", "gcc", why)
	dir := t.TempDir()
	bin := filepath.Join(dir, "venv", "lib", "python3.12", "site-packages", "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]string{
		"new": `__asm__("vpaddd %ymm0, %ymm1, %ymm2");`, "old": "",
	} {
		source := filepath.Join(dir, name+".c")
		text := "int main(void) {" + code + "return 3;}\n"
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(gcc, "-o", filepath.Join(bin, name), source).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	got := &truth{fails: map[string]string{}}
	(&survey{}).older(t.Context(), dir, got, &analyzer.Report{Findings: []analyzer.Finding{
		{Severity: analyzer.Error, Object: "bin/new"}, {Severity: analyzer.Error, Object: "bin/old"},
		{Severity: analyzer.Error, Object: "../../etc/passwd"},
	}})
	if len(got.fails) != 1 || !strings.Contains(got.fails["bin/new"], "illegal instruction") {
		t.Error(got.fails)
	}
}
