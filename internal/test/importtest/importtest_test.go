// Package importtest checks which packages import which: the layers of ARCHITECTURE.md.
//
// It expects:
//   - Every package of the module is listed in layers, with the packages that it may import.
//   - Every entry of layers and of banned applies to something.
//   - No package outside internal/test imports internal/test, except in _test.go files, and
//     except compat demo, which runs the App with the simulated GitHub.
//   - Nothing below analyzer/ uses files, the network, processes or GitHub's API.
package importtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/compat-app/compat"

// Groups of packages that others import together. A path that ends in /... includes the packages
// below it.
var (
	// readers parse untrusted bytes and import nothing of the module, but cython reads what elfobj
	// found and knows the names of cpython.
	readers = []string{
		"analyzer/btf", "analyzer/cython", "analyzer/dwarf", "analyzer/elfobj", "analyzer/machoobj",
		"analyzer/peobj", "analyzer/pkgmeta", "analyzer/sbom", "analyzer/startup",
		"analyzer/unpack/...",
		"analyzer/wasmobj",
	}

	// knowledge are the facts about platforms and packages.
	knowledge = slices.Concat(readers, []string{
		"analyzer/packages/...", "analyzer/platform/...", "analyzer/symindex",
	})

	// parts are the parts of the analyzer.
	parts = slices.Concat(knowledge, []string{
		"analyzer/abi", "analyzer/abi3", "analyzer/bionic", "analyzer/buildlog", "analyzer/processor", "analyzer/cpython",
		"analyzer/dyld",
		"analyzer/dynlink", "analyzer/emscripten", "analyzer/fix/...", "analyzer/gpu", "analyzer/staticlink",
		"analyzer/torchabi", "analyzer/wheelpolicy", "analyzer/winload",
	})

	// work turns a job into a verdict.
	work = []string{
		"analyzer/...", "comment/...", "config", "internal/artifact", "internal/github",
		"internal/index", "internal/job", "internal/causetext", "internal/mdsafe", "internal/options",
		"internal/queue",
		"internal/pinned", "internal/report", "internal/review", "internal/sandbox", "internal/spool",
	}

	// jobs is shared by the handlers of jobs.
	jobs = []string{
		"internal/repository", "internal/runlog", "internal/store", "internal/worker",
	}

	// anything is allowed for the packages at the top.
	anything = []string{
		"", "analyzer/...", "comment/...", "config", "internal/...", "webhook",
	}
)

// small may be imported by all packages, like the standard library.
var small = []string{
	"internal/buffers", "internal/edits", "internal/inflate", "internal/lazy",
	"internal/lazyregexp", "internal/shellword", "internal/sleep", "internal/symboltable",
}

