package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// madeWheel returns a wheel of texts; objects in elfobj's text form are converted to ELF.
func madeWheel(t *testing.T, name, version string, requires []string, files ...string) []byte {
	t.Helper()
	metadata := "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"
	for _, r := range requires {
		metadata += "Requires-Dist: " + r + "\n"
	}
	info := fmt.Sprintf("%s-%s.dist-info/", strings.ReplaceAll(name, "-", "_"), version)
	files = append(
		files,
		info+"METADATA", metadata,
		info+"WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n"+
			"Tag: cp312-cp312-manylinux_2_28_x86_64\n",
	)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for n := 0; n < len(files); n += 2 {
		data := []byte(files[n+1])
		if strings.HasPrefix(files[n+1], "elf ") {
			data = elftest.File(t, files[n+1])
		}
		w, err := z.Create(files[n])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// packageIndex is a fake package index: file names with their bytes, by project.
type packageIndex struct {
	files    map[string]map[string][]byte
	digest   string // replaces the correct digest
	login    string // required Authorization header; "" = none
	requests atomic.Int32
}

func (s *packageIndex) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	project, file, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/simple/"), "/")
	switch found, ok := s.files[project]; {
	case s.login != "" && r.Header.Get("Authorization") != s.login:
		w.WriteHeader(http.StatusUnauthorized)
	case !ok:
		http.NotFound(w, r)
	case file != "" && found[file] == nil:
		http.NotFound(w, r)
	case file != "":
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(found[file]))
	default:
		var list []any
		for name, data := range found {
			sum := sha256.Sum256(data)
			digest := hex.EncodeToString(sum[:])
			if s.digest != "" {
				digest = s.digest
			}
			list = append(
				list,
				map[string]any{
					"filename": name,
					"url":      name,
					"size":     len(data),
					"hashes":   map[string]string{"sha256": digest},
				},
			)
		}
		w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
		json.NewEncoder(w).
			Encode(map[string]any{"meta": map[string]string{"api-version": "1.1"}, "files": list})
	}
}

// noise returns incompressible text.
func noise(n int) string {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

// jitWheel returns a release of the library that CUDA code is linked with at run time, with half
// a megabyte of other content.
func jitWheel(t *testing.T, version string, exports ...string) []byte {
	text := "elf x86_64\nsoname libnvJitLink.so.12\nneeded libc.so.6\n"
	for _, e := range exports {
		text += "export " + e + "@libnvJitLink.so.12\n"
	}
	return madeWheel(
		t,
		"nvidia-nvjitlink-cu12",
		version,
		nil,
		"nvidia/nvjitlink/lib/libnvJitLink.so.12",
		text,
		"nvidia/nvjitlink/bitcode.bc",
		noise(512<<10),
	)
}

// checkWheel writes a wheel and checks it with an index.
func checkWheel(
	t *testing.T,
	wheel []byte,
	data, indexURL string,
	args ...string,
) (code int, out, errs string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "widget-1.0-cp312-cp312-manylinux_2_28_x86_64.whl")
	if err := os.WriteFile(file, wheel, 0o600); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{
		"COMPAT_DATA":     data,
		"PIP_INDEX_URL":   indexURL,
		"PIP_CONFIG_FILE": os.DevNull,
	}
	var stdout, stderr bytes.Buffer
	env := environment{
		Getenv: func(n string) (string, bool) { v, ok := vars[n]; return v, ok },
		In:     strings.NewReader(""),
		Out:    &stdout,
		Err:    &stderr,
	}
	code = run(
		context.Background(),
		append(append([]string{"check", "--verbose"}, args...), file),
		env,
	)
	return code, stdout.String(), stderr.String()
}

const jitUser = "elf x86_64\nneeded libnvJitLink.so.12\nneeded libc.so.6\nimport " +
	"fcntl64@GLIBC_2.28 libc.so.6\nimport __nvJitLinkGetErrorLogSize_12_9@libnvJitLink.so.12 " +
	"libnvJitLink.so.12\nexport PyInit__w\n"

