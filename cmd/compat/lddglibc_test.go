//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/internal/test/needs"
)

// TestGlibc compares with the glibc loader of this machine as used by ldd -r, in roots with this
// loader and its libc.
func TestGlibc(t *testing.T) { glibcCases(t, "glibc.txt", 70) }

// TestGlibcProcess runs programs with that loader that call dlopen.
func TestGlibcProcess(t *testing.T) { glibcCases(t, "dlopen.txt", 90) }

func glibcCases(t *testing.T, file string, least int) {
	loader := map[string]string{"amd64": "/lib64/ld-linux-x86-64.so.2",
		"arm64": "/lib/ld-linux-aarch64.so.1"}[runtime.GOARCH]
	libc := filepath.Join(filepath.Dir(real(t, loader)), "libc.so.6")
	loaderCases{
		file: file, libc: "glibc", compiler: "gcc", install: "gcc", loader: loader,
		copies: map[string]string{loader: loader, libc: libc}, least: least,
		real: func(m *loaderRoot, file string, env []string) string {
			said := glibcSays(file, true, func(more []string, args ...string) *exec.Cmd {
				return m.command(append(more, env...), append([]string{loader}, args...)...)
			})
			if said == "" {
				return "error\n"
			}
			return said
		},
		compat: func(a *dynlink.Answer) string { return lines(a) },
	}.run(t)
}

// real returns the real path; the test is skipped if there is none.
func real(t *testing.T, path string) string {
	p, err := filepath.EvalSymlinks(path)
	if err == nil {
		_, err = os.Stat(p)
	}
	if err != nil {
		needs.Missing(t, fmt.Sprintf("this test asks the machine's glibc, which is not there: %v", err))
	}
	return p
}
