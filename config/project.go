package config

import (
	"bytes"
	"errors"
	"slices"

	"github.com/pelletier/go-toml/v2/unstable"
	"go.yaml.in/yaml/v4"
)

// ProjectPath is the path of the file of a Python project whose table [tool.compat] has the keys of
// a compat.yml. Only the command line reads it, if the repository has no file at Path.
const ProjectPath = "pyproject.toml"

const maxProject = 1 << 20 // bytes; pyproject.toml is shared by many tools

// ParseProject parses the table [tool.compat] of a pyproject.toml as ParseRepository does a
// compat.yml. found is false if there is no such table.
func ParseProject(data []byte, rules []string) (c *Repository, problems []Problem, found bool) {
	if len(data) > maxProject {
		return nil, []Problem{TooLarge(len(data))}, true
	}
	p := &parser{
		lines: bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")) + 1,
		rules: rules,
		list:  `["value"]`,
	}
	t := newTree(data)
	if err := t.read(); err != nil {
		p.problems = []Problem{{Line: p.clamp(t.failed()), Message: "not TOML: " + oneLine(err.Error())}}
		return nil, p.problems, true
	}
	n := member(member(t.root, "tool"), "compat")
	if n == nil {
		return nil, nil, false
	}
	c = &Repository{}
	if p.bounded(n) {
		p.repository(n, c)
	}
	if len(p.problems) == 0 {
		return c, nil, true
	}
	slices.SortStableFunc(p.problems, func(a, b Problem) int { return a.Line - b.Line })
	return nil, p.problems[:min(len(p.problems), maxShown)], true
}

// tree is a TOML document as the nodes of YAML, which have lines. The parser reports syntax errors;
// a key that is there twice is in its mapping twice.
type tree struct {
	parser unstable.Parser
	data   []byte
	ends   []int // offsets of line feeds
	root   *yaml.Node
}

func newTree(data []byte) *tree {
	t := &tree{data: data, root: mappingAt(1)}
	for i, b := range data {
		if b == '\n' {
			t.ends = append(t.ends, i)
		}
	}
	t.parser.Reset(data)
	return t
}

func (t *tree) read() error {
	current := t.root
	for t.parser.NextExpression() {
		switch e := t.parser.Expression(); e.Kind {
		case unstable.Table:
			current = t.descend(t.root, e.Key(), false)
		case unstable.ArrayTable:
			current = t.descend(t.root, e.Key(), true)
		case unstable.KeyValue:
			t.add(current, e)
		}
	}
	return t.parser.Error()
}

// failed returns the line of a syntax error.
func (t *tree) failed() int {
	var at *unstable.ParserError
	if errors.As(t.parser.Error(), &at) && len(at.Highlight) > 0 {
		return t.line(t.parser.Range(at.Highlight))
	}
	return len(t.ends) + 1
}

func (t *tree) line(r unstable.Range) int {
	n, _ := slices.BinarySearch(t.ends, int(r.Offset))
	return n + 1
}

// descend returns the table with a dotted key, and adds what is missing of it. The last part of the
// key names an array of tables if array is set, to which a table is added.
func (t *tree) descend(n *yaml.Node, key unstable.Iterator, array bool) *yaml.Node {
	for key.Next() {
		k := key.Node()
		line, last := t.line(k.Raw), key.IsLast()
		next := member(n, string(k.Data))
		if next == nil || next.Kind == yaml.ScalarNode {
			next = mappingAt(line)
			if last && array {
				next = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: line}
			}
			set(n, string(k.Data), line, next)
		}
		if next.Kind == yaml.SequenceNode {
			if last && array || len(next.Content) == 0 {
				next.Content = append(next.Content, mappingAt(line))
			}
			next = next.Content[len(next.Content)-1]
		}
		n = next
	}
	return n
}

// add adds a key and its value to a table.
func (t *tree) add(n *yaml.Node, e *unstable.Node) {
	var parts []*unstable.Node
	for key := e.Key(); key.Next(); {
		parts = append(parts, key.Node())
	}
	for _, k := range parts[:len(parts)-1] {
		next := member(n, string(k.Data))
		if next == nil || next.Kind != yaml.MappingNode {
			next = mappingAt(t.line(k.Raw))
			set(n, string(k.Data), next.Line, next)
		}
		n = next
	}
	k := parts[len(parts)-1]
	line := t.line(k.Raw)
	set(n, string(k.Data), line, t.value(e.Value(), line))
}

// value returns a value. line is used where the parser knows no place.
func (t *tree) value(v *unstable.Node, line int) *yaml.Node {
	if v.Raw.Length > 0 {
		line = t.line(v.Raw)
	}
	switch v.Kind {
	case unstable.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: line}
		for items := v.Children(); items.Next(); {
			n.Content = append(n.Content, t.value(items.Node(), line))
		}
		return n
	case unstable.InlineTable:
		n := mappingAt(line)
		for members := v.Children(); members.Next(); {
			t.add(n, members.Node())
		}
		return n
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(v.Data), Line: line}
}

func mappingAt(line int) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: line}
}

func set(n *yaml.Node, key string, line int, value *yaml.Node) {
	n.Content = append(n.Content,
		&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: line}, value)
}

// member returns the value of a key; nil without one, and for a node that is no mapping.
func member(n *yaml.Node, key string) *yaml.Node {
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