// layers lists which packages of the module a package may import, besides small. A key that ends
// in /... applies to the packages below it; the longest key applies.
var layers = map[string][]string{
	"":                 {},
	"cmd/...":          anything,
	"internal/gen/...": anything,

	"internal/test/...":            anything,
	"internal/test/githubtest/...": {"analyzer/elfobj/...", "analyzer/machoobj", "analyzer/peobj", "internal/test/githubtest/..."},
	"internal/test/loopback":       {},
	"internal/test/needs":          {},
	"internal/test/redistest":      {"internal/test/loopback", "internal/test/needs"},

	"analyzer/btf":            {},
	"analyzer/cython":         {"analyzer/cpython", "analyzer/elfobj"},
	"analyzer/dwarf":          {},
	"analyzer/elfobj":         {},
	"analyzer/elfobj/elftest": {"analyzer/elfobj"},
	"analyzer/processor":      {"analyzer/cpython", "analyzer/elfobj"},
	"analyzer/machoobj":       {},
	"analyzer/peobj":          {},
	"analyzer/wasmobj":        {},
	"analyzer/pkgmeta":        {},
	"analyzer/sbom":           {},
	"analyzer/unpack/...":     {"analyzer/unpack/..."},
	"analyzer/cpython":        {},
	"analyzer/fix":            {"analyzer/pkgmeta"},
	"analyzer/fix/apply":      append([]string{"analyzer/fix"}, knowledge...),
	"analyzer/symindex":       readers,
	"analyzer/platform/...":   append([]string{"analyzer/platform/..."}, readers...),
	"analyzer/packages/...": append([]string{"analyzer/packages/...", "analyzer/platform/..."},
		readers...),
	"analyzer/gpu":         readers,
	"analyzer/abi3":        readers,
	"analyzer/torchabi":    readers,
	"analyzer/abi":         knowledge,
	"analyzer/wheelpolicy": knowledge,
	"analyzer/dynlink":     knowledge,
	"analyzer/dyld":        append([]string{"analyzer/cpython", "analyzer/dynlink"}, knowledge...),
	"analyzer/winload":     append([]string{"analyzer/cpython"}, knowledge...),
	"analyzer/bionic":      append([]string{"analyzer/cpython"}, knowledge...),
	"analyzer/emscripten":  knowledge,
	"analyzer/startup":     {},
	"analyzer/staticlink":  knowledge,
	"analyzer/buildlog":    append([]string{"analyzer/fix", "analyzer/gpu"}, knowledge...),

	"analyzer/facts":  append([]string{"internal/compact"}, parts...),
	"analyzer/result": append([]string{"analyzer/facts"}, parts...),
	"analyzer/judge": append([]string{"analyzer/cause", "analyzer/facts", "analyzer/result"},
		parts...),
	"analyzer/trial": append([]string{"analyzer/facts", "analyzer/judge", "analyzer/result"},
		parts...),
	"analyzer": slices.Concat([]string{"analyzer/cause", "analyzer/facts", "analyzer/judge",
		"analyzer/result", "analyzer/trial"}, parts),
	"analyzer/rules":    append([]string{"analyzer", "analyzer/cause", "analyzer/result"}, parts...),
	"analyzer/cause":    append([]string{"analyzer/facts", "analyzer/result"}, parts...),
	"analyzer/logmatch": append([]string{"analyzer", "analyzer/cause"}, parts...),
	"analyzer/impact": append([]string{"analyzer", "analyzer/cause", "analyzer/facts",
		"analyzer/result", "analyzer/rules"}, parts...),

	"config": {
		"analyzer/pkgmeta", "analyzer/platform", "internal/appkey", "internal/secretfile",
	},
	"internal/appkey":      {"internal/secretfile"},
	"internal/secretfile":  {},
	"internal/admin":       {},
	"internal/apt":         {},
	"internal/github":      {"internal/appkey"},
	"internal/job":         {"internal/queue"},
	"internal/buffers":     {},
	"internal/edits":       {},
	"internal/inflate":     {},
	"internal/lazy":        {},
	"internal/lazyregexp":  {},
	"internal/sleep":       {},
	"internal/symboltable": {},
	"internal/startpages":  {},
	"internal/certificate": {},
	"internal/mdsafe":      {},
	"internal/bucket":      {},
	"internal/compact":     {},
	"internal/factstore":   {"analyzer/facts", "internal/bucket"},
	"internal/queue":       {},
	"internal/shellword":   {},
	"internal/artifact":    {"analyzer/packages/lockfile", "analyzer/unpack", "internal/github"},
	"internal/spool":       {"analyzer/unpack"},
	"internal/options":     {"analyzer", "config", "internal/pinned"},
	"internal/headers":     {},
	"internal/index":       {"analyzer/..."},
	"internal/pinned":      {"analyzer/...", "internal/index"},
	"internal/review": {
		"analyzer/...", "comment", "config", "internal/pinned", "internal/index",
		"internal/lazyregexp", "internal/shellword", "internal/sleep",
	},
	"internal/causetext": {"analyzer/...", "internal/mdsafe"},
	"internal/report":    {"analyzer/...", "internal/causetext", "internal/mdsafe"},
	"internal/sandbox":   {"analyzer/...", "internal/spool"},
	"internal/setup":     {"config", "internal/certificate", "internal/github", "internal/report"},
	"webhook":            {"config", "internal/job", "internal/queue"},
	"comment":            {"analyzer/...", "internal/causetext", "internal/mdsafe"},
	"comment/post":       {"comment", "internal/github", "internal/mdsafe"},

	"internal/worker": {"internal/job", "internal/queue"},
	"internal/store": {"analyzer/...", "comment", "internal/job", "internal/queue",
		"internal/report", "internal/worker"},
	"internal/repository": {
		"comment/...", "config", "internal/artifact", "internal/github", "internal/job",
		"internal/store", "internal/worker",
	},
	"internal/runlog":    append([]string{"internal/repository", "internal/worker"}, work...),
	"internal/subject":   append(jobs, work...),
	"internal/command":   append(jobs, work...),
	"internal/reconcile": append(jobs, work...),
	"internal/reportpage": {
		"analyzer/...", "internal/mdsafe", "internal/queue", "internal/report", "internal/store",
	},
}

// ban forbids imports in a tree.
type ban struct {
	tree    string // a path and everything below it; "" is the module
	imports []string
	except  []string // packages that are exempt
	reason  string
}

var banned = []ban{
	{
		"",
		[]string{"debug/elf", "debug/macho", "debug/pe", "debug/dwarf"},
		[]string{"analyzer/elfobj", "analyzer/elfobj/elftest", "internal/startpages"}, // its own program
		"only the readers parse binaries",
	},
	{
		"analyzer",
		[]string{
			"os", "os/exec", "net", "net/http", "syscall", "golang.org/x/sys/unix",
			"github.com/google/go-github/v60/github",
		},
		nil,
		"the analyzer opens no file, socket or process",
	},
	{
		"",
		[]string{"html/template", "text/template"},
		nil,
		"a template calls methods by name, so the linker keeps every method of every type: a third of " +
			"the binary",
	},
	{
		"webhook",
		[]string{"net/http/httputil", "github.com/google/go-github/v60/github"},
		nil,
		"the webhook makes no outbound call",
	},
}

