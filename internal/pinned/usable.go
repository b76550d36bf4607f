package pinned

import (
	"crypto/sha256"
	"encoding/base64"
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
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Formats of binaries for systems other than Linux, as formatOf returns them.
const (
	forMacOS   = "macOS"
	forWindows = "Windows"
)

// formatOf returns the architecture of an ELF file, forMacOS or forWindows; "" for other files and
// those that cannot be read.
func formatOf(file string) string {
	f, err := regular(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	if h, err := elfobj.ReadHead(f, info.Size(), nil); err == nil {
		o := elfobj.Object{Machine: h.Machine, Class: h.Class, ByteOrder: "little"}
		if h.Big {
			o.ByteOrder = "big"
		}
		return o.Arch()
	}
	head := make([]byte, 8)
	if _, err := f.ReadAt(head, 0); err != nil {
		return ""
	}
	switch {
	case machoobj.Is(head):
		return forMacOS
	case strings.HasPrefix(string(head), "MZ"):
		return forWindows
	}
	return ""
}

// interpreter returns the architecture of the Python in a prefix; "" if it is not known.
func (in *Installed) interpreter() string {
	for _, name := range []string{"python" + in.Wheels.On.Python, "python3", "python"} {
		real, err := in.place(path.Join(in.Prefix, "bin", name))
		if err != nil {
			continue
		}
		if arch := formatOf(real); len(platform.All(arch)) > 0 {
			return arch
		}
	}
	return ""
}

// moduleSuffix matches the file name of a module that not every Python imports: with its name, the
// version and flags ("312", "t"), and "abi3".
var moduleSuffix = lazyregexp.New(`^([^.]+)\.(?:(?:cpython-|cp)([0-9]+)([a-z]*)|(abi3)|` +
	`pypy[0-9]+-pp[0-9]+)(?:-[A-Za-z0-9_-]+)?\.(?:so|pyd)$`)

// usable are the binaries of a distribution by the question whether the interpreter loads them.
type usable struct {
	python, arch string // of the interpreter
	modules      []string
	copies       map[string][]copyOf // by name of the module
	own          int                 // files for its architecture
	foreign      []string            // formats of the others
}

// copyOf is a file of a module.
type copyOf struct {
	file   string
	format string
	python string // that imports it, as "3.12"; "" = every one
}

// add adds a file in a format.
func (u *usable) add(file, format string) {
	switch {
	case format == u.arch:
		u.own++
	case !slices.Contains(u.foreign, format):
		u.foreign = append(u.foreign, format)
	}
	m := moduleSuffix.FindStringSubmatch(path.Base(file))
	if m == nil {
		m = []string{"", strings.TrimSuffix(path.Base(file), ".so"), "", "", "abi3"}
		if u.copies[m[1]] == nil {
			return // probably a library
		}
	}
	c := copyOf{file: file, format: format, python: importer(m)}
	if u.copies[m[1]] == nil {
		u.modules = append(u.modules, m[1])
	}
	u.copies[m[1]] = append(u.copies[m[1]], c)
}

// importer returns the Python that imports a module, as "3.12" or "PyPy", from the parts of its
// name that moduleSuffix matches; "" if every one does.
func importer(m []string) string {
	switch {
	case m[2] != "" && strings.Contains(m[3], "t"):
		return m[2][:1] + "." + m[2][1:] + "t"
	case m[2] != "":
		return m[2][:1] + "." + m[2][1:]
	case m[4] == "":
		return "PyPy"
	}
	return ""
}

// module reports whether a file has the name of a module that the interpreter imports.
func (u *usable) module(file string) bool {
	m := moduleSuffix.FindStringSubmatch(path.Base(file))
	if m == nil {
		return false
	}
	p := importer(m)
	return p == "" || p == u.python || u.python == "" && p != "PyPy"
}

// imports reports whether the interpreter imports a file.
func (u *usable) imports(c copyOf) bool {
	return c.format == u.arch && (c.python == "" || u.python == "" || c.python == u.python)
}

// unusable returns the problem of a distribution whose modules the interpreter does not import, or
// nil. tags are those in WHEEL.
func (u *usable) unusable(name, version string, tags []pkgmeta.Tag) *analyzer.Broken {
	var failing []copyOf
	for _, m := range u.modules {
		if !slices.ContainsFunc(u.copies[m], u.imports) {
			failing = append(failing, u.copies[m][0])
		}
	}
	b := &analyzer.Broken{Package: name, Version: version}
	this := "this Python is "
	switch {
	case len(failing) > 0:
		c := failing[0]
		b.Object, b.For = c.file, "Python "+c.python
		this += u.python
		if c.python == "PyPy" {
			b.For, this = c.python, this+" of CPython"
		}
		if c.format != u.arch {
			b.For, this = c.format, "this Python is for Linux on "+u.arch
		}
	case u.own == 0 && len(u.copies) == 0 && elsewhere(tags, u.arch) != "":
		b.For, this = elsewhere(tags, u.arch), this+"for Linux on "+u.arch
		b.Object = name
	default:
		return nil
	}
	if len(failing) < len(u.modules) {
		b.Reason = fmt.Sprintf("%s is for %s, but %s", b.Object, b.For, this)
		b.For = "" // the other modules show that it was installed for this Python
		// A module of another build may be left over, one with the right name is not.
		c := failing[0]
		b.Optional = c.format == u.arch || !strings.Contains(path.Base(c.file), u.arch)
		return b
	}
	b.But = this
	b.Reason = fmt.Sprintf("%s %s is installed for %s, but %s", name, version, b.For, this)
	return b
}

// elsewhere returns the system that all tags of a published wheel are for, if no tag is for Linux
// on an architecture; "" otherwise.
func elsewhere(tags []pkgmeta.Tag, arch string) string {
	system := ""
	for _, t := range tags {
		switch tag := platform.ParseTag(t.Platform); {
		case tag.System == platform.TagMacOS, tag.System == platform.TagWindows:
			system = tag.System.Name()
		case tag.Libc != "":
			if system = tag.Arch; system == arch {
				return ""
			}
		default: // "any", or a build of this system
			return ""
		}
	}
	return system
}

// recorded is a file that RECORD describes.
type recorded struct {
	file string // on this machine
	row  pkgmeta.RecordRow
}

// changed reports whether a file has another size or digest than RECORD lists.
func (r recorded) changed() bool {
	f, err := regular(r.file)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false
	}
	if r.row.Size >= 0 && info.Size() != r.row.Size {
		return true
	}
	want, ok := strings.CutPrefix(r.row.Hash, "sha256=")
	if !ok {
		return false
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return false
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)) != strings.TrimRight(want, "=")
}

