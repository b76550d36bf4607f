package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Declared is a requirement in a pyproject.toml from which a lock file is made: the one next to it,
// or one of a member of its workspace.
type Declared struct {
	pkgmeta.Requirement
	Member        // its zero value for the pyproject.toml next to the lock file; set by the caller
	File   string // as displayed; set by the caller
	Line   int
	Tool   string // that reads the table: "uv", "poetry" or "pdm"; "" = all
	// Extra or Group is the list that has the requirement; both are "" for the dependencies of the
	// project.
	Extra, Group string
	// Manual means that no command changes it: the line has to be edited.
	Manual bool

	raw unstable.Range // of the string with its quotes; empty for Poetry's tables
}

// Member is a project of a workspace of uv, other than the one next to the lock file.
type Member struct {
	Project string
	Folder  string // slash-separated, relative to the one of the lock file
}

// Of returns the requirements on a package with a normalized name.
func Of(all []Declared, name string) (out []Declared) {
	for _, d := range all {
		if d.Name == name {
			out = append(out, d)
		}
	}
	return out
}

// Project returns the requirements in a pyproject.toml: of the project, its extras and groups, and
// those in the tables of uv, Poetry and PDM. It returns what it can read.
func Project(data []byte) []Declared {
	found, _ := readDeclared(data)
	return found
}

// readDeclared is Project, with the error of a file that is not TOML.
func readDeclared(data []byte) ([]Declared, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("it has more than %d MiB", maxSize>>20)
	}
	if err := boundTOML(data); err != nil {
		return nil, err
	}
	p := project{data: data}
	p.Reset(data)
	var table []string
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.ArrayTable, unstable.Table:
			table = names(e.Key())
		case unstable.KeyValue:
			p.value(table, e)
		}
	}
	if p.Error() != nil {
		return p.found, tomlError(&p.Parser, data)
	}
	return p.found, nil
}

type project struct {
	unstable.Parser
	data  []byte
	found []Declared
}

// value reads the value of a key, which may be a table.
func (p *project) value(table []string, e *unstable.Node) {
	path := append(table[:len(table):len(table)], names(e.Key())...)
	value := e.Value()
	if d, ok := ofPoetry(path); ok {
		p.poetry(d, path, e)
		return
	}
	if value.Kind == unstable.InlineTable {
		for members := value.Children(); members.Next(); {
			p.value(path, members.Node())
		}
		return
	}
	d, ok := list(path)
	if !ok || value.Kind != unstable.Array {
		return
	}
	for all := value.Children(); all.Next(); {
		n := all.Node()
		q, err := pkgmeta.ParseRequirement(string(n.Data))
		if n.Kind != unstable.String || err != nil {
			continue // a group may include another one
		}
		d.Requirement, d.Line, d.raw = q, p.line(n), n.Raw
		d.Manual = d.Manual || q.URL != ""
		p.found = append(p.found, d)
	}
}

// list returns where the requirements of an array of PEP 508 strings belong to. ok is false for
// another array.
func list(path []string) (d Declared, ok bool) {
	last := path[len(path)-1]
	switch strings.Join(path[:len(path)-1], ".") {
	case "project":
		return d, last == "dependencies"
	case "project.optional-dependencies":
		return Declared{Extra: last}, true
	case "dependency-groups":
		return Declared{Group: last}, true
	case "tool.pdm.dev-dependencies":
		return Declared{Tool: "pdm", Group: last}, true
	case "tool.uv":
		switch last {
		case "dev-dependencies":
			return Declared{Tool: "uv", Group: "dev"}, true
		case "constraint-dependencies", "override-dependencies":
			return Declared{Tool: "uv", Manual: true}, true
		}
	}
	return d, false
}

// ofPoetry returns where the requirement belongs to that a key in a table of Poetry names. ok is
// false for another key.
func ofPoetry(path []string) (d Declared, ok bool) {
	d.Tool = "poetry"
	switch {
	case len(path) < 4 || path[0] != "tool" || path[1] != "poetry":
		return d, false
	case path[2] == "dependencies":
		return d, path[3] != "python"
	case path[2] == "dev-dependencies":
		d.Manual = true
		return d, true
	case len(path) > 5 && path[2] == "group" && path[4] == "dependencies":
		d.Group = path[3]
		return d, true
	}
	return d, false
}

