package shellword_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/compat-app/compat/internal/shellword"
)

// TestHostileNames makes 1,000,000 commands of hostile names, of every template in the program, and
// reads each with a parser of bash: it has exactly the words that were meant.
func TestHostileNames(t *testing.T) {
	const commands = 1_000_000
	all := templates(t)
	t.Logf("%d templates", len(all))
	if len(all) < 40 {
		t.Fatalf("only %d templates were found", len(all))
	}
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		group.Go(func() {
			make, shell := newMaker(t, uint64(w)), newShell()
			for i := w; i < commands && !t.Failed(); i += workers {
				x := all[i%len(all)]
				words := make.names(len(x.parts))
				line := x.fill(words)
				got, err := shell.read(line)
				if want := x.expect(words); err != nil || !slices.EqualFunc(got, want, slices.Equal) {
					t.Errorf("%s makes\n%s\nof %q, which is read as %q, %v; want %q",
						x.at, line, words, got, err, want)
				}
				for _, r := range string(line) {
					if !unicode.IsPrint(r) {
						t.Errorf("%s shows %q in %q", x.at, r, line)
					}
				}
			}
		})
	}
	group.Wait()
}

// TestOnlyQuotedLines: no other package converts a string to a Line.
func TestOnlyQuotedLines(t *testing.T) {
	files := 0
	sources(t, func(set *token.FileSet, file *ast.File) {
		files++
		ast.Inspect(file, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok && function(c) == "Line" {
				t.Errorf("%s: a string becomes a shellword.Line without being quoted", set.Position(c.Pos()))
			}
			return true
		})
	})
	if files < 20 {
		t.Errorf("only %d files that make commands were found", files)
	}
}

// template is an expression of the program that makes a Line.
type template struct {
	at    string
	parts []part
	want  [][]string // the words of its commands; mark(i) is the word of part i
}

// part is a constant of a template, or a place for a word.
type part struct {
	text  string
	word  bool
	plain bool // the word is added by Plain, not by Quote
}

// mark stands for the word of a part in what is expected.
func mark(i int) string { return "@" + strconv.Itoa(i) + "@" }

// fill makes the command with a word for each part.
func (x template) fill(words []string) (out shellword.Line) {
	for i, p := range x.parts {
		switch {
		case p.plain:
			out += shellword.Plain(words[i : i+1])
		case p.word:
			out += shellword.Quote(words[i])
		default:
			out += shellword.Line(p.text)
		}
	}
	return out
}

// expect returns the words that a shell is to read in fill(words).
func (x template) expect(words []string) [][]string {
	var out [][]string
	for _, command := range x.want {
		var list []string
		for _, word := range command {
			var b strings.Builder
			for i, text := range strings.Split(word, "@") {
				if i%2 == 0 {
					b.WriteString(text)
					continue
				}
				at, err := strconv.Atoi(text)
				if err != nil {
					panic(err)
				}
				if x.parts[at].plain {
					b.WriteString(string(shellword.Plain(words[at : at+1])))
				} else {
					b.WriteString(words[at])
				}
			}
			list = append(list, b.String())
		}
		out = append(out, list)
	}
	return out
}

// templates reads from the source of the program how its commands are made.
func templates(t *testing.T) []template {
	t.Helper()
	var out []template
	sources(t, func(set *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			parts, makes := split(e)
			if len(parts) == 1 && parts[0].plain {
				return true // the result of Plain is compared
			}
			if makes {
				if text := parts[0].text; text == "" || text == elsewhere || text[0] == ' ' {
					// what follows a command
					parts = append([]part{{text: "x "}}, parts...)
				}
				out = append(out, template{at: set.Position(e.Pos()).String(), parts: parts})
			}
			return !makes
		})
	})
	shell := newShell()
	for i := range out {
		var marks []string
		for j := range out[i].parts {
			marks = append(marks, mark(j))
		}
		var err error
		if out[i].want, err = shell.read(out[i].fill(marks)); err != nil {
			t.Fatalf("%s: %v", out[i].at, err)
		}
	}
	return out
}

// elsewhere stands for a part that is made elsewhere. No variable has such a name, so that a word
// after it is not taken for an assignment.
const elsewhere = "x-"

// split takes an expression apart at its "+"; makes reports whether a word is quoted in it.
func split(e ast.Expr) (parts []part, makes bool) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			a, makesA := split(e.X)
			b, makesB := split(e.Y)
			return append(a, b...), makesA || makesB
		}
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return []part{{text: text}}, false
		}
	case *ast.CallExpr:
		switch f := function(e); f {
		case "Quote", "Quoted", "quoted":
			return []part{{word: true}}, true
		case "Plain":
			return []part{{word: true, plain: true}}, true
		}
	}
	return []part{{text: elsewhere}}, false
}

