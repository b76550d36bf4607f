package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/test/needs"
)

func TestSystemName(t *testing.T) {
	for text, want := range map[string]string{
		"ID=debian\nVERSION_ID=\"12\"\n":                           "debian12",
		"VERSION_ID='22.04'\nID=ubuntu\n":                          "ubuntu22.04",
		"ID=alpine\nVERSION_ID=3.20.3\n":                           "alpine3.20",
		"ID=\"rhel\"\nVERSION_ID=\"9.4\"\n":                        "rhel9",
		"ID=amzn\nVERSION_ID=2023\n":                               "amazonlinux2023",
		"ID=arch\nPRETTY_NAME=\"Arch Linux\"\n":                    "Arch Linux",
		"ID=debian\nPRETTY_NAME=\"Debian forky/sid\"\n":            "Debian forky/sid",
		"ID=manylinux_2_\nVERSION_ID=28\nPRETTY_NAME=\"No tag\"\n": "No tag",
		"no assignment\n":                                          "this system",
	} {
		dir := t.TempDir()
		at := filepath.Join(dir, "usr/lib/os-release")
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		root, err := openRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := systemName(root); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The libraries of a system are those in its folders, whatever the release of its name has; for
// another architecture it is the default platform.
func TestOwnSystem(t *testing.T) {
	loaders := map[string]string{
		"x86_64": "lib64/ld-linux-x86-64.so.2", "aarch64": "lib/ld-linux-aarch64.so.1",
	}
	arch, other := platform.Arch(runtime.GOARCH), "aarch64"
	if arch == other {
		other = "x86_64"
	}
	if loaders[arch] == "" {
		needs.Missing(t, "this test makes a system with the loader of "+arch+", which is not there")
	}
	dir := t.TempDir()
	for file, text := range map[string]string{
		"etc/os-release": "ID=debian\nVERSION_ID=12\n",
		loaders[arch]:    "soname " + filepath.Base(loaders[arch]) + "\n",
		"usr/lib/libc.so.6": "soname libc.so.6\nverdef libc.so.6\nverdef GLIBC_2.2.5\n" +
			"export printf@@GLIBC_2.2.5\n",
		"usr/lib/libextra.so.1": "soname libextra.so.1\nexport extra\n",
	} {
		data := []byte(text)
		if file != "etc/os-release" {
			data = elftest.File(t, "elf "+arch+"\n"+text)
		}
		at := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := openOwnSystem(dir)
	if s == nil {
		t.Fatal("the system is not recognized")
	}
	p, err := s.platform(arch)
	if err != nil || p != s.own() || p.Name != "debian12" || p.Library("libextra.so.1") == nil ||
		p.Library("libm.so.6") != nil {
		t.Errorf("%v, %v", p, err)
	}
	q, err := s.platform(other)
	if err != nil || q.Name != defaultPlatform+"_"+other {
		t.Errorf("%v, %v", q, err)
	}
	if empty := openOwnSystem(t.TempDir()); empty != nil {
		t.Errorf("a folder without a loader is %v", empty)
	}
}
