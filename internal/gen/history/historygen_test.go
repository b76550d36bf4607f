package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/packages/historydata"
)

// smallWheel is a wheel with METADATA, a file in the place of a library, and an extension module.
func smallWheel(t *testing.T, name, requires string) []byte {
	t.Helper()
	library, err := elftest.Write(
		&elfobj.Object{
			Class:     64,
			ByteOrder: "little",
			Machine:   62,
			Type:      "ET_DYN",
			Dynamic:   true,
			SONAME:    "libtriton.so",
			Needed:    []string{"libc.so.6"},
			Exports: elfobj.NewExports(
				elfobj.Export{Name: "triton_run", Kind: "func"},
				elfobj.Export{Name: "_ZN12_GLOBAL__N_13runEv", Kind: "func"},
			),
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	return packed(t, [][2]string{
		{name + ".dist-info/METADATA",
			"Metadata-Version: 2.1\nName: triton\nVersion: 3.0.0\nRequires-Dist: " + requires + "\n"},
		{"triton-3.0.0.data/platlib/triton/_C/libtriton.so", string(library)},
		{"triton/_C/liblink.so", "a text, as a link is stored"},
		{"triton/_C/extension.cpython-312-x86_64-linux-gnu.so", "not listed"},
	})
}

// packed returns a ZIP archive of members: their names and contents.
func packed(t *testing.T, members [][2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range members {
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
<a href="triton-3.0.0-cp312-cp312-manylinux_2_27_x86_64.whl#sha256=00" data-requires-python="&gt;=3.8">the one</a>
<a data-yanked="broken" href="triton-2.1.0-cp312-cp312-manylinux_2_27_x86_64.whl">yanked</a>
<a href="triton-3.1.0rc1-cp312-cp312-manylinux_2_27_x86_64.whl">too early</a>
<a href="triton-3.0.0-cp312-cp312-musllinux_1_2_aarch64.whl">no glibc</a>
<a href="triton-3.0.0-cp312-cp312-win_amd64.whl">no Linux</a>`)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	out := t.TempDir()
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
	data, err := os.ReadFile(filepath.Join(out, "triton.hist"))
	if err != nil {
		t.Fatal(err)
	}
	history, err := historydata.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	got := history.Releases
	if len(got) != 2 || len(got[1].Libraries) != 1 {
		t.Fatalf("got %+v", got)
	}
	l := got[1].Libraries[0]
	exports, err := history.Exports(&l)
	if err != nil || l.Path != "triton/_C/libtriton.so" || !l.Known ||
		!slices.Equal(l.Needed, []string{"libc.so.6"}) ||
		len(exports) != 1 ||
		exports[0].Name != "triton_run" {
		t.Errorf("%+v exports %v, %v", l, exports, err)
	}
	if !got[0].Yanked || got[0].Version != "2.1.0" ||
		got[1].Wheel != "triton-3.0.0-cp312-cp312-manylinux_2_27_x86_64.whl" ||
		!slices.Equal(got[1].Requires, []string{"filelock"}) ||
		got[1].RequiresPython != ">=3.8" || got[1].Tags != "cp311-cp311 cp312-cp312" ||
		len(got[1].Libraries) != 1 ||
		got[1].Libraries[0].SONAME != "libtriton.so" {
		t.Errorf("got %+v", got)
	}
	first := downloads.Load()
	if first == 0 {
		t.Error("no wheel was requested")
	}
	// Known wheels are not requested again, and the output is the same.
	if err := run(context.Background(), args, env, io.Discard); err != nil ||
		downloads.Load() != first {
		t.Errorf("%d downloads the second time: %v", downloads.Load()-first, err)
	}
	if again, err := os.ReadFile(filepath.Join(out, "triton.hist")); err != nil ||
		!bytes.Equal(again, data) {
		t.Errorf("the second run writes other bytes: %v", err)
	}
	// A run that is ended keeps what is there, also of what it was to read again.
	ended, end := context.WithCancel(context.Background())
	end()
	if err := run(ended, append(args, "-again"), env, io.Discard); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if kept, err := os.ReadFile(filepath.Join(out, "triton.hist")); err != nil ||
		!bytes.Equal(kept, data) {
		t.Errorf("a run that is ended writes other bytes: %v", err)
	}
}

// Of a package whose libraries differ between interpreters, the wheel for each is selected.
func TestWheelsForEachInterpreter(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `<a href="x-1-cp39-cp39-manylinux_2_28_x86_64.whl">not in the list</a>
<a href="x-1-cp311-cp311-manylinux_2_28_x86_64.whl">one</a>
<a href="x-1-cp312-cp312-manylinux_2_17_x86_64.whl">for older systems, too</a>
<a href="x-1-cp312-cp312-manylinux_2_28_x86_64.whl">another</a>
<a href="x-1-cp313-cp313t-manylinux_2_28_x86_64.whl">free-threaded</a>
<a href="x-2-py3-none-manylinux_2_28_x86_64.whl">for all</a>`)
	}))
	defer server.Close()
	for each, want := range map[bool]string{
		true: "x-2-py3-none-manylinux_2_28_x86_64.whl py3-none false, " +
			"x-1-cp311-cp311-manylinux_2_28_x86_64.whl cp311-cp311 true, " +
			"x-1-cp312-cp312-manylinux_2_28_x86_64.whl cp312-cp312 true",
		false: "x-2-py3-none-manylinux_2_28_x86_64.whl py3-none false, " +
			"x-1-cp312-cp312-manylinux_2_28_x86_64.whl " +
			"cp311-cp311 cp312-cp312 cp313-cp313t cp39-cp39 false",
	} {
		x := &index{address: server.URL, only: regexp.MustCompile("")}
		wheels, err := x.wheels(t.Context(), pkg{name: "x", each: each})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range wheels {
			got = append(got, fmt.Sprintf("%s %s %v", w.file, w.tags, w.own))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("each %v: %s", each, strings.Join(got, ", "))
		}
	}
}

func TestRunNeedsIndex(t *testing.T) {
	err := run(
		context.Background(),
		[]string{"-out", filepath.Join(t.TempDir(), "x")},
		func(string) string { return "" },
		io.Discard,
	)
	if err == nil || !strings.Contains(err.Error(), "PIP_INDEX_URL") {
		t.Errorf("error %v, want one that names PIP_INDEX_URL", err)
	}
}
