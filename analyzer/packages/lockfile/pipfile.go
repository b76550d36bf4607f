package lockfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
)

// isPipfile reports whether a file is a Pipfile.lock with another name.
func isPipfile(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) &&
		bytes.Contains(data, []byte(`"default"`))
}

// pipfilePackage is a package in a section of a Pipfile.lock.
type pipfilePackage struct {
	name, version, marker string // version is "" if it is not a release
	pin                   Pin
}

func readPipfile(data []byte) (*Lock, error) {
	if err := boundValues(data, ":,"); err != nil {
		return nil, err
	}
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not a Pipfile.lock: %w", err)
	}
	if file["_meta"] == nil && file["default"] == nil {
		return nil, errNoPackages
	}
	var meta struct {
		Sources  []struct{ Name string }
		Requires struct {
			Python string `json:"python_version"`
		}
	}
	usual := ""
	if json.Unmarshal(file["_meta"], &meta) == nil && len(meta.Sources) > 0 {
		usual = meta.Sources[0].Name
	}
	l := &Lock{Python: interpreters(meta.Requires.Python)}
	sections := map[string][]pipfilePackage{}
	for name, section := range file {
		if name == "_meta" || name != "default" && !bytes.HasPrefix(section, []byte("{")) {
			continue
		}
		list, err := pipfileSection(data, name, section, usual)
		if err != nil {
			return nil, err
		}
		sections[name] = list
		for _, p := range list {
			l.Names = append(l.Names, pkgmeta.Normalize(p.name))
			if p.version != "" {
				l.Versions = append(l.Versions, pkgmeta.Normalize(p.name)+"=="+p.version)
			}
		}
		if name != "default" {
			l.Groups = append(l.Groups, name)
		}
	}
	slices.Sort(l.Groups)
	slices.Sort(l.Names)
	l.choose = func(c *chooser) error { return c.pipfile(sections) }
	return l, nil
}

// pipfileSection goes through the packages of a section in the order of the file, and counts the
// lines of their versions.
func pipfileSection(
	data []byte,
	section string,
	content json.RawMessage,
	usual string, // name of the index that packages come from if they name no other
) (list []pipfilePackage, err error) {
	start := bytes.Index(data, content)
	d := json.NewDecoder(bytes.NewReader(content))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("not a Pipfile.lock: %q is not an object", section)
	}
	line, counted := 1, 0
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("not a Pipfile.lock: %w", err)
		}
		name, _ := key.(string)
		var p struct {
			Version, Markers, Index string
			Hashes                  []string
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, fmt.Errorf("not a Pipfile.lock: %w", err)
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, fmt.Errorf("not a Pipfile.lock: %s: %w", name, err)
		}
		end := start + int(d.InputOffset())
		at := end - len(raw) + max(bytes.Index(raw, []byte(`"version"`)), 0)
		line += bytes.Count(data[counted:max(at, counted)], []byte("\n"))
		counted = max(at, counted)
		pin := Pin{Line: line, Marker: p.Markers, Hashes: p.Hashes}
		if i := bytes.Index(raw, []byte(`"hashes"`)); i >= 0 && end-len(raw)+i <= at { // sorted
			pin.HashLine = line - bytes.Count(data[end-len(raw)+i:at], []byte("\n"))
		}
		if p.Index != "" && p.Index != usual {
			pin.Indexes = []string{""}
		}
		version, pinned := strings.CutPrefix(p.Version, "==")
		if !pinned {
			version = ""
		}
		list = append(list, pipfilePackage{name, version, p.Markers, pin})
	}
	return list, nil
}

// pipfile chooses the packages of "default", and those of "develop" if the group dev is chosen.
func (c *chooser) pipfile(sections map[string][]pipfilePackage) error {
	chosen := []string{"default"}
	for _, g := range c.Groups {
		if g == "dev" {
			g = "develop"
		}
		if !slices.Contains(chosen, g) {
			chosen = append(chosen, g)
		}
	}
	var elsewhere, local []string
	for _, section := range chosen {
		for _, p := range sections[section] {
			ok, err := c.applies(p.marker)
			switch {
			case err != nil:
				return err
			case !ok:
				elsewhere = append(elsewhere, p.name)
			case p.version == "":
				local = append(local, p.name)
			default:
				if err := c.add(p.name, p.version, p.pin); err != nil {
					return err
				}
			}
		}
	}
	c.note(elsewhere, notHere)
	c.note(local, notReleases)
	return nil
}

// pipenv upgrades and adds packages in Pipfile and Pipfile.lock.
var pipenv = tool{
	name:   "Pipenv",
	change: "pipenv upgrade",
	insert: "pipenv install",
	renew: func(_, name string) shellword.Line {
		return "pipenv upgrade " + shellword.Quote(name)
	},
}
