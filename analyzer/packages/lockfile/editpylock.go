package lockfile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// pylockKeys are the keys of a package that belong to its version.
var pylockKeys = []string{"version", "requires-python", "sdist", "wheels", "attestation-identities"}

// editPylock changes a package of a pylock.toml: its version and its files.
func editPylock(data []byte, e *edition) ([]byte, error) {
	if err := boundTOML(data); err != nil {
		return nil, err
	}
	var out []byte
	at, found := 0, false
	for _, p := range pylockPackages(data) {
		if p.name != e.to.Name || e.Old == "" || p.version != e.Old {
			continue
		}
		files, err := e.pylockFiles(bytes.Contains(data, []byte("\r\n")))
		if err != nil {
			return nil, err
		}
		found = true
		for i, s := range p.spans {
			out = append(out, data[at:s.from]...)
			if at = s.to; i == 0 {
				out = append(out, files...)
			}
		}
	}
	if !found && e.Old == "" {
		return nil, fmt.Errorf("%s is not listed; %w", e.to.Name, ErrByHand)
	}
	return append(out, data[at:]...), nil
}

// pylockPackage is a package with the lines that belong to its version.
type pylockPackage struct {
	name, version string
	spans         []span // the first is that of the version
}

type span struct{ from, to int } // offsets of whole lines

// pylockPackages returns the packages of a pylock.toml with a version.
func pylockPackages(data []byte) (out []pylockPackage) {
	p := unstable.Parser{}
	p.Reset(data)
	open := -1 // where the lines of the current key or table begin that belong to a version
	end := func(at int) {
		if open >= 0 {
			last := &out[len(out)-1]
			last.spans = append(last.spans, span{open, withoutSpace(data, at)})
		}
		open = -1
	}
	inPackage := false
	for p.NextExpression() {
		e := p.Expression()
		keys := names(e.Key())
		first := e.Key()
		first.Next()
		begins := bytes.LastIndexByte(data[:first.Node().Raw.Offset], '\n') + 1
		switch path := strings.Join(keys, "."); {
		case e.Kind == unstable.ArrayTable && path == "packages":
			end(begins)
			out, inPackage = append(out, pylockPackage{}), true
		case e.Kind != unstable.KeyValue:
			if part, ok := strings.CutPrefix(path, "packages."); ok && len(out) > 0 &&
				slices.Contains(pylockKeys, strings.Split(part, ".")[0]) {
				if open < 0 {
					open = begins
				}
			} else {
				end(begins)
			}
			inPackage = false
		case inPackage:
			end(begins)
			last := &out[len(out)-1]
			if keys[0] == "name" {
				last.name = pkgmeta.Normalize(string(e.Value().Data))
			}
			if keys[0] == "version" {
				last.version = string(e.Value().Data)
			}
			if slices.Contains(pylockKeys, keys[0]) {
				open = begins
			}
		}
	}
	end(len(data))
	for i := range out { // the new lines are in the place of the version
		slices.SortStableFunc(out[i].spans, func(a, b span) int { return a.from - b.from })
		if len(out[i].spans) > 0 && !bytes.HasPrefix(data[out[i].spans[0].from:], []byte("version")) {
			out[i].version = "" // it has another order than the tools write
		}
	}
	return out
}

// withoutSpace returns where the last line before an offset ends that is neither empty nor a
// comment.
func withoutSpace(data []byte, at int) int {
	for at > 0 {
		begins := bytes.LastIndexByte(data[:at-1], '\n') + 1
		if line := bytes.TrimSpace(data[begins:at]); len(line) > 0 && line[0] != '#' {
			break
		}
		at = begins
	}
	return at
}

// pylockFiles returns the lines of a package with the new version and its files.
func (e *edition) pylockFiles(crlf bool) ([]byte, error) {
	if _, err := e.hashes(); err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "version = %q\n", e.version.String())
	var sdist string
	var wheels []string
	for _, f := range e.Files {
		if f.URL == "" {
			return nil, fmt.Errorf("the address of %s is not known", f.Name)
		}
		line := fmt.Sprintf("{ name = %q, url = %q, ", f.Name, f.URL)
		if f.Size > 0 {
			line += fmt.Sprintf("size = %d, ", f.Size)
		}
		line += fmt.Sprintf("hashes = { sha256 = %q } }", f.SHA256)
		if strings.HasSuffix(f.Name, ".whl") {
			wheels = append(wheels, "    "+line+",\n")
		} else {
			sdist = "sdist = " + line + "\n"
		}
	}
	b.WriteString(sdist)
	if wheels != nil {
		slices.Sort(wheels)
		b.WriteString("wheels = [\n" + strings.Join(wheels, "") + "]\n")
	}
	if crlf {
		return []byte(strings.ReplaceAll(b.String(), "\n", "\r\n")), nil
	}
	return []byte(b.String()), nil
}
