package lockfile

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
)

// uvFile is a uv.lock. The file has the packages of all systems, extras and groups; only the
// dependencies have markers.
type uvFile struct {
	byName   map[string][]map[string]any
	projects []map[string]any
	manifest map[string]any // has the requirements of a script
	// unrequired are the releases that nothing in the file requires, so that no extra and no group is
	// known for which they are there. uv writes no such file, but others do.
	unrequired []map[string]any
	usual      string // the registry of most packages
}

func readUV(data []byte) (*Lock, error) {
	root, err := decodeTOML(data)
	if err != nil {
		return nil, err
	}
	packages := tablesOf(root["package"])
	f := uvFile{byName: map[string][]map[string]any{}, projects: uvProjects(root)}
	f.manifest, _ = root["manifest"].(map[string]any)
	if len(packages) == 0 && f.manifest == nil {
		return nil, errNoPackages
	}
	f.usual = mostCommon(packages, func(p map[string]any) string {
		source, _ := p["source"].(map[string]any)
		return str(source, "registry")
	})
	required := f.required(packages)
	for _, p := range packages {
		name := str(p, "name")
		f.byName[name] = append(f.byName[name], p)
		source, _ := p["source"].(map[string]any)
		if (source == nil || str(source, "registry") != "") && !required[name] {
			f.unrequired = append(f.unrequired, p)
		}
	}
	l := &Lock{
		Names: namesOf(packages), Versions: versionsOf(packages), Python: str(root, "requires-python"),
		Members: f.members(), Groups: keysOf(f.manifest, "dependency-groups"),
		complete: true, graph: true, choose: f.choose,
	}
	for _, p := range f.projects {
		l.Extras = append(l.Extras, keysOf(p, "optional-dependencies")...)
		l.Groups = append(l.Groups, keysOf(p, "dev-dependencies")...)
	}
	return l, nil
}

// required returns the names that a dependency of a package, of an extra or of a group has.
func (f *uvFile) required(packages []map[string]any) map[string]bool {
	out := map[string]bool{}
	lists := func(t map[string]any, key string) {
		byName, _ := t[key].(map[string]any)
		for _, list := range append(slices.Collect(maps.Values(byName)), t[key]) {
			for _, d := range tablesOf(list) {
				out[str(d, "name")] = true
			}
		}
	}
	lists(f.manifest, "requirements")
	lists(f.manifest, "dependency-groups")
	for _, p := range packages {
		lists(p, "dependencies")
		lists(p, "optional-dependencies")
		lists(p, "dev-dependencies")
	}
	return out
}

// uvChooser follows the dependencies from the projects, as `uv sync` does.
type uvChooser struct {
	*chooser
	*uvFile
	seen  map[string]bool // NAME\x00VERSION\x00EXTRA
	local []string
	todo  []uvNode
}

// uvNode is a package, or one of its extras.
type uvNode struct {
	pkg   map[string]any
	extra string
}

func (f *uvFile) choose(c *chooser) error {
	u := uvChooser{chooser: c, uvFile: f, seen: map[string]bool{}}
	groups := c.groups("dev")
	// For conflicting extras and groups, the marker of a dependency names the extra or group that
	// it belongs to (uv, "Conflicting dependencies"): extra == 'extra-7-project-cpu'.
	var active []string
	for _, p := range f.projects {
		name := str(p, "name")
		for _, x := range c.Extras {
			active = append(active, fmt.Sprintf("extra-%d-%s-%s", len(name), name, x))
		}
		for _, g := range groups {
			active = append(active, fmt.Sprintf("group-%d-%s-%s", len(name), name, g))
		}
	}
	c.env["extra"] = strings.Join(active, ",")
	var lists []any // of dependencies
	for _, p := range f.projects {
		for _, extra := range append([]string{""}, c.Extras...) {
			u.visit(p, extra)
		}
		byName, _ := p["dev-dependencies"].(map[string]any)
		for _, g := range groups {
			lists = append(lists, byName[g])
		}
	}
	lists = append(lists, f.manifest["requirements"])
	byName, _ := f.manifest["dependency-groups"].(map[string]any)
	for _, g := range groups {
		lists = append(lists, byName[g])
	}
	for _, list := range lists {
		if err := u.edges(list); err != nil {
			return err
		}
	}
	for _, p := range f.unrequired {
		u.visit(p, "")
	}
	if err := u.walk(); err != nil {
		return err
	}
	c.note(u.local, notReleases)
	return nil
}

