// Package lockfile reads the versions that a lock file pins.
//
//	pins, err := lockfile.Pins("uv.lock", data)
//	// {"torch==2.7.0" 12} {"triton==3.3.0; sys_platform == 'linux'" 40}
//
// The name of the file decides the format, or, of a lock file of Python with another name, such as
// old.lock, its content: requirements.txt and the like (pip's "Requirements File
// Format"), uv.lock, poetry.lock, pdm.lock, pylock.toml (PEP 751), Pipfile.lock, conda-lock.yml,
// pixi.lock and environment.yml (only what pip installs). Packages that are not releases of an
// index (editable installs, paths, version control) are left out, and so are optional packages,
// extras and development groups.
//
// A lock file may come from a pull request. Its size and nesting are checked before it is parsed
// (see bounds.go), and no file or URL that it names is opened.
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
)

// Pin is a pinned version.
type Pin struct {
	Requirement string // NAME==VERSION, with the marker if there is one
	Line        int    // 1-based; 0 for formats without line numbers
	// Files are the wheels and source archives of the version that the lock file lists; nil if the
	// format has none.
	Files []File
	// Hashes are those of which a file of the version must have one, as "sha256:ab"; nil if the lock
	// file has none. Those of Files are not repeated.
	Hashes   []string
	HashLine int // line of the first hash, of Hashes or of Files; 0 = Line
	// Indexes are the URLs of the indexes that the version comes from, with "" for one that is not
	// known; nil = the default one.
	Indexes []string
	// Needs are the names of the packages that it depends on, for any system and with any extra; see
	// Lock.Graph.
	Needs []string
}

// SHA256 returns the digests of which a file of the version must have one, in lower case hex. It is
// nil if the lock file has none, or also hashes of another algorithm.
func (p Pin) SHA256() []string {
	var out []string
	for _, h := range p.Hashes {
		sum, _ := strings.CutPrefix(h, "sha256:")
		out = append(out, strings.ToLower(sum))
	}
	for _, f := range p.Files {
		out = append(out, strings.ToLower(f.SHA256))
	}
	if slices.ContainsFunc(out, func(sum string) bool {
		return len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != ""
	}) {
		return nil
	}
	return out
}

// File is a wheel or a source archive that a lock file lists.
type File struct {
	Name   string
	SHA256 string // lower case hex; "" = unknown
	URL    string // "" = the page of the project has it
	Size   int64  // bytes; 0 = unknown
}

// Pins returns the pins of a lock file in file order; of a pixi.lock, those of the environment
// "default". A file with an unknown name is read as
// requirements.txt. The error describes the syntax error and, for text formats, names the line.
func Pins(name string, data []byte) ([]Pin, error) {
	if err := tooLarge(data); err != nil {
		return nil, err
	}
	switch formatOf(name, data) {
	case formatUV, formatPoetry, formatPDM:
		return tables(data, "package")
	case formatPylock:
		return tables(data, "packages")
	case formatPipfile:
		return pipfile(data)
	case formatEnvironment:
		return environment(data)
	case formatCondaLock:
		return condaLock(data)
	case formatPixi:
		return pixiPins(name, data)
	case formatNode:
		return nil, errNode
	}
	pins, err := requirements(string(data))
	return pins, unlike(name, err)
}

// unlike completes the error of a file that was read as a requirements file although its extension
// is not that of a text.
func unlike(name string, err error) error {
	if err == nil || !slices.Contains([]string{".lock", ".toml", ".json", ".yml", ".yaml"},
		path.Ext(baseName(name))) {
		return err
	}
	return fmt.Errorf("%w; neither its name nor its content is that of a lock file that compat "+
		"reads, so it was read as a requirements file; give it the name that its tool uses, such "+
		"as uv.lock", err)
}

// The formats other than requirements files, by the usual name of such a file.
const (
	formatUV          = "uv.lock"
	formatPoetry      = "poetry.lock"
	formatPDM         = "pdm.lock"
	formatPylock      = "pylock.toml"
	formatPipfile     = "pipfile.lock"
	formatPixi        = "pixi.lock"
	formatEnvironment = "environment.yml"
	formatCondaLock   = "conda-lock.yml"
	formatNode        = "package-lock.json"
)

// formatOf returns the format of a file by its name, or that of a lock file of Python with another
// name by its content: git show writes uv.lock to whichever file is named. It is "" for other
// files, which are read as requirements files; these have neither such comments nor tables.
func formatOf(name string, data []byte) string {
	if f := named(baseName(name)); f != "" {
		return f
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && bytes.Contains(data, []byte(`"default"`)) {
		return formatPipfile
	}
	for _, f := range []struct{ line, format string }{ // uv.lock has none of the first ones
		{"python-versions = ", formatPoetry},
		{"lock_version = ", formatPDM},
		{"[[packages]]", formatPylock},
		{"[[package]]", formatUV},
	} {
		if bytes.Contains(data, []byte("\n"+f.line)) {
			return f.format
		}
	}
	return ""
}

// named returns the format that a base name in lower case has, or "".
func named(base string) string {
	switch base {
	case formatUV, formatPoetry, formatPDM, formatPylock, formatPipfile, formatPixi, formatEnvironment:
		return base
	case "environment.yaml":
		return formatEnvironment
	case formatNode, "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock":
		return formatNode
	}
	switch {
	case strings.HasSuffix(base, ".py.lock"):
		return formatUV
	case strings.HasPrefix(base, "pylock.") && strings.HasSuffix(base, ".toml"):
		return formatPylock
	case strings.HasSuffix(base, "conda-lock.yml"), strings.HasSuffix(base, "conda-lock.yaml"):
		return formatCondaLock
	}
	return ""
}

// baseName returns the base name of a file, on Windows too, in lower case.
func baseName(name string) string {
	return strings.ToLower(path.Base(strings.ReplaceAll(name, "\\", "/")))
}

// errNode is returned for lock files of packages of Node.js.
var errNode = errors.New("it pins npm packages, which compat does not look up; install them and " +
	"run compat check node_modules")

// pin returns a requirement NAME==VERSION; it is an error if that is not a valid requirement.
func pin(name, version, marker string) (string, error) {
	s := name + "==" + version
	if marker != "" {
		s += "; " + marker
	}
	if len(s) > maxRequirement {
		return "", fmt.Errorf("the requirement %.60q… is longer than %d bytes", s, maxRequirement)
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
	if err := boundValues(data, ":,"); err != nil {
		return nil, err
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

// requirements reads the NAME==VERSION lines of requirements and constraints files and skips lines
// without a pin.
func requirements(text string) ([]Pin, error) {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return nil, fmt.Errorf("line %d: it has a NUL byte", strings.Count(text[:i], "\n")+1)
	}
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
		if len(line) > maxRequirement {
			return nil, fmt.Errorf("line %d: it is longer than %d bytes", at, maxRequirement)
		}
		if len(out) == maxPins {
			return nil, fmt.Errorf("line %d: it pins more than %d packages", at, maxPins)
		}
		q, err := pkgmeta.ParseRequirement(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", at, err)
		}
		if strings.HasPrefix(q.Spec, "==") {
			out = append(out, Pin{Requirement: q.Raw, Line: at})
		} else if s, ok := wheelPin(line, q); ok {
			out = append(out, Pin{Requirement: s, Line: at})
		}
	}
	return out, nil
}

// wheelPin returns the pin of a requirement that is the URL of a wheel, such as "torch @
// https://host/torch-2.7.0%2Bcu128-cp312-cp312-linux_x86_64.whl".
func wheelPin(line string, q pkgmeta.Requirement) (string, bool) {
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
