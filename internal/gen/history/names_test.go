package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestNames reads what the newest, the middle and a version between them contain, of those that can
// be installed.
func TestNames(t *testing.T) {
	wheels := map[string][]byte{}
	add := func(version, tag, member string, requires ...string) {
		text := "Metadata-Version: 2.1\nName: demo\nVersion: " + version + "\n"
		for _, q := range requires {
			text += "Requires-Dist: " + q + "\n"
		}
		wheels["demo-"+version+"-"+tag+".whl"] = packed(t, [][2]string{
			{"demo-" + version + ".dist-info/METADATA", text}, {member, ""},
		})
	}
	add("0.1", "py2-none-any", "demo/libpython2.so", "futures")
	add("1.0", "py3-none-any", "demo/libold.so", "ancient")
	add("2.0", "py3-none-any", "demo/libmiddle.so", "a>=1", `w; sys_platform == "win32"`)
	add("3.0", "cp312-cp312-manylinux_2_17_x86_64", "demo/_c.cpython-312-x86_64-linux-gnu.so", "b[c]")
	add("4.0", "cp312-cp312-manylinux_2_17_x86_64", "demo.libs/libz-1234.so.1", `d; extra == "d"`)
	add("5.0", "cp312-cp312-win_amd64", "demo/libwindows.so", "e")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		if data, ok := wheels[parts[len(parts)-1]]; ok {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
			return
		}
		if parts[0] != "demo" {
			w.WriteHeader(http.StatusNotFound)
		}
		for name := range wheels {
			fmt.Fprintf(w, "<a href=\"/files/%s\">%[1]s</a>\n", name)
		}
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "names.txt")
	if err := os.WriteFile(file, []byte("gone has libgone.so\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := &index{address: server.URL, only: regexp.MustCompile("")}
	var log strings.Builder
	if err := x.writeNames(t.Context(), []string{"demo", "gone"}, file, &log); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if want := "demo has libmiddle.so requires a,b[c]\ngone has libgone.so\n"; err != nil ||
		string(got) != want {
		t.Errorf("%s, %v, want %s\n%s", got, err, want, &log)
	}
}