// function returns the name of a called function of this package, or of one named quoted.
func function(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && x.Name == "shellword" {
			return f.Sel.Name
		}
	case *ast.Ident:
		if f.Name == "quoted" {
			return f.Name
		}
	}
	return ""
}

// sources calls visit for each source file of the module that imports this package.
func sources(t *testing.T, visit func(set *token.FileSet, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", ".."),
		func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(text, []byte(`internal/shellword"`)) {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			visit(set, file)
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
}

// shell reads command lines as bash does, without running them.
type shell struct {
	parser *syntax.Parser
	config *expand.Config
}

func newShell() *shell {
	return &shell{syntax.NewParser(syntax.Variant(syntax.LangBash)), &expand.Config{
		CmdSubst: func(w io.Writer, c *syntax.CmdSubst) error {
			if !asksMachine(c) {
				return errors.New("a command substitution")
			}
			_, err := io.WriteString(w, "x86_64")
			return err
		},
	}}
}

// asksMachine reports whether a command substitution is $(uname -m), the only one that commands have:
// no name is in it.
func asksMachine(c *syntax.CmdSubst) bool {
	var b strings.Builder
	err := syntax.NewPrinter(syntax.Minify(true)).Print(&b, c)
	return err == nil && b.String() == "$(uname -m)"
}

// read returns the words of each command in a line, with its input as the last one. It fails for a
// line with anything but simple commands, also in parentheses, their words and variables.
func (s *shell) read(line shellword.Line) (commands [][]string, err error) {
	file, err := s.parser.Parse(strings.NewReader(string(line)), "")
	if err != nil {
		return nil, err
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CmdSubst); ok && asksMachine(c) {
			return false
		}
		switch n := n.(type) {
		case nil, *syntax.File, *syntax.Stmt, *syntax.BinaryCmd, *syntax.Subshell, *syntax.Assign,
			*syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.ParamExp:
		case *syntax.CallExpr:
			var words, fields []string
			if words, err = s.assignments(n.Assigns); err != nil {
				return false
			}
			fields, err = expand.Fields(s.config, n.Args...)
			commands = append(commands, append(words, fields...))
		case *syntax.DeclClause: // export NAME=WORD
			var words []string
			words, err = s.assignments(n.Args)
			commands = append(commands, append([]string{n.Variant.Value}, words...))
		case *syntax.Redirect: // COMMAND <<< WORD, the input of the command
			if n.Op != syntax.WordHdoc {
				err = fmt.Errorf("%s in a command", n.Op)
				return false
			}
			var input []string
			input, err = expand.Fields(s.config, n.Word)
			last := len(commands) - 1
			commands[last] = append(commands[last], input...)
			return false
		default:
			err = fmt.Errorf("%T in a command", n)
		}
		return err == nil
	})
	return commands, err
}

func (s *shell) assignments(list []*syntax.Assign) (words []string, err error) {
	for _, a := range list {
		values, err := expand.Fields(s.config, a.Value)
		if err != nil || len(values) != 1 {
			return nil, fmt.Errorf("the value of %s is %q, %w", a.Name.Value, values, err)
		}
		words = append(words, a.Name.Value+"="+values[0])
	}
	return words, nil
}

// maker makes hostile names: those of testdata/names.txt, joined and changed at random.
type maker struct {
	random *rand.Rand
	known  []string
}

func newMaker(t *testing.T, seed uint64) *maker {
	return &maker{rand.New(rand.NewPCG(20, seed)), names(t)}
}

// names reads testdata/names.txt: a Go string in each line.
func names(t testing.TB) (out []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "names.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, name)
	}
	return out
}

func (m *maker) names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = m.name()
	}
	return out
}

func (m *maker) name() string {
	name := m.known[m.random.IntN(len(m.known))]
	switch m.random.IntN(4) {
	case 0: // as it is
	case 1:
		name += m.known[m.random.IntN(len(m.known))]
	case 2: // any bytes but NUL, which no argument of a program has
		at := m.random.IntN(len(name) + 1)
		name = name[:at] + string([]byte{byte(1 + m.random.IntN(255))}) + name[at:]
	case 3:
		at := m.random.IntN(len(name) + 1)
		name = name[:at] + string(rune(1+m.random.IntN(0x2100))) + name[at:]
	}
	return name
}
