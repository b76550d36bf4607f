package artifact

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Change is what GitHub compares with the triggers of a workflow.
type Change struct {
	Base  string // branch to merge into; "" = filters of branches are not considered
	Head  string // branch of the head; "" = not known, so no filter of branches lets a push through
	Own   bool   // the head is a branch of the repository itself, so pushes count too
	Group bool   // the head of a merge group, not of a pull request
	// Paths are all changed paths; nil = filters of paths are not considered.
	Paths []string
}

// Starts reports whether GitHub runs the workflow with this text for every new head of a change. It
// returns false for workflows that only run for some events (labels, tags) and for text that cannot
// be parsed.
func (c Change) Starts(text string) bool {
	on := triggers(text)
	if on == nil {
		return false
	}
	names := []string{"pull_request", "pull_request_target"}
	if c.Group {
		names = []string{"merge_group"}
	}
	for _, name := range names {
		if filter, there := event(on, name); there &&
			(c.Group || field(filter, "types") == nil ||
				anyOf(field(filter, "types"), "opened", "synchronize", "reopened")) &&
			(c.Base == "" || included(filter, "branches", []string{c.Base})) {
			// A workflow that is for pull requests need not be for pushes to their heads.
			return c.Group || c.Paths == nil || included(filter, "paths", c.Paths)
		}
	}
	push, there := event(on, "push")
	return c.Own && there && pushed(push, c.Head) &&
		(c.Paths == nil || included(push, "paths", c.Paths))
}

// pushed reports whether the filter of push lets a push to a branch start the workflow. A filter of
// tags alone excludes all branches.
func pushed(filter *yaml.Node, branch string) bool {
	if field(filter, "branches") == nil && field(filter, "branches-ignore") == nil {
		return field(filter, "tags") == nil && field(filter, "tags-ignore") == nil
	}
	return branch != "" && included(filter, "branches", []string{branch})
}

// included reports whether a filter, such as paths or branches, and the one that ignores, lets a
// workflow run: if any of the values matches the first, and any does not match the second.
func included(filter *yaml.Node, name string, values []string) bool {
	if globs := field(filter, name); globs != nil {
		return slices.ContainsFunc(values, func(v string) bool { return lets(globs, v) })
	}
	if globs := field(filter, name+"-ignore"); globs != nil {
		return slices.ContainsFunc(values, func(v string) bool { return !lets(globs, v) })
	}
	return true
}

// lets reports whether the last glob of a list that matches a value is not one with "!".
func lets(globs *yaml.Node, value string) (is bool) {
	list := globs.Content
	if globs.Kind == yaml.ScalarNode {
		list = []*yaml.Node{globs}
	}
	for _, g := range list {
		glob, without := strings.CutPrefix(aliased(g).Value, "!")
		switch re, err := globRegexp(glob); {
		case err != nil:
			return true // not known
		case re.MatchString(value):
			is = !without
		}
	}
	return is
}

// Triggers returns the part of a workflow that says when it starts, as the text of a workflow; ""
// if there is none, and the whole text if the part has aliases of something outside it.
func Triggers(text string) string {
	on := triggers(text)
	if on == nil {
		return ""
	}
	if hasAlias(on) {
		return text
	}
	part, err := yaml.Dump(map[string]*yaml.Node{"on": on})
	if err != nil {
		return ""
	}
	return string(part)
}

// triggers returns the value of "on" in a workflow; nil if there is none.
func triggers(text string) (on *yaml.Node) {
	defer func() { // the text is untrusted, so a panic of the YAML library is treated as an error
		if recover() != nil {
			on = nil
		}
	}()
	var doc yaml.Node
	if yaml.Load([]byte(text), &doc) != nil || len(doc.Content) != 1 {
		return nil
	}
	return field(doc.Content[0], "on")
}

// field returns the value of a key of the mapping n; nil if there is none or n is not a mapping.
func field(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return aliased(n.Content[i+1])
		}
	}
	return nil
}

// aliased returns the node that an alias stands for, and other nodes as they are.
func aliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// hasAlias reports whether a node or something in it is an alias.
func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}

// event finds an event in the value of "on", which is a name, a list of names, or a mapping of
// names to filters.
func event(on *yaml.Node, name string) (filter *yaml.Node, there bool) {
	if on.Kind == yaml.MappingNode {
		filter = field(on, name)
		return filter, filter != nil
	}
	return nil, anyOf(on, name)
}

// anyOf reports whether a scalar, or an element of a list of scalars, is one of the words.
func anyOf(n *yaml.Node, words ...string) bool {
	switch n.Kind {
	case yaml.ScalarNode:
		return slices.Contains(words, strings.TrimSpace(n.Value))
	case yaml.SequenceNode:
		return slices.ContainsFunc(
			n.Content,
			func(c *yaml.Node) bool {
				c = aliased(c)
				return c.Kind == yaml.ScalarNode && slices.Contains(words, c.Value)
			},
		)
	}
	return false
}

