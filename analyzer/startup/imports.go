package startup

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// Imports is which modules the Python sources of an artifact import whenever they are imported
// themselves: by an import statement at the start of a line, so in no function, condition or try
// statement. Keys and values are paths without a suffix: "pkg/_module", or "pkg" for its
// __init__.py. The zero value has no source.
type Imports map[string][]string

// maxImports limits the imports of a source that are stored.
const maxImports = 1000

var (
	literal   = lazyregexp.New(`(?s)""".*?"""|'''.*?'''`)
	statement = lazyregexp.New(
		`(?m)^(?:import[ \t]+([^;\n]+)|from[ \t]+([\w.]+)[ \t]*import[ \t]*(\([^)]*\)|[^;\n]*))`)
	comment = lazyregexp.New(`#[^\n]*`)
)

// ReadImports returns what a source imports, with its path relative to site-packages.
func ReadImports(file, text string) (name string, imports []string) {
	name = strings.TrimSuffix(file, ".py")
	pkg := path.Dir(name) // of relative imports
	name = strings.TrimSuffix(name, "/__init__")
	text = comment.ReplaceAllString(literal.ReplaceAllString(text, "''"), "")
	text = strings.ReplaceAll(text, "\\\n", " ")
	for _, m := range statement.FindAllStringSubmatch(text, maxImports) {
		for _, one := range names(m[1]) {
			imports = append(imports, strings.ReplaceAll(one, ".", "/"))
		}
		if m[2] == "" {
			continue
		}
		rest := strings.TrimLeft(m[2], ".")
		from := strings.ReplaceAll(rest, ".", "/")
		if dots := len(m[2]) - len(rest); dots > 0 {
			from = path.Join(pkg, strings.Repeat("../", dots-1), from)
		}
		imports = append(imports, from)
		for _, one := range names(m[3]) {
			imports = append(imports, from+"/"+one)
		}
	}
	return name, imports
}

// names returns the names of a list in an import statement, without those after "as".
func names(list string) (out []string) {
	for one := range strings.SplitSeq(strings.Trim(list, "()"), ",") {
		if words := strings.Fields(one); len(words) > 0 {
			out = append(out, words[0])
		}
	}
	return out
}

// Need reports whether the import of a package imports a module too. A module with a source of the
// same name is not needed: Python imports the source where it does not import the module.
func (s Imports) Need(pkg, module string) bool {
	if _, source := s[module]; source {
		return false
	}
	reached := []string{pkg}
	for i := 0; i < len(reached); i++ {
		for _, name := range s[reached[i]] {
			// a package is imported before its modules
			for ; strings.HasPrefix(name, pkg+"/"); name = path.Dir(name) {
				if _, source := s[name]; (source || name == module) && !slices.Contains(reached, name) {
					reached = append(reached, name)
				}
			}
		}
	}
	return slices.Contains(reached, module)
}
