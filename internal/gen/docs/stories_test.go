package docgen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// packages are where the tests named in docs/stories.md are, below the module's root.
var packages = map[string]string{
	"stories": "internal/test/stories", "chaos": "internal/test/chaos",
	"service": "internal/test/service", "subject": "internal/subject", "store": "internal/store",
	"reportpage": "internal/reportpage", "queue": "internal/queue", "github": "internal/github",
	"artifact": "internal/artifact", "analysis": "internal/sandbox",
	"mdsafe": "internal/mdsafe", "comment": "comment", "post": "comment/post", "webhook": "webhook",
	"config": "config", "compat": "cmd/compat", "setup": "internal/setup",
	"appkey": "internal/appkey",

	"impact":   "analyzer/impact",
	"unpack":   "analyzer/unpack",
	"review":   "internal/review",
	"lockfile": "analyzer/packages/lockfile",
}

// TestStoriesPage checks that the tests in docs/stories.md exist, and that it has every story once
// and every row.
func TestStoriesPage(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(docs, "stories.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]*names{}
	for name, dir := range packages {
		tests[name] = testsOf(t, filepath.Join("..", "..", "..", dir))
	}
	row := regexp.MustCompile(`^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`)
	name := regexp.MustCompile("^`([a-z]+)\\.(Test\\w+)(?:/([^`]+))?`$")
	table, rows := "", map[string]map[string]bool{}
	for i, line := range strings.Split(string(data), "\n") {
		m := row.FindStringSubmatch(line)
		switch {
		case m == nil:
			if strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "|---") {
				t.Errorf("line %d is no row of three cells: %s", i+1, line)
			}
			continue
		case m[3] == "tests":
			table = m[1]
			rows[table] = map[string]bool{}
			continue
		case rows[table][m[1]]:
			t.Errorf("line %d: %s stands twice", i+1, m[1])
		}
		rows[table][m[1]] = true
		for _, cell := range strings.Split(m[3], ", ") {
			n := name.FindStringSubmatch(cell)
			if n == nil {
				t.Errorf("line %d: %s names no test", i+1, cell)
				continue
			}
			in := tests[n[1]]
			switch {
			case in == nil:
				t.Errorf("line %d: there is no package %s here", i+1, n[1])
			case !in.tests[n[2]]:
				t.Errorf("line %d: %s has no %s", i+1, n[1], n[2])
			case n[3] != "" && !in.cases[n[3]]:
				t.Errorf("line %d: %s has no case %q", i+1, n[1], n[3])
			default:
				in.named[n[2]] = true
			}
		}
	}
	if n := len(rows["story"]); n != 130 {
		t.Errorf("%d stories, want 130", n)
	}
	// The other four are not supported.
	for table, want := range map[string][]string{"row": numbers(80, 22, 34, 65, 66),
		"ask": numbers(25)} {
		for _, n := range want {
			if !rows[table][n] {
				t.Errorf("%s %s is not in docs/stories.md", table, n)
			}
		}
		if len(rows[table]) != len(want) {
			t.Errorf("%d rows of the table by %s, want %d", len(rows[table]), table, len(want))
		}
	}
	manifest, err := os.ReadFile(filepath.Join("..", "..", "..", "app.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^  - (\w+)`).FindAllStringSubmatch(string(manifest),
		-1) {
		if !slices.ContainsFunc(
			slices.Collect(maps.Keys(rows["event"])),
			func(e string) bool { return strings.HasPrefix(e, m[1]+".") || strings.HasPrefix(e, m[1]+",") },
		) {
			t.Errorf("app.yml asks for %s, of which docs/stories.md says nothing", m[1])
		}
	}
	for test := range tests["stories"].tests {
		if !tests["stories"].named[test] {
			t.Errorf("docs/stories.md does not say what stories.%s tells", test)
		}
	}
}

// numbers counts to n, without some.
func numbers(n int, without ...int) (out []string) {
	for i := 1; i <= n; i++ {
		if !slices.Contains(without, i) {
			out = append(out, strconv.Itoa(i))
		}
	}
	return out
}

// names are the names of a package's tests, the strings in them, and the names of their files, which
// are names of cases.
type names struct{ tests, cases, named map[string]bool }

func testsOf(t *testing.T, dir string) *names {
	t.Helper()
	out := &names{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") && n.Name.Name != "TestMain" {
					out.tests[n.Name.Name] = true
				}
			case *ast.BasicLit:
				out.cases[strings.Trim(n.Value, "\"`")] = true
			}
			return true
		})
	}
	for _, pattern := range []string{"*.txtar", "*/*.txtar"} {
		files, err := filepath.Glob(filepath.Join(dir, "testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			out.cases[strings.TrimSuffix(filepath.Base(file), ".txtar")] = true
		}
	}
	maps.DeleteFunc(out.cases, func(s string, _ bool) bool { return s == "" })
	return out
}