// Documentation reports whether all paths are documentation, by their name or by one of the
// globs, and not part of the build or of CI.
func Documentation(paths, globs []string) bool {
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool {
		return !documentation(p, globs)
	})
}

func documentation(p string, globs []string) bool {
	if Builds(p) {
		return false
	}
	switch {
	case Text(p), license.MatchString(path.Base(p)),
		strings.HasPrefix(p, "docs/") && !compiled(path.Ext(p)):
		return true
	}
	return slices.ContainsFunc(globs, func(g string) bool { return globMatches(g, p) })
}

// Text reports whether a path has the extension of a text.
func Text(p string) bool { return path.Ext(p) == ".md" || path.Ext(p) == ".rst" }

// license matches the names of texts of licenses, such as LICENSE, LICENSE.txt and
// LICENSE-APACHE-2.0, and not LICENSE_check.c.
var license = lazyregexp.New(`^LICENSE[^.]*(\.[0-9][^.]*)*(\.txt|\.md|\.rst)?$`)

// compiled reports whether files with an extension are input of compilers. A build may compile
// those in the folder of the documentation too.
func compiled(ext string) bool {
	switch strings.ToLower(ext) {
	case ".c", ".cc", ".cpp", ".cxx", ".c++", ".cppm", ".ixx", ".cu", ".hip", ".cl", ".metal", ".ptx",
		".h", ".hh", ".hpp", ".hxx", ".h++", ".cuh", ".inc", ".inl", ".ipp", ".tpp", ".tcc", ".def",
		".asm", ".s", ".sx", ".nasm", ".f", ".f77", ".f90", ".f95", ".f03", ".f08", ".for", ".ftn",
		".m", ".mm", ".go", ".rs", ".zig", ".swift", ".d", ".nim", ".vala", ".adb", ".ads", ".java",
		".kt", ".pyx", ".pxd", ".pxi", ".i", ".y", ".l", ".cmake", ".bzl", ".so", ".a", ".o", ".obj",
		".lib", ".dll", ".pyd", ".dylib", ".whl", ".ld", ".patch", ".diff":
		return true
	}
	return false
}

// Builds reports whether a path is part of the build or of CI: a change of it may change artifacts
// in any way.
func Builds(p string) bool {
	base := path.Base(p)
	return strings.HasPrefix(p, ".github/workflows/") || strings.HasPrefix(p, ".github/actions/") ||
		base == "action.yml" || base == "action.yaml" || p == ".github/compat.yml" || builds(base) ||
		strings.HasSuffix(base, ".lock") || strings.HasSuffix(base, ".in") || lockfile.Known(p)
}

// builds reports whether files of a name configure a build.
func builds(name string) bool {
	switch name {
	case "pyproject.toml", "setup.py", "setup.cfg", "CMakeLists.txt", "Makefile", "meson.build",
		"Dockerfile", "Cargo.toml", "package.json", "build.gradle",
		"conanfile.py", "vcpkg.json":
		return true
	}
	return false
}

// globMatches reports whether a path matches a glob. A malformed glob matches nothing.
func globMatches(glob, name string) bool {
	re, err := globRegexp(glob)
	return err == nil && re.MatchString(name)
}

// globRegexp translates a glob for paths and branches of a workflow (docs: filter pattern cheat
// sheet): "*" does not match a slash, "**" does, "?" and "+" repeat the character before them, and
// a glob that ends with "/" matches everything below.
func globRegexp(glob string) (*regexp.Regexp, error) {
	if len(glob) > maxGlob {
		return nil, errors.New("the glob is too long")
	}
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	var b strings.Builder
	b.WriteString(`^`)
	for rest := strings.TrimPrefix(glob, "./"); rest != ""; {
		token := rest[:1]
		switch {
		case strings.HasPrefix(rest, "**/"):
			token = "**/"
			b.WriteString(`(.*/)?`)
		case strings.HasPrefix(rest, "**"):
			token = "**"
			b.WriteString(`.*`)
		case token == "*":
			b.WriteString(`[^/]*`)
		case token == "?", token == "+", token == "[", token == "]", token == "-":
			b.WriteString(token)
		case token == `\` && len(rest) > 1:
			token = rest[:2]
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
		default:
			b.WriteString(regexp.QuoteMeta(token))
		}
		rest = rest[len(token):]
	}
	return regexp.Compile(b.String() + `$`)
}

// maxGlob limits a glob, in bytes.
const maxGlob = 1000