// uvProjects returns the projects that a uv.lock is made for: those of the workspace, or else all
// that are in folders.
func uvProjects(root map[string]any) (out []map[string]any) {
	manifest, _ := root["manifest"].(map[string]any)
	members := stringsOf(manifest["members"])
	for _, p := range tablesOf(root["package"]) {
		source, _ := p["source"].(map[string]any)
		if (str(source, "editable") != "" || str(source, "virtual") != "") &&
			(len(members) == 0 || slices.Contains(members, str(p, "name"))) {
			out = append(out, p)
		}
	}
	return out
}

// maxMembers limits Lock.Members, because each is a file to read.
const maxMembers = 50

// members returns the members of a workspace, those that the lock file lists first.
func (f *uvFile) members() (out []Member) {
	for _, p := range f.projects {
		source, _ := p["source"].(map[string]any)
		folder := path.Clean(str(source, "editable") + str(source, "virtual"))
		if folder != "." && fs.ValidPath(folder) && len(out) < maxMembers {
			out = append(out, Member{str(p, "name"), folder})
		}
	}
	return out
}

// walk follows the dependencies of the queued packages, then pins what is installed, by name.
func (u *uvChooser) walk() error {
	installed := map[string][]map[string]any{}
	for len(u.todo) > 0 {
		n := u.todo[0]
		u.todo = u.todo[1:]
		if n.extra != "" {
			extras, _ := n.pkg["optional-dependencies"].(map[string]any)
			if err := u.edges(extras[n.extra]); err != nil {
				return err
			}
			continue
		}
		name := str(n.pkg, "name")
		installed[name] = append(installed[name], n.pkg)
		if err := u.edges(n.pkg["dependencies"]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(installed)) {
		for _, p := range installed[name] {
			source, _ := p["source"].(map[string]any)
			version := str(p, "version")
			switch registry := str(source, "registry"); {
			case registry != "" && version != "", source == nil && version != "":
				pin := pinOf(p)
				pin.Marker = strings.Join(stringsOf(p["resolution-markers"]), " or ")
				if pin.Needs = uvNeeds(p); registry != u.usual {
					pin.Indexes = []string{registry}
				}
				if err := u.add(name, version, pin); err != nil {
					return err
				}
			case str(source, "editable") == "" && str(source, "virtual") == "":
				u.local = append(u.local, name)
			}
		}
	}
	return nil
}

// uvNeeds returns the names of the packages that a package or one of its extras depends on, sorted:
// the cached result of a check is found by what was read of the files.
func uvNeeds(p map[string]any) []string {
	var out []string
	extras, _ := p["optional-dependencies"].(map[string]any)
	for _, list := range append(slices.Collect(maps.Values(extras)), p["dependencies"]) {
		for _, d := range tablesOf(list) {
			out = append(out, pkgmeta.Normalize(str(d, "name")))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// visit queues a package or one of its extras, once.
func (u *uvChooser) visit(p map[string]any, extra string) {
	key := str(p, "name") + "\x00" + str(p, "version") + "\x00" + extra
	if !u.seen[key] {
		u.seen[key] = true
		u.todo = append(u.todo, uvNode{p, extra})
	}
}

// edges queues the packages of a list of dependencies.
func (u *uvChooser) edges(list any) error {
	for _, d := range tablesOf(list) {
		ok, err := u.applies(str(d, "marker"))
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for _, p := range u.byName[pkgmeta.Normalize(str(d, "name"))] {
			if v := str(d, "version"); v != "" && v != str(p, "version") {
				continue
			}
			forks := stringsOf(p["resolution-markers"])
			fits := len(forks) == 0
			for _, m := range forks {
				ok, err := u.applies(m)
				if err != nil {
					return err
				}
				fits = fits || ok
			}
			if !fits {
				continue
			}
			u.visit(p, "")
			for _, x := range stringsOf(d["extra"]) {
				u.visit(p, pkgmeta.Normalize(x))
			}
		}
	}
	return nil
}

// uv can choose the version of a package that no list in pyproject.toml names.
var uv = tool{
	name: "uv",
	project: &projectTool{
		id: "uv", add: "uv add", extra: " --optional ", group: " --group ", member: " --package ",
		unresolved: " --frozen", lock: "uv lock", upgrade: " --upgrade-package ",
	},
	renew: func(_, name string) shellword.Line {
		return "uv lock --upgrade-package " + shellword.Quote(name)
	},
}

// uvScript has no commands: they would have to name the script.
var uvScript = tool{name: "uv"}
