package lockfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// pylock reads a pylock.toml (PEP 751).
func (r *reader) pylock(data []byte) error {
	root, packages, err := packageTables(data, "packages")
	if err != nil {
		return err
	}
	r.env["extras"] = strings.Join(r.choice.Extras, ",")
	r.env["dependency_groups"] = strings.Join(r.groups(stringsOf(root["default-groups"])...), ",")
	var elsewhere, local []string
	usual := mostCommon(packages, func(p map[string]any) string { return str(p, "index") })
	for _, p := range packages {
		name, version := str(p, "name"), str(p, "version")
		ok, err := r.applies(str(p, "marker"))
		switch {
		case err != nil:
			return err
		case !ok && !onRequest.MatchString(str(p, "marker")):
			elsewhere = append(elsewhere, name)
		case !ok:
		case version == "" || p["vcs"] != nil || p["directory"] != nil || p["archive"] != nil:
			local = append(local, name)
		default:
			pin := pinOf(p)
			if index := str(p, "index"); index != usual {
				pin.Indexes = []string{index}
			}
			if err := r.pinWith(name, version, pin); err != nil {
				return err
			}
		}
	}
	r.note(elsewhere, notHere)
	r.note(local, notReleases)
	return nil
}

// pipfile reads the packages of "default" in a Pipfile.lock, and those of "develop" if that group
// is chosen.
func (r *reader) pipfile(data []byte) error {
	var lock map[string]json.RawMessage
	if err := boundValues(data, ":,"); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return fmt.Errorf("not a Pipfile.lock: %w", err)
	}
	if lock["_meta"] == nil && lock["default"] == nil {
		return errNoPackages
	}
	sections := []string{"default"}
	for _, g := range r.choice.Groups {
		if g == "dev" {
			g = "develop"
		}
		if lock[g] != nil && g != "-meta" && !slices.Contains(sections, g) {
			sections = append(sections, g)
		}
	}
	var elsewhere, local []string
	var meta struct{ Sources []struct{ Name string } }
	usual := ""
	if json.Unmarshal(lock["_meta"], &meta) == nil && len(meta.Sources) > 0 {
		usual = meta.Sources[0].Name
	}
	for _, section := range sections {
		if lock[section] == nil {
			continue
		}
		// Go through the packages in file order and count the lines of their versions.
		start := bytes.Index(data, lock[section])
		d := json.NewDecoder(bytes.NewReader(lock[section]))
		if t, err := d.Token(); err != nil || t != json.Delim('{') {
			return fmt.Errorf("not a Pipfile.lock: %q is no object", section)
		}
		line, counted := 1, 0
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return fmt.Errorf("not a Pipfile.lock: %w", err)
			}
			name, _ := key.(string)
			var p struct {
				Version, Markers, Index string
				Hashes                  []string
			}
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				return fmt.Errorf("not a Pipfile.lock: %w", err)
			}
			if err := json.Unmarshal(raw, &p); err != nil {
				return fmt.Errorf("not a Pipfile.lock: %s: %w", name, err)
			}
			version, pinned := strings.CutPrefix(p.Version, "==")
			end := start + int(d.InputOffset())
			at := end - len(raw) + max(bytes.Index(raw, []byte(`"version"`)), 0)
			line += bytes.Count(data[counted:max(at, counted)], []byte("\n"))
			counted = max(at, counted)
			ok, err := r.applies(p.Markers)
			switch {
			case err != nil:
				return err
			case !ok:
				elsewhere = append(elsewhere, name)
			case !pinned:
				local = append(local, name)
			default:
				pin := Pin{Line: line, Hashes: p.Hashes}
				if i := bytes.Index(raw, []byte(`"hashes"`)); i >= 0 && end-len(raw)+i <= at { // sorted
					pin.HashLine = line - bytes.Count(data[end-len(raw)+i:at], []byte("\n"))
				}
				if p.Index != "" && p.Index != usual {
					pin.Indexes = []string{""}
				}
				if err := r.pinWith(name, version, pin); err != nil {
					return err
				}
			}
		}
	}
	r.note(elsewhere, notHere)
	r.note(local, notReleases)
	return nil
}
