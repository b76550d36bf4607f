// Package decisions checks that no code decides by the wording of a sentence or by the ID of a rule.
//
// It expects:
//   - Where findings are grouped, tried, compared with logs and shown, no message, headline or title
//     is searched, cut or compared: what is to be known of a finding or fix is in its fields.
//   - The ID of a rule is a literal only next to the rule, and where its findings are made.
package decisions

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/rules"
)

const root = "../../.."

// sources calls f for each source file below a folder of the project, without tests.
func sources(t *testing.T, dir string, f func(path string, fset *token.FileSet, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, dir), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, p, nil, 0)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		f(filepath.ToSlash(rel), fset, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// reading are the functions of the standard library that look into a text.
var reading = map[string][]string{
	"strings": {
		"Contains", "ContainsAny", "Count", "Cut", "CutPrefix", "CutSuffix", "EqualFold", "Fields",
		"FieldsFunc", "HasPrefix", "HasSuffix", "Index", "IndexByte", "LastIndex", "LastIndexByte",
		"Replace", "Split", "SplitN", "SplitSeq", "TrimPrefix", "TrimSuffix",
	},
	"fmt": {"Sscan", "Sscanf"},
}

// sentences are the fields with texts for people.
var sentences = []string{"Headline", "Message", "Title"}

// TestNoSentenceDecides finds calls that look into a message or title, and comparisons with one.
func TestNoSentenceDecides(t *testing.T) {
	for _, dir := range []string{
		"analyzer/cause", "analyzer/trial", "analyzer/logmatch", "internal/report",
	} {
		sources(t, dir, func(_ string, fset *token.FileSet, file *ast.File) {
			for _, d := range file.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				for _, n := range readsSentence(fn) {
					t.Errorf("%s reads a sentence; add what it needs to the finding or fix as a field",
						fset.Position(n.Pos()))
				}
			}
		})
	}
}

// readsSentence returns the nodes of a function that look into a sentence.
func readsSentence(fn *ast.FuncDecl) (found []ast.Node) {
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			of, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, _ := of.X.(*ast.Ident)
			matches := slices.Contains([]string{
				"MatchString", "FindString", "FindStringSubmatch", "FindStringIndex", "ReplaceAllString",
			}, of.Sel.Name)
			if (matches || pkg != nil && slices.Contains(reading[pkg.Name], of.Sel.Name)) &&
				slices.ContainsFunc(n.Args, isSentence) {
				found = append(found, n)
			}
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				if isSentence(n.X) && isText(n.Y) || isSentence(n.Y) && isText(n.X) {
					found = append(found, n)
				}
			}
		}
		return true
	})
	return found
}

// isSentence reports whether an expression has the text of a finding or fix.
func isSentence(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return slices.Contains(sentences, e.Sel.Name)
	case *ast.CallExpr: // x.Title.String()
		of, ok := e.Fun.(*ast.SelectorExpr)
		return ok && of.Sel.Name == "String" && isSentence(of.X)
	case *ast.BinaryExpr:
		return isSentence(e.X) || isSentence(e.Y)
	}
	return false
}

// isText reports whether an expression is a literal that is not empty.
func isText(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING && lit.Value != `""`
}

// TestReadsSentence checks the check.
func TestReadsSentence(t *testing.T) {
	const source = `package p
func f() {
	strings.Cut(x.Message, ". ")
	strings.HasPrefix(x.Fixes[0].Title.String(), "Use")
	if x.Title == "Use" || x.Title == "" {}
	re.MatchString(x.Title + " " + y)
	fmt.Println(x.Message)
}`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if found := readsSentence(file.Decls[0].(*ast.FuncDecl)); len(found) != 4 {
		t.Errorf("found %d of 4 reads", len(found))
	}
}

// ids are the files and folders in which the ID of a rule may be a literal, with the reason.
var ids = map[string]string{
	"analyzer/rules/":         "they are the rules",
	"analyzer/abi/change.go":  "the constants of the changes, whose rules have their IDs",
	"analyzer/environment.go": "the rules of environments, whose findings are made there",
	"analyzer/support.go":     "the rule about wheels that are gone, whose findings are made there",
	"analyzer/buildlog/":      "the messages and classes of logs, some of which have the name of a rule",
	"analyzer/logmatch/":      "the classes of logs",
	"internal/test/":          "tests",
}

// TestRulesAreNotNamed finds IDs of rules as literals elsewhere.
func TestRulesAreNotNamed(t *testing.T) {
	known := rules.IDs()
	used := map[string]bool{}
	sources(t, ".", func(path string, fset *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			id, err := strconv.Unquote(lit.Value)
			if err != nil || !slices.Contains(known, id) {
				return true
			}
			for place := range ids {
				if strings.HasPrefix(path, place) {
					used[place] = true
					return true
				}
			}
			t.Errorf("%s names the rule %s; ask its analyzer.Rule for what is to be known",
				fset.Position(lit.Pos()), id)
			return true
		})
	})
	for place := range ids {
		if !used[place] {
			t.Errorf("%s names no rule any more", place)
		}
	}
}
