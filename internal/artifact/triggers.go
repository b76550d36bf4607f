package artifact

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// RunsForPulls reports whether GitHub runs the workflow with this text for every new head of a
// pull request, not considering filters of paths and branches. own means that the head is a
// branch of the repository itself, so pushes count too. It returns false for workflows that only
// run for some events (labels, tags) and for text that cannot be parsed.
func RunsForPulls(text string, own bool) bool {
	on := triggers(text)
	if on == nil {
		return false
	}
	for _, name := range []string{"pull_request", "pull_request_target"} {
		if filter, there := event(on, name); there &&
			(field(filter, "types") == nil || anyOf(field(filter, "types"), "opened", "synchronize",
				"reopened")) {
			return true
		}
	}
	push, there := event(on, "push")
	return own && there && field(push, "branches") == nil &&
		field(push, "branches-ignore") == nil &&
		field(push, "tags") == nil &&
		field(push, "tags-ignore") == nil
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
			return n.Content[i+1]
		}
	}
	return nil
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
			func(c *yaml.Node) bool { return c.Kind == yaml.ScalarNode && slices.Contains(words, c.Value) },
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
	base, ext := path.Base(p), path.Ext(p)
	switch {
	case ext == ".md", ext == ".rst", license.MatchString(base),
		strings.HasPrefix(p, "docs/") && !compiled(ext):
		return true
	}
	return slices.ContainsFunc(globs, func(g string) bool { return pathMatches(g, p) })
}

// license matches the names of texts of licenses, such as LICENSE, LICENSE.txt and
// LICENSE-APACHE-2.0, and not LICENSE_check.c.
var license = lazyregexp.New(`^LICENSE[^.]*(\.[0-9][^.]*)*(\.txt|\.md|\.rst)?$`)

// compiled reports whether files with an extension are input of compilers. A build may compile
// those in the folder of the documentation too.
func compiled(ext string) bool {
	switch strings.ToLower(ext) {
	case ".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl",
		".asm", ".s", ".f", ".f90", ".for", ".m", ".mm", ".go", ".rs", ".zig", ".swift", ".pyx",
		".pxd", ".pxi", ".cmake", ".bzl", ".so", ".a", ".o", ".dll", ".dylib", ".whl":
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

// pathMatches reports whether a path matches a glob of a workflow's paths filter: "*" and "?" do
// not match a slash, "**" does, and a glob that ends with "/" matches everything below.
func pathMatches(glob, p string) bool {
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	return segments(strings.Split(strings.TrimPrefix(glob, "./"), "/"), strings.Split(p, "/"))
}

func segments(glob, p []string) bool {
	for len(glob) > 0 && glob[0] != "**" {
		if len(p) == 0 {
			return false
		}
		if ok, err := path.Match(glob[0], p[0]); err != nil || !ok {
			return false
		}
		glob, p = glob[1:], p[1:]
	}
	if len(glob) == 0 {
		return len(p) == 0
	}
	for i := range len(p) + 1 {
		if segments(glob[1:], p[i:]) {
			return true
		}
	}
	return false
}
