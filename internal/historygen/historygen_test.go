package main

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/stack/historydata"
)

// smallWheel is a wheel with METADATA, a file in the place of a library, and an extension module.
func smallWheel(t *testing.T, name, requires string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range [][2]string{
		{name + ".dist-info/METADATA", "Metadata-Version: 2.1\nName: triton\nVersion: 3.0.0\nRequires-Dist: " + requires + "\n"},
		{"triton/_C/libtriton.so", "a text, as a link is stored"},
		{"triton/_C/extension.cpython-312-x86_64-linux-gnu.so", "not listed"},
	} {
		w, err := z.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Of each final release one Linux wheel is read.
func TestRun(t *testing.T) {
	file := smallWheel(t, "triton-3.0.0", "filelock")
	var downloads atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/simple/triton/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/simple/triton/" {
			downloads.Add(1)
			http.ServeContent(w, r, "wheel", time.Time{}, bytes.NewReader(file))
			return
		}
		io.WriteString(w, `<a href="triton-3.0.0.tar.gz">source</a>
<a href="triton-3.0.0-cp311-cp311-manylinux_2_27_x86_64.whl#sha256=00">not the one</a>
<a href="triton-3.0.0-cp312-cp312-manylinux_2_27_x86_64.whl#sha256=00">the one</a>
<a data-yanked="broken" href="triton-2.1.0-cp312-cp312-manylinux_2_27_x86_64.whl">yanked</a>
<a href="triton-3.1.0rc1-cp312-cp312-manylinux_2_27_x86_64.whl">too early</a>
<a href="triton-3.0.0-cp312-cp312-musllinux_1_2_aarch64.whl">no glibc</a>
<a href="triton-3.0.0-cp312-cp312-win_amd64.whl">no Linux</a>`)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	out := filepath.Join(t.TempDir(), "history.gz")
	args := []string{"-out", out, "-packages", "triton"}
	env := func(name string) string {
		if name == "PIP_INDEX_URL" {
			return server.URL + "/simple/"
		}
		return ""
	}
	if err := run(context.Background(), args, env, io.Discard); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got, err := historydata.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !got[0].Yanked || got[0].Version != "2.1.0" || got[1].Wheel != "triton-3.0.0-cp312-cp312-manylinux_2_27_x86_64.whl" ||
		!slices.Equal(got[1].Requires, []string{"filelock"}) || len(got[1].Libraries) != 1 || got[1].Libraries[0].SONAME != "libtriton.so" {
		t.Errorf("got %+v", got)
	}
	if downloads.Load() == 0 {
		t.Error("no wheel was asked for")
	}
}

func TestRunNeedsIndex(t *testing.T) {
	err := run(context.Background(), []string{"-out", filepath.Join(t.TempDir(), "x")}, func(string) string { return "" }, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "PIP_INDEX_URL") {
		t.Errorf("error %v, want one that names PIP_INDEX_URL", err)
	}
}
