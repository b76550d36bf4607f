// Package lockfile reads which versions a lock file pins.
//
//	pins, err := lockfile.Pins("uv.lock", data) // {"torch==2.7.0" 12} {"triton==3.3.0; sys_platform == 'linux'" 40}
//
// The format is told by the file's name: requirements.txt and its kin (pip's "Requirements File
// Format"), uv.lock, poetry.lock, pdm.lock, pylock.toml (PEP 751), Pipfile.lock, conda-lock.yml and
// environment.yml (of both, what pip installs). Packages that are no release of an index (editable
// ones, paths, version control) are left out, and so are optional ones and those of extras and of
// groups for development.
//
// A lock file comes from a repository: it is bounded before it is parsed, and nothing in it is
// opened or fetched.
package lockfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v4"
)

// maxSize bounds a lock file: those of the largest applications, with their hashes, have some 5 MB.
const maxSize = 32 << 20

// Pin is one version that a lock file pins.
type Pin struct {
	Requirement string // NAME==VERSION, with a marker where the file has one
	Line        int    // where it stands, from 1; 0 in a format that does not tell
}

// Pins reads a lock file, in its order. The error names what is wrong and, for text formats, the
// line; an unknown format is read as requirements.txt.
func Pins(name string, data []byte) ([]Pin, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("it has more than %d MiB; no lock file is that large", maxSize>>20)
	}
	base := strings.ToLower(path.Base(strings.ReplaceAll(name, "\\", "/")))
	switch {
	case base == "uv.lock" || base == "poetry.lock" || base == "pdm.lock":
		return tables(data, "package")
	case base == "pylock.toml" || strings.HasPrefix(base, "pylock.") && strings.HasSuffix(base, ".toml"):
		return tables(data, "packages")
	case base == "pipfile.lock":
		return pipfile(data)
	case base == "environment.yml" || base == "environment.yaml":
		return environment(data)
	case strings.HasSuffix(base, "conda-lock.yml") || strings.HasSuffix(base, "conda-lock.yaml"):
		return condaLock(data)
	}
	return requirements(string(data))
}

// entry is a package of a TOML lock file. The formats agree in what is asked here, but for the
// words of markers.
type entry struct {
	Name     string         `toml:"name"`
	Version  string         `toml:"version"`
	Optional bool           `toml:"optional"`           // poetry
	Category string         `toml:"category"`           // poetry before 1.5
	Groups   []string       `toml:"groups"`             // poetry from 2, pdm
	Marker   string         `toml:"marker"`             // PEP 751, pdm
	Markers  any            `toml:"markers"`            // poetry: a marker, or one by group
	Forks    []string       `toml:"resolution-markers"` // uv: any of them
	Source   map[string]any `toml:"source"`             // uv, poetry: where it comes from
	Path     string         `toml:"path"`               // pdm
	Editable any            `toml:"editable"`           // pdm
	Git      string         `toml:"git"`                // pdm
	VCS      map[string]any `toml:"vcs"`                // PEP 751
	Dir      map[string]any `toml:"directory"`          // PEP 751
}

func tables(data []byte, key string) ([]Pin, error) {
	var file map[string]any
	if err := toml.Unmarshal(data, &file); err != nil {
		return nil, tomlError(err)
	}
	if _, ok := file[key].([]any); !ok {
		return nil, fmt.Errorf("it has no [[%s]] table, so it is no such lock file", key)
	}
	var lock map[string][]entry
	list, err := toml.Marshal(map[string]any{key: file[key]})
	if err == nil {
		err = toml.Unmarshal(list, &lock)
	}
	if err != nil {
		return nil, fmt.Errorf("its [[%s]] tables can't be read: %w", key, err)
	}
	var out []Pin
	at := headers(data, key)
	for i, e := range lock[key] {
		marker := e.marker()
		if e.Version == "" || e.Optional || e.local() || e.extra(marker) {
			continue
		}
		s, err := pin(e.Name, e.Version, marker)
		if err != nil {
			return nil, err
		}
		p := Pin{Requirement: s}
		if len(at) == len(lock[key]) {
			p.Line = at[i]
		}
		out = append(out, p)
	}
	return out, nil
}

// headers are the lines of the headers [[key]].
func headers(data []byte, key string) []int {
	var out []int
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if strings.TrimSpace(string(line)) == "[["+key+"]]" {
			out = append(out, n)
		}
	}
	return out
}

func tomlError(err error) error {
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, _ := at.Position()
		return fmt.Errorf("line %d: not TOML: %s", line, at.Error())
	}
	return fmt.Errorf("not TOML: %w", err)
}

// local tells whether the package is none of an index.
func (e *entry) local() bool {
	for _, kind := range []string{"editable", "virtual", "directory", "path", "git"} {
		if _, ok := e.Source[kind]; ok || e.Source["type"] == kind {
			return true
		}
	}
	return e.Path != "" || e.Git != "" || e.Editable != nil || e.VCS != nil || e.Dir != nil
}

// extra tells whether the package is installed only where somebody asks for an extra or a group.
// PEP 751 has these in the marker, as in "'dev' in dependency_groups".
func (e *entry) extra(marker string) bool {
	return e.Category == "dev" ||
		len(e.Groups) > 0 && !slices.Contains(e.Groups, "default") &&
			!slices.Contains(e.Groups, "main") ||
		asked.MatchString(marker)
}

