package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/pelletier/go-toml/v2/unstable"
)

// lineKey is the key under which a table stores the line of its version, as an int.
const lineKey = "\x00line"

// filesLineKey is the key under which a table stores the line of its first files, as an int.
const filesLineKey = "\x00filesLine"

// filesKey is the key under which a table stores the files that the package lists, as []File.
const filesKey = "\x00files"

// listsFiles reports whether a key of a package lists its files: "wheels" and "sdist" (uv, PEP
// 751), "files" (poetry, pdm).
func listsFiles(key string) bool {
	return key == "wheels" || key == "sdist" || key == "files"
}

// filesIn returns the files in a list of inline tables, or in one. They are not decoded into
// tables, because they are most of a lock file.
func filesIn(n *unstable.Node) []File {
	var out []File
	if n.Kind == unstable.Array {
		for all := n.Children(); all.Next(); {
			out = append(out, filesIn(all.Node())...)
		}
		return out
	}
	if n.Kind != unstable.InlineTable {
		return nil
	}
	var f File
	for all := n.Children(); all.Next(); {
		v := all.Node().Value()
		switch text := string(v.Data); strings.Join(names(all.Node().Key()), ".") {
		case "name", "file":
			f.Name = text
		case "url":
			f.URL = text
		case "hash", "hashes.sha256":
			f.SHA256 = strings.TrimPrefix(text, "sha256:")
		case "hashes":
			for hashes := v.Children(); hashes.Next(); {
				if strings.Join(names(hashes.Node().Key()), ".") == "sha256" {
					f.SHA256 = string(hashes.Node().Value().Data)
				}
			}
		case "size":
			f.Size, _ = strconv.ParseInt(text, 10, 64) // of an invalid one, 0: unknown
		}
	}
	return append(out, newFile(f))
}

// filesOf returns the files that a package lists, also as tables ([[packages.wheels]]).
func filesOf(t map[string]any) []File {
	files, _ := t[filesKey].([]File)
	for _, w := range tablesOf(t["wheels"]) {
		hashes, _ := w["hashes"].(map[string]any)
		files = append(files, newFile(File{
			Name: str(w, "name"), URL: str(w, "url"), SHA256: str(hashes, "sha256"),
		}))
	}
	return files
}

// newFile completes the name of a file by that in its URL.
func newFile(f File) File {
	if u, err := url.Parse(f.URL); err == nil && f.Name == "" {
		f.Name = path.Base(u.Path)
	}
	return f
}

// packageTables decodes a lock file whose packages are the array of tables under key. It returns
// errNoPackages if there is none.
func packageTables(data []byte, key string) (root map[string]any, list []map[string]any,
	err error) {
	root, err = decodeTOML(data)
	if err != nil {
		return nil, nil, err
	}
	list = tablesOf(root[key])
	if len(list) == 0 {
		return nil, nil, errNoPackages
	}
	return root, list, nil
}

// decodeTOML decodes a lock file into tables (map[string]any), arrays ([]any), strings and bools;
// other values are dropped. It takes time in proportion to the size.
func decodeTOML(data []byte) (map[string]any, error) {
	if err := boundTOML(data); err != nil {
		return nil, err
	}
	p := unstable.Parser{}
	p.Reset(data)
	root := map[string]any{}
	table := root
	line, counted, packages := 1, 0, 0
	for p.NextExpression() {
		e := p.Expression()
		keys := names(e.Key())
		switch e.Kind {
		case unstable.ArrayTable:
			parent := descend(root, keys[:len(keys)-1])
			list, _ := parent[keys[len(keys)-1]].([]any)
			table = map[string]any{}
			parent[keys[len(keys)-1]] = append(list, any(table))
			if packages++; packages > maxPins {
				return nil, fmt.Errorf("it has more than %d packages", maxPins)
			}
		case unstable.Table:
			table = descend(root, keys)
		case unstable.KeyValue:
			last := keys[len(keys)-1]
			at := descend(table, keys[:len(keys)-1])
			if listsFiles(last) || last == "version" {
				key := e.Key()
				key.Next()
				offset := int(key.Node().Raw.Offset)
				line += bytes.Count(data[counted:max(offset, counted)], []byte("\n"))
				counted = max(offset, counted)
			}
			if listsFiles(last) {
				if at[filesLineKey] == nil {
					at[filesLineKey] = line
				}
				at[filesKey] = append(filesOf(at), filesIn(e.Value())...)
				continue
			}
			if last == "version" {
				at[lineKey] = line
			}
			if v := value(e.Value()); v != nil {
				at[last] = v
			}
		}
	}
	if p.Error() != nil {
		return nil, tomlError(&p, data)
	}
	return root, nil
}

