package elfobj_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/test/needs"
)

// The release of libxml2 is that of the digits to which xmlParserVersion points.
func TestLibxml2(t *testing.T) {
	needs.Program(t, "gcc", "gcc", "no library that contains libxml2 is read")
	for source, want := range map[string]int{
		`const char *const xmlParserVersion = "21206";`:                                21206,
		`const char *xmlParserVersion = "20914-GITv2.9.14";`:                           20914,
		`const char *const xmlParserVersion = "2.12.6";`:                               0,
		`const char *const xmlParserVersion = "212";`:                                  0,
		`const char *const xmlParserVersion;`:                                          0,
		`extern const char other[]; const char *const xmlParserVersion = other;`:       0,
		`const char xmlParserVersion[] = "21206";`:                                     0,
		`static const char *const xmlParserVersion = "21206"; int f(void) {return 0;}`: 0,
	} {
		out := filepath.Join(t.TempDir(), "x.so")
		cmd := exec.Command("gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", out)
		cmd.Stdin = strings.NewReader(source)
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, b)
		}
		content, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		o, err := elfobj.Read(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		if o.Libxml2 != want {
			t.Errorf("%s: %d, want %d", source, o.Libxml2, want)
		}
	}
}