// A typical case with an index: the report has the symbol, the version that lacks it, the pin
// that fixes it, the conflicts and the trade-off. The second check sends no requests.
func TestCheckThroughAnIndex(t *testing.T) {
	jit := map[string][]byte{}
	for version, exports := range map[string][]string{"12.8.93": {"__nvJitLinkCreate_12_8"},
		"12.9.41": {"__nvJitLinkCreate_12_8", "__nvJitLinkGetErrorLogSize_12_9"},
		"12.9.86": {"__nvJitLinkCreate_12_8", "__nvJitLinkGetErrorLogSize_12_9"}} {
		jit["nvidia_nvjitlink_cu12-"+version+"-py3-none-manylinux2014_x86_64.whl"] = jitWheel(
			t,
			version,
			exports...)
	}
	s := &packageIndex{files: map[string]map[string][]byte{"nvidia-nvjitlink-cu12": jit, "torch": {
		"torch-2.7.0-cp312-cp312-manylinux_2_28_x86_64.whl": madeWheel(
			t,
			"torch",
			"2.7.0",
			[]string{"nvidia-nvjitlink-cu12==12.8.93"},
			"torch/lib/libtorch.so",
			"elf x86_64\nsoname libtorch.so\nneeded libc.so.6\n",
		),
	}}}
	server := httptest.NewServer(s)
	defer server.Close()
	widget := madeWheel(
		t,
		"widget",
		"1.0",
		[]string{"torch>=2", "nvidia-nvjitlink-cu12>=12.8"},
		"widget/_w.cpython-312-x86_64-linux-gnu.so",
		jitUser,
	)
	data := t.TempDir()
	code, out, errs := checkWheel(t, widget, data, server.URL+"/simple", "--with", "torch==2.7.0")
	for _, want := range []string{"__nvJitLinkGetErrorLogSize_12_9",
		`fails with nvidia-nvjitlink-cu12 12.8.93, which lacks`, `nvidia-nvjitlink-cu12>=12.9`,
		`: torch==2.7.0 requires nvidia-nvjitlink-cu12==12.8.93`} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit %d, %q is not in\n%s", code, want, out)
		}
	}
	cost := regexp.MustCompile(`packages of \S+: \d+ requests, (0\.\d) MB received`)
	if m := cost.FindStringSubmatch(errs); m == nil || m[1] > "0.9" {
		t.Errorf("it cost %s", errs)
	}
	before := s.requests.Load()
	again, out2, errs := checkWheel(t, widget, data, server.URL+"/simple", "--with", "torch==2.7.0")
	if again != code || out2 == "" || s.requests.Load() != before ||
		!strings.Contains(errs, ": no requests") {
		t.Errorf("the second time: exit %d, %d requests, %s", again, s.requests.Load()-before, errs)
	}
}

// A package that could not be looked up does not matter if the library has its own package: not for
// an error either, if another version of that package has the symbol.
func TestUnreachablePackageThatDoesNotMatter(t *testing.T) {
	packages := &packageIndex{files: map[string]map[string][]byte{"nvidia-nvjitlink-cu12": {
		"nvidia_nvjitlink_cu12-12.4.127-py3-none-manylinux2014_x86_64.whl": jitWheel(t, "12.4.127",
			"__nvJitLinkCreate_12_4"),
		"nvidia_nvjitlink_cu12-12.9.86-py3-none-manylinux2014_x86_64.whl": jitWheel(t, "12.9.86",
			"__nvJitLinkGetErrorLogSize_12_9"),
	}}}
	for _, c := range []struct {
		needed string
		with   []string
		code   int
		want   string
	}{
		{"libnvJitLink.so.12", []string{"nvidia-nvjitlink-cu12==12.9.86"}, 0, "compatible"},
		{"libnvJitLink.so.12", []string{"nvidia-nvjitlink-cu12==12.4.127", "closed==1"}, 1,
			"could not look up closed, on which the result does not depend"},
		{"libnvJitLink.so.12", []string{"nvidia-nvjitlink-cu12==12.9.86", "closed==1"}, 2,
			"package closed==1 could not be looked up, and the result depends on it"},
		{"libother.so.1", []string{"nvidia-nvjitlink-cu12==12.9.86"}, 2,
			"package closed could not be looked up, and the result depends on it"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/closed") {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			packages.ServeHTTP(w, r)
		}))
		widget := madeWheel(t, "widget", "1.0", []string{"nvidia-nvjitlink-cu12", "closed"},
			"widget/_w.cpython-312-x86_64-linux-gnu.so",
			strings.ReplaceAll(jitUser, "libnvJitLink.so.12", c.needed))
		var args []string
		for _, q := range c.with {
			args = append(args, "--with", q)
		}
		code, out, errs := checkWheel(t, widget, t.TempDir(), server.URL+"/simple", args...)
		server.Close()
		if code != c.code || !strings.Contains(strings.Join(strings.Fields(out), " "), c.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", c.needed, code, c.code, c.want, out, errs)
		}
	}
}

