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
			if err := r.pinWith(name, version, Pin{Line: lineOf(p), Files: filesOf(p)}); err != nil {
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
			var p struct{ Version, Markers string }
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
				if err := r.pin(name, version, line); err != nil {
					return err
				}
			}
		}
	}
	r.note(elsewhere, notHere)
	r.note(local, notReleases)
	return nil
}
