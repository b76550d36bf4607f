//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/dynlink"
)

var (
	muslFound   = regexp.MustCompile(`^\t(.*) => (.*) \((?:0x)?[0-9a-f]+\)$`)
	muslMissing = regexp.MustCompile(
		`^Error loading shared library (.*): .*? \(needed by (.*)\)$`,
	)
	muslUndefined = regexp.MustCompile(`^Error relocating (.*): (.*): symbol not found$`)
)

// TestMusl compares with musl's loader as used by its ldd.
func TestMusl(t *testing.T) { muslCases(t, "musl.txt", 130) }

// TestMuslProcess runs programs with that loader that call dlopen.
func TestMuslProcess(t *testing.T) { muslCases(t, "dlopen.txt", 80) }

func muslCases(t *testing.T, file string, least int) {
	loader := "/lib/ld-musl-" + map[string]string{"amd64": "x86_64",
		"arm64": "aarch64"}[runtime.GOARCH] + ".so.1"
	loaderCases{
		file: file, libc: "musl", compiler: "musl-gcc", install: "musl-tools", loader: loader,
		copies: map[string]string{loader: loader}, least: least,
		real: muslSays, compat: saidAsMusl,
	}.run(t)
}

// muslSays returns musl's output; "gives up" if it gives up.
func muslSays(m *loaderRoot, file string, env []string) string {
	c := m.command(env, m.cases.loader, "--list", file)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		m.t.Fatalf("run musl's loader in a chroot (root or a user namespace is needed): %v", err)
	}
	if ended != nil && (!ended.Exited() || ended.ExitCode() != 127) {
		return "gives up"
	}
	var objects, rest []string
	for _, l := range strings.Split(out.String()+errs.String(), "\n") {
		if f := muslFound.FindStringSubmatch(l); f != nil {
			objects = append(objects, "object "+f[1]+" "+f[2])
		} else if f := muslMissing.FindStringSubmatch(l); f != nil {
			rest = append(rest, "missing "+f[1])
		} else if f := muslUndefined.FindStringSubmatch(l); f != nil {
			rest = append(rest, "undefined "+f[2]+" "+f[1])
		} else if strings.HasPrefix(l, "Error") {
			return "gives up"
		}
	}
	return strings.Join(objects, "\n") + "\n" + sorted(rest)
}

func saidAsMusl(a *dynlink.Answer) string {
	if a.Error != "" {
		return "gives up"
	}
	var objects, rest []string
	for _, o := range a.Objects {
		objects = append(objects, "object "+o.Name+" "+o.Path)
	}
	for _, n := range a.NotFound {
		rest = append(rest, "missing "+n.Name)
	}
	for _, u := range a.Undefined {
		rest = append(rest, "undefined "+u.Symbol+" "+u.Object)
	}
	for _, v := range a.MissingVersions {
		rest = append(rest, fmt.Sprint("version ", v))
	}
	return strings.Join(objects, "\n") + "\n" + sorted(rest)
}
