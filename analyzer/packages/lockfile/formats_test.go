package lockfile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// Every row has a fixture, and a file has the format that its name says.
func TestFormats(t *testing.T) {
	a, err := txtar.ParseFile(filepath.Join("testdata", "read.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	tried := map[*format]bool{}
	for i := 0; i < len(a.Files); i += 2 {
		tried[named(strings.Fields(a.Files[i].Name)[0])] = true
	}
	all := formats.Get()
	for i := range all {
		if !tried[&all[i]] {
			t.Errorf("no file in testdata/read.txtar is named like %q", all[i].names)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		file           string
		known, written bool
		installer      string
	}{
		{"app/uv.lock", true, false, "uv"},
		{`app\UV.lock`, true, false, "uv"},
		{"script.py.lock", true, false, "uv"},
		{"Pipfile.lock", true, false, "Pipenv"},
		{"pylock.gpu.toml", true, false, "pip"},
		{"gpu.conda-lock.yml", true, false, "pip"},
		{"environment.yaml", true, true, "pip"},
		{"requirements.txt", true, true, "pip"},
		{"dev-requirements-3.txt", true, true, "pip"},
		{"requirements/base.txt", true, true, "pip"},
		{"base.txt", false, true, "pip"},
		{"more/in.pip", false, true, "pip"},
		{"Cargo.lock", false, false, "pip"},
		{"package-lock.json", false, false, "pip"},
		{"data.json", false, false, "pip"},
	} {
		if Known(c.file) != c.known || Written(c.file) != c.written || Installer(c.file) != c.installer {
			t.Errorf("%s: known %t, written %t, installed by %s", c.file, Known(c.file), Written(c.file),
				Installer(c.file))
		}
	}
}

// TestOneTable fails for the name of a lock file that is not in the table: other code asks it.
func TestOneTable(t *testing.T) {
	root, own := filepath.Join("..", "..", ".."), filepath.Join("analyzer", "packages", "lockfile")
	files := 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, file)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == own || d.Name() == "testdata" || rel == filepath.Join("internal", "test")):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		files++
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err == nil && named(text) != nil && !strings.Contains(text, " ") {
				t.Errorf("%s names %q; ask package lockfile", set.Position(literal.Pos()), text)
			}
			return true
		})
		return nil
	})
	if err != nil || files < 300 {
		t.Errorf("%d files were read, error %v", files, err)
	}
}
