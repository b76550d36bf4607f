package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// The same packages have the same findings, whichever way they are named: in an option, a
// requirements or lock file, or an environment; and wherever they are looked up: in an index, in
// the built-in history, or in that because the index refuses all connections.
func TestSameFindings(t *testing.T) {
	index := httptest.NewServer(&packageIndex{files: map[string]map[string][]byte{
		"nvidia-nvjitlink-cu12": {
			"nvidia_nvjitlink_cu12-12.8.93-py3-none-manylinux2014_x86_64.whl": jitWheel(t, "12.8.93"),
			"nvidia_nvjitlink_cu12-12.9.86-py3-none-manylinux2014_x86_64.whl": jitWheel(t, "12.9.86",
				"__nvJitLinkGetErrorLogSize_12_9"),
		},
		"widget": {"widget-1.0-cp312-cp312-manylinux_2_28_x86_64.whl": jitWidget(t)},
	}})
	defer index.Close()
	refuses := httptest.NewServer(nil) // connections, from here on
	refuses.Close()
	for _, c := range []struct {
		version, want string
	}{
		{"12.8.93", "incompatible symbol-missing-in-package __nvJitLinkGetErrorLogSize_12_9"},
		{"12.9.86", "compatible"},
	} {
		dir := t.TempDir()
		write := func(name string, data []byte) string {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			return file
		}
		pin := "nvidia-nvjitlink-cu12==" + c.version
		wheel := write("widget-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", jitWidget(t))
		requirements := write("requirements.txt", []byte(pin+"\n"))
		all := write("all.txt", []byte(pin+"\nwidget==1.0\n"))
		lock := write("pylock.toml", fmt.Appendf(nil, "lock-version = \"1.0\"\ncreated-by = \"test\"\n"+
			"[[packages]]\nname = \"nvidia-nvjitlink-cu12\"\nversion = %q\n", c.version))
		venv := jitVenv(t, write, c.version)
		for source, url := range map[string]string{
			"index": index.URL + "/simple", "history": "", "index that refuses": refuses.URL + "/simple",
		} {
			ways := map[string][]string{
				"--with":                {"check", "--with", pin, wheel},
				"--requirement":         {"check", "--requirement", requirements, wheel},
				"--lock":                {"check", "--lock", lock, wheel},
				"--venv":                {"check", "--venv", venv, "--platform", "manylinux_2_28", wheel},
				"env --venv":            {"env", "--venv", venv, "--platform", "manylinux_2_28"},
				"check --venv, no file": {"check", "--venv", venv, "--platform", "manylinux_2_28"},
			}
			switch source {
			case "index": // the others do not have the widget
				ways["env --requirement"] = []string{"env", "--requirement", all, "--python", "3.12"}
			case "index that refuses": // it is tried several times, with pauses
				ways = map[string][]string{"--with": ways["--with"]}
			}
			for way, args := range ways {
				if got := findingsOf(t, url, args); got != c.want {
					t.Errorf("%s, %s, %s: %s, want %s", c.version, way, source, got, c.want)
				}
			}
		}
	}
}

// jitWidget returns a wheel with a module that needs the library of another package, and has a path
// to it.
func jitWidget(t *testing.T) []byte {
	t.Helper()
	return madeWheel(t, "widget", "1.0", []string{"nvidia-nvjitlink-cu12"},
		"widget/__init__.py", "from . import _w\n",
		"widget/_w.cpython-312-x86_64-linux-gnu.so",
		jitUser+"runpath $ORIGIN/../nvidia/nvjitlink/lib\n")
}

// jitVenv writes a virtual environment with the widget and the library, and returns its folder.
func jitVenv(t *testing.T, write func(string, []byte) string, version string) string {
	t.Helper()
	site := "venv/lib/python3.12/site-packages/"
	library := "elf x86_64\nsoname libnvJitLink.so.12\nneeded libc.so.6\n" +
		"export __nvJitLinkCreate_12_8@libnvJitLink.so.12\n"
	if version == "12.9.86" {
		library += "export __nvJitLinkGetErrorLogSize_12_9@libnvJitLink.so.12\n"
	}
	for name, text := range map[string]string{
		"widget/__init__.py": "from . import _w\n",
		"widget/_w.cpython-312-x86_64-linux-gnu.so": jitUser +
			"runpath $ORIGIN/../nvidia/nvjitlink/lib\n",
		"nvidia/nvjitlink/lib/libnvJitLink.so.12": library,
	} {
		data := []byte(text)
		if strings.HasPrefix(text, "elf ") {
			data = elftest.File(t, text)
		}
		write(site+name, data)
	}
	for _, p := range []struct{ name, version, files string }{
		{"widget", "1.0",
			"widget/__init__.py,,\nwidget/_w.cpython-312-x86_64-linux-gnu.so,,\n"},
		{"nvidia_nvjitlink_cu12", version, "nvidia/nvjitlink/lib/libnvJitLink.so.12,,\n"},
	} {
		info := site + p.name + "-" + p.version + ".dist-info/"
		write(info+"METADATA", []byte("Metadata-Version: 2.1\nName: "+p.name+"\nVersion: "+p.version+
			"\n"))
		write(info+"WHEEL", []byte("Wheel-Version: 1.0\nRoot-Is-Purelib: false\n"+
			"Tag: cp312-cp312-manylinux_2_28_x86_64\n"))
		write(info+"RECORD", []byte(p.files))
	}
	return filepath.Dir(write("venv/pyvenv.cfg", []byte("version = 3.12.1\n")))
}

