package lockfile

import (
	"bytes"
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
	if len(data) > maxSize || boundTOML(data) != nil {
		return nil
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
	return p.found
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
		d.Requirement, d.Line = q, p.line(n)
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
