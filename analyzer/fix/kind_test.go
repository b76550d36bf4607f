package fix

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// Each constant of a kind has one row, and a kind without a row comes after all others.
func TestKinds(t *testing.T) {
	rows := map[Kind]int{}
	for _, x := range kinds {
		rows[x.kind]++
	}
	file, err := parser.ParseFile(token.NewFileSet(), "kind.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	constants := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); !ok || of.Name != "Kind" {
			return true
		}
		constants++
		name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil || rows[Kind(name)] != 1 {
			t.Errorf("%s: %d rows, %v", name, rows[Kind(name)], err)
		}
		return true
	})
	if constants != len(kinds) {
		t.Errorf("%d constants, %d rows", constants, len(kinds))
	}
	if k := Kind("new"); k.Effort() != len(kinds) || k.Cost() != "" || k.Exclusive() || k.Setting() != NoSetting {
		t.Errorf("a kind without a row: effort %d, cost %q", k.Effort(), k.Cost())
	}
}
