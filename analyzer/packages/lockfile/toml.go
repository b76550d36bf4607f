package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/pelletier/go-toml/v2/unstable"
)

// entry is a package of a TOML lock file. The formats share these keys, except for markers.
type entry struct {
	name, version string
	optional      bool     // poetry
	category      string   // poetry before 1.5
	groups        []string // poetry from 2, pdm
	marker        string   // PEP 751, pdm, poetry
	forks         []string // uv, resolution-markers: one of them must apply
	local         bool     // not a release of an index
}

// tables reads a TOML lock file whose packages are [[key]] tables. It parses statement by statement
// and keeps only the packages.
func tables(data []byte, key string) ([]Pin, error) {
	if err := boundTOML(data); err != nil {
		return nil, err
	}
	p := unstable.Parser{}
	p.Reset(data)
	var entries []entry
	var table []string // names of the current table
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.ArrayTable, unstable.Table:
			table = names(e.Key())
			if e.Kind == unstable.ArrayTable && len(table) == 1 && table[0] == key {
				entries = append(entries, entry{})
			}
			if len(table) == 2 && table[0] == key && len(entries) > 0 {
				entries[len(entries)-1].table(table[1])
			}
		case unstable.KeyValue:
			if len(table) == 0 || table[0] != key || len(entries) == 0 {
				continue
			}
			path := append(table[1:len(table):len(table)], names(e.Key())...)
			entries[len(entries)-1].set(path, e.Value())
		}
		if len(entries) > maxPins {
			return nil, fmt.Errorf("it has more than %d packages", maxPins)
		}
	}
	if p.Error() != nil {
		return nil, tomlError(&p, data)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("it has no [[%s]] table, so it is not such a lock file", key)
	}
	at := headers(data, key)
	var out []Pin
	for i, e := range entries {
		if e.version == "" || e.optional || e.local || e.extra() {
			continue
		}
		marker := e.marker
		if marker == "" {
			marker = strings.Join(e.forks, " or ")
		}
		s, err := pin(e.name, e.version, marker)
		if err != nil {
			return nil, err
		}
		pinned := Pin{Requirement: s}
		if len(at) == len(entries) {
			pinned.Line = at[i]
		}
		out = append(out, pinned)
	}
	return out, nil
}

// names returns the parts of a key.
func names(parts unstable.Iterator) []string {
	var out []string
	for parts.Next() {
		out = append(out, string(parts.Node().Data))
	}
	return out
}

// localKinds are the keys of package sources other than an index.
var localKinds = []string{"editable", "virtual", "directory", "path", "git"}

// table records a subtable of a package, such as [package.source] or [packages.vcs].
func (e *entry) table(name string) {
	if name == "vcs" || name == "directory" {
		e.local = true
	}
}

// set records a value of a package. path is its key after the package, including the names of
// subtables and inline tables.
func (e *entry) set(path []string, value *unstable.Node) {
	if value.Kind == unstable.InlineTable {
		if len(path) == 1 {
			e.table(path[0])
		}
		if len(path) > 1 || path[0] != "source" && path[0] != "markers" {
			return
		}
		for members := value.Children(); members.Next(); {
			member := members.Node()
			e.set(append(path[:1:1], names(member.Key())...), member.Value())
		}
		return
	}
	text := ""
	if value.Kind == unstable.String {
		text = string(value.Data)
	}
	switch strings.Join(path, ".") {
	case "name":
		e.name = text
	case "version":
		e.version = text
	case "optional":
		e.optional = value.Kind == unstable.Bool && string(value.Data) == "true"
	case "category":
		e.category = text
	case "groups":
		e.groups = texts(value)
	case "marker", "markers", "markers.main":
		e.marker = text
	case "resolution-markers":
		e.forks = texts(value)
	case "path", "git":
		e.local = e.local || text != ""
	case "editable":
		e.local = true
	case "source.type":
		e.local = e.local || slices.Contains(localKinds, text)
	default:
		if len(path) == 2 && path[0] == "source" && slices.Contains(localKinds, path[1]) {
			e.local = true
		}
	}
}

// texts returns the strings of an array.
func texts(value *unstable.Node) []string {
	var out []string
	if value.Kind != unstable.Array {
		return nil
	}
	for all := value.Children(); all.Next(); {
		if n := all.Node(); n.Kind == unstable.String {
			out = append(out, string(n.Data))
		}
	}
	return out
}

// headers returns the line numbers of the headers [[key]].
func headers(data []byte, key string) []int {
	var out []int
	n := 0
	header := []byte("[[" + key + "]]")
	for line := range bytes.Lines(data) {
		n++
		if bytes.Equal(bytes.TrimSpace(line), header) {
			out = append(out, n)
		}
	}
	return out
}

// tomlError returns a parser's error with its line.
func tomlError(p *unstable.Parser, data []byte) error {
	message, offset := p.Error().Error(), len(bytes.TrimRight(data, "\n"))
	var at *unstable.ParserError
	if errors.As(p.Error(), &at) && len(at.Highlight) > 0 { // otherwise the error is at the end
		message, offset = at.Message, int(p.Range(at.Highlight).Offset)
	}
	return fmt.Errorf("line %d: not TOML: %s", bytes.Count(data[:offset], []byte("\n"))+1, message)
}

// extra reports whether a package is installed only on request, as part of an extra or a group. PEP
// 751 expresses that in the marker, as in "'dev' in dependency_groups".
func (e *entry) extra() bool {
	return e.category == "dev" ||
		len(e.groups) > 0 && !slices.Contains(e.groups, "default") &&
			!slices.Contains(e.groups, "main") ||
		onRequest.MatchString(e.marker)
}

var onRequest = lazyregexp.New(`\bin\s+(extras|dependency_groups)\b`)