// findingsOf runs compat, and returns the verdict with the rules and symbols of the errors.
func findingsOf(t *testing.T, indexURL string, args []string) string {
	t.Helper()
	vars := map[string]string{
		"COMPAT_DATA": t.TempDir(), "PIP_INDEX_URL": indexURL, "PIP_CONFIG_FILE": os.DevNull,
	}
	var stdout, stderr bytes.Buffer
	run(t.Context(), append(args, "--format", "json"), environment{
		Getenv: func(n string) (string, bool) { v, ok := vars[n]; return v, ok && v != "" },
		In:     strings.NewReader(""),
		Out:    &stdout,
		Err:    &stderr,
	})
	var r analyzer.Report
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%s: %v\n%s", args, err, &stderr)
	}
	out := []string{string(r.Verdict)}
	for _, f := range r.Findings {
		if f.Severity == analyzer.Error {
			out = append(out, f.Rule+" "+f.Symbol)
		}
	}
	for _, u := range r.Unread {
		out = append(out, "unread "+u.Path+": "+u.Reason)
	}
	slices.Sort(out[1:])
	return strings.Join(out, " ")
}

// A library that a pinned package has in another version is missing. One that no pinned package has
// may be one of the system, also if no choice of versions provides it.
func TestOtherVersionInAnEnvironment(t *testing.T) {
	boost := func(version string) []byte {
		return madeWheel(t, "boost", version, nil, "boost/libboost_chrono.so."+version,
			"elf x86_64\nsoname libboost_chrono.so."+version+"\nneeded libc.so.6\nexport chrono\n")
	}
	index := httptest.NewServer(&packageIndex{files: map[string]map[string][]byte{
		"boost": {"boost-1.83.0-py3-none-manylinux2014_x86_64.whl": boost("1.83.0")},
		"other": {"other-1.0-py3-none-any.whl": madeWheel(t, "other", "1.0", nil)},
		"widget": {"widget-1.0-cp312-cp312-manylinux_2_28_x86_64.whl": madeWheel(t, "widget", "1.0",
			nil, "widget/_w.cpython-312-x86_64-linux-gnu.so", "elf x86_64\n"+
				"needed libboost_chrono.so.1.81.0\nneeded libc.so.6\nrunpath $ORIGIN/../boost\n"+
				"import fcntl64@GLIBC_2.28 libc.so.6\nimport chrono\nexport PyInit__w\n")},
	}})
	defer index.Close()
	for pin, want := range map[string]string{
		"boost==1.83.0": "incompatible library-not-found ", "other==1.0": "compatible",
	} {
		all := filepath.Join(t.TempDir(), "all.txt")
		if err := os.WriteFile(all, []byte(pin+"\nwidget==1.0\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"env", "--requirement", all, "--python", "3.12", "--platform", "debian12"}
		if got := findingsOf(t, index.URL+"/simple", args); got != want {
			t.Errorf("%s: %s, want %s", pin, got, want)
		}
	}
}

// A library of an unpacked system that needs a newer one of its other libraries does not load, so
// what needs that library does not start.
func TestVersionsOfASystem(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"usr/lib/x86_64-linux-gnu/libc.so.6": "elf x86_64\nsoname libc.so.6\nexport exit@@GLIBC_2.2.5\n",
		"lib64/ld-linux-x86-64.so.2": "elf x86_64\nsoname ld-linux-x86-64.so.2\n" +
			"export __tls_get_addr@@GLIBC_2.3\n",
		"usr/lib/x86_64-linux-gnu/libplain.so.1": "elf x86_64\nsoname libplain.so.1\n" +
			"needed libc.so.6\nexport plain\n",
		"usr/lib/x86_64-linux-gnu/libnew.so.1": "elf x86_64\nsoname libnew.so.1\nneeded libc.so.6\n" +
			"import pthread_create@GLIBC_2.34 libc.so.6\nexport new\n",
		"usr/bin/app":   "elf x86_64\nneeded libnew.so.1\nneeded libc.so.6\nimport new\n",
		"usr/bin/plain": "elf x86_64\nneeded libplain.so.1\nneeded libc.so.6\nimport plain\n",
	} {
		data := elftest.File(t, text)
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for program, want := range map[string]string{
		"app": "incompatible symbol-version-too-new ", "plain": "compatible",
	} {
		args := []string{"check", "--root", root, filepath.Join(root, "usr/bin", program)}
		if got := findingsOf(t, "", args); got != want {
			t.Errorf("%s: %s, want %s", program, got, want)
		}
	}
}
