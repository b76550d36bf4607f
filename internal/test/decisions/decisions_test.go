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

// sentences are the fields with texts for people.
var sentences = []string{"Headline", "Message", "Title"}

// TestNoSentenceDecides finds calls that look into a message or title, and comparisons with one.
func TestNoSentenceDecides(t *testing.T) {
	for _, dir := range []string{
		"analyzer/cause", "analyzer/logmatch", "analyzer/trial", "comment", "internal/causetext",
		"internal/report",
	} {
		sources(t, dir, func(path string, fset *token.FileSet, file *ast.File) {
			if filepath.Dir(path) != dir {
				return
			}
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

// readsSentence returns the nodes below one that look into a sentence.
func readsSentence(root ast.Node) (found []ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if searches(n.Fun) && slices.ContainsFunc(n.Args, isSentence) {
				found = append(found, n)
			}
		case *ast.BinaryExpr: // "" is an absent sentence
			if (n.Op == token.EQL || n.Op == token.NEQ) && !isEmpty(n.X) && !isEmpty(n.Y) &&
				(isSentence(n.X) || isSentence(n.Y)) {
				found = append(found, n)
			}
		case *ast.IndexExpr:
			if isSentence(n.X) {
				found = append(found, n)
			}
		case *ast.SliceExpr:
			if isSentence(n.X) {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// searches reports whether a function is one of package strings that looks into a text, or one of
// a regular expression.
func searches(e ast.Expr) bool {
	of, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if pkg, ok := of.X.(*ast.Ident); ok && pkg.Name == "strings" {
		return !slices.Contains([]string{"Fields", "Join", "Repeat", "ToUpper"}, of.Sel.Name)
	}
	return slices.ContainsFunc([]string{"Match", "Find", "Replace"}, func(verb string) bool {
		return strings.HasPrefix(of.Sel.Name, verb)
	})
}

// isSentence reports whether an expression is the text of a finding or fix, or contains it:
// x.Title.String() + ".".
func isSentence(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return slices.Contains(sentences, e.Sel.Name)
	case *ast.CallExpr:
		of, ok := e.Fun.(*ast.SelectorExpr)
		return ok && of.Sel.Name == "String" && isSentence(of.X)
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (isSentence(e.X) || isSentence(e.Y))
	}
	return false
}

// isEmpty reports whether an expression is "" or nil.
func isEmpty(e ast.Expr) bool {
	if name, ok := e.(*ast.Ident); ok {
		return name.Name == "nil"
	}
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Value == `""`
}

// TestReadsSentence finds each way to read a sentence, and accepts those to show one.
func TestReadsSentence(t *testing.T) {
	for code, want := range map[string]int{
		`strings.Cut(f.Message, ". ")`:                                    1,
		`strings.HasPrefix(x.Fixes[0].Title.String(), "Pin ")`:            1,
		`anyTag.FindString(x.Title.String() + " " + x.Command)`:           1,
		`x.Title.String() == "Pin torch"`:                                 1,
		`x.Title.String()[:4]`:                                            1,
		`f.Headline == y`:                                                 1,
		`f.Headline != ""`:                                                0,
		`x.Title.Equal(y.Title)`:                                          0,
		`fmt.Sprintf("%s: %s", x.Kind, x.Title.String()+".")`:             0,
		`mdsafe.Prose(x.Title.String(), strings.Fields(names)...)`:        0,
		`strings.Join([]string{f.Message, x.Title.String()}, ". ") + "."`: 0,
	} {
		expr, err := parser.ParseExpr(code)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(readsSentence(expr)); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
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
