package environment

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// maxText limits the bytes read from a file with metadata; long RECORDs and file lists have some
// megabytes.
const maxText = 64 << 20

// maxFound limits the shared objects of a distribution without RECORD; torch has 100.
const maxFound = 10_000

// Installed contains the distributions of one Python installation or virtual environment, and the
// packages of a conda environment.
type Installed struct {
	// Prefix is the absolute path of the environment's folder in the system that it is part of,
	// such as "/opt/venv".
	Prefix string
	// Sites are the folders with packages, relative to Prefix ("lib/python3.12/site-packages"), in
	// the order of sys.path. The list is empty in a conda environment without Python.
	Sites []string
	// DistInfo are the names of the distributions' folders in Sites, as NAME-VERSION.dist-info. A
	// distribution with an egg-info folder is listed as if it had a dist-info folder.
	DistInfo []string
	Wheels   Wheels

	place    Place
	noWheels bool
	texts    map[string][]byte // by path relative to Prefix: METADATA and RECORD that are not on disk
	system   *systemFiles
	owned    map[string]bool // files of the distributions, relative to Prefix
}

// Place returns the path on this machine of an absolute path in a system. It resolves symbolic
// links as that system does, so that no path leads outside of it.
type Place func(string) (string, error)

// pythonFolder matches the parent of a site-packages or dist-packages folder. Packages of Debian
// are in lib/python3, for all versions.
var pythonFolder = lazyregexp.New(`^python(3(?:\.[0-9]+)?)$`)

// OpenInstalled reads a virtual environment, or any folder with lib/python3.X/site-packages or
// conda-meta. It returns an error if there is none, or packages for more than one Python.
func OpenInstalled(prefix string, place Place) (*Installed, error) {
	return installed(&Installed{Prefix: prefix, place: place})
}

// Describe is OpenInstalled without the wheels: it reads no shared object.
func Describe(prefix string, place Place) (*Installed, error) {
	return installed(&Installed{Prefix: prefix, place: place, noWheels: true})
}

func installed(in *Installed) (*Installed, error) {
	for _, lib := range []string{"lib", "lib64"} {
		if lib == "lib64" && in.same("lib", "lib64") {
			continue // venv creates this symbolic link
		}
		names, err := in.list(lib)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			m := pythonFolder.FindStringSubmatch(name)
			site := path.Join(lib, name, "site-packages")
			if m == nil || !in.folder(site) {
				continue
			}
			if was := in.Wheels.On.Python; was != "" && was != m[1] {
				return nil, fmt.Errorf("%s has packages for more than one Python", in.Prefix)
			}
			in.Sites, in.Wheels.On.Python = append(in.Sites, site), m[1]
		}
	}
	if len(in.Sites) == 0 && !in.folder("conda-meta") {
		return nil, fmt.Errorf("%s has no lib/python3.X/site-packages; give the folder of a "+
			"virtual environment", in.Prefix)
	}
	return in, in.read()
}

// same reports whether two folders of the prefix are the same one.
func (in *Installed) same(a, b string) bool {
	first, err := in.place(path.Join(in.Prefix, a))
	if err != nil {
		return false
	}
	second, err := in.place(path.Join(in.Prefix, b))
	return err == nil && first == second
}

