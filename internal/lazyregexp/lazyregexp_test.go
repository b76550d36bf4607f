package lazyregexp

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestSameAsRegexp(t *testing.T) {
	const text = `(?P<lib>lib[a-z]+)\.so(\.[0-9]+)?`
	lazy, eager := &Regexp{text: text}, regexp.MustCompile(text)
	for _, s := range []string{"", "libm.so.6", "a libc.so b libdl.so.2", "nothing"} {
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() { lazy.MatchString(s) })
		}
		wait.Wait()
		if got, want := strings.Join(lazy.FindStringSubmatch(s), "|"),
			strings.Join(eager.FindStringSubmatch(s), "|"); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
		if got, want := lazy.ReplaceAllString(s, "$lib"), eager.ReplaceAllString(s, "$lib"); got != want {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
	}
}

// TestAllCompile compiles every constant expression that the module passes to New, because a
// program compiles only those that it uses.
func TestAllCompile(t *testing.T) {
	expressions := 0
	folders := map[string][]*ast.File{}
	fset := token.NewFileSet()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, files := range folders {
		if !slices.ContainsFunc(files, importsThis) {
			continue
		}
		info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		// Imports are not loaded: an expression consists of literals and constants of its own
		// package.
		ignored := types.Config{Error: func(error) {}, FakeImportC: true}
		_, _ = ignored.Check(dir, fset, files, &info)
		for _, file := range files {
			for n := range ast.Preorder(file) {
				call, ok := n.(*ast.CallExpr)
				if !ok || !isNew(call.Fun) {
					continue
				}
				v := info.Types[call.Args[0]].Value
				if v == nil {
					continue // a test of its own package compiles it
				}
				expressions++
				if _, err := regexp.Compile(constant.StringVal(v)); err != nil {
					t.Errorf("%v: %v", fset.Position(call.Pos()), err)
				}
			}
		}
	}
	if expressions < 50 {
		t.Errorf("found %d expressions only", expressions)
	}
}

// importsThis reports whether a file imports this package.
func importsThis(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return strings.HasSuffix(i.Path.Value, `/internal/lazyregexp"`)
	})
}

// isNew reports whether f is lazyregexp.New.
func isNew(f ast.Expr) bool {
	s, ok := f.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "New" {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "lazyregexp"
}