// testImports are the product packages that import internal/test, with the reason.
var testImports = map[string]string{
	"cmd/compat": "compat demo plays pull requests against the GitHub of the tests",
}

// source has the imports of one file.
type source struct {
	file    string
	pkg     string // path in the module; "" is its root
	test    bool   // the file's name ends in _test.go
	imports []string
}

func TestImports(t *testing.T) {
	used := map[string]bool{} // entries of layers and exceptions that apply
	for _, s := range sources(t) {
		key, ok := entry(s.pkg)
		if !ok {
			t.Errorf("%s: package %q is not listed in layers; add it with what it may import", s.file, s.pkg)
			continue
		}
		used[key] = true
		if s.test {
			continue
		}
		for _, name := range s.imports {
			for _, b := range banned {
				if slices.Contains(b.imports, name) && slices.Contains(b.except, s.pkg) {
					used[b.reason+s.pkg] = true
				}
			}
			if strings.HasPrefix(name, module+"/internal/test/") && testImports[s.pkg] != "" {
				used["test"+s.pkg] = true
			}
			if why := refused(s.pkg, name); why != "" {
				t.Errorf("%s imports %s: %s", s.file, name, why)
			}
		}
	}
	for key := range layers {
		if !used[key] {
			t.Errorf("layers lists %s, which is no package; remove the entry", key)
		}
	}
	for _, b := range banned {
		for _, pkg := range b.except {
			if !used[b.reason+pkg] {
				t.Errorf("%s is excepted (%s) and imports none of %q; remove the exception", pkg, b.reason,
					b.imports)
			}
		}
	}
	for pkg := range testImports {
		if !used["test"+pkg] {
			t.Errorf("%s is listed in testImports and imports nothing of internal/test; remove it", pkg)
		}
	}
}

func TestImportsAreRefused(t *testing.T) {
	for _, c := range [][2]string{
		{"analyzer/rules", "net/http"},
		{"analyzer", module + "/internal/github"},
		{"webhook", module + "/analyzer"},
		{"comment", module + "/internal/queue"},
		{"internal/github", module + "/internal/artifact"},
		{"config", "debug/elf"},
		{"analyzer/elfobj", module + "/analyzer/dynlink"},
		{"analyzer/facts", module + "/analyzer/judge"},
		{"internal/worker", module + "/internal/test/githubtest"},
		{"internal/gen/docs", module + "/internal/test/analyzertest"},
		{"internal/unlisted", module + "/config"},
	} {
		if refused(c[0], c[1]) == "" {
			t.Errorf("%s may import %s", c[0], c[1])
		}
	}
	for _, c := range [][2]string{
		{"cmd/compat", module + "/internal/test/githubtest"},
		{"analyzer/rules", module + "/internal/lazyregexp"},
		{"analyzer/packages", module + "/analyzer/packages/historydata"},
		{"cmd/compat", module},
	} {
		if why := refused(c[0], c[1]); why != "" {
			t.Errorf("%s may not import %s: %s", c[0], c[1], why)
		}
	}
}

// sources parses the imports of all Go files of the module.
func sources(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	var all []source
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && file != root
		if d.IsDir() && (hidden || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		s := source{file: rel, pkg: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go")}
		if s.pkg == "." {
			s.pkg = ""
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
			s.imports = append(s.imports, name)
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d files were found below %s", len(all), root)
	}
	return all
}

// entry returns the key of layers that applies to a package.
func entry(pkg string) (string, bool) {
	if _, ok := layers[pkg]; ok {
		return pkg, true
	}
	keys := slices.SortedFunc(maps.Keys(layers), func(a, b string) int { return len(b) - len(a) })
	for _, key := range keys {
		if strings.HasSuffix(key, "/...") && within(pkg, key) {
			return key, true
		}
	}
	return "", false
}

// within reports whether a package matches a path, which may end in /... .
func within(pkg, pattern string) bool {
	tree, ok := strings.CutSuffix(pattern, "/...")
	return pkg == tree || ok && strings.HasPrefix(pkg, tree+"/")
}

// refused returns the reason why a package may not import another one; "" = it may.
func refused(pkg, name string) string {
	for _, b := range banned {
		inTree := b.tree == "" || within(pkg, b.tree+"/...")
		if inTree && slices.Contains(b.imports, name) && !slices.Contains(b.except, pkg) {
			return b.reason
		}
	}
	ours := ""
	if name != module {
		var ok bool
		if ours, ok = strings.CutPrefix(name, module+"/"); !ok {
			return ""
		}
	}
	key, ok := entry(pkg)
	if !ok {
		return "the package is not listed in layers"
	}
	if within(ours, "internal/test/...") && !within(pkg, "internal/test/...") {
		if testImports[pkg] != "" {
			return ""
		}
		return "only tests import internal/test"
	}
	if slices.Contains(small, ours) {
		return ""
	}
	for _, allowed := range layers[key] {
		if within(ours, allowed) {
			return ""
		}
	}
	return "it is in the same layer or above; see ARCHITECTURE.md"
}