// descend returns the table at a key path, and creates missing ones; in an array of tables, it is
// the last one. A value that is not a table is replaced.
func descend(t map[string]any, keys []string) map[string]any {
	for _, k := range keys {
		next, ok := t[k].(map[string]any)
		if list, isList := t[k].([]any); isList && len(list) > 0 {
			next, ok = list[len(list)-1].(map[string]any)
		}
		if !ok {
			next = map[string]any{}
			t[k] = next
		}
		t = next
	}
	return t
}

func value(n *unstable.Node) any {
	switch n.Kind {
	case unstable.String:
		return string(n.Data)
	case unstable.Bool:
		return string(n.Data) == "true"
	case unstable.Array:
		out := []any{}
		for all := n.Children(); all.Next(); {
			if v := value(all.Node()); v != nil {
				out = append(out, v)
			}
		}
		return out
	case unstable.InlineTable:
		out := map[string]any{}
		for all := n.Children(); all.Next(); {
			keys := names(all.Node().Key())
			if v := value(all.Node().Value()); v != nil {
				descend(out, keys[:len(keys)-1])[keys[len(keys)-1]] = v
			}
		}
		return out
	}
	return nil
}

// str returns the string under a key; "" without one.
func str(t map[string]any, key string) string {
	s, _ := t[key].(string)
	return s
}

// tablesOf returns the tables in an array.
func tablesOf(v any) []map[string]any {
	list, _ := v.([]any)
	var out []map[string]any
	for _, x := range list {
		if t, ok := x.(map[string]any); ok {
			out = append(out, t)
		}
	}
	return out
}

// mostCommon returns the value, except "", that most tables have; the first in the alphabet of
// several.
func mostCommon(tables []map[string]any, value func(map[string]any) string) string {
	most, counts := "", map[string]int{}
	for _, t := range tables {
		if v := value(t); v != "" {
			counts[v]++
		}
	}
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		if counts[v] > counts[most] {
			most = v
		}
	}
	return most
}

// stringsOf returns the strings in an array.
func stringsOf(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// pinOf returns the files and the lines of a package.
func pinOf(t map[string]any) Pin {
	p := Pin{Files: filesOf(t)}
	p.Line, _ = t[lineKey].(int)
	p.HashLine, _ = t[filesLineKey].(int)
	return p
}

// names returns the parts of a key.
func names(parts unstable.Iterator) []string {
	var out []string
	for parts.Next() {
		out = append(out, string(parts.Node().Data))
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
	return inLine(bytes.Count(data[:offset], []byte("\n"))+1, errors.New("not TOML: "+message))
}

// namesOf returns the normalized names of packages.
func namesOf(packages []map[string]any) (out []string) {
	for _, p := range packages {
		out = append(out, pkgmeta.Normalize(str(p, "name")))
	}
	return out
}

// versionsOf returns the versions of packages; see Lock.Versions.
func versionsOf(packages []map[string]any) (out []string) {
	for _, p := range packages {
		if version := str(p, "version"); version != "" {
			out = append(out, pkgmeta.Normalize(str(p, "name"))+"=="+version)
		}
	}
	return out
}

// keysOf returns the normalized keys of a table under a key, sorted.
func keysOf(table map[string]any, key string) (out []string) {
	inner, _ := table[key].(map[string]any)
	for name := range inner {
		out = append(out, pkgmeta.Normalize(name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// normalized returns names as they are compared.
func normalized(list any) (out []string) {
	for _, name := range stringsOf(list) {
		out = append(out, pkgmeta.Normalize(name))
	}
	return out
}

// groupsOf returns the normalized names of the groups of packages, sorted.
func groupsOf(packages []map[string]any) (out []string) {
	for _, p := range packages {
		out = append(out, normalized(p["groups"])...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// localKinds are the keys of package sources other than an index.
var localKinds = []string{"editable", "virtual", "directory", "path", "git"}