// An unreachable index does not matter for packages that are known to have none of the missing
// libraries, nor to require one that does. A requested extra may add any.
func TestUnreachablePackagesWithoutTheLibrary(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	for _, c := range []struct {
		requires []string
		code     int
	}{
		{[]string{"pydantic", "numba"}, 1},
		{[]string{"pydantic", "numba", "closed"}, 2},
		{[]string{"requests"}, 1},
		{[]string{"requests[socks]"}, 2},
	} {
		widget := madeWheel(t, "widget", "1.0", c.requires, "widget/_w.cpython-312-x86_64-linux-gnu.so",
			strings.ReplaceAll(jitUser, "libnvJitLink.so.12", "libother.so.1"))
		code, out, errs := checkWheel(t, widget, t.TempDir(), server.URL+"/simple")
		if code != c.code || !strings.Contains(out, "libother.so.1") {
			t.Errorf("%v: exit %d, want %d\n%s%s", c.requires, code, c.code, out, errs)
		}
	}
}

// A declared version that the index does not have leaves the verdict open, and is found as soon as
// it is published.
func TestDeclaredVersionIsNotPublished(t *testing.T) {
	wheels := map[string][]byte{
		"base-1.0-py3-none-manylinux2014_x86_64.whl": madeWheel(t, "base", "1.0", nil),
	}
	server := httptest.NewServer(&packageIndex{files: map[string]map[string][]byte{"base": wheels}})
	defer server.Close()
	widget := madeWheel(t, "widget", "1.0", []string{"base>=1.1"},
		"widget/_w.cpython-312-x86_64-linux-gnu.so",
		strings.ReplaceAll(jitUser, "libnvJitLink.so.12", "libother.so.1"))
	data := t.TempDir()
	for _, c := range []struct {
		code int
		want string
	}{
		{2, "base could not be looked up, and the result depends on it: no version of base meets " +
			"base>=1.1; give an index that has it Also: needs libother.so.1, which is not bundled; a " +
			"package that may have it could not be looked up."},
		{1, "error"},
	} {
		code, out, errs := checkWheel(t, widget, data, server.URL+"/simple")
		if code != c.code || !strings.Contains(strings.Join(strings.Fields(out), " "), c.want) {
			t.Errorf("exit %d, want %d and %q\n%s%s", code, c.code, c.want, out, errs)
		}
		wheels["base-1.1-py3-none-manylinux2014_x86_64.whl"] = madeWheel(t, "base", "1.1", nil)
	}
}

