package impact

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/unpack"
)

// Release is a version of the package whose dependents are judged.
type Release struct {
	Name    string // as its users write it
	Version string
	// Contents are its libraries. Those that were not read are Unread.
	Contents *packages.Release
	// ABI are its public libraries, with types if there is debug information; nil if the release was
	// not read from a file.
	ABI []*abi.Library
	// Indexed is set for a release of the source of the question, which has its Python sources. Those
	// of a file are not kept.
	Indexed bool
	// files are the libraries of a file that is no wheel, by file name and SONAME. The loader finds
	// them before others of these names. It is nil for a wheel, and for a release of an index.
	files map[string]*elfobj.Object
}

// Read reads a release from a file: a wheel, another package, or a library. It returns an error if
// the file cannot be read or contains no library.
func Read(ctx context.Context, in analyzer.Input, o analyzer.Options) (*Release, error) {
	set, err := facts.Read(ctx, []facts.Input{in}, facts.Options{
		Limits: o.Limits, Scratch: o.Scratch, Progress: o.Progress, ABI: true,
	}, elfobj.NewNames())
	switch {
	case err != nil:
		return nil, err
	case len(set.Unread) > 0:
		return nil, fmt.Errorf("%s: %s", set.Unread[0].Path, set.Unread[0].Reason)
	case len(set.Artifacts) != 1:
		return nil, fmt.Errorf("%s: give one package or library, not an archive of several", in.Name)
	}
	r := releaseOf(set.Artifacts[0])
	if len(r.Contents.Libraries) == 0 {
		return nil, fmt.Errorf("%s: it contains no library for Linux", in.Name)
	}
	return r, nil
}

// releaseOf returns what was read as a release, whose Contents may have no library.
func releaseOf(f *facts.Artifact) *Release {
	r := &Release{}
	c := &packages.Release{Known: true}
	if f.Kind == facts.KindWheel && f.Metadata != nil {
		r.Name, r.Version, c.Requires = f.Metadata.Name, f.Metadata.Version, f.Metadata.Requires
	} else {
		r.Name, r.Version = nameOf(f)
		r.files = map[string]*elfobj.Object{}
	}
	c.Name, c.Version = pkgmeta.Normalize(r.Name), r.Version
	for _, o := range f.Objects {
		c.Libraries = append(c.Libraries, packages.NewLibrary(facts.Installed(o.Path), o.Object,
			o.Types))
		if o.ABI != nil {
			r.ABI = append(r.ABI, o.ABI)
		}
		if r.files != nil {
			r.files[path.Base(o.Path)] = o.Object
			if o.SONAME != "" {
				r.files[o.SONAME] = o.Object
			}
		}
	}
	r.Contents = c
	return r
}

// nameOf returns the name and version of a file that is no wheel: those in the file name of a deb,
// and otherwise the SONAME of a library or the file name.
func nameOf(f *facts.Artifact) (name, version string) {
	base := path.Base(f.Path)
	parts := strings.Split(strings.TrimSuffix(base, path.Ext(base)), "_")
	switch {
	case f.Format == unpack.FormatDeb && len(parts) == 3: // NAME_VERSION_ARCHITECTURE
		return parts[0], parts[1]
	case f.Kind == facts.KindObject && len(f.Objects) == 1 && f.Objects[0].SONAME != "":
		return f.Objects[0].SONAME, ""
	}
	return base, ""
}

// libraryPath returns the folder with the libraries of a file that is no wheel; nil for others.
func (r *Release) libraryPath() []analyzer.Folder {
	if r.files == nil {
		return nil
	}
	return []analyzer.Folder{{
		Path: "/" + r.Name, Open: func(file string) *elfobj.Object { return r.files[file] },
	}}
}

// String returns NAME VERSION.
func (r *Release) String() string { return strings.TrimSpace(r.Name + " " + r.Version) }

// named reports whether the release has a library of a SONAME or file name.
func (r *Release) named(library string) bool {
	return library != "" && slices.ContainsFunc(r.Contents.Libraries, func(l packages.Library) bool {
		return l.SONAME == library || path.Base(l.Path) == library
	})
}

