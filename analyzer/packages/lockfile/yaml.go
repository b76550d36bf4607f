package lockfile

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// document parses a YAML file into nodes. Aliases are an error: lock files have none, and nine
// lines of them can expand to a billion values.
func document(data []byte) (root *yaml.Node, err error) {
	if err := boundValues(data, "\n,{["); err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("not YAML: %v", r)
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if len(doc.Content) == 0 {
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	}
	return doc.Content[0], checkNodes(doc.Content[0], 0)
}

// checkNodes returns an error for aliases and for deep nesting.
func checkNodes(n *yaml.Node, depth int) error {
	switch {
	case n.Kind == yaml.AliasNode:
		return fmt.Errorf("line %d: it has an alias (*%s), which lock files do not have", n.Line, n.Value)
	case depth > maxNesting:
		return fmt.Errorf("line %d: it is nested deeper than %d levels", n.Line, maxNesting)
	}
	for _, child := range n.Content {
		if err := checkNodes(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// member returns the value of a key of a mapping; nil if it has none.
func member(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// items returns the values of a sequence; none for another node or nil.
func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// text returns the scalar value of a key; "" if it has none.
func text(n *yaml.Node, key string) string {
	if v := member(n, key); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

// errConda is returned for a file without pip requirements.
var errConda = errors.New(
	"it pins only conda packages, which compat does not look up; give the pip requirements, or " +
		"install it and run compat env --conda-prefix",
)

// environment reads the pip section of a conda environment file.
func environment(data []byte) ([]Pin, error) {
	file, err := document(data)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, d := range items(member(file, "dependencies")) {
		for _, l := range items(member(d, "pip")) {
			if l.Kind == yaml.ScalarNode {
				lines = append(lines, l.Value)
			}
		}
	}
	if len(lines) == 0 {
		return nil, errConda
	}
	pins, err := requirements(strings.Join(lines, "\n"))
	for i := range pins {
		pins[i].Line = 0 // it counts lines of the list, not of the file
	}
	return pins, err
}

// condaLock reads what pip installs on Linux from a unified lock file of conda-lock, version 1.
func condaLock(data []byte) ([]Pin, error) {
	file, err := document(data)
	if err != nil {
		return nil, err
	}
	list := member(file, "package")
	if list == nil {
		return nil, errors.New("it has no list of packages, so it is not such a lock file")
	}
	machines := map[string]string{
		"linux-64":      "x86_64",
		"linux-aarch64": "aarch64",
		"linux-ppc64le": "ppc64le",
	}
	var out []Pin
	for _, p := range items(list) {
		machine, category := machines[text(p, "platform")], text(p, "category")
		if text(p, "manager") != "pip" || machine == "" || text(p, "optional") == "true" ||
			strings.HasPrefix(text(p, "url"), "git+") || category != "" && category != "main" {
			continue
		}
		s, err := pin(text(p, "name"), text(p, "version"), "platform_machine == '"+machine+"'")
		if err != nil {
			return nil, err
		}
		out = append(out, Pin{Requirement: s})
	}
	if len(out) == 0 {
		return nil, errConda
	}
	return out, nil
}
