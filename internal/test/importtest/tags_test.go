package importtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// tagReaders are the files outside of analyzer/platform that look for the name of a family of
// platform tags in a text, with the reason.
var tagReaders = map[string]string{
	"analyzer/buildlog/fixes_python.go":  "has the release of pip for each family of platform.Tag",
	"analyzer/cause/text.go":             "finds a tag in a command",
	"analyzer/rules/extension_suffix.go": "reads the file names of modules",
	"analyzer/wheelpolicy/arch.go":       "reads any text as auditwheel does, to have its results",
	"comment/anchor.go":                  "finds a tag in a line of a workflow",
	"comment/suggestion.go":              "replaces a tag in a line of a workflow",
	"internal/artifact/release.go":       "finds the system in the name of a program",
}

var (
	// tagFamily matches how tags begin.
	tagFamily = regexp.MustCompile(
		`^(manylinux|musllinux|macosx|((many|musl)?linux|macosx|win|android|ios|emscripten|` +
			`pyemscripten|pyodide|wasi|freebsd)_)$`,
	)
	// tagPart matches an argument of a function that searches or cuts.
	tagPart    = regexp.MustCompile(`(^|_|\bmany|\bmusl|\))linux|\bmacosx|\bwin(_|32|\b)|\b(android|ios|wasi)_|pyodide|emscripten`)
	searchFunc = regexp.MustCompile(`^(strings|bytes|lazyregexp|regexp)\.(Has|Cut|Trim|Contains|Index|` +
		`LastIndex|Split|New|MustCompile)`)
)

// TestPlatformTagsAreParsedOnce fails for a second parser of platform tags: platform.ParseTag is
// the only one.
func TestPlatformTagsAreParsedOnce(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.pkg, "analyzer/platform") ||
			strings.HasPrefix(s.pkg, "internal/gen") || strings.HasPrefix(s.pkg, "internal/test") {
			continue
		}
		for _, line := range tagReads(t, s.file) {
			if found[s.file] = true; tagReaders[s.file] == "" {
				t.Errorf("%s:%d parses platform tags; use platform.ParseTag", s.file, line)
			}
		}
	}
	for file := range tagReaders {
		if !found[file] {
			t.Errorf("%s is listed in tagReaders and reads no tag; remove it", file)
		}
	}
}

// tagReads returns the lines of a file with the name of a family that is not written, with "+", as
// a part of a tag.
func tagReads(t *testing.T, file string) (lines []int) {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, filepath.Join("..", "..", "..", file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	check := func(e ast.Expr, pattern *regexp.Regexp) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		if text, err := strconv.Unquote(lit.Value); err == nil && pattern.MatchString(text) {
			lines = append(lines, files.Position(lit.Pos()).Line)
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			return n.Op != token.ADD
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok {
				if pkg, ok := f.X.(*ast.Ident); ok && searchFunc.MatchString(pkg.Name+"."+f.Sel.Name) {
					for _, arg := range n.Args {
						check(arg, tagPart)
					}
					return true
				}
			}
		case ast.Expr:
			check(n, tagFamily)
		}
		return true
	})
	return lines
}
