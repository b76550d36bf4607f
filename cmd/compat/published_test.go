package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkWith runs a check with variables and returns its exit code and output.
func checkWith(t *testing.T, vars map[string]string, args ...string) (code int, out, errs string) {
	t.Helper()
	return runWith(t, vars, append([]string{"check"}, args...)...)
}

// runWith is like checkWith for any command.
func runWith(t *testing.T, vars map[string]string, args ...string) (code int, out, errs string) {
	t.Helper()
	set := map[string]string{"COMPAT_DATA": t.TempDir(), "PIP_CONFIG_FILE": os.DevNull}
	for k, v := range vars {
		set[k] = v
	}
	var stdout, stderr bytes.Buffer
	code = run(context.Background(), args, environment{
		Getenv: func(n string) (string, bool) { v, ok := set[n]; return v, ok },
		In:     strings.NewReader(""),
		Out:    &stdout,
		Err:    &stderr,
	})
	return code, stdout.String(), stderr.String()
}

func publishedWidgets(t *testing.T) *packageIndex {
	wheel := func(version, object string) []byte {
		return madeWheel(t, "widget", version, nil,
			"widget/_w.cpython-312-x86_64-linux-gnu.so", object)
	}
	plain := "elf x86_64\nneeded libc.so.6\nneeded libm.so.6\nimport fcntl64@GLIBC_2.28 libc.so.6\nexport PyInit__w\n"
	return &packageIndex{files: map[string]map[string][]byte{"widget": {
		"widget-1.0-cp312-cp312-manylinux_2_28_x86_64.whl":   wheel("1.0", plain),
		"widget-1.0-cp312-cp312-musllinux_1_2_x86_64.whl":    wheel("1.0", plain),
		"widget-1.1-cp312-cp312-manylinux_2_28_x86_64.whl":   wheel("1.1", plain+"import pow@GLIBC_2.29 libm.so.6\n"),
		"widget-2.0a1-cp312-cp312-manylinux_2_28_x86_64.whl": wheel("2.0a1", plain),
	}}}
}

// A release is downloaded from the index and checked like a file.
func TestCheckPublishedRelease(t *testing.T) {
	index := publishedWidgets(t)
	server := httptest.NewServer(index)
	defer server.Close()
	vars := map[string]string{"PIP_INDEX_URL": server.URL + "/simple/"}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--platform manylinux_2_28 pypi:widget==1.0", exitOK,
			"compatible: widget-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"},
		{"--platform debian12 pypi:widget==1.1", exitOK, "widget-1.1-cp312"},
		{"--platform debian12 pypi:widget==1.1", exitOK,
			"note: pypi:widget==1.1 is the wheel for Python 3.12; those for other versions"},
		{"--platform manylinux_2_28 pypi:Widget", exitIncompatible, "GLIBC_2.29"},
		{"--platform manylinux_2_28 pypi:widget<1.1", exitOK, "widget-1.0-cp312"},
		{"--platform manylinux_2_28 pypi:widget>=2.0a0", exitOK, "widget-2.0a1-cp312"},
		{"--platform alpine3.20 pypi:widget==1.0", exitIncompatible, "widget-1.0-cp312-cp312-musllinux"},
		{"--platform manylinux_2_17 pypi:widget==1.0", exitUsage,
			"widget==1.0 has no wheel for glibc 2.17; there are wheels for glibc 2.28"},
		{"pypi:widget==7", exitUsage, "widget has no version 7"},
		{"pypi:widget>7", exitUsage, "the index has no version of widget that fits; its newest is 2.0a1"},
		{"pypi:absent==1", exitUsage, "404"},
		{"pypi:../widget", exitUsage, "give NAME==VERSION, for example torch==2.7.0"},
	} {
		code, out, errs := checkWith(t, vars, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
	index.digest = strings.Repeat("0", 64)
	code, _, errs := checkWith(t, vars, "pypi:widget==1.0", "--platform", "manylinux_2_28")
	if code != exitUsage || !strings.Contains(errs, "do not match its digest on the page") {
		t.Errorf("a changed wheel: exit %d, %s", code, errs)
	}
	if code, _, errs := checkWith(t, nil, "pypi:widget==1.0"); code != exitUsage ||
		!strings.Contains(errs, "none is configured; name one with --index-url or PIP_INDEX_URL") {
		t.Errorf("without an index: exit %d, %s", code, errs)
	}
}

// A fix that keeps the name of a wheel costs a new version if the wheel is one of the index. Whether
// a file is published is not known.
func TestCostIfPublished(t *testing.T) {
	const object = "elf x86_64\nneeded libc.so.6\nimport deflate\nexport PyInit__w\n"
	const file = "widget-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
	wheel := madeWheel(t, "widget", "1.0", nil, "widget/_w.cpython-312-x86_64-linux-gnu.so", object)
	server := httptest.NewServer(&packageIndex{files: map[string]map[string][]byte{"widget": {
		file: wheel,
	}}})
	defer server.Close()
	vars := map[string]string{"PIP_INDEX_URL": server.URL + "/simple/"}
	given := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(given, wheel, 0o644); err != nil {
		t.Fatal(err)
	}
	const published = "the fixed wheel needs a new version or build number, because this one is " +
		"published"
	for path, want := range map[string]string{
		given:              "if 1.0 is published, the fixed wheel needs a new version or build number",
		"pypi:widget==1.0": published,
	} {
		code, out, errs := checkWith(t, vars, "--verbose", path)
		if code != exitIncompatible || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, want %q\n%s%s", path, code, want, out, errs)
		}
	}
}

