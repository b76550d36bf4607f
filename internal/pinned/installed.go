package pinned

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// maxText limits the bytes read from a file with metadata; long RECORDs and file lists have some
// megabytes.
const maxText = 64 << 20

// maxFound limits the shared objects and sources of a distribution without RECORD; torch has 2,500.
const maxFound = 20_000

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
	on       packages.Target // what was named; empty fields are those of the environment
	noWheels bool
	conda    bool
	texts    map[string][]byte // by path relative to Prefix: METADATA and RECORD that are not on disk
	system   *systemFiles
	owned    map[string]bool        // files of the distributions, relative to Prefix
	recorded map[[2]string]recorded // by name of the wheel and file
	lost     map[string]string      // NAME==VERSION by base name of a file in RECORD that is missing
}

// Place returns the path on this machine of an absolute path in a system. It resolves symbolic
// links as that system does, so that no path leads outside of it.
type Place func(string) (string, error)

// pythonFolder matches the parent of a site-packages or dist-packages folder. Packages of Debian
// are in lib/python3, for all versions.
var pythonFolder = lazyregexp.New(`^python(3(?:\.[0-9]+)?)$`)

// OpenInstalled reads a virtual environment, or any folder with lib/python3.X/site-packages or
// conda-meta. on is the interpreter if its version or architecture is not that of the environment.
// It returns an error if there is none, or packages for more than one Python.
func OpenInstalled(prefix string, place Place, on packages.Target) (*Installed, error) {
	return installed(&Installed{Prefix: prefix, place: place, on: on})
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
	in.recorded, in.lost = map[[2]string]recorded{}, map[string]string{}
	on := &in.Wheels.On
	on.Arch = cmp.Or(in.on.Arch, in.interpreter(), on.Arch)
	on.Python = cmp.Or(in.on.Python, on.Python)
	in.conda = in.folder("conda-meta")
	in.Wheels.Complete = !in.conda && !in.alsoSystem() // conda's may have other names
	in.Wheels.left = &atomic.Int64{}
	in.Wheels.left.Store(DefaultBudget)
	seen := map[string]bool{}
	for _, site := range in.Sites {
		names, err := in.list(site)
		if err != nil {
			return errors.Join(err, in.Close())
		}
		var infos []string
		for _, name := range names {
			// pip renames what it removes to begin with "~", and ignores it if that was interrupted
			if ext := path.Ext(name); (ext == ".dist-info" || ext == ".egg-info") &&
				!strings.HasPrefix(name, "~") {
				infos = append(infos, name)
			}
		}
		infos, old := in.current(site, infos)
		for _, name := range infos {
			in.add(site, name, old[name], seen)
		}
	}
	if err := in.condaPackages(); err != nil {
		return errors.Join(err, in.Close())
	}
	if !in.conda { // conda changes the files that it installs, and splits packages
		in.Wheels.Lost = func(file string) string { return in.lost[file] }
		in.Wheels.Changed = func(wheel, object string) bool {
			r, ok := in.recorded[[2]string{wheel, object}]
			return ok && r.changed()
		}
	}
	return nil
}

// alsoSystem reports whether the interpreter of a virtual environment also finds the packages of
// the system.
func (in *Installed) alsoSystem() bool {
	settings, err := in.text("pyvenv.cfg")
	return err == nil && systemPackages.Match(settings)
}

var systemPackages = lazyregexp.New(`(?im)^\s*include-system-site-packages\s*=\s*true\s*$`)

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
// of the sites that were read before, which are imported instead. old are the folders of other
// versions in the same site.
func (in *Installed) add(site, info string, old []string, seen map[string]bool) {
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
	tags, noTags := in.text(path.Join(site, info, "WHEEL"))
	wheel := folder + "-" + compressed(tags) + ".whl"
	in.leftOver(site, old, meta, wheel)
	members, u := in.objects(site, folder, files)
	broken := in.unusable(u, meta, wheel, tags)
	gone := in.record(site, info, wheel, id)
	if broken == nil && !in.conda { // conda splits packages
		broken = in.removed(gone, files, u, meta, wheel)
	}
	if len(members) == 0 {
		x := listed(folder+"-py3-none-any.whl", "")
		if len(u.foreign) > 0 || broken != nil {
			x = listed(wheel, "")
		}
		for _, q := range meta.Requires {
			x.Wheel.Requires = append(x.Wheel.Requires, q.Raw)
		}
		in.Wheels.Listed = append(in.Wheels.Listed, x)
	}
	if broken == nil && len(u.foreign) > 0 {
		in.Wheels.Skipped = append(in.Wheels.Skipped, analyzer.Unread{
			Path: wheel, Reason: "its files for " + strings.Join(u.foreign, " and ") +
				" are not checked: the Python of the environment is for Linux on " + u.arch,
		})
	}
	if len(members) == 0 {
		return
	}
	members = append(members, in.sources(site, folder, files)...)
	if noTags == nil { // else it was not installed from a wheel
		members = append(members, member{name: folder + ".dist-info/WHEEL", text: tags})
	}
	members = append(members, member{name: folder + ".dist-info/METADATA", text: data})
	in.open(wheel, "", members, unread)
}

