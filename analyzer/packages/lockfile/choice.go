package lockfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Choice selects the packages of a lock file to install.
type Choice struct {
	Python string   // "3.12"
	Arch   string   // as in platform tags, "x86_64"
	System string   // as in packages.Target; "" = Linux
	Extras []string // of the project
	Groups []string // dependency groups, in addition to the default ones
	// NoDefaultGroups leaves out the groups that the tool installs by default for those who develop
	// the project, such as dev of uv. A wheel is not used with them.
	NoDefaultGroups bool
}

// Chosen is what a Choice installs of a lock file.
type Chosen struct {
	Pins []Pin
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

// Choose returns what an environment installs of a lock file.
func (l *Lock) Choose(choice Choice) (*Chosen, error) {
	c := chooser{
		Choice:  choice,
		Chosen:  Chosen{Complete: l.complete, Graph: l.graph},
		env:     pkgmeta.MarkerEnvOn(choice.System, choice.Python, choice.Arch),
		markers: map[string]bool{},
		pinned:  map[string]bool{},
	}
	for _, list := range []*[]string{&c.Extras, &c.Groups} {
		*list = slices.Clone(*list)
		for i, n := range *list {
			(*list)[i] = pkgmeta.Normalize(n)
		}
	}
	if err := l.choose(&c); err != nil {
		return nil, err
	}
	if len(c.Pins) > maxPins {
		return nil, fmt.Errorf("it has more than %d packages", maxPins)
	}
	return &c.Chosen, nil
}

// chooser chooses the packages of one file.
type chooser struct {
	Choice
	Chosen
	env     pkgmeta.MarkerEnv
	markers map[string]bool // results of applies without extras; most packages have the same few
	pinned  map[string]bool // requirements in Pins
}

// applies evaluates a marker with the given extras; an empty marker is true.
func (c *chooser) applies(marker string, extras ...string) (bool, error) {
	if marker == "" {
		return true, nil
	}
	if len(marker) > maxRequirement {
		return false, fmt.Errorf("the marker %.60q… is longer than %d bytes", marker, maxRequirement)
	}
	if ok, known := c.markers[marker]; known && len(extras) == 0 {
		return ok, nil
	}
	q, err := pkgmeta.ParseRequirement("x; " + marker)
	if err != nil {
		return false, err
	}
	return c.satisfies(q, extras...)
}

// satisfies evaluates the marker of a requirement with the given extras.
func (c *chooser) satisfies(q pkgmeta.Requirement, extras ...string) (bool, error) {
	if ok, known := c.markers[q.Marker]; known && len(extras) == 0 {
		return ok, nil
	}
	ok, err := q.Applies(c.env, extras...)
	if err == nil && len(extras) == 0 {
		c.markers[q.Marker] = ok
	}
	return ok, err
}

// groups returns the chosen groups and those that the tool installs by default, sorted.
func (c *chooser) groups(byDefault ...string) []string {
	out := slices.Clone(c.Groups)
	if !c.NoDefaultGroups {
		out = append(out, byDefault...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// add adds a version of a package, with what the file has about it, unless it is there already.
func (c *chooser) add(name, version string, p Pin) error {
	s, err := pin(name, version)
	if err != nil {
		return inLine(p.Line, err)
	}
	if !c.pinned[s] {
		c.pinned[s] = true
		p.Requirement = s
		c.Pins = append(c.Pins, p)
	}
	return nil
}

// note adds a sentence that lists packages that are left out; none if names is empty.
func (c *chooser) note(names []string, format string) {
	const shown = 8
	installed := map[string]bool{} // other versions of them
	for p := range c.pinned {
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
	c.Notes = append(c.Notes, fmt.Sprintf(format, list))
}

// Formats of notes.
const (
	notReleases = "not checked, because they are not releases of a package index: %s"
	notConda    = "not checked, because they are conda packages: %s"
	notHere     = "not installed on this platform, so not checked: %s"
)