// Checks with a misbehaving index or hostile requirements end with a reason and show no secret.
func TestBadIndexes(t *testing.T) {
	const page = "nvidia_nvjitlink_cu12-12.9.86-py3-none-manylinux2014_x86_64.whl"
	good := jitWheel(t, "12.9.86", "__nvJitLinkGetErrorLogSize_12_9")
	one := map[string]map[string][]byte{"nvidia-nvjitlink-cu12": {page: good}}
	thousands := map[string][]byte{page: good}
	for n := range 10_000 {
		thousands[fmt.Sprintf("nvidia_nvjitlink_cu12-11.%d-py3-none-manylinux2014_x86_64.whl",
			n)] = []byte(
			"never read",
		)
	}
	circle := func(name, requires string, files ...string) map[string][]byte {
		return map[string][]byte{
			name + "-1.0-py3-none-manylinux2014_x86_64.whl": madeWheel(
				t,
				name,
				"1.0",
				[]string{requires},
				files...),
		}
	}
	for name, c := range map[string]struct {
		packageIndex *packageIndex
		requires     string
		login        string // in the URL
		code         int
		want         string
		most         int32 // requests
	}{
		"as it should be": {&packageIndex{files: one}, "nvidia-nvjitlink-cu12", "", 0,
			"compatible", 4},
		"ten thousand versions": {&packageIndex{files: map[string]map[string][]byte{"nvidia-nvjitlink-cu12": thousands}}, "nvidia-nvjitlink-cu12>=12", "", 0, "compatible", 4},
		"requirements in a circle": {&packageIndex{files: map[string]map[string][]byte{"one": circle("one",
			"two"), "two": circle("two", "one", "two/libnvJitLink.so.12", "elf x86_64\nsoname "+
			"libnvJitLink.so.12\nexport __nvJitLinkGetErrorLogSize_12_9@libnvJitLink.so.12\n")}},
			"one", "", 0, "compatible", 12},
		"requirements in a circle that contradict": {&packageIndex{files: map[string]map[string][]byte{"one": circle("one", "two==1.0"), "two": circle("two", "one==2.0")}}, "one", "", 0, "warning library-not-found: .* needs libnvJitLink.so.12", 16},
		"a wrong digest": {&packageIndex{files: map[string]map[string][]byte{"nvidia-nvjitlink-cu12": {page: madeWheel(t, "nvidia-nvjitlink-cu12", "12.9.86", nil)}}, digest: strings.Repeat("0", 64)}, "nvidia-nvjitlink-cu12", "", 2,
			`package nvidia-nvjitlink-cu12.* could not be looked up, and the result depends on it: .*the \d+ bytes of ` + page + ` do not match its digest on the page`, 12},
		"another file": {&packageIndex{files: map[string]map[string][]byte{"nvidia-nvjitlink-cu12": {page: madeWheel(t, "other", "1.0", nil, "other/liba.so", "x", "other/b", noise(512<<10))}}}, "nvidia-nvjitlink-cu12", "", 2,
			page + ` has METADATA of "other" "1.0", so it is not the requested file`, 12},
		"refused credentials": {&packageIndex{files: one, login: "Basic other"}, "nvidia-nvjitlink-cu12",
			"user:hunter2@", 2, "401 Unauthorized: check the credentials in the index URL or in netrc", 8},
		"refused credentials, and a release that is known to fail": {&packageIndex{files: one,
			login: "Basic other"}, "nvidia-nvjitlink-cu12==12.8.93", "user:hunter2@", 1,
			"12.8.93, which lacks __nvJitLinkGetErrorLogSize_12_9(?s:.*)could not check(?s:.*)401 Unauth", 8},
	} {
		server := httptest.NewServer(c.packageIndex)
		widget := madeWheel(
			t,
			"widget",
			"1.0",
			[]string{c.requires},
			"widget/_w.cpython-312-x86_64-linux-gnu.so",
			jitUser,
		)
		code, out, errs := checkWheel(
			t,
			widget,
			t.TempDir(),
			strings.Replace(server.URL, "://", "://"+c.login, 1)+"/simple",
		)
		server.Close()
		if ok, err := regexp.MatchString(c.want, out); code != c.code || !ok || err != nil ||
			c.packageIndex.requests.Load() > c.most {
			t.Errorf(
				"%s: exit %d after %d requests, want %q\n%s%s",
				name,
				code,
				c.packageIndex.requests.Load(),
				c.want,
				out,
				errs,
			)
		}
		if strings.Contains(out+errs, "hunter2") {
			t.Errorf("%s: the output contains the password:\n%s%s", name, out, errs)
		}
	}
}