// objects returns the shared objects of a distribution that the interpreter can load, and what is
// known of all of them. If its architecture is not known, all are returned.
func (in *Installed) objects(site, folder string, files []string) ([]member, *usable) {
	u := &usable{
		python: in.Wheels.On.Python, arch: in.Wheels.On.Arch, copies: map[string][]copyOf{},
	}
	if path.Base(path.Dir(site)) == "python3" {
		u.python = "" // Debian's folder has modules for every Python of the system
	}
	var members []member
	for _, file := range files {
		m, ok := in.object(site, folder, file)
		if !ok {
			continue
		}
		if u.arch != "" {
			format := formatOf(m.file)
			if format != "" {
				u.add(file, format)
			}
			if format != "" && format != u.arch {
				continue
			}
		}
		members = append(members, m)
	}
	return members, u
}

// sources returns the Python sources of a distribution, and its compiled code without a source.
// They may load libraries before the modules that need these are imported. A file that cannot be
// opened is left out, because the interpreter does not run it either.
func (in *Installed) sources(site, folder string, files []string) (members []member) {
	if in.noWheels {
		return nil
	}
	for _, file := range files {
		at := path.Join(site, file)
		if !source(file) || !filepath.IsLocal(filepath.FromSlash(at)) {
			continue
		}
		real, err := in.place(path.Join(in.Prefix, at))
		if err != nil {
			continue
		}
		f, err := regular(real)
		if err != nil {
			continue
		}
		f.Close()
		m := member{name: file, file: real}
		if strings.HasPrefix(file, "../") {
			m.name = folder + ".data/data/" + at
		}
		members = append(members, m)
	}
	return members
}

// source reports whether the interpreter may run a file of a distribution: a source, or compiled
// code that is not the cached one of a source.
func source(file string) bool {
	switch path.Ext(file) {
	case ".py", ".pth":
		return true
	case ".pyc":
		return path.Base(path.Dir(file)) != "__pycache__"
	}
	return false
}

// unusable adds the problem of a distribution whose modules the interpreter does not import.
func (in *Installed) unusable(
	u *usable,
	meta *pkgmeta.Metadata,
	file string,
	wheel []byte,
) *analyzer.Broken {
	if u.arch == "" {
		return nil
	}
	tags, _ := pkgmeta.ParseTags(compressed(wheel)) // one that cannot be parsed says nothing
	b := u.unusable(meta.Name, meta.Version, tags)
	if b != nil {
		b.File = file
		b.At = in.Wheels.Origins[meta.Name+"=="+meta.Version]
		b.Conda = in.conda
		in.Wheels.Broken = append(in.Wheels.Broken, *b)
	}
	return b
}

// compiled reports whether a package has a compiled __init__ in place of its source.
func (in *Installed) compiled(site, folder string) bool {
	names, err := in.list(path.Join(site, folder))
	return err != nil || slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, "__init__.")
	})
}

