package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/machoobj"
)

// TestLddOfMachO loads a module for two architectures, one of which lacks a library.
func TestLddOfMachO(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"site/ext.so": "macho arm64\nneeded @rpath/libh.dylib\nneeded /usr/lib/libSystem.B.dylib\n" +
			"rpath @loader_path/lib\nimport _helper @rpath/libh.dylib\nimport _gone @rpath/libh.dylib\n" +
			"macho x86_64\nneeded @rpath/libh.dylib\nimport _helper @rpath/libh.dylib\n",
		"site/lib/libh.dylib": "macho arm64\ninstall-name @rpath/libh.dylib\nexport _helper\n",
	} {
		objects, err := machoobj.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := machoobj.Write(objects...)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	err := ldd(&out, []string{"/site/ext.so"}, lddOptions{root: root, format: "json"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`{"arch":"arm64","objects":[` +
		`{"name":"@rpath/libh.dylib","path":"/site/lib/libh.dylib","needed_by":"/site/ext.so",` +
		`"found_by":"runpath"},{"name":"/usr/lib/libSystem.B.dylib",` +
		`"path":"/usr/lib/libSystem.B.dylib","needed_by":"/site/ext.so","found_by":"platform"}],` +
		`"not_found":[],"missing_versions":[],` +
		`"undefined":[{"symbol":"_gone","version":"","object":"/site/ext.so"}]}`,
		`{"arch":"x86_64","objects":[],"not_found":[{"name":"@rpath/libh.dylib",` +
			`"needed_by":"/site/ext.so","searched":[]}],"missing_versions":[],"undefined":[]}`}
	if got := strings.TrimSpace(out.String()); got != strings.Join(want, "\n") {
		t.Errorf("ldd prints\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	out.Reset()
	if err := writeMachOFacts(&out, filepath.Join(root, "site/ext.so")); err != nil ||
		!strings.Contains(out.String(), `"install_name"`) && !strings.Contains(out.String(), `"_gone"`) {
		t.Errorf("facts are %s, %v", out.String(), err)
	}
}