// Requirements of the user are used, or the reason why not is reported with their position.
func TestGivenPackages(t *testing.T) {
	jit := func(version string) []byte {
		return jitWheel(t, version, "__nvJitLinkGetErrorLogSize_12_9")
	}
	server := httptest.NewServer(
		&packageIndex{files: map[string]map[string][]byte{"nvidia-nvjitlink-cu12": {
			"nvidia_nvjitlink_cu12-12.9.86-py3-none-manylinux2014_x86_64.whl": jit(
				"12.9.86",
			), "nvidia_nvjitlink_cu12-12.9.41-py3-none-manylinux2014_x86_64.whl": jit("12.9.41"),
			"nvidia_nvjitlink_cu12-12.9.79-py3-none-win_amd64.whl": jit("12.9.79")}}},
	)
	defer server.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const name = "nvidia-nvjitlink-cu12=="
	lock := write("requirements.txt", "# made by hand\n"+name+"99\n")
	other := write("uv.lock", "[[package]]\nname = \"nvidia-nvjitlink-cu12\"\nversion = \"12.9.41\"\n")
	config := write("compat.yml", "python:\n  with:\n    - "+name+"98\n")
	widget := madeWheel(
		t,
		"widget",
		"1.0",
		[]string{"nvidia-nvjitlink-cu12>=12.9.80"},
		"widget/_w.cpython-312-x86_64-linux-gnu.so",
		jitUser,
	)
	for _, c := range []struct {
		flags []string
		code  int
		want  string
	}{
		{[]string{"--with", name + "12.9.86"}, 0, "compatible"},
		{[]string{"--with", name + "99"}, exitUsage,
			`==99 \(--with\): the index has no such version; the newest are 12.9.86, 12.9.79, 12.9.41`},
		{[]string{"--lock", lock}, exitUsage, `==99 \(.+requirements.txt:2\) could not be looked up`},
		{[]string{"--config", config}, exitUsage,
			`==98 \(.+compat.yml:3\): the index has no such version; the newest are 12.9.86, `},
		{[]string{"--with", name + "12.9.79"}, exitUsage,
			`the libraries of nvidia-nvjitlink-cu12==12.9.79 \(--with\) are not known, and the result depends on them.*: it has no wheel for Python 3.12 on x86_64`},
		{[]string{"--lock", lock, "--lock", other}, exitUsage,
			`==99 \(.+requirements.txt:2\) and nvidia-nvjitlink-cu12==12.9.41 \(.+uv.lock:3\) conflict, and the result depends on it`},
		{[]string{"--lock", lock, "--with", name + "12.9.86"}, 0,
			`==12.9.86 \(--with\) replaces nvidia-nvjitlink-cu12==99 \(.+requirements.txt:2\)`},
		{[]string{"--with", name + "12.9.41"}, 0,
			`pip refuses to install these together: widget==1.0 requires ` +
				`nvidia-nvjitlink-cu12>=12.9.80, and nvidia-nvjitlink-cu12==12.9.41 \(--with\) was given`},
		{[]string{"--with", "typo==1"}, exitUsage,
			`typo==1 \(--with\): the index has no package of that name`},
	} {
		code, out, errs := checkWheel(t, widget, t.TempDir(), server.URL+"/simple", c.flags...)
		if ok, err := regexp.MatchString(c.want, out); code != c.code || !ok || err != nil {
			t.Errorf("%q: exit %d, want %d and %q\n%s%s", c.flags, code, c.code, c.want, out, errs)
		}
	}
}