// poetry adds a requirement with the name of a key. Its versions are not read, because "poetry add"
// is needed for every change of them. It would lose the options of a table.
func (p *project) poetry(d Declared, path []string, e *unstable.Node) {
	at := 3
	if d.Group != "" {
		at = 5
	}
	q, err := pkgmeta.ParseRequirement(path[at])
	if err != nil {
		return
	}
	keys := e.Key()
	keys.Next()
	d.Requirement, d.Line = q, p.line(keys.Node())
	d.Manual = d.Manual || e.Value().Kind != unstable.String || len(path) > at+1
	if n := len(p.found); n == 0 || p.found[n-1].Name != q.Name || p.found[n-1].Tool != d.Tool {
		p.found = append(p.found, d)
	}
}

func (p *project) line(n *unstable.Node) int {
	return bytes.Count(p.data[:n.Raw.Offset], []byte("\n")) + 1
}

// admits reports whether a project may have a version of a package. A requirement with other than
// one version is admitted unless the project pins a version that it excludes.
func (d Declared) admits(q pkgmeta.Requirement) bool {
	if d.URL != "" {
		return false
	}
	if v, exact := q.Pin(); exact {
		return d.Admits(v)
	}
	v, exact := d.Pin()
	return !exact || q.Admits(v)
}

// projectFile is the format of a pyproject.toml without a lock file. It is none of formats: it pins
// nothing by itself.
var projectFile = format{read: readProject, edit: editProject, written: true}

// IsProject reports whether a file is a pyproject.toml.
func IsProject(file string) bool { return path.Base(file) == "pyproject.toml" }

// errNoRequirements is the error for a pyproject.toml without requirements that can be read.
var errNoRequirements = errors.New(
	"it has no requirements in [project]; give the lock file of its tool")

// readProject reads the requirements in [project], of extras and of groups in a pyproject.toml.
func readProject(data []byte) (*Lock, error) {
	all, err := readDeclared(data)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(d Declared) bool { return d.Tool != "" })
	if len(all) == 0 {
		return nil, errNoRequirements
	}
	root, err := decodeTOML(data)
	if err != nil {
		return nil, err
	}
	table, _ := root["project"].(map[string]any)
	l := &Lock{Python: str(table, "requires-python")}
	for _, d := range all {
		l.Names = append(l.Names, d.Name)
		l.Extras, l.Groups = append(l.Extras, d.Extra), append(l.Groups, d.Group)
	}
	l.choose = func(c *chooser) error {
		var lines []*requirementsLine
		for _, d := range all {
			if d.Extra == "" && d.Group == "" ||
				d.Extra != "" && slices.Contains(c.Extras, pkgmeta.Normalize(d.Extra)) ||
				d.Group != "" && slices.Contains(c.Groups, pkgmeta.Normalize(d.Group)) {
				l, err := one(d.Raw)
				if err != nil || l == nil {
					return inLine(d.Line, err)
				}
				l.line = d.Line
				lines = append(lines, l)
			}
		}
		return c.requirements(lines)
	}
	return l, nil
}

// editProject changes the requirements of a pyproject.toml.
func editProject(data []byte, e *edition) ([]byte, error) {
	all, err := readDeclared(data)
	if err != nil {
		return nil, err
	}
	if e.Old == "" {
		return nil, fmt.Errorf("%s is not listed; %w", e.to.Name, ErrByHand)
	}
	var out []byte
	end := 0
	for _, d := range Of(all, e.to.Name) {
		start := int(d.raw.Offset)
		if d.raw.Length == 0 {
			return nil, fmt.Errorf("%s is in a table of %s; %w", d.Name, d.Tool, ErrByHand)
		}
		raw := string(data[start : start+int(d.raw.Length)])
		quote := raw[:len(raw)-len(strings.TrimLeft(raw, "\"' \t\r\n"))]
		changed, err := e.requirement(raw[len(quote):], d.Requirement)
		if err != nil {
			return nil, err
		}
		out = append(append(out, data[end:start]...), quote+changed...)
		end = start + len(raw)
	}
	return append(out, data[end:]...), nil
}
