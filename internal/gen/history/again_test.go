package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/packages/historydata"
)

// If the limit of a package was raised, the libraries that were too large are read, and the known
// ones are kept. Wheels that were not selected do not change.
func TestReadWhatWasTooLarge(t *testing.T) {
	const file = "triton-3.0.0-cp312-cp312-manylinux_2_27_x86_64.whl"
	content := smallWheel(t, "triton-3.0.0", "filelock")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "wheel", time.Time{}, bytes.NewReader(content))
	}))
	defer server.Close()
	w := wheel{
		pkg:     pkg{name: "triton", upTo: whole},
		version: "3.0.0",
		arch:    "x86_64",
		file:    file,
		url:     server.URL + "/" + file,
	}
	byName := historydata.Library{Path: "triton/_C/libtriton.so", SONAME: "libtriton.so"}
	read := byName
	read.Known, read.SONAME = true, "libkept.so"
	links := read
	links.Needed = []string{"libother.so.1"}
	for _, c := range []struct {
		name, only string
		upTo       uint64
		have       historydata.Library
		soname     string
		known      bool
	}{
		{"too large before", "", whole, byName, "libtriton.so", true},
		{"read before", "", whole, read, "libkept.so", true},
		{"not known from its head before", "", 0, byName, "libtriton.so", true},
		{"another wheel is requested", "^torch-", whole, byName, "libtriton.so", false},
		{"its imports were not read before", "", whole, links, "libkept.so", true},
	} {
		x := &index{only: regexp.MustCompile(c.only)}
		w.upTo = c.upTo
		have := map[string]historydata.Release{
			file + " x86_64": {
				Name:      "triton",
				Version:   "3.0.0",
				Arch:      "x86_64",
				Wheel:     file,
				Libraries: []historydata.Library{c.have},
			},
		}
		got, err := x.readAll(context.Background(), []wheel{w}, have, false, io.Discard)
		if err != nil || len(got) != 1 || len(got[0].Libraries) != 1 ||
			got[0].Libraries[0].SONAME != c.soname ||
			got[0].Libraries[0].Known != c.known ||
			got[0].Libraries[0].Linked != (c.have.Needed != nil) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}
