package lockfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Choice selects the packages of a lock file to install.
type Choice struct {
	Python string   // "3.12"
	Arch   string   // as in platform tags, "x86_64"; the system is Linux
	Extras []string // of the project
	Groups []string // dependency groups, in addition to the default ones
}

// Lock is the content of a lock file for one Choice.
type Lock struct {
	Pins []Pin // only those that apply, so without markers
	// Open are requirements without a pin, from requirements files and environment.yml.
	Open []Pin
	// Includes are the files that a requirements file includes (-r), and Constraints its constraint
	// files (-c); paths as written, relative to the file.
	Includes, Constraints []Include
	// Notes list what was left out of Pins, one sentence each.
	Notes []string
	// Indexes are those that the options of a requirements file name, for all packages.
	Indexes []Index
	// Hashed means that a requirements file has hashes. Then pip refuses the requirements of Unhashed,
	// which have none ("Hash-checking Mode").
	Hashed   bool
	Unhashed []Pin
	// Complete means that the format has whatever the pinned packages need.
	Complete bool
	// Graph means that the file has Pin.Needs.
	Graph bool
}

// Include is a reference to another file.
type Include struct {
	Path string
	Line int
}

// Index is an option of a requirements file that names an index.
type Index struct {
	URL    string // "" = not known, such as a page or a folder of files
	Option string // "--find-links"
	Line   int
}

// Read returns the packages of a lock file that a Choice installs. The name decides the format as
// for Pins. It returns the same errors as Pins.
func Read(name string, data []byte, c Choice) (*Lock, error) {
	if err := tooLarge(data); err != nil {
		return nil, err
	}
	r := reader{
		choice: c,
		env:    pkgmeta.DefaultMarkerEnv(c.Python, c.Arch),
		pinned: map[string]bool{},
	}
	for _, list := range []*[]string{&r.choice.Extras, &r.choice.Groups} {
		*list = slices.Clone(*list)
		for i, n := range *list {
			(*list)[i] = pkgmeta.Normalize(n)
		}
	}
	var err error
	switch formatOf(name, data) {
	case formatUV:
		err, r.lock.Complete, r.lock.Graph = r.uv(data), true, true
	case formatPoetry:
		err, r.lock.Complete, r.lock.Graph = r.poetry(data), true, true
	case formatPDM:
		err, r.lock.Complete, r.lock.Graph = r.pdm(data), true, true
	case formatPylock:
		err, r.lock.Complete = r.pylock(data), true
	case formatPipfile:
		err = r.pipfile(data)
	case formatPixi:
		err = r.pixi(data)
	case formatEnvironment:
		err = r.environment(data)
	case formatCondaLock:
		err = r.condaLock(data)
	case formatNode:
		err = errNode
	default:
		err = unlike(name, r.requirements(string(data)))
	}
	if err != nil {
		return nil, err
	}
	if len(r.lock.Pins) > maxPins {
		return nil, fmt.Errorf("it has more than %d packages", maxPins)
	}
	return &r.lock, nil
}

// reader reads one file.
type reader struct {
	choice Choice
	env    pkgmeta.MarkerEnv
	lock   Lock
	pinned map[string]bool
}

// applies evaluates a marker with the given extras; an empty marker is true.
func (r *reader) applies(marker string, extras ...string) (bool, error) {
	if marker == "" {
		return true, nil
	}
	if len(marker) > maxRequirement {
		return false, fmt.Errorf("the marker %.60q… is longer than %d bytes", marker, maxRequirement)
	}
	q, err := pkgmeta.ParseRequirement("x; " + marker)
	if err != nil {
		return false, err
	}
	return q.Applies(r.env, extras...)
}

// pinWith adds a version of a package, with what the file has about it, unless it is there already.
func (r *reader) pinWith(name, version string, p Pin) error {
	err := r.add(name, version, p)
	if err != nil && p.Line > 0 {
		err = fmt.Errorf("line %d: %w", p.Line, err)
	}
	return err
}

// add is pinWith without the line in its error.
func (r *reader) add(name, version string, p Pin) error {
	s, err := pin(name, version, "")
	if err != nil {
		return err
	}
	if !r.pinned[s] {
		r.pinned[s] = true
		p.Requirement = s
		r.lock.Pins = append(r.lock.Pins, p)
	}
	return nil
}

// note adds a sentence that lists packages that are left out; none if names is empty.
func (r *reader) note(names []string, format string) {
	const shown = 8
	installed := map[string]bool{} // other versions of them
	for p := range r.pinned {
		name, _, _ := strings.Cut(p, "==")
		installed[pkgmeta.Normalize(name)] = true
	}
	names = slices.DeleteFunc(names, func(n string) bool { return installed[pkgmeta.Normalize(n)] })
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return
	}
	list := strings.Join(names[:min(shown, len(names))], ", ")
	if len(names) > shown {
		list += fmt.Sprintf(" and %d more", len(names)-shown)
	}
	r.lock.Notes = append(r.lock.Notes, fmt.Sprintf(format, list))
}

// Formats of notes.
const (
	notReleases = "not checked, because they are not releases of a package index: %s"
	notConda    = "not checked, because they are conda packages: %s"
	notHere     = "not installed on this platform, so not checked: %s"
)

// RequiresPython returns the Python versions that a lock file or a pyproject.toml supports, as a
// PEP 440 specifier; "" if it has none.
func RequiresPython(name string, data []byte) string {
	name = cmp.Or(formatOf(name, data), baseName(name))
	if tooLarge(data) != nil || !strings.HasSuffix(name, ".lock") &&
		!strings.HasSuffix(name, ".toml") {
		return ""
	}
	root, err := decodeTOML(data)
	if err != nil {
		return ""
	}
	if s := str(root, "requires-python"); s != "" { // uv, PEP 751
		return s
	}
	project, _ := root["project"].(map[string]any)
	if s := str(project, "requires-python"); s != "" { // pyproject.toml
		return s
	}
	meta, _ := root["metadata"].(map[string]any)
	if s := str(meta, "requires_python"); s != "" { // pdm
		return s
	}
	if s, err := pkgmeta.ParseSpec(str(meta, "python-versions")); err == nil { // poetry, in PEP 440
		return s.String()
	}
	return ""
}

// compiledFor matches the interpreter in a comment that pip-compile or uv begins a file with: "by
// pip-compile with Python 3.11", or the command "uv pip compile --python-version 3.11".
var compiledFor = lazyregexp.New(`pip-compile with [Pp]ython (3\.\d{1,2}t?)` +
	`|pip compile\b.* (?:--python-version|--python|-p)[ =](?:python)?(3\.\d{1,2}t?)(?:[\s.]|$)`)

// CompiledFor returns the interpreter for which pip-compile or uv wrote a requirements file, as the
// comment at its beginning has it; "" if it has none.
func CompiledFor(data []byte) string {
	for n := 0; n < maxHeader; n++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if line, data = bytes.TrimSpace(line), rest; !bytes.HasPrefix(line, []byte("#")) {
			break
		}
		if m := compiledFor.FindStringSubmatch(string(line)); m != nil {
			return m[1] + m[2]
		}
	}
	return ""
}

// maxHeader limits the lines of the comment of CompiledFor; pip-compile and uv write at most six.
const maxHeader = 20

var errNoPackages = errors.New("it has no packages, so it is not such a lock file")