// exists reports whether a file of a site exists. Only its size is compared with RECORD.
func (in *Installed) exists(site string, row pkgmeta.RecordRow) (same, exists bool) {
	at := path.Join(site, path.Clean(row.Path))
	if !filepath.IsLocal(filepath.FromSlash(at)) {
		return false, true
	}
	real, err := in.place(path.Join(in.Prefix, at))
	if err != nil {
		return false, !errors.Is(err, fs.ErrNotExist)
	}
	info, err := os.Stat(real)
	if err != nil {
		return false, !errors.Is(err, fs.ErrNotExist)
	}
	return row.Size < 0 || info.Size() == row.Size, true
}

// current returns the dist-info and egg-info folders of a site without those that an update of the
// same project left behind, and the folders that each replaces. Of several the one counts whose
// RECORD describes most of the files that are there.
func (in *Installed) current(site string, infos []string) (out []string, old map[string][]string) {
	old = map[string][]string{}
	first := map[string]string{} // by project
	for _, info := range infos {
		name, _, _ := strings.Cut(strings.TrimSuffix(info, path.Ext(info)), "-")
		if data, err := in.text(in.metadata(path.Join(site, info))); err == nil {
			if meta, err := pkgmeta.ParseMetadata(data); err == nil {
				name = meta.Name
			}
		}
		name = pkgmeta.Normalize(name)
		was, again := first[name]
		if !again {
			first[name], out = info, append(out, info)
			continue
		}
		current, other := was, info
		if in.described(site, info) > in.described(site, was) {
			current, other = info, was
			out[slices.Index(out, was)], first[name] = info, info
		}
		old[current] = append(append(old[current], old[other]...), other)
	}
	return out, old
}

// described returns the part of the files in the RECORD of a distribution that have the size in it;
// 0 without RECORD.
func (in *Installed) described(site, info string) float64 {
	record, err := in.text(path.Join(site, info, "RECORD"))
	if err != nil {
		return 0
	}
	all, same := 0, 0
	_ = pkgmeta.ParseRecord(record, func(row pkgmeta.RecordRow) bool {
		if row.Size < 0 || strings.HasPrefix(row.Path, info+"/") {
			return true
		}
		all++
		if ok, _ := in.exists(site, row); ok {
			same++
		}
		return true
	})
	if all == 0 {
		return 0
	}
	return float64(same) / float64(all)
}
