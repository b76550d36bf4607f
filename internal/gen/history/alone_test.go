package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// aloneWheel is a wheel with one object at a path that needs some libraries and symbols.
func aloneWheel(t *testing.T, file, member, needed string, imports ...elfobj.Import) []byte {
	t.Helper()
	object, err := elftest.Write(&elfobj.Object{
		Class: 64, ByteOrder: "little", Machine: 62, Type: "ET_DYN", Dynamic: true,
		Needed: strings.Fields(needed), Imports: elfobj.NewImports(imports...),
	})
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(strings.TrimSuffix(file, ".whl"), "-")
	info := parts[0] + "-" + parts[1] + ".dist-info/"
	members := [][2]string{
		{info + "METADATA", "Metadata-Version: 2.1\nName: " + parts[0] + "\nVersion: " + parts[1] + "\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: " +
			strings.Join(parts[2:], "-") + "\n"},
		{member, string(object)},
	}
	record := info + "RECORD,,\n"
	for _, f := range members {
		sum := sha256.Sum256([]byte(f[1]))
		record += fmt.Sprintf("%s,sha256=%s,%d\n", f[0],
			base64.RawURLEncoding.EncodeToString(sum[:]), len(f[1]))
	}
	return packed(t, append(members, [2]string{info + "RECORD", record}))
}

// TestAlone checks that only wheels that need no other package are listed.
func TestAlone(t *testing.T) {
	const module = "demo/_c.cpython-312-x86_64-linux-gnu.so"
	python := []elfobj.Import{{Name: "PyModule_Create2"}}
	wheels := map[string][]byte{}
	for _, w := range []struct {
		file, member, needed string
		imports              []elfobj.Import
	}{
		{"one-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", module, "libc.so.6", python},
		{"one-0.9-cp312-cp312-manylinux_2_28_x86_64.whl", module, "libc.so.6", python},
		{"one-0.8-cp312-cp312-manylinux_2_28_x86_64.whl", module, "libc.so.6", python},
		{"one-1.0-cp312-cp312-musllinux_1_2_x86_64.whl", module, "libc.so.6", python},
		{"one-1.0-cp312-cp312-manylinux_2_28_aarch64.whl", module, "libc.so.6", python},
		{"one-1.1rc1-cp312-cp312-manylinux_2_28_x86_64.whl", module, "libc.so.6", python},
		{"lib-1.0-py3-none-manylinux_2_28_x86_64.whl", "lib/liblib.so.1", "libc.so.6", nil},
		{"more-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", module, "libc.so.6 libtorch.so", nil},
		{"x11-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", module, "libc.so.6 libX11.so.6", nil},
		{"new-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", module, "libc.so.6",
			[]elfobj.Import{{Name: "strlcpy", Version: "GLIBC_2.38", Library: "libc.so.6"}}},
		{"bad-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", module, "libc.so.6",
			[]elfobj.Import{{Name: "PyNoSuchFunction"}}},
	} {
		wheels[w.file] = aloneWheel(t, w.file, w.member, w.needed, w.imports...)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		if data, ok := wheels[parts[len(parts)-1]]; ok {
			_, _ = w.Write(data)
			return
		}
		for name, data := range wheels {
			if strings.HasPrefix(name, parts[0]+"-") {
				sum := sha256.Sum256(data)
				fmt.Fprintf(w, "<a href=\"/files/%s#sha256=%s\">%[1]s</a>\n", name, hex.EncodeToString(sum[:]))
			}
		}
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "list.gz")
	x := &index{address: server.URL, only: regexp.MustCompile("")}
	var log strings.Builder
	err := x.writeAlone(t.Context(), strings.Fields("one lib more x11 new bad"), 2, file, &log)
	if err != nil {
		t.Fatal(err)
	}
	list, err := readAlone(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range wheels {
		sum := sha256.Sum256(data)
		want := ""
		switch name {
		case "one-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
			"one-0.9-cp312-cp312-manylinux_2_28_x86_64.whl":
			want = hex.EncodeToString(sum[:16])
		case "lib-1.0-py3-none-manylinux_2_28_x86_64.whl":
			want = hex.EncodeToString(sum[:16]) + " shares"
		}
		if list[name] != want {
			t.Errorf("%s: %q, want %q\n%s", name, list[name], want, &log)
		}
	}
}