// removed adds the problem of a distribution of which modules are gone, of those that its files
// list, or the __init__.py of the packages that contain them.
func (in *Installed) removed(
	gone, files []string,
	u *usable,
	meta *pkgmeta.Metadata,
	file string,
) *analyzer.Broken {
	if len(gone) == 0 {
		return nil
	}
	modules := map[string]bool{}  // that the interpreter imports, without those that are gone
	compiled := map[string]bool{} // top-level folders with modules
	for _, f := range files {
		if u.module(f) {
			modules[f] = true
		}
		if top, _, ok := strings.Cut(f, "/"); ok && moduleSuffix.MatchString(path.Base(f)) {
			compiled[top] = true
		}
	}
	b := analyzer.Broken{
		Package: meta.Name, Version: meta.Version, File: file, Conda: in.conda, Optional: true,
		At: in.Wheels.Origins[meta.Name+"=="+meta.Version],
	}
	var lost []string
	for _, f := range gone {
		switch {
		case modules[f]:
			delete(modules, f)
			if strings.Contains(strings.ToLower(f), "test") { // often removed to save space
				continue
			}
		case path.Base(f) == "__init__.py" && compiled[path.Dir(f)]:
			b.Optional = false
		default:
			continue
		}
		lost = append(lost, f)
	}
	if len(lost) == 0 {
		return nil
	}
	b.Optional = b.Optional && len(modules) > 0
	b.Object = lost[0]
	b.Reason = fmt.Sprintf("%s %s lacks %s that its RECORD lists", meta.Name, meta.Version,
		analyzer.List(lost, 1, len(lost), "file"))
	in.Wheels.Broken = append(in.Wheels.Broken, b)
	return &b
}

// leftOver adds the problem of a distribution that has the folders of other versions.
func (in *Installed) leftOver(site string, old []string, meta *pkgmeta.Metadata, file string) {
	for _, x := range old {
		data, err := in.text(in.metadata(path.Join(site, x)))
		if err != nil {
			continue
		}
		was, err := pkgmeta.ParseMetadata(data)
		if err != nil || was.Version == meta.Version {
			continue
		}
		in.Wheels.Broken = append(in.Wheels.Broken, analyzer.Broken{
			Package: meta.Name, Version: meta.Version, File: file, Object: x, Optional: true,
			Reason: fmt.Sprintf("%s is installed twice, as %s and %s; the files are those of %s",
				meta.Name, meta.Version, was.Version, meta.Version),
			Remove: strings.TrimPrefix(path.Join(in.Prefix, site, x), "/"),
			At:     in.Wheels.Origins[meta.Name+"=="+meta.Version],
		})
	}
}

// record stores what the RECORD of a distribution lists of shared objects. It returns the modules
// and the __init__.py of top-level packages that it lists and that are missing.
func (in *Installed) record(site, info, wheel, id string) (gone []string) {
	record, err := in.text(path.Join(site, info, "RECORD"))
	if err != nil {
		return
	}
	_ = pkgmeta.ParseRecord(record, func(row pkgmeta.RecordRow) bool {
		base := path.Base(row.Path)
		// Without an empty __init__.py the folder is a namespace package.
		source := base == "__init__.py" && strings.Count(row.Path, "/") == 1 && row.Size != 0
		if !source && !strings.Contains(base, ".so") {
			return true
		}
		if _, exists := in.exists(site, row); !exists {
			if source && in.compiled(site, path.Dir(row.Path)) {
				return true
			}
			gone = append(gone, path.Clean(row.Path))
			if !source {
				in.lost[base] = id
			}
			return true
		}
		if source {
			return true
		}
		at := path.Join(in.Prefix, site, path.Clean(row.Path))
		if real, err := in.place(at); err == nil {
			in.recorded[[2]string{wheel, path.Clean(row.Path)}] = recorded{real, row}
		}
		return true
	}) // the rows before an error count
	return gone
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

// topLevel returns the shared objects and sources in the top-level modules of a distribution: those
// that top_level.txt names, else the one with its name. Packages of RPM distributions have no
// RECORD. The result is nil if there is no such module.
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
			case err == nil && inside && (strings.Contains(d.Name(), ".so") || source(rel)):
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
	module := strings.Contains(path.Base(file), ".so") || path.Ext(file) == ".pyd"
	if !module || !filepath.IsLocal(filepath.FromSlash(at)) {
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
		text, ok := strings.CutPrefix(lines.Text(), "Tag:")
		tag := pkgmeta.SplitTag(strings.TrimSpace(text))
		if !ok || tag.Platform == "" || strings.Contains(tag.Platform, "-") {
			continue
		}
		for i, f := range [...]string{tag.Python, tag.ABI, tag.Platform} {
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
