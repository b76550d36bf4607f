package importtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// deciding are the packages that choose, merge and show fixes. Whatever they decide about a fix is
// in its fields: the title is for people, and may be worded in another way at any time.
var deciding = []string{
	"analyzer/cause", "analyzer/logmatch", "analyzer/trial", "comment", "internal/causetext",
	"internal/report",
}

// No code searches, cuts or compares the text of a fix's title.
func TestTitlesAreNotRead(t *testing.T) {
	for _, dir := range deciding {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range titleReads(file) {
				t.Errorf("%s: the title of a fix is read", set.Position(at))
			}
		}
	}
}

// titleReads returns where a file passes a title to a function that searches or changes a string,
// or compares it with a text.
func titleReads(file *ast.File) (found []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if searches(n.Fun) && slices.ContainsFunc(n.Args, ofTitle) {
				found = append(found, n.Pos())
			}
		case *ast.BinaryExpr:
			if n.Op != token.ADD && (ofTitle(n.X) || ofTitle(n.Y)) {
				found = append(found, n.Pos())
			}
		case *ast.IndexExpr:
			if ofTitle(n.X) {
				found = append(found, n.Pos())
			}
		case *ast.SliceExpr:
			if ofTitle(n.X) {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

// searches reports whether a function is one of package strings, or of a regular expression.
func searches(e ast.Expr) bool {
	of, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if pkg, ok := of.X.(*ast.Ident); ok && pkg.Name == "strings" {
		return true
	}
	return strings.HasPrefix(of.Sel.Name, "Match") || strings.HasPrefix(of.Sel.Name, "Find") ||
		strings.HasPrefix(of.Sel.Name, "Replace")
}

// ofTitle reports whether an expression contains the text of a title: x.Title.String().
func ofTitle(e ast.Expr) (is bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		of, ok := n.(*ast.SelectorExpr)
		if ok && of.Sel.Name == "String" {
			title, ok := of.X.(*ast.SelectorExpr)
			is = is || ok && title.Sel.Name == "Title"
		}
		return !is
	})
	return is
}

// The check finds each way to read a title, and accepts those to show one.
func TestTitleReads(t *testing.T) {
	for code, want := range map[string]int{
		`strings.HasPrefix(x.Title.String(), "Pin ")`:              1,
		`strings.Replace(fixes[0].Title.String(), "a", "b", 1)`:    1,
		`anyTag.FindString(x.Title.String() + " " + x.Command)`:    1,
		`x.Title.String() == "Pin torch"`:                          1,
		`x.Title.String()[:4]`:                                     1,
		`x.Title.Equal(y.Title)`:                                   0,
		`fmt.Sprintf("%s: %s", x.Kind, x.Title.String()+".")`:      0,
		`mdsafe.Prose(x.Title.String(), strings.Fields(names)...)`: 0,
	} {
		source := "package p\nvar _ = " + code
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(titleReads(file)); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}
