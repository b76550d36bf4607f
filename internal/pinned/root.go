package pinned

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
)

// maxEntries limits the files and folders of a system that are looked at; large images have about
// 500,000.
const maxEntries = 5_000_000

// OpenSystem reads all Python installations, virtual environments and conda environments in an
// unpacked image. on is what was named, as in OpenInstalled. It returns an error if there is none.
func OpenSystem(place Place, on packages.Target) ([]*Installed, error) {
	top, err := place("/")
	if err != nil {
		return nil, err
	}
	prefixes, err := pythonPrefixes(top)
	if err != nil {
		return nil, err
	}
	shell := "" // the architecture of the system
	if real, err := place("/bin/sh"); err == nil {
		if arch := formatOf(real); len(platform.All(arch)) > 0 {
			shell = arch
		}
	}
	system := &systemFiles{}
	var out []*Installed
	for _, p := range prefixes {
		in := &Installed{Prefix: p.dir, Sites: p.sites, place: place, on: on, system: system}
		in.Wheels.On = packages.Target{Python: p.python, Arch: shell}
		if err := in.read(); err != nil {
			for _, o := range out {
				err = errors.Join(err, o.Close())
			}
			return nil, err
		}
		out = append(out, in)
	}
	if len(out) == 0 {
		return nil, errors.New("no folder of it has Python packages (site-packages, dist-packages or " +
			"conda-meta)")
	}
	return out, nil
}

// prefix is a folder with an installation of Python, or with a conda environment.
type prefix struct {
	dir    string // absolute, in the system
	python string // "3.12"; "" without Python
	sites  []string
}

// pythonPrefixes finds the installations below a folder, in the order of their paths.
func pythonPrefixes(top string) ([]prefix, error) {
	var out []prefix
	at := func(dir, python string) *prefix {
		for i := range out {
			if out[i].dir == dir && (out[i].python == python || out[i].python == "" || python == "") {
				if out[i].python == "" {
					out[i].python = python
				}
				return &out[i]
			}
		}
		out = append(out, prefix{dir: dir, python: python})
		return &out[len(out)-1]
	}
	n := 0
	err := filepath.WalkDir(top, func(file string, d fs.DirEntry, err error) error {
		if err != nil && file != top {
			return fs.SkipDir // such as a folder without permission
		}
		if n++; n > maxEntries {
			return fmt.Errorf("it has more than %d files", maxEntries)
		}
		if err != nil || !d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(top, file)
		if err != nil {
			return err
		}
		folder := "/" + filepath.ToSlash(rel)
		if slices.Contains([]string{"/proc", "/sys", "/dev", "/run"}, folder) {
			return fs.SkipDir
		}
		parent := path.Dir(folder)
		switch base := path.Base(folder); {
		case base == "conda-meta":
			at(parent, "")
			return fs.SkipDir
		case base == "site-packages" || base == "dist-packages":
			m := pythonFolder.FindStringSubmatch(path.Base(parent))
			lib := path.Dir(parent)
			if m == nil || path.Base(lib) != "lib" && path.Base(lib) != "lib64" {
				return fs.SkipDir
			}
			dir, python := path.Dir(lib), m[1]
			if python == "3" {
				python = systemPython(filepath.Join(top, filepath.FromSlash(lib)))
			}
			// Debian's Python in /usr also imports the packages that pip installs in /usr/local.
			if base == "dist-packages" && dir == "/usr/local" {
				dir = "/usr"
			}
			p := at(dir, python)
			site := strings.TrimPrefix(folder, strings.TrimSuffix(p.dir, "/")+"/")
			if strings.HasPrefix(site, "local/") {
				p.sites = slices.Insert(p.sites, 0, site)
			} else {
				p.sites = append(p.sites, site)
			}
			return fs.SkipDir
		}
		return nil
	})
	return out, err
}

// systemPython returns the newest Python whose standard library is in a folder, such as "3.11";
// "" if there is none.
func systemPython(lib string) string {
	entries, err := os.ReadDir(lib)
	if err != nil {
		return ""
	}
	newest, minor := "", 0
	for _, e := range entries {
		n := 0
		if _, err := fmt.Sscanf(e.Name(), "python3.%d", &n); err == nil && n > minor {
			newest, minor = fmt.Sprintf("3.%d", n), n
		}
	}
	return newest
}

// systemFiles are the files of the packages that the package manager of a system installed. The
// lists of Debian and Alpine are read; for packages of RPM distributions see Installed.topLevel.
type systemFiles struct {
	lists map[string][]string // all files of the package that has the folder or file of the key
}

// of returns the files of the system package that installed a dist-info or egg-info folder, by
// its absolute path; nil if none did.
func (s *systemFiles) of(place Place, info string) []string {
	if s.lists == nil {
		s.lists = map[string][]string{}
		s.debian(place)
		s.alpine(place)
	}
	return s.lists[info]
}

// add stores the files of one package.
func (s *systemFiles) add(files []string) {
	for _, f := range files {
		for _, at := range []string{f, path.Dir(f)} {
			if ext := path.Ext(at); ext == ".dist-info" || ext == ".egg-info" {
				s.lists[at] = files
			}
		}
	}
}

// debian reads the lists of dpkg.
func (s *systemFiles) debian(place Place) {
	dir, err := place("/var/lib/dpkg/info")
	if err != nil {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if path.Ext(e.Name()) != ".list" {
			continue
		}
		list, err := text(filepath.Join(dir, e.Name()))
		if err != nil || !strings.Contains(string(list), "-info") {
			continue
		}
		s.add(strings.Split(strings.TrimSpace(string(list)), "\n"))
	}
}

// alpine reads the database of apk: the lines of a package are "F:FOLDER" and "R:FILE".
func (s *systemFiles) alpine(place Place) {
	file, err := place("/lib/apk/db/installed")
	if err != nil {
		return
	}
	list, err := text(file)
	if err != nil {
		return
	}
	for entry := range strings.SplitSeq(string(list), "\n\n") {
		if !strings.Contains(entry, "-info") {
			continue
		}
		var files []string
		folder := ""
		for line := range strings.SplitSeq(entry, "\n") {
			switch kind, value, _ := strings.Cut(line, ":"); kind {
			case "F":
				folder = "/" + value
			case "R":
				files = append(files, path.Join(folder, value))
			}
		}
		s.add(files)
	}
}