var asked = lazyregexp.New(`\bin\s+(extras|dependency_groups)\b`)

func (e *entry) marker() string {
	if e.Marker != "" {
		return e.Marker
	}
	if len(e.Forks) > 0 {
		return strings.Join(e.Forks, " or ")
	}
	switch m := e.Markers.(type) {
	case string:
		return m
	case map[string]any:
		s, _ := m["main"].(string)
		return s
	}
	return ""
}

// pin writes a requirement, and proves that it is one.
func pin(name, version, marker string) (string, error) {
	s := name + "==" + version
	if marker != "" {
		s += "; " + marker
	}
	if _, err := pkgmeta.ParseRequirement(s); err != nil {
		return "", err
	}
	return s, nil
}

// pipfile reads the default section of a Pipfile.lock.
func pipfile(data []byte) ([]Pin, error) {
	var lock struct {
		Default map[string]struct {
			Version string `json:"version"`
			Markers string `json:"markers"`
		} `json:"default"`
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, fmt.Errorf("not a Pipfile.lock: %w", err)
	}
	var out []Pin
	for _, name := range slices.Sorted(maps.Keys(lock.Default)) {
		p := lock.Default[name]
		version, ok := strings.CutPrefix(p.Version, "==")
		if !ok {
			continue
		}
		s, err := pin(name, version, p.Markers)
		if err != nil {
			return nil, err
		}
		out = append(out, Pin{Requirement: s})
	}
	return out, nil
}

// errConda is the answer to a file that pins nothing for pip.
var errConda = errors.New(
	"it pins conda packages only, which are not looked up; give the pip requirements",
)

// environment reads the pip section of a conda environment file.
func environment(data []byte) ([]Pin, error) {
	var file struct {
		Dependencies []any `yaml:"dependencies"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	var lines []string
	for _, d := range file.Dependencies {
		section, _ := d.(map[string]any)
		list, _ := section["pip"].([]any)
		for _, l := range list {
			if s, ok := l.(string); ok {
				lines = append(lines, s)
			}
		}
	}
	if len(lines) == 0 {
		return nil, errConda
	}
	pins, err := requirements(strings.Join(lines, "\n"))
	for i := range pins {
		pins[i].Line = 0 // of the list, and not of the file
	}
	return pins, err
}

// condaLock reads what pip installs on Linux of the unified lock file of conda-lock, version 1.
func condaLock(data []byte) ([]Pin, error) {
	var file struct {
		Package []struct {
			Name     string `yaml:"name"`
			Version  string `yaml:"version"`
			Manager  string `yaml:"manager"`
			Platform string `yaml:"platform"`
			Category string `yaml:"category"`
			Optional bool   `yaml:"optional"`
			URL      string `yaml:"url"`
		} `yaml:"package"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if file.Package == nil {
		return nil, errors.New("it has no list of packages, so it is no such lock file")
	}
	machines := map[string]string{
		"linux-64":      "x86_64",
		"linux-aarch64": "aarch64",
		"linux-ppc64le": "ppc64le",
	}
	var out []Pin
	for _, p := range file.Package {
		machine := machines[p.Platform]
		if p.Manager != "pip" || machine == "" || p.Optional || strings.HasPrefix(p.URL, "git+") ||
			p.Category != "" && p.Category != "main" {
			continue
		}
		s, err := pin(p.Name, p.Version, "platform_machine == '"+machine+"'")
		if err != nil {
			return nil, err
		}
		out = append(out, Pin{Requirement: s})
	}
	if len(out) == 0 {
		return nil, errConda
	}
	return out, nil
}

// requirements reads the NAME==VERSION lines of requirements and constraints files; lines that pin
// nothing are left out.
func requirements(text string) ([]Pin, error) {
	var out []Pin
	n := 0
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " \x00"), "\n") {
		n++
		at := n
		n += strings.Count(line, "\x00")
		line = strings.ReplaceAll(line, "\x00", "")
		line, _, _ = strings.Cut(line, " #")
		line, _, _ = strings.Cut(line, " --") // hashes
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '-' {
			continue
		}
		q, err := pkgmeta.ParseRequirement(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", at, err)
		}
		if strings.HasPrefix(q.Spec, "==") {
			out = append(out, Pin{q.Raw, at})
		} else if s, ok := ofWheel(line, q); ok {
			out = append(out, Pin{s, at})
		}
	}
	return out, nil
}

// ofWheel is the pin of a requirement that names a wheel by its address, as "torch @
// https://host/torch-2.7.0%2Bcu128-cp312-cp312-linux_x86_64.whl".
func ofWheel(line string, q pkgmeta.Requirement) (string, bool) {
	u, err := url.Parse(q.URL)
	if err != nil {
		return "", false
	}
	_, marker, _ := strings.Cut(line, " ;")
	w, err := pkgmeta.ParseWheelName(path.Base(u.Path))
	if err != nil || pkgmeta.Normalize(w.Name) != q.Name {
		return "", false
	}
	s, err := pin(q.Name, strings.ReplaceAll(w.Version, "_", "-"), strings.TrimSpace(marker))
	return s, err == nil
}
