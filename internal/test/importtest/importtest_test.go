// Package importtest holds the floors of the house: a package imports only what stands below it.
package importtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/compat-app/compat/"

// floors says what each package of ours may import of ours. A key that ends in /... holds for all
// below it; the longest key counts.
var floors = map[string][]string{
	"analyzer": {
		"analyzer/symindex",
		"analyzer/elfobj",
		"analyzer/unpack",
		"analyzer/pkgmeta",
		"analyzer/platform",
		"analyzer/packages",
		"analyzer/dynlink",
		"analyzer/fix",
		"analyzer/gpu",
		"analyzer/abi3",
		"analyzer/wheelpolicy",
		"analyzer/staticlink",
	},
	"analyzer/elfobj":     {},
	"analyzer/symindex":   {"analyzer/elfobj"},
	"analyzer/unpack/...": {"analyzer/unpack/..."},
	"analyzer/pkgmeta":    {},
	"analyzer/gpu":        {"analyzer/elfobj"},
	"analyzer/fix":        {},
	"analyzer/buildlog":   {"analyzer/fix", "analyzer/gpu"},
	"analyzer/logmatch": {
		"analyzer",
		"analyzer/buildlog",
		"analyzer/dynlink",
		"analyzer/fix",
		"analyzer/staticlink",
	},
	"analyzer/abi3":         {"analyzer/elfobj", "analyzer/pkgmeta"},
	"analyzer/wheelpolicy":  {"analyzer/elfobj", "analyzer/pkgmeta", "analyzer/platform"},
	"analyzer/platform/...": {"analyzer/elfobj", "analyzer/platform/..."},
	"analyzer/packages/...": {"analyzer/elfobj", "analyzer/pkgmeta", "analyzer/packages/..."},
	"analyzer/dynlink": {
		"analyzer/symindex",
		"analyzer/elfobj",
		"analyzer/platform",
		"analyzer/packages",
	},
	"analyzer/staticlink": {
		"analyzer/symindex",
		"analyzer/elfobj",
		"analyzer/platform",
		"analyzer/packages",
	},
	"analyzer/cpython": {},
	"analyzer/rules": {
		"analyzer",
		"analyzer/abi3",
		"analyzer/cpython",
		"analyzer/elfobj",
		"analyzer/dynlink",
		"analyzer/fix",
		"analyzer/gpu",
		"analyzer/pkgmeta",
		"analyzer/platform",
		"analyzer/packages",
		"analyzer/staticlink",
	},
	"internal/test/analyzertest": {
		"analyzer",
		"analyzer/elfobj",
		"analyzer/pkgmeta",
		"analyzer/packages",
	},
	"config":             {},
	"webhook":            {"config", "internal/queue"},
	"comment":            {"analyzer/...", "internal/github", "internal/mdsafe"},
	"internal/queue/...": {"internal/queue/..."},
	"internal/test/redistest": {
		"internal/test/loopback",
		"internal/test/needs",
	}, // a package of tests
	"internal/test/loopback": {},
	"internal/test/needs":    {},
	"internal/github":        {},
	"internal/mdsafe":        {},
	"internal/artifact":      {"internal/github"},
	"internal/index":         {"analyzer/..."},
	"internal/report":        {"analyzer", "analyzer/fix", "internal/mdsafe"},
	"internal/spool":         {"analyzer/unpack"},
	"internal/sandbox":       {"analyzer/...", "internal/spool"},
	"internal/options":       {"analyzer", "analyzer/packages/lockfile", "config"},
	"internal/worker": {
		"analyzer/...",
		"comment",
		"config",
		"internal/artifact",
		"internal/github",
		"internal/index",
		"internal/sandbox",
		"internal/queue",
		"internal/report",
		"internal/spool",
		"internal/options",
		"internal/mdsafe",
	},
	"internal/setup":               {"config", "internal/github", "internal/report"},
	"internal/test/githubtest/...": {"analyzer/elfobj", "internal/test/githubtest/..."},
}

// everywhere is what any package may import: as good as a part of the standard library.
var everywhere = []string{"internal/lazyregexp", "internal/shellword"}

// never says what a tree may not import from anywhere.
var never = []struct {
	tree    string
	imports []string
	but     []string
	why     string
}{
	{
		"",
		[]string{"debug/elf"},
		[]string{"analyzer/elfobj", "analyzer/abidiff"},
		"only elfobj reads ELF bytes",
	},
	{
		"analyzer/",
		[]string{
			"os",
			"net",
			"net/http",
			"os/exec",
			"syscall",
			"github.com/google/go-github/v60/github",
		},
		[]string{"internal/test/analyzertest"},
		"the analyzer opens no file, socket or process",
	},
	{
		"",
		[]string{"html/template", "text/template"},
		nil,
		"a template calls methods by their names, so the linker would keep every method of every type: a third of the binary",
	},
	{
		"webhook",
		[]string{"net/http/httputil", "github.com/google/go-github/v60/github"},
		nil,
		"the webhook makes no outbound call",
	},
}

func TestFloors(t *testing.T) {
	files := 0
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() &&
			(strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		files++
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if why := forbidden(path.Dir(filepath.ToSlash(rel)), name); why != "" {
				t.Errorf("%s imports %s: %s", filepath.ToSlash(rel), name, why)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 {
		t.Fatalf("only %d files were looked at; the test looks in the wrong place", files)
	}
}

func TestTheFloorsForbid(t *testing.T) {
	for _, c := range [][2]string{
		{"analyzer/rules", "net/http"}, {"analyzer", module + "internal/github"}, {"webhook", module + "analyzer"}, {"comment", module + "internal/queue"},
		{"internal/github", module + "internal/artifact"}, {"config", "debug/elf"}, {"analyzer/elfobj", module + "analyzer/dynlink"},
	} {
		if forbidden(c[0], c[1]) == "" {
			t.Errorf("%s may import %s", c[0], c[1])
		}
	}
}

// forbidden says why a package may not import another one; "" when it may.
func forbidden(pkg, name string) string {
	for _, n := range never {
		if strings.HasPrefix(pkg+"/", n.tree) && slices.Contains(n.imports, name) &&
			!slices.Contains(n.but, pkg) {
			return n.why
		}
	}
	ours, ok := strings.CutPrefix(name, module)
	if !ok || strings.HasPrefix(pkg, "cmd/") || slices.Contains(everywhere, ours) {
		return ""
	}
	allowed, known := floors[pkg]
	for at := pkg; !known && at != "."; at = path.Dir(at) {
		allowed, known = floors[at+"/..."]
	}
	if !known {
		return "" // a tool or a test of ours stands on top of the house
	}
	for _, a := range allowed {
		if tree, ok := strings.CutSuffix(a, "/..."); a == ours ||
			ok && (ours == tree || strings.HasPrefix(ours, tree+"/")) {
			return ""
		}
	}
	return "it stands on the same floor or above; see ARCHITECTURE.md"
}
