package docgen

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// messagePackages are the packages whose text literals people read, in the order of the page.
var messagePackages = []struct{ dir, title string }{
	{"comment", "Check runs, annotations and comments"},
	{"comment/post", "Errors of writing to GitHub"},
	{"internal/causetext", "Causes and plans in every format"},
	{"internal/report", "Reports"},
	{"internal/reportpage", "Report page of the service"},
	{"internal/command", "Replies to commands"},
	{"internal/subject", "Progress and errors of checks"},
	{"internal/artifact", "Workflow artifacts and release assets"},
	{"internal/repository", "Access to repositories"},
	{"internal/runlog", "Logs of failed jobs"},
	{"internal/github", "GitHub API"},
	{"analyzer", "Analysis"},
	{"analyzer/facts", "Files of an artifact"},
	{"analyzer/judge", "Platforms and packages"},
	{"analyzer/trial", "Verification of fixes"},
	{"analyzer/cause", "Causes"},
	{"analyzer/abi", "ABI changes"},
	{"analyzer/buildlog", "Log explanations"},
	{"analyzer/logmatch", "Logs compared with artifacts"},
	{"analyzer/unpack", "Archives"},
	{"analyzer/pkgmeta", "Package metadata"},
	{"analyzer/elfobj", "ELF files"},
	{"analyzer/machoobj", "Mach-O files"},
	{"analyzer/peobj", "PE files"},
	{"analyzer/packages/lockfile", "Lock files"},
	{"internal/pinned", "Environments of pinned packages"},
	{"internal/index", "Package index"},
	{"internal/sandbox", "Sandbox"},
	{"config", "Configuration"},
	{"internal/setup", "Setup"},
	{"webhook", "Webhook"},
	{"cmd/compat", "Command line"},
}

// Messages returns the page docs/messages.md: the texts that people read, each once. The findings
// come from the expected results of the rules' tests, one example for each form. All other texts
// are the literals of messagePackages in the module at root; "…" is a value that is inserted.
func Messages(root string) (string, error) {
	var b strings.Builder
	b.WriteString(generated + "# Messages\n\n" +
		"The texts of compat, to be read as a whole. Findings are examples from the rules' tests.\n" +
		"In all other texts, `…` is a value.\n")
	if err := findings(&b, filepath.Join(root, "analyzer", "rules", "testdata")); err != nil {
		return "", err
	}
	for _, p := range messagePackages {
		texts, err := literals(filepath.Join(root, filepath.FromSlash(p.dir)))
		if err != nil {
			return "", err
		}
		if len(texts) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", p.title)
		for _, t := range texts {
			fmt.Fprintf(&b, "- %s\n", inline(t))
		}
	}
	return b.String(), nil
}

// names matches what differs between two messages of the same form.
var names = regexp.MustCompile(`[^ ,;:()]*[0-9_./@=<>+-][^ ,;:()]*|[A-Z][A-Za-z]*`)

// fixKind matches the start of a fix with its kind, which only the JSON report contains.
var fixKind = regexp.MustCompile(`^fix [a-z-]+ `)

// findings writes the messages, fixes and notes of each rule from its tests.
func findings(b *strings.Builder, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.txtar"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	byRule := map[string][]string{}
	seen := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		_, want, ok := strings.Cut(string(data), "-- want --\n")
		if !ok {
			continue
		}
		want, _, _ = strings.Cut(want, "\n-- ")
		rule := ""
		for line := range strings.Lines(want) {
			text := strings.TrimSpace(line)
			first, rest, _ := strings.Cut(text, " ")
			if !strings.HasPrefix(line, " ") {
				rule = ""
				if slices.Contains([]string{"error", "warning", "note"}, first) {
					rule, _, _ = strings.Cut(rest, " ")
				}
				continue
			}
			text = strings.Replace(text, " untried: ", " not verified: ", 1)
			text = fixKind.ReplaceAllString(text, "fix ")
			form := rule + "\x00" + names.ReplaceAllString(text, "…")
			if rule == "" || !words.MatchString(text) || seen[form] {
				continue
			}
			seen[form] = true
			byRule[rule] = append(byRule[rule], text)
		}
	}
	rules := make([]string, 0, len(byRule))
	for rule := range byRule {
		rules = append(rules, rule)
	}
	slices.Sort(rules)
	for _, rule := range rules {
		fmt.Fprintf(b, "\n## %s\n\n", rule)
		for _, text := range byRule[rule] {
			fmt.Fprintf(b, "- %s\n", inline(text))
		}
	}
	return nil
}

// literals returns the texts in the Go files of a folder, without tests and log messages, in the
// order of the files. A folder that does not exist has none.
func literals(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	var out []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, 0)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field: // its tag is no text
				return n.Tag == nil
			case *ast.ValueSpec: // phrases that a log is searched for
				return n.Names[0].Name != "contextNeedles"
			case *ast.CallExpr:
				return !logs(n) && !technical(n)
			case *ast.KeyValueExpr: // text that a log is searched for, and examples of it
				key, ok := n.Key.(*ast.Ident)
				return !ok || !slices.Contains([]string{"needles", "expr", "example", "similar"}, key.Name)
			case ast.Expr:
				text, ok := literal(n)
				if ok && isText(text) && !slices.Contains(out, text) {
					out = append(out, text)
				}
				return !ok
			}
			return true
		})
	}
	return out, nil
}

// logs reports whether a call writes a log line or panics.
func logs(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return slices.Contains([]string{"Info", "Warn", "Error", "Debug", "Log"}, f.Sel.Name) &&
			len(call.Args) > 1
	case *ast.Ident:
		return f.Name == "panic"
	}
	return false
}

// technical reports whether the arguments of a call are texts for programs: a search in a string,
// or the value of an HTTP header or of an HTML meta element.
func technical(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, _ := f.X.(*ast.Ident)
	switch f.Sel.Name {
	case "Contains", "HasPrefix", "HasSuffix", "Index", "Cut":
		return from != nil && (from.Name == "strings" || from.Name == "bytes")
	case "Content", "Set":
		return from != nil && from.Name == "h"
	}
	return false
}

// literal returns the text of a string literal or of a sum that contains one; other operands are
// written as "…".
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return literal(e.X)
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, okLeft := literal(e.X)
		right, okRight := literal(e.Y)
		if !okLeft {
			left = "…"
		}
		if !okRight {
			right = "…"
		}
		return left + right, okLeft || okRight
	}
	return "", false
}

var (
	verb     = regexp.MustCompile(`%[-+# 0]*[0-9.*]*[a-zA-Z]`)
	patterns = regexp.MustCompile(`^\^|\\[.sSdwb(\[]|\(\?|\[\^|\)\?|\.\*|\.\+`)
	protocol = regexp.MustCompile(`^(query|mutation)\(|^default-src |^(GET|POST) |^text/html|` +
		`^application/|="$|^name: \w+\n|^project\(`)
	words = regexp.MustCompile(`\p{L}{2,}[,:;.]? +\S*\p{L}{2,}`)
)

// isText reports whether a literal is a text for people: two words in a row, and neither a pattern
// nor text for another program.
func isText(text string) bool {
	return words.MatchString(text) && !patterns.MatchString(text) && !protocol.MatchString(text)
}

// inline returns a text as Markdown code on one line.
func inline(text string) string {
	text = verb.ReplaceAllString(text, "…")
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "%%", "%")), " ")
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}
