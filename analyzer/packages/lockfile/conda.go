package lockfile

import (
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// condaPlatform returns conda's name of Linux on a machine; "" if conda has none.
func condaPlatform(arch string) string {
	switch arch {
	case "x86_64":
		return "linux-64"
	case "aarch64":
		return "linux-aarch64"
	case "ppc64le":
		return "linux-ppc64le"
	case "s390x":
		return "linux-s390x"
	case "armv7l":
		return "linux-armv7l"
	case "riscv64":
		return "linux-riscv64"
	}
	return ""
}

// environment reads the pip requirements of a conda environment file; a note lists its conda
// packages.
func (r *reader) environment(data []byte) error {
	file, err := document(data)
	if err != nil {
		return err
	}
	var conda []string
	found := false
	for _, d := range items(member(file, "dependencies")) {
		if d.Kind == yaml.ScalarNode {
			name := d.Value[strings.LastIndex(d.Value, ":")+1:]
			if i := strings.IndexAny(name, " =<>!~["); i >= 0 {
				name = name[:i]
			}
			if name != "python" && name != "pip" {
				conda = append(conda, name)
			}
		}
		for _, l := range items(member(d, "pip")) {
			if l.Kind != yaml.ScalarNode {
				continue
			}
			found = true
			// Each item is a line of a requirements file.
			one := reader{choice: r.choice, env: r.env, pinned: map[string]bool{}}
			if err := one.requirements(l.Value); err != nil {
				return err
			}
			for _, p := range one.lock.Pins {
				q, err := pkgmeta.ParseRequirement(p.Requirement)
				if err != nil {
					return err
				}
				p.Line, p.HashLine = l.Line, 0
				if err := r.pinWith(q.Name, strings.TrimLeft(q.Spec, "= "), p); err != nil {
					return err
				}
			}
			for _, p := range one.lock.Open {
				r.lock.Open = append(r.lock.Open, Pin{Requirement: p.Requirement, Line: l.Line})
			}
			for _, i := range one.lock.Includes {
				r.lock.Includes = append(r.lock.Includes, Include{i.Path, l.Line})
			}
			for _, i := range one.lock.Constraints {
				r.lock.Constraints = append(r.lock.Constraints, Include{i.Path, l.Line})
			}
			r.lock.Indexes = append(r.lock.Indexes, one.lock.Indexes...)
			r.lock.Notes = append(r.lock.Notes, one.lock.Notes...)
		}
	}
	if !found {
		return errConda
	}
	r.note(conda, notConda)
	return nil
}

// leftOut notes the packages of a conda lock file that are not releases of a package index. It
// returns an error if there are no others.
func (r *reader) leftOut(local, conda []string) error {
	if len(r.lock.Pins) == 0 {
		return errConda
	}
	r.note(local, notReleases)
	r.note(conda, notConda)
	return nil
}

// condaLock reads the packages for the machine from a unified lock file of conda-lock.
func (r *reader) condaLock(data []byte) error {
	file, err := document(data)
	if err != nil {
		return err
	}
	list := member(file, "package")
	if list == nil {
		return errors.New("it has no list of packages, so it is not such a lock file")
	}
	var conda, local []string
	for _, p := range items(list) {
		if text(p, "platform") != condaPlatform(r.choice.Arch) {
			continue
		}
		category := text(p, "category")
		chosen := category == "" || category == "main" || slices.Contains(r.choice.Groups, category) ||
			slices.Contains(r.choice.Extras, category)
		switch {
		case !chosen:
		case text(p, "manager") != "pip":
			conda = append(conda, text(p, "name"))
		case strings.HasPrefix(text(p, "url"), "git+"):
			local = append(local, text(p, "name"))
		default:
			if err := r.addNode(p, nil); err != nil {
				return err
			}
		}
	}
	return r.leftOut(local, conda)
}

// addNode adds the pin of a package of a YAML file, with the line of its version and the hash of
// its file.
func (r *reader) addNode(p *yaml.Node, indexes []string) error {
	pin := Pin{Line: p.Line, Indexes: indexes}
	if v := member(p, "version"); v != nil {
		pin.Line = v.Line
	}
	from := p // pixi
	if h := member(p, "hash"); h != nil {
		from = h // conda-lock
	}
	if h := member(from, "sha256"); h != nil && h.Value != "" {
		pin.Hashes, pin.HashLine = []string{"sha256:" + h.Value}, h.Line
	}
	return r.pinWith(text(p, "name"), text(p, "version"), pin)
}

// pixi reads the environment "default" of a pixi.lock, or those named in Choice.Groups. Version 3
// and earlier (2023) are not supported.
func (r *reader) pixi(data []byte) error {
	file, err := document(data)
	if err != nil {
		return err
	}
	environments := member(file, "environments")
	if environments == nil {
		return errors.New("it has no environments, so it is not a pixi.lock of version 4 or later")
	}
	byURL := map[string]*yaml.Node{}
	for _, p := range items(member(file, "packages")) {
		url := text(p, "pypi")
		if text(p, "kind") == "pypi" { // until version 5
			url = text(p, "url") + text(p, "path")
		}
		if url != "" {
			byURL[url] = p
		}
	}
	chosen := r.choice.Groups
	if len(chosen) == 0 {
		chosen = []string{"default"}
	}
	var conda, local []string
	for _, name := range chosen {
		e := member(environments, name)
		if e == nil {
			return errors.New("it has no environment " + name)
		}
		all := member(e, "packages")
		if all == nil {
			continue
		}
		var indexes []string // the first is the default one
		if list := items(member(e, "indexes")); len(list) > 1 {
			for _, i := range list {
				indexes = append(indexes, i.Value)
			}
		}
		list := member(all, condaPlatform(r.choice.Arch))
		if list == nil {
			return errors.New("it has no packages for " + condaPlatform(r.choice.Arch))
		}
		for _, d := range items(list) {
			if c := text(d, "conda"); c != "" {
				conda = append(conda, condaName(c))
				continue
			}
			at := text(d, "pypi")
			p := byURL[at]
			if p == nil {
				p = d
			}
			n, version := text(p, "name"), text(p, "version")
			if n == "" || version == "" || !strings.HasPrefix(at, "http") {
				local = append(local, n)
				continue
			}
			if err := r.addNode(p, indexes); err != nil {
				return err
			}
		}
	}
	return r.leftOut(local, conda)
}

// pixiPins reads what pip installs on Linux from a pixi.lock. It returns an error if no
// architecture can be read.
func pixiPins(name string, data []byte) ([]Pin, error) {
	var pins []Pin
	var errs []error
	for _, arch := range []string{"x86_64", "aarch64"} {
		lock, err := Read(name, data, Choice{Arch: arch})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, p := range lock.Pins {
			p.Requirement += "; platform_machine == '" + arch + "'"
			pins = append(pins, p)
		}
	}
	if len(errs) == 2 {
		return nil, errs[0]
	}
	return pins, nil
}

// condaName returns the package name of a URL that ends with NAME-VERSION-BUILD.conda.
func condaName(address string) string {
	if u, err := url.Parse(address); err == nil {
		address = u.Path
	}
	parts := strings.Split(path.Base(address), "-")
	if len(parts) > 2 {
		parts = parts[:len(parts)-2]
	}
	return strings.Join(parts, "-")
}
