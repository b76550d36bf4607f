package facts

import (
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/unpack"
)

// Files that name the system of a root (os-release(5)); the first is often a link to the second.
const (
	osRelease = "etc/os-release"
	osVendor  = "usr/lib/os-release"
)

// maxSystemFile limits the bytes of such a file that are read: ld.so.cache of a desktop system has
// 200 KB.
const maxSystemFile = 8 << 20

// isSystemFile reports whether a file names the system of a root, or where its loader searches.
func isSystemFile(pkg *unpack.Package, p string) bool {
	return (pkg.Format == unpack.FormatImage || pkg.Format == unpack.FormatTar) &&
		(p == osRelease || p == osVendor || p == dynlink.LoaderCache || dynlink.MuslPath(p))
}

// Root reports whether the artifact is a root file system: a container image, or a tar of a system.
// Its objects find the libraries that it has, and no others.
func (a *Artifact) Root() bool {
	switch a.Format {
	case unpack.FormatImage:
		return true
	case unpack.FormatTar:
		return a.system[osRelease] != nil || a.system[osVendor] != nil
	}
	return false
}

// RootPlatform returns a root as a platform, the same one for all calls with an architecture. It is
// nil if the artifact is no root, or has neither a loader for the architecture nor a program that
// needs one.
func (a *Artifact) RootPlatform(arch string) *platform.Platform {
	if !a.Root() {
		return nil
	}
	if p, ok := a.platforms[arch]; ok {
		return p
	}
	x := &dynlink.Archived{Name: path.Base(a.Path), Texts: a.system}
	for _, o := range a.Objects {
		x.Objects = append(x.Objects, dynlink.ArchivedObject{
			Path: o.Path, Links: o.Links, Object: o.Object,
		})
	}
	if a.platforms == nil {
		a.platforms = map[string]*platform.Platform{}
	}
	p := x.Platform(arch)
	if p == nil && slices.ContainsFunc(a.Objects, func(o *Object) bool {
		return o.Program() && o.Arch() == arch
	}) {
		p = platform.Unpacked(x.Name, arch, a.Libcs(arch)[0], "", &platform.Files{
			Find: func(string, string) (*elfobj.Object, string) { return nil, "" },
			Open: func(string) *elfobj.Object { return nil },
		})
	}
	if p != nil {
		p.LibraryPath = a.libraryPath
		own := a.system[osRelease]
		if own == nil {
			own = a.system[osVendor]
		}
		p.Like = platform.LikeOf(string(own))
	}
	a.platforms[arch] = p
	return p
}
