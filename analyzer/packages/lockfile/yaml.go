package lockfile

import (
	"fmt"

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
		return inLine(n.Line, fmt.Errorf("it has an alias (*%s), which lock files do not have", n.Value))
	case depth > maxNesting:
		return inLine(n.Line, fmt.Errorf("it is nested deeper than %d levels", maxNesting))
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