// TestHashesOfPins compares the hashes of lock and requirements files with the index.
func TestHashesOfPins(t *testing.T) {
	const file, older = "widget-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
		"widget-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
	module := func(python string) []byte {
		return madeWheel(t, "widget", "1.0", nil, "widget/_w.cpython-"+python+"-x86_64-linux-gnu.so",
			"elf x86_64\nneeded libc.so.6\nexport PyInit__w\n")
	}
	s := &packageIndex{files: map[string]map[string][]byte{"widget": {
		file: module("312"), older: module("311"), "widget-1.0.tar.gz": []byte("source"),
	}}}
	server := httptest.NewServer(s)
	defer server.Close()
	hash := func(file string) string {
		sum := sha256.Sum256(s.files["widget"][file])
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	none := "sha256:" + strings.Repeat("0", 64)
	poetry := "[[package]]\nname = \"widget\"\nversion = \"1.0\"\nfiles = [\n" +
		"    {file = \"" + file + "\", hash = \"" + none + "\"},\n]\n"
	for _, c := range []struct {
		name, text string
		digest     string // on the index, instead of the right one
		code       int
		want       string
	}{
		{"requirements.txt", "widget==1.0 \\\n    --hash=" + hash(file) + " \\\n    --hash=" + none + "\n", "", 0,
			"^compatible"},
		{"requirements.txt", "widget==1.0 \\\n    --hash=" + none + "\n", "", 1,
			`(?s)^incompatible: \S*requirements.txt \(1 package\): widget==1.0 is pinned with hashes that match no file in the index\n` +
				`Update the hashes of widget \(\S*requirements.txt:1\), if you know why they differ.*` +
				`pip-compile --generate-hashes --no-reuse-hashes.*` +
				`pip refuses to install ` + file + `, whose hash is ` + hash(file) + ` \(\S*requirements.txt:2\)`},
		{"requirements.txt", "widget==1.0 --hash=" + hash(older) + "\n", "", 1,
			`is pinned without the hash of a wheel for Python 3.12; it has those of wheels for Python 3.11, and`},
		{"requirements.txt", "widget==1.0 --hash=" + hash("widget-1.0.tar.gz") + "\n", "", exitUsage,
			`warning hash-mismatch: .*has only that of the source archive, so it is built from source`},
		{"requirements.txt", "widget==1.0 --hash=" + none + "\n", "md5 only", 0,
			`note: the index has no SHA-256 of their files, so the hashes were not compared: widget==1.0`},
		{"requirements.txt", "--extra-index-url https://other.test/simple\nwidget==1.0 --hash=" + none + "\n", "",
			0, "^compatible"},
		{"requirements.txt", "pure==1 --hash=" + none + "\nwidget==1.0\n", "", 1,
			`error hash-mismatch: widget==1.0 has no hash, but others of the file do; pip refuses .*:2\)`},
		{"poetry.lock", poetry, "", 1, `(?s)poetry update --lock widget.*Poetry refuses to install ` + file +
			`, whose hash is ` + hash(file) + ` \(\S*poetry.lock:4\)`},
		{"poetry.lock", strings.Replace(poetry, none, hash(file), 1), "", 0, "^compatible"},
	} {
		pins := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(pins, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.digest = c.digest
		for _, command := range [][]string{{"env"}, {"check"}} {
			vars := map[string]string{"COMPAT_DATA": t.TempDir(), "PIP_INDEX_URL": server.URL + "/simple",
				"PIP_CONFIG_FILE": os.DevNull}
			var stdout, stderr bytes.Buffer
			flag := "--requirement"
			if c.name == "poetry.lock" {
				flag = "--lock"
			}
			args := append(command, "--verbose", flag, pins)
			if command[0] == "env" {
				args = append(args, "--python", "3.12")
			} else if err := os.WriteFile(filepath.Join(filepath.Dir(pins), ".python-version"),
				[]byte("3.12\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			code := run(t.Context(), args, environment{
				Getenv: func(n string) (string, bool) { v, ok := vars[n]; return v, ok },
				In:     strings.NewReader(""), Out: &stdout, Err: &stderr,
			})
			if ok, err := regexp.MatchString(c.want, stdout.String()); code != c.code || !ok || err != nil {
				t.Errorf("%s of %q: exit %d, want %d and %q\n%s%s", command[0], c.text, code, c.code, c.want,
					stdout.String(), stderr.String())
			}
		}
	}
}

// TestHashesOfCheckedFile compares the hashes of the packages that a file is checked with.
func TestHashesOfCheckedFile(t *testing.T) {
	const file, older = "core-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
		"core-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
	module := func(python string) []byte {
		return madeWheel(t, "core", "1.0", nil, "core/_c.cpython-"+python+"-x86_64-linux-gnu.so",
			"elf x86_64\nneeded libc.so.6\nexport PyInit__c\n")
	}
	s := &packageIndex{files: map[string]map[string][]byte{"core": {
		file: module("312"), older: module("311"), "core-1.0.tar.gz": []byte("source"),
	}}}
	server := httptest.NewServer(s)
	defer server.Close()
	hash := func(file string) string {
		sum := sha256.Sum256(s.files["core"][file])
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	none := "sha256:" + strings.Repeat("0", 64)
	poetry := "[[package]]\nname = \"core\"\nversion = \"1.0\"\nfiles = [\n" +
		"    {file = \"" + file + "\", hash = \"" + none + "\"},\n]\n"
	module312 := madeWheel(t, "widget", "1.0", nil, "widget/_w.cpython-312-x86_64-linux-gnu.so",
		"elf x86_64\nneeded libc.so.6\nexport PyInit__w\n")
	for _, c := range []struct {
		name, text string
		code       int
		want       string
	}{
		{"requirements.txt", "core==1.0 --hash=" + hash(file) + " --hash=" + none + "\n", 0, "^compatible"},
		{"requirements.txt", "core==1.0 \\\n    --hash=" + none + "\n", 1,
			`(?s)^incompatible: \S+: core==1.0 is pinned with hashes that match no file in the index\n` +
				`.*pip-compile --generate-hashes --no-reuse-hashes.*pip refuses to install ` + file +
				`, whose hash is ` + hash(file) + ` \(\S*requirements.txt:2\)`},
		{"requirements.txt", "core==1.0 --hash=" + hash(older) + "\n", 1,
			`is pinned without the hash of a wheel for Python 3.12; it has those of wheels for Python 3.11, and`},
		{"requirements.txt", "core==1.0 --hash=" + hash("core-1.0.tar.gz") + "\n", 0,
			`warning hash-mismatch: .*has only that of the source archive, so it is built from source`},
		{"requirements.txt", "--extra-index-url https://other.test/simple\ncore==1.0 --hash=" + none + "\n",
			0, "^compatible"},
		{"requirements.txt", "pure==1 --hash=" + none + "\ncore==1.0\n", 1,
			`error hash-mismatch: core==1.0 has no hash, but others of the file do; pip refuses .*:2\)`},
		{"requirements.txt", "core==1.0 --hash=" + none + "\npure==1\n", 1,
			`(?s)1. error\[hash-mismatch\] \(\S+\): core==1.0 is pinned with hashes.*` +
				`2. error\[hash-mismatch\] \(\S+\): pure==1 has no hash`},
		{"poetry.lock", poetry, 1, `(?s)poetry update --lock core.*Poetry refuses to install ` + file +
			`, whose hash is ` + hash(file) + ` \(\S*poetry.lock:4\)`},
		{"poetry.lock", strings.Replace(poetry, none, hash(file), 1), 0, "^compatible"},
	} {
		pins := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(pins, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		flag := "--requirement"
		if c.name == "poetry.lock" {
			flag = "--lock"
		}
		code, out, errs := checkWheel(t, module312, t.TempDir(), server.URL+"/simple", flag, pins)
		if ok, err := regexp.MatchString(c.want, out); code != c.code || !ok || err != nil {
			t.Errorf("%q: exit %d, want %d and %q\n%s%s", c.text, code, c.code, c.want, out, errs)
		}
	}
}

// TestChangedHash compares with a base that pins the same version with the right hash.
func TestChangedHash(t *testing.T) {
	const file = "widget-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
	wheel := madeWheel(t, "widget", "1.0", nil, "widget/_w.cpython-312-x86_64-linux-gnu.so",
		"elf x86_64\nneeded libc.so.6\nexport PyInit__w\n")
	server := httptest.NewServer(&packageIndex{files: map[string]map[string][]byte{
		"widget": {file: wheel},
	}})
	defer server.Close()
	right, wrong := sha256.Sum256(wheel), strings.Repeat("0", 64)
	for _, name := range []string{"requirements.txt", "poetry.lock"} {
		for _, c := range []struct {
			head, base string
			code       int
		}{
			{wrong, hex.EncodeToString(right[:]), 1}, {wrong, wrong, 0},
			{hex.EncodeToString(right[:]), wrong, 0},
		} {
			write := func(hash string) string {
				path := filepath.Join(t.TempDir(), name)
				text := "widget==1.0 --hash=sha256:" + hash + "  # via -r x\n"
				if name == "poetry.lock" {
					text = "[[package]]\nname = \"widget\"\nversion = \"1.0\"\nfiles = [{file = \"" + file +
						"\", hash = \"sha256:" + hash + "\"}]\n"
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			vars := map[string]string{"COMPAT_DATA": t.TempDir(), "PIP_INDEX_URL": server.URL + "/simple",
				"PIP_CONFIG_FILE": os.DevNull}
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{"env", "--python", "3.12", "--base", write(c.base), "--lock",
				write(c.head)}, environment{
				Getenv: func(n string) (string, bool) { v, ok := vars[n]; return v, ok },
				In:     strings.NewReader(""), Out: &stdout, Err: &stderr,
			})
			if code != c.code || c.code == 1 && !strings.Contains(stdout.String(), "no file in the index") {
				t.Errorf("%s, %.4s after %.4s: exit %d\n%s%s", name, c.head, c.base, code, stdout.String(),
					stderr.String())
			}
		}
	}
}

// The second check of the same pins within ten minutes neither sends a request nor reads a wheel.
func TestEnvironmentIsCached(t *testing.T) {
	s := &packageIndex{files: map[string]map[string][]byte{
		"nvidia-nvjitlink-cu12": {
			"nvidia_nvjitlink_cu12-12.8.93-py3-none-manylinux2014_x86_64.whl": jitWheel(t, "12.8.93",
				"__nvJitLinkCreate_12_8"),
		},
		"widget": {"widget-1.0-cp312-cp312-manylinux_2_28_x86_64.whl": madeWheel(t, "widget", "1.0",
			[]string{"nvidia-nvjitlink-cu12"}, "widget/_w.cpython-312-x86_64-linux-gnu.so", jitUser)},
	}}
	server := httptest.NewServer(s)
	defer server.Close()
	pins := filepath.Join(t.TempDir(), "requirements.txt")
	data := t.TempDir()
	check := func(text string, args ...string) (code int, out, errs string) {
		if err := os.WriteFile(pins, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		vars := map[string]string{"COMPAT_DATA": data, "PIP_INDEX_URL": server.URL + "/simple",
			"PIP_CONFIG_FILE": os.DevNull}
		var stdout, stderr bytes.Buffer
		code = run(t.Context(), append([]string{"env", "--verbose", "-r", pins}, args...), environment{
			Getenv: func(n string) (string, bool) { v, ok := vars[n]; return v, ok },
			In:     strings.NewReader(""), Out: &stdout, Err: &stderr,
		})
		return code, stdout.String(), stderr.String()
	}
	const cached = "using the cached result"
	both := "widget==1.0\nnvidia-nvjitlink-cu12==12.8.93\n"
	code, out, errs := check(both)
	if code != 1 || strings.Contains(errs, cached) {
		t.Fatalf("exit %d, %s", code, errs)
	}
	before := s.requests.Load()
	again, same, errs := check(both)
	if again != code || same != out || s.requests.Load() != before || !strings.Contains(errs, cached) {
		t.Errorf("exit %d, %d requests, %s", again, s.requests.Load()-before, errs)
	}
	if _, _, errs := check(both, "--no-cache"); strings.Contains(errs, cached) {
		t.Errorf("--no-cache: %s", errs)
	}
	if code, _, errs := check("nvidia-nvjitlink-cu12==12.8.93\n"); code != 0 ||
		strings.Contains(errs, cached) {
		t.Errorf("other pins: exit %d, %s", code, errs)
	}
}
