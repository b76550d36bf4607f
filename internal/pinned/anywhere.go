package pinned

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// machines are those for which Anywhere reads files.
var machines = []string{"x86_64", "aarch64", "ppc64le", "s390x", "armv7l", "riscv64", "i686"}

// oldestInterpreter is the oldest Python for which Anywhere reads files.
const oldestInterpreter = "3.7"

// Anywhere reads what the files pin, for artifacts of any interpreter and machine. A pin that only
// some of them install has a Marker: the one in its file if that is exact, else one that lists
// them. What only an extra, a group or another system needs is left out. Files may be for other
// interpreters: their markers decide. Errors are those of Pinned.
func (f *Files) Anywhere() (*Pinned, error) {
	all := anywhere{pins: map[string]*placed{}}
	var first error
	installable := false
	for _, python := range packages.Interpreters("") {
		if platform.Older(python, oldestInterpreter) {
			continue
		}
		for _, machine := range machines {
			p := &Pinned{On: packages.Target{Python: python, Arch: machine}, PythonFrom: "an artifact"}
			err := f.choose(p)
			if all.targets = append(all.targets, p.On); err != nil {
				first = cmp.Or(first, err)
				continue // such as a file of Pixi, which lists machines
			}
			installable = true
			all.add(p)
		}
	}
	if first != nil && !installable {
		return nil, first
	}
	return all.pinned(), nil
}

// anywhere collects the pins for several targets.
type anywhere struct {
	targets  []packages.Target
	files    []string
	pins     map[string]*placed // by place, requirement, and whether it is pinned
	unhashed map[string][]Pin   // see Pinned.Unhashed
}

// placed is a pin with the targets on which it is installed.
type placed struct {
	Pin
	open bool
	on   map[packages.Target]bool
}

// add adds what the files pin for the last target.
func (a *anywhere) add(p *Pinned) {
	for i, list := range [][]Pin{p.Pins, p.Unpinned} {
		for _, pin := range list {
			key := at(pin) + " " + pin.Requirement
			if a.pins[key] == nil {
				a.pins[key] = &placed{pin, i == 1, map[packages.Target]bool{}}
			}
			a.pins[key].on[p.On] = true
		}
	}
	for _, file := range p.Files {
		if !slices.Contains(a.files, file) {
			a.files = append(a.files, file)
		}
	}
	for file, list := range p.Unhashed {
		if a.unhashed == nil {
			a.unhashed = map[string][]Pin{}
		}
		for _, pin := range list {
			if !slices.ContainsFunc(a.unhashed[file], func(u Pin) bool { return at(u) == at(pin) }) {
				a.unhashed[file] = append(a.unhashed[file], pin)
			}
		}
	}
}

// pinned returns the pins in the order of their files and lines.
func (a *anywhere) pinned() *Pinned {
	out := &Pinned{Files: a.files, Unhashed: a.unhashed}
	all := slices.SortedFunc(maps.Values(a.pins), func(x, y *placed) int {
		return cmp.Or(cmp.Compare(slices.Index(a.files, x.File), slices.Index(a.files, y.File)),
			cmp.Compare(x.Line, y.Line), cmp.Compare(x.Requirement, y.Requirement))
	})
	for _, p := range all {
		p.Marker = a.marker(p)
		if p.open {
			out.Unpinned = append(out.Unpinned, p.Pin)
		} else {
			out.Pins = append(out.Pins, p.Pin)
		}
	}
	return out
}

// marker returns the marker that is true for exactly the targets of a pin; "" = for all.
func (a *anywhere) marker(p *placed) string {
	if len(p.on) == len(a.targets) {
		return ""
	}
	if q, err := pkgmeta.ParseRequirement("x; " + p.Marker); err == nil &&
		!slices.ContainsFunc(a.targets, func(t packages.Target) bool {
			ok, err := q.Applies(t.Markers())
			return err != nil || ok != p.on[t]
		}) {
		return p.Marker
	}
	// Machines with the same interpreters are listed together.
	var rows []string
	on := map[string][]string{}
	for _, machine := range machines {
		if row := a.interpreters(machine, p.on); row != "" {
			if on[row] == nil {
				rows = append(rows, row)
			}
			on[row] = append(on[row], "platform_machine == '"+machine+"'")
		}
	}
	var out []string
	for _, row := range rows {
		machine := strings.Join(on[row], " or ")
		switch {
		case len(on[row]) == len(machines):
			out = append(out, row)
		case row == everyPython:
			out = append(out, machine)
		default:
			out = append(out, "("+machine+") and ("+row+")")
		}
	}
	return strings.Join(out, " or ")
}

// everyPython is the marker for all interpreters of the targets.
const everyPython = "python_version >= '3'"

// interpreters returns the marker for the interpreters that install a pin on a machine; "" = none.
func (a *anywhere) interpreters(machine string, on map[packages.Target]bool) string {
	var out []string
	from, every := "", true // the first interpreter of a range; all of them so far
	for _, t := range a.targets {
		switch {
		case t.Arch != machine:
		case on[t]:
			from = cmp.Or(from, t.Python)
		case from != "" && every:
			out, from, every = append(out, "python_version < '"+t.Python+"'"), "", false
		case from != "":
			out = append(out, "python_version >= '"+from+"' and python_version < '"+t.Python+"'")
			from = ""
		default:
			every = false
		}
	}
	if from != "" && every {
		return everyPython
	}
	if from != "" {
		out = append(out, "python_version >= '"+from+"'")
	}
	return strings.Join(out, " or ")
}