// list returns the names in a folder of the prefix; none if it does not exist.
func (in *Installed) list(folder string) ([]string, error) {
	at, err := in.place(path.Join(in.Prefix, folder))
	if err == nil {
		var entries []os.DirEntry
		if entries, err = os.ReadDir(at); err == nil {
			names := make([]string, len(entries))
			for i, e := range entries {
				names[i] = e.Name()
			}
			return names, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return nil, err
}

func (in *Installed) folder(at string) bool {
	real, err := in.place(path.Join(in.Prefix, at))
	if err != nil {
		return false
	}
	info, err := os.Stat(real)
	return err == nil && info.IsDir()
}

// read reads the distributions in Sites and the packages in conda-meta.
func (in *Installed) read() error {
	in.texts, in.owned = map[string][]byte{}, map[string]bool{}
	if in.system == nil {
		in.system = &systemFiles{}
	}
	seen := map[string]bool{}
	for _, site := range in.Sites {
		names, err := in.list(site)
		if err != nil {
			return errors.Join(err, in.Close())
		}
		for _, name := range names {
			if ext := path.Ext(name); ext == ".dist-info" || ext == ".egg-info" {
				in.add(site, name, seen)
			}
		}
	}
	if err := in.condaPackages(); err != nil {
		return errors.Join(err, in.Close())
	}
	return nil
}

// Close closes the files of the wheels.
func (in *Installed) Close() error { return in.Wheels.Close() }

// Text returns a METADATA or RECORD file of a distribution that has none on disk, by its path
// relative to Prefix; nil for other files.
func (in *Installed) Text(at string) []byte { return in.texts[at] }

// text reads a file of the prefix.
func (in *Installed) text(at string) ([]byte, error) {
	real, err := in.place(path.Join(in.Prefix, at))
	if err != nil {
		return nil, err
	}
	return text(real)
}

// add adds the distribution of a dist-info or egg-info folder. seen contains the distributions
// of the sites that were read before, which are imported instead.
func (in *Installed) add(site, info string, seen map[string]bool) {
	unread := func(err error) {
		in.Wheels.Unread = append(in.Wheels.Unread, analyzer.Unread{
			Path: strings.TrimPrefix(path.Join(in.Prefix, site, info), "/"), Reason: err.Error(),
		})
	}
	file := in.metadata(path.Join(site, info))
	data, err := in.text(file)
	if err != nil {
		unread(err)
		return
	}
	meta, err := pkgmeta.ParseMetadata(data)
	if err != nil {
		unread(err)
		return
	}
	name := pkgmeta.Normalize(meta.Name)
	if seen[name] {
		in.Wheels.Skipped = append(in.Wheels.Skipped, analyzer.Unread{
			Path:   strings.TrimPrefix(path.Join(in.Prefix, site, info), "/"),
			Reason: "another copy of " + meta.Name + " comes first in sys.path",
		})
		return
	}
	seen[name] = true
	id := meta.Name + "==" + meta.Version
	in.Wheels.With = append(in.Wheels.With, id)
	if in.Wheels.Origins == nil {
		in.Wheels.Origins = map[string]analyzer.Origin{}
	}
	in.Wheels.Origins[id] = analyzer.Origin{
		File: strings.TrimPrefix(path.Join(in.Prefix, file), "/"), Installed: true,
	}
	files, err := in.files(site, info)
	if err != nil {
		unread(fmt.Errorf("%w: the files of %s are not known", err, meta.Name))
		return
	}
	folder := strings.ReplaceAll(name, "-", "_") + "-" + meta.Version
	in.describe(site, info, folder, data, files)
	var members []member
	for _, file := range files {
		if m, ok := in.object(site, folder, file); ok {
			members = append(members, m)
		}
	}
	tags, err := in.text(path.Join(site, info, "WHEEL"))
	if len(members) == 0 {
		in.Wheels.Listed = append(in.Wheels.Listed, listed(folder+"-py3-none-any.whl", ""))
		return
	}
	if err == nil { // else it was not installed from a wheel
		members = append(members, member{name: folder + ".dist-info/WHEEL", text: tags})
	}
	members = append(members, member{name: folder + ".dist-info/METADATA", text: data})
	in.open(folder+"-"+compressed(tags)+".whl", "", members, unread)
}

// open adds an archive of installed files to the wheels.
func (in *Installed) open(name, sha256 string, members []member, unread func(error)) {
	if in.noWheels {
		return
	}
	z, err := newZip(members)
	if err != nil {
		unread(err)
		return
	}
	in.Wheels.opened = append(in.Wheels.opened, z)
	in.Wheels.Wheels = append(in.Wheels.Wheels, analyzer.Input{
		Name: name, Content: z, Size: z.size, SHA256: sha256,
	})
}

// metadata returns the path of METADATA of a dist-info folder, or of PKG-INFO of an egg-info folder
// or file.
func (in *Installed) metadata(info string) string {
	if path.Ext(info) == ".dist-info" {
		return path.Join(info, "METADATA")
	}
	if in.folder(info) {
		return path.Join(info, "PKG-INFO")
	}
	return info
}

// files returns the files of a distribution, relative to its site: those in RECORD, else those
// that pip or the system's package manager recorded.
func (in *Installed) files(site, info string) ([]string, error) {
	record, err := in.text(path.Join(site, info, "RECORD"))
	if err == nil {
		var files []string
		err = pkgmeta.ParseRecord(record, func(row pkgmeta.RecordRow) bool {
			files = append(files, path.Clean(row.Path))
			return true
		})
		return files, err
	}
	// written by pip for distributions without a wheel, relative to the egg-info folder
	if list, err := in.text(path.Join(site, info, "installed-files.txt")); err == nil {
		var files []string
		for line := range strings.Lines(string(list)) {
			files = append(files, path.Join(info, strings.TrimSpace(line)))
		}
		return files, nil
	}
	at := path.Join(in.Prefix, site)
	all := in.system.of(in.place, path.Join(at, info))
	if all == nil {
		if files := in.topLevel(site, info); files != nil {
			return files, nil
		}
		return nil, err
	}
	var files []string
	for _, file := range all {
		if rel, ok := strings.CutPrefix(file, at+"/"); ok {
			files = append(files, rel)
		}
	}
	return files, nil
}

// topLevel returns the shared objects in the top-level modules of a distribution: those that
// top_level.txt names, else the one with its name. Packages of RPM distributions have no RECORD.
// The result is nil if there is no such module.
func (in *Installed) topLevel(site, info string) []string {
	name, _, _ := strings.Cut(info, "-")
	names := []string{strings.ToLower(name)}
	if text, err := in.text(path.Join(site, info, "top_level.txt")); err == nil {
		names = strings.Fields(string(text))
	}
	entries, err := in.list(site)
	if err != nil {
		return nil
	}
	var files []string
	for _, e := range entries {
		if stem, _, _ := strings.Cut(e, "."); !slices.Contains(names, stem) {
			continue
		}
		files = append(files, e)
		at, err := in.place(path.Join(in.Prefix, site, e))
		if err != nil {
			continue
		}
		_ = filepath.WalkDir(at, func(p string, d fs.DirEntry, err error) error {
			rel, inside := strings.CutPrefix(filepath.ToSlash(p), filepath.ToSlash(at)+"/")
			switch {
			case len(files) > maxFound:
				return fs.SkipAll
			case err == nil && inside && strings.Contains(d.Name(), ".so"):
				files = append(files, path.Join(e, rel))
			}
			return nil // what cannot be read is not loaded either
		})
	}
	return files
}

// object returns the member of the archive for a file of a distribution, and false if the file is
// no shared object. A file outside of the site is a data file of the wheel (PEP 427, "The .data
// directory").
func (in *Installed) object(site, folder, file string) (member, bool) {
	at := path.Join(site, file)
	in.owned[at] = true
	if !strings.Contains(path.Base(file), ".so") || !filepath.IsLocal(filepath.FromSlash(at)) {
		return member{}, false
	}
	dir, err := in.place(path.Join(in.Prefix, path.Dir(at)))
	if err != nil {
		return member{}, false
	}
	real := filepath.Join(dir, path.Base(at))
	if info, err := os.Lstat(real); err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return member{}, false // the file that it points to is checked
	}
	if !strings.HasPrefix(file, "../") {
		return member{name: file, file: real}, true
	}
	return member{name: folder + ".data/data/" + at, file: real}, true
}

// describe adds the folder of a distribution to DistInfo, with the METADATA and RECORD that it
// does not have.
func (in *Installed) describe(site, info, folder string, metadata []byte, files []string) {
	_, err := in.text(path.Join(site, info, "RECORD"))
	if path.Ext(info) == ".dist-info" && err == nil && site == in.Sites[0] {
		in.DistInfo = append(in.DistInfo, info)
		return
	}
	info = folder + ".dist-info"
	in.DistInfo = append(in.DistInfo, info)
	var record bytes.Buffer
	for _, file := range files {
		if strings.Contains(path.Base(file), ".so") && !strings.ContainsAny(file, "\",\r\n") {
			record.WriteString(file + ",,\n")
		}
	}
	at := path.Join(in.Sites[0], info)
	in.texts[path.Join(at, "METADATA")] = metadata
	in.texts[path.Join(at, "RECORD")] = record.Bytes()
}

// regular opens a regular file: opening a named pipe would block.
func regular(file string) (*os.File, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", filepath.Base(file))
	}
	return os.Open(file)
}

// text reads a file of at most maxText bytes.
func text(file string) ([]byte, error) {
	f, err := regular(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if len(data) > maxText {
		return nil, fmt.Errorf("%s has more than %d MiB", file, maxText>>20)
	}
	return data, err
}

// compressed returns the compressed tag set (PEP 425) of the Tag lines in WHEEL.
func compressed(wheel []byte) string {
	var parts [3][]string
	for lines := bufio.NewScanner(bytes.NewReader(wheel)); lines.Scan(); {
		tag, ok := strings.CutPrefix(lines.Text(), "Tag:")
		fields := strings.Split(strings.TrimSpace(tag), "-")
		if !ok || len(fields) != len(parts) {
			continue
		}
		for i, f := range fields {
			if !slices.Contains(parts[i], f) {
				parts[i] = append(parts[i], f)
			}
		}
	}
	if parts[0] == nil {
		return "py3-none-any"
	}
	return strings.Join(parts[0], ".") + "-" + strings.Join(parts[1], ".") + "-" +
		strings.Join(parts[2], ".")
}