// similar reports whether the release has a library with a name that differs in the version only.
func (r *Release) similar(library string) bool {
	stem := platform.Stem(library)
	return library != "" && slices.ContainsFunc(r.Contents.Libraries, func(l packages.Library) bool {
		return platform.Stem(l.SONAME) == stem || platform.Stem(path.Base(l.Path)) == stem
	})
}

// exported returns the exports of a name in all libraries.
func (r *Release) exported(name string) (out []elfobj.Export) {
	for i := range r.Contents.Libraries {
		e := r.Contents.Libraries[i].Exports
		for _, n := range e.Named(name) {
			out = append(out, e.At(int(n)))
		}
	}
	return out
}

// Removed is what a release no longer has.
type Removed struct {
	// Symbols is the number of pairs of a name and a version that a library of the old release
	// exports, and none of the new one. The symbols that stand for versions are not counted.
	Symbols int `json:"symbols"`
	// Libraries are SONAMEs, or file names of libraries without one, that no library of the new
	// release has as either. It is not nil.
	Libraries []string `json:"libraries"`
}

// Compare returns what new no longer has. Old may be nil: then that is nothing. unread are the
// libraries of both that were not read, of which nothing is known.
func Compare(old, new *Release) (_ Removed, unread []string) {
	out := Removed{Libraries: []string{}}
	for _, r := range []*Release{old, new} {
		if r == nil {
			continue
		}
		for _, l := range r.Contents.Libraries {
			if !l.Known {
				unread = append(unread, r.String()+": "+l.Path)
			}
		}
	}
	if old == nil {
		return out, unread
	}
	has := map[[2]string]bool{}
	for _, l := range new.Contents.Libraries {
		for _, e := range l.Exports.All() {
			has[[2]string{e.Name, e.Version}] = true
		}
	}
	counted := map[[2]string]bool{}
	for _, l := range old.Contents.Libraries {
		for _, e := range l.Exports.All() {
			key := [2]string{e.Name, e.Version}
			if !has[key] && !counted[key] && !slices.Contains(l.Versions, e.Name) {
				counted[key] = true
				out.Symbols++
			}
		}
		name := l.SONAME
		if name == "" {
			name = path.Base(l.Path)
		}
		if !new.named(name) && !slices.Contains(out.Libraries, name) {
			out.Libraries = append(out.Libraries, name)
		}
	}
	slices.Sort(out.Libraries)
	return out, unread
}

// overlay is a source in which a package has one release only.
type overlay struct {
	packages.Source
	release *packages.Release
	indexed bool // Source has it too
}

// Versions implements packages.Source.
func (b overlay) Versions(ctx context.Context, name string, on packages.Target) ([]string, error) {
	if name == b.release.Name {
		return []string{b.release.Version}, nil
	}
	return b.Source.Versions(ctx, name, on)
}

// Release implements packages.Source.
func (b overlay) Release(
	ctx context.Context, name, version string, on packages.Target,
) (*packages.Release, error) {
	if name == b.release.Name {
		return b.release, nil
	}
	return b.Source.Release(ctx, name, version, on)
}

// Texts implements packages.Texts.
func (b overlay) Texts(
	ctx context.Context, r *packages.Release, on packages.Target, top string, files []string,
) (packages.Sources, error) {
	source, ok := b.Source.(packages.Texts)
	if !ok || !b.indexed && r.Name == b.release.Name {
		return packages.Sources{}, fmt.Errorf("sources of %s: %w", r.ID(), packages.ErrUnavailable)
	}
	return source.Texts(ctx, r, on, top, files)
}

// readerOverlay is overlay for a source that reads libraries on request.
type readerOverlay struct {
	overlay
	reader packages.Reader
}

// Read implements packages.Reader.
func (b readerOverlay) Read(
	ctx context.Context, r *packages.Release, on packages.Target, worth func(path string) int64,
) (*packages.Release, error) {
	if r.Name == b.release.Name {
		return r, nil
	}
	return b.reader.Read(ctx, r, on, worth)
}

// source returns a source with the packages of another one, and of its own only the release.
func (r *Release) source(of packages.Source) packages.Source {
	b := overlay{of, r.Contents, r.Indexed}
	if reader, ok := of.(packages.Reader); ok {
		return readerOverlay{b, reader}
	}
	return b
}
