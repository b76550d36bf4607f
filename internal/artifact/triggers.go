package artifact

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// RunsForPulls says whether GitHub starts a workflow, told by the text of its file, for every new
// head of a pull request but for its filters of paths and branches. own: the head is a branch of
// the repository itself, whose pushes count too. false: for none or only for some (a label, a tag),
// or the file can't be read.
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

// triggers is the value of a workflow's "on"; nil: there is none.
func triggers(text string) (on *yaml.Node) {
	defer func() { // the file is outside text: a panic of the library, were there one, is not ours
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

// field is the value of a mapping's key; nil: it has none, or n is no mapping.
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

// event finds an event among triggers, which are a name, a list of names, or a mapping of names to
// filters.
func event(on *yaml.Node, name string) (filter *yaml.Node, there bool) {
	if on.Kind == yaml.MappingNode {
		filter = field(on, name)
		return filter, filter != nil
	}
	return nil, anyOf(on, name)
}

// anyOf says whether a scalar, or one of a list of scalars, is any of the words.
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

// Documentation reports whether every one of some paths is documentation, by its name or by one of
// the globs, and is no part of a build or of how it runs.
func Documentation(paths, globs []string) bool {
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool {
		return !documentation(p, globs)
	})
}

func documentation(p string, globs []string) bool {
	base := path.Base(p)
	switch {
	case strings.HasPrefix(p, ".github/workflows/"), strings.HasPrefix(p, ".github/actions/"),
		base == "action.yml", base == "action.yaml", p == ".github/compat.yml", builds[base],
		strings.HasSuffix(base, ".lock"), strings.HasPrefix(base, "requirements"):
		return false
	}
	for _, g := range append([]string{"**/*.md", "**/*.rst", "docs/**", "**/LICENSE*"}, globs...) {
		if pathMatches(g, p) {
			return true
		}
	}
	return false
}

// builds are the names of files that say how something is built.
var builds = map[string]bool{
	"pyproject.toml": true, "setup.py": true, "setup.cfg": true, "CMakeLists.txt": true,
	"Makefile": true, "meson.build": true, "Dockerfile": true, "Cargo.toml": true,
	"package.json": true, "build.gradle": true, "conanfile.py": true, "vcpkg.json": true,
	"environment.yml": true, "MANIFEST.in": true,
}

// pathMatches reports whether a path matches a glob as in a workflow's filter of paths: "*" and "?"
// stay within a folder, "**" does not, and a glob that ends with "/" is everything below.
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
