package pinned

import (
	"fmt"
	"path"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// declared returns the requirements that apply to a system in the pyproject.toml next to a lock
// file, and in those of the members of its workspace.
func (f *Files) declared(file string, on packages.Target) (out []lockfile.Declared) {
	if !lockfile.OfProject(file) {
		return nil
	}
	members := []lockfile.Member{{}}
	if p := f.parse(file); p.lock != nil {
		members = append(members, p.lock.Members...)
	}
	for _, m := range members {
		project := path.Join(path.Dir(file), m.Folder, "pyproject.toml")
		data, err := f.Read(project)
		if err != nil {
			continue
		}
		for _, d := range lockfile.Project(data) {
			ok, err := d.Applies(on.Markers())
			if d.File, d.Member = project, m; ok && err == nil {
				out = append(out, d)
			}
		}
	}
	return out
}

// stale returns a note for each requirement of a project that the lock file does not satisfy,
// because it was changed and the lock file was not made again.
func (p *Pinned) stale() (notes []string) {
	if p.Declared == nil {
		return nil
	}
	type pinned struct {
		pkgmeta.Version
		file string
	}
	versions := map[string]pinned{}
	for _, x := range p.Pins {
		q, err := pkgmeta.ParseRequirement(x.Requirement)
		if v, ok := q.Pin(); err == nil && ok {
			versions[q.Name] = pinned{v, x.File}
		}
	}
	for _, d := range p.Declared {
		v, ok := versions[d.Name]
		if !ok || d.Manual || d.Tool != "" || d.Extra != "" || d.Group != "" || d.Admits(v.Version) {
			continue // of the optional ones it is not known whether they are locked
		}
		notes = append(notes, fmt.Sprintf("%s:%d requires %s%s, but %s pins %s; update the lock file",
			d.File, d.Line, d.Name, d.Spec, v.file, v.Version))
	}
	return notes
}