// The wheel is that for the interpreter of an environment, and explain downloads it too.
func TestPublishedReleaseForAPython(t *testing.T) {
	files := map[string][]byte{}
	for _, tags := range []string{
		"cp311-cp311-manylinux_2_28_x86_64", "cp312-cp312-manylinux_2_28_x86_64",
		"cp311-cp311-win_amd64", "cp312-cp312-win_amd64",
	} {
		files["widget-1.0-"+tags+".whl"] = madeWheel(t, "widget", "1.0", nil,
			"widget/_w.so", "elf x86_64\nneeded libc.so.6\nimport fcntl64@GLIBC_2.28 libc.so.6\n")
	}
	server := httptest.NewServer(&packageIndex{files: map[string]map[string][]byte{"widget": files}})
	defer server.Close()
	vars := map[string]string{"PIP_INDEX_URL": server.URL + "/simple/"}
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{
		"venv/lib/python3.11/site-packages/README.txt": "", "py310/lib/python3.10/site-packages/a": "",
		"uv.lock":   "version = 1\nrequires-python = \">=3.11\"\n[[package]]\nname = \"pure\"\n",
		"plain.txt": "pure==1\n", "build.log": "OSError: libm.so.7: cannot open shared object file\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"--venv venv --platform manylinux_2_28":             "widget-1.0-cp311-cp311-manylinux_2_28_x86_64",
		"--lock uv.lock --platform manylinux_2_28":          "widget-1.0-cp311-cp311-manylinux_2_28_x86_64",
		"--venv venv --platform win_amd64":                  "widget-1.0-cp311-cp311-win_amd64",
		"--requirement plain.txt --platform debian12":       "widget-1.0-cp312-cp312-manylinux_2_28_x86_64",
		"--venv py310 --platform debian12":                  "no wheel for Python 3.10",
		"--venv py310 --platform win_amd64":                 "no wheel of widget==1.0 for Python 3.10 on win",
		"--venv absent":                                     "--venv: absent is not a folder",
		"--platform debian12 --format json --fail-on never": "widget-1.0-cp312-cp312-manylinux_2_28_x86_64",
	} {
		code, out, errs := checkWith(t, vars, append(strings.Fields(args), "pypi:widget==1.0")...)
		if !strings.Contains(out+errs, want) {
			t.Errorf("%s: exit %d, no %q\n%s%s", args, code, want, out, errs)
		}
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"build.log pypi:widget==1.0", exitOK, "undecided: No given file lists libm.so.7 in DT_NEEDED"},
		{"--index-url " + server.URL + "/simple/ build.log pypi:widget==7", exitUsage,
			"widget has no version 7"},
		{"build.log -", exitUsage, "the PATHs contain no shared library"}, // standard input is empty
		{"- -", exitUsage, "-: give standard input only once"},
	} {
		args := append([]string{"explain", "--format", "text"}, strings.Fields(c.args)...)
		code, out, errs := runWith(t, vars, args...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("explain %s: exit %d, want %d and %q\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
	code, _, errs := runWith(t, nil, "explain", "build.log", "pypi:widget==1.0")
	if code != exitUsage || !strings.Contains(errs, "none is configured; name one with --index-url") {
		t.Errorf("explain without an index: exit %d, %s", code, errs)
	}
}

// An index that a file names is not used; the result says how to name it. All named ones are used.
func TestIndexesThatFilesName(t *testing.T) {
	widgets := publishedWidgets(t)
	server := httptest.NewServer(widgets)
	defer server.Close()
	other := &packageIndex{files: map[string]map[string][]byte{"torch": {
		"torch-2.7.0+cpu-cp312-cp312-manylinux_2_28_x86_64.whl": madeWheel(t, "torch", "2.7.0+cpu", nil,
			"torch/_C.so", "elf x86_64\nneeded libc.so.6\nimport fcntl64@GLIBC_2.28 libc.so.6\n"),
	}}}
	extra := httptest.NewServer(other)
	defer extra.Close()
	main, cpu := server.URL+"/simple/", extra.URL+"/simple/"
	secret := strings.Replace(cpu, "http://", "http://user:hunter2@", 1)
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{
		"requirements.txt": "-i " + main + "\n--extra-index-url " + secret + "\ntorch==2.7.0+cpu\nwidget==1.0\n",
		"open.txt":         "--extra-index-url=" + cpu + "\ntorch\n",
		"found.txt":        "--extra-index-url " + cpu + "\nwidget==1.0\n",
		"links.txt":        "widget==1.0\n--find-links wheels/\ntorch==2.7.0+cpu\n",
		"uv.lock": "version = 1\n[[package]]\nname = \"torch\"\nversion = \"2.7.0+cpu\"\nsource = { registry = \"" + cpu +
			"\" }\n[[package]]\nname = \"widget\"\nversion = \"1.0\"\nsource = { registry = \"" + main + "\" }\n" +
			"[[package]]\nname = \"pure\"\nversion = \"1.0\"\nsource = { registry = \"" + main + "\" }\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const name = " names the index "
	hint := strings.TrimSuffix(cpu, "/") + "/, which compat uses only if you name it: PIP_EXTRA_INDEX_URL=" + cpu +
		", or --index-url for each index"
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"-r requirements.txt", exitUsage, "requirements.txt:2" + name + hint},
		{"-r open.txt", exitUsage, "open.txt:1" + name + hint},
		{"--lock uv.lock", exitUsage, "uv.lock" + name + hint},
		{"-r found.txt", exitOK, "compatible"},
		{"-r links.txt", exitUsage, "links.txt:2 has --find-links, whose files compat does not read"},
		{"-r requirements.txt --index-url " + main + " --index-url " + cpu, exitOK, "2 artifacts"},
	} {
		args := append([]string{"env", "--python", "3.12", "--verbose"}, strings.Fields(c.args)...)
		code, out, errs := runWith(t, map[string]string{"PIP_INDEX_URL": main}, args...)
		if code != c.code || !strings.Contains(out, c.want) || c.code == exitOK && strings.Contains(out, name) {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
		if strings.Contains(out+errs, "hunter2") {
			t.Errorf("%s: the password is shown", c.args)
		}
		if n := other.requests.Load(); n > 0 && c.code != exitOK {
			t.Errorf("%s: %d requests to an index that was not named", c.args, n)
		}
	}
}

// For macOS and Windows the newest final release with a wheel is downloaded, for the newest Python.
func TestCheckPublishedReleaseForOtherSystems(t *testing.T) {
	files := map[string][]byte{}
	for _, tags := range []string{
		"1.0-cp312-cp312-win_amd64", "1.0-cp313-cp313-win_amd64", "1.0-cp38-abi3-win_amd64",
		"1.0-cp313-cp313-macosx_11_0_arm64", "1.0-cp313-cp313-macosx_15_0_x86_64",
		"1.1-cp313-cp313-macosx_11_0_x86_64", "2.0a1-cp313-cp313-win_amd64",
	} {
		version, _, _ := strings.Cut(tags, "-")
		files["widget-"+tags+".whl"] = madeWheel(t, "widget", version, nil,
			"widget/_w.cpython-312-x86_64-linux-gnu.so", "elf x86_64\nneeded libc.so.6\n")
	}
	server := httptest.NewServer(&packageIndex{files: map[string]map[string][]byte{"widget": files}})
	defer server.Close()
	vars := map[string]string{"PIP_INDEX_URL": server.URL + "/simple/"}
	for _, c := range []struct{ platform, release, want string }{
		{"win_amd64", "widget", "widget-1.0-cp313-cp313-win_amd64.whl"},
		{"win_amd64", "widget==2.0a1", "widget-2.0a1-cp313-cp313-win_amd64.whl"},
		{"macos14/x86_64", "widget", "widget-1.1-cp313-cp313-macosx_11_0_x86_64.whl"},
		{"macos14/x86_64", "widget<1.1", "the index has no wheel of widget<1.1 for macosx_14_0"},
		{"macos14", "widget<1.1", "widget-1.0-cp313-cp313-macosx_11_0_arm64.whl"},
		{"macosx_11_0_arm64", "widget", "widget-1.0-cp313-cp313-macosx_11_0_arm64.whl"},
		{"win_arm64", "widget", "the index has no wheel of widget for win_arm64"},
	} {
		code, out, errs := checkWith(t, vars, "--platform", c.platform, "pypi:"+c.release)
		if code != exitUsage || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s on %s: exit %d, no %q\n%s%s", c.release, c.platform, code, c.want, out, errs)
		}
	}
}

// The base is a release: its wheels for the Pythons and systems of the given ones are downloaded,
// and the names of the others say what is not supported any more.
func TestCompareWithPublishedRelease(t *testing.T) {
	index := publishedWidgets(t)
	server := httptest.NewServer(index)
	defer server.Close()
	vars := map[string]string{"PIP_INDEX_URL": server.URL + "/simple/"}
	head := filepath.Join(t.TempDir(), "widget-1.2-cp312-cp312-manylinux_2_28_x86_64.whl")
	object := "elf x86_64\nneeded libm.so.6\nimport pow@GLIBC_2.29 libm.so.6\nexport PyInit__w\n"
	wheel := madeWheel(t, "widget", "1.2", nil, "widget/_w.cpython-312-x86_64-linux-gnu.so", object)
	if err := os.WriteFile(head, wheel, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		base string
		code int
		want string
	}{
		{"pypi:widget==1.1", exitOK, "compared with widget 1.1: 1 of its 1 wheels"},
		{"pypi:widget", exitOK, "compared with widget 1.1: 1 of its 1 wheels"}, // 2.0a1 is later
		{"pypi:Widget<1.1", exitIncompatible, "compared with widget 1.0: 1 of its 2 wheels"},
		{"pypi:widget==1.0", exitIncompatible,
			"widget has no wheel for Alpine Linux (x86_64), but widget 1.0 has"},
		{"pypi:widget==7", exitUsage, "--base: pypi:widget==7: the index has no wheels of such a release"},
		{"pypi:widget>=1.2", exitUsage, "the index has no wheels of such a release of widget"},
		{"pypi:other==1", exitUsage, "none of the given files is a wheel of other"},
		{"pypi:../widget", exitUsage, "give NAME==VERSION, for example torch==2.7.0"},
	} {
		code, out, errs := checkWith(t, vars, "--verbose", "--base", c.base, head)
		if text := strings.Join(strings.Fields(out+errs), " "); code != c.code ||
			!strings.Contains(text, c.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", c.base, code, c.code, c.want, out, errs)
		}
	}
	index.digest = strings.Repeat("0", 64)
	code, _, errs := checkWith(t, vars, "--base", "pypi:widget==1.1", head)
	if code != exitUsage || !strings.Contains(errs, "do not match its digest on the page") {
		t.Errorf("a changed wheel: exit %d, %s", code, errs)
	}
	if code, _, errs := checkWith(t, nil, "--base", "pypi:widget", head); code != exitUsage ||
		!strings.Contains(errs, "none is configured; name one with --index-url or PIP_INDEX_URL") {
		t.Errorf("without an index: exit %d, %s", code, errs)
	}
}

// An index of a company has its own certificate authority, and credentials in netrc.
func TestCheckPublishedReleasePrivately(t *testing.T) {
	index := publishedWidgets(t)
	index.login = "Basic " + base64.StdEncoding.EncodeToString([]byte("reader:hunter2"))
	server := httptest.NewTLSServer(index)
	defer server.Close()
	home := t.TempDir()
	authority := filepath.Join(home, "authority.pem")
	for path, data := range map[string][]byte{
		authority: pem.EncodeToMemory(&pem.Block{
			Type: "CERTIFICATE", Bytes: server.Certificate().Raw,
		}),
		filepath.Join(home, ".netrc"):    []byte("machine 127.0.0.1 login reader password hunter2\n"),
		filepath.Join(home, "pip.conf"):  []byte("[global]\ncert = " + authority + "\n"),
		filepath.Join(home, "empty.pem"): []byte("no certificate\n"),
		filepath.Join(home, "cut.pem"):   []byte("-----BEGIN CERTIFICATE-----\nMIIB\n"),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const release = "pypi:widget==1.0"
	for _, c := range []struct {
		name, value string
		code        int
		want        string
	}{
		{"PIP_CERT", authority, exitOK, "compatible: widget-1.0"},
		{"REQUESTS_CA_BUNDLE", authority, exitOK, "compatible: widget-1.0"},
		{"SSL_CERT_FILE", authority, exitOK, "compatible: widget-1.0"},
		{"PIP_CONFIG_FILE", filepath.Join(home, "pip.conf"), exitOK, "compatible: widget-1.0"},
		{"PIP_CERT", filepath.Join(home, "absent.pem"), exitUsage, "correct PIP_CERT"},
		{"PIP_CERT", filepath.Join(home, "empty.pem"), exitUsage, "has no certificate in PEM form"},
		{"PIP_CERT", filepath.Join(home, "cut.pem"), exitUsage, "no certificate that can be read"},
		{"LANG", "C", exitUsage, "certificate signed by unknown authority"},
	} {
		code, out, errs := checkWith(t, map[string]string{
			"PIP_INDEX_URL": server.URL + "/simple/", "HOME": home, c.name: c.value,
		}, "--platform", "manylinux_2_28", release)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s=%s: exit %d, want %d and %q\n%s%s", c.name, c.value, code, c.code, c.want, out, errs)
		}
		if strings.Contains(out+errs, "hunter2") {
			t.Errorf("%s: the password is shown", c.name)
		}
	}
	code, _, errs := checkWith(t, map[string]string{
		"PIP_INDEX_URL": server.URL + "/simple/", "PIP_CERT": authority,
	}, "--platform", "manylinux_2_28", release)
	if code != exitUsage || !strings.Contains(errs, "check the credentials in the index URL or in netrc") {
		t.Errorf("without credentials: exit %d, %s", code, errs)
	}
}

// PIP_PROXY sends the requests to a proxy.
func TestCheckThroughAProxy(t *testing.T) {
	proxy := httptest.NewServer(publishedWidgets(t)) // it answers for every host
	defer proxy.Close()
	code, out, errs := checkWith(t, map[string]string{
		"PIP_INDEX_URL": "http://index.invalid/simple/", "PIP_PROXY": proxy.URL,
	}, "--platform", "manylinux_2_28", "pypi:widget==1.0")
	if code != exitOK {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	code, _, errs = checkWith(t, map[string]string{
		"PIP_INDEX_URL": "http://index.invalid/simple/", "PIP_PROXY": "http://u:hunter2@[",
	}, "pypi:widget==1.0")
	if code != exitUsage || !strings.Contains(errs, "correct PIP_PROXY") ||
		strings.Contains(errs, "hunter2") {
		t.Errorf("an unusable proxy: exit %d, %s", code, errs)
	}
}

// The printed command saves the wheel that was checked.
func TestSaveCommand(t *testing.T) {
	for file, want := range map[string]string{
		"a_b-1.0-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl": "pip download " +
			"--no-deps --only-binary :all: --platform manylinux_2_17_x86_64 --python-version 3.10 a_b==1.0",
		"c-2-py3-none-any.whl": "pip download --no-deps c==2",
		"d-3-cp312-cp312-win_amd64.whl": "pip download --no-deps --only-binary :all: --platform " +
			"win_amd64 --python-version 3.12 d==3",
	} {
		name, err := pkgmeta.ParseWheelName(file)
		if err != nil {
			t.Fatal(err)
		}
		in := inputs{saving: []saving{{file, saveCommand(name)}}}
		r := &analyzer.Report{Plan: analyzer.Plan{Command: "compat fix " + shellword.Line(file)}}
		if got := in.saved(r); string(got) != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
		if got := in.saved(&analyzer.Report{}); got != "" {
			t.Errorf("%s: %q without a command", file, got)
		}
	}
}
