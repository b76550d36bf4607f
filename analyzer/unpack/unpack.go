// Package unpack walks what a build produced (wheels, zip and tar archives, archives of wheels, a
// loose shared object) and hands the wanted files over one at a time. It opens no file of its own:
// the bytes come as an io.ReaderAt, and inflated content goes to a Scratch that the caller owns, or
// to memory.
//
//	packages, problems, err := unpack.Walk(ctx, "dist.zip", r, size, unpack.Options{Want: want}, func(f *unpack.File) error {
//		return read(f.Package, f.Path, f.Content, f.Size)
//	})
//
// Everything in an archive is attacker data. 8 MiB of deflate can hold 8 GiB of zeros, 42 kB of
// nested zips 4 PB, and a central directory of 64 MiB 1.4 million empty members; a member may be
// called "../../etc/passwd", two members may share a name or their bytes, and every size may lie.
// So: no declared size is believed, every loop is under one of Limits, names are only ever shown
// (made safe by Safe) and never used as a path, links are never followed, and what could not be
// read is a Problem, never silence.
//
// Read are zip (wheels, jars, PEX and shiv files too), tar plain or under gzip, bzip2, xz and zstd
// (npm and conda packages too), .conda, deb, rpm, and images of containers, whose layers count as
// one tree. Named as unread: 7z, and SquashFS (AppImage, snap).
//
// Descended into: wheels, packages and archives inside a plain zip or tar, and jars inside jars.
// Not descended into: an archive that a wheel or another package installs, which no loader looks
// into (and test data of that kind is often broken on purpose).
package unpack

import (
	"context"
	"io"
)

// Kinds of a Package.
const (
	KindWheel   = "wheel"   // a .whl: its files are what gets installed
	KindArchive = "archive" // any other zip or tar
	KindObject  = "object"  // a loose file given itself; it has one File
)

// Formats of a Package.
const (
	FormatZip   = "zip"
	FormatTar   = "tar" // under any compression
	FormatJar   = "jar"
	FormatConda = "conda" // a .conda file; the older .tar.bz2 is FormatTar
	FormatNPM   = "npm"   // a tar whose first file lies in package/
	FormatDeb   = "deb"
	FormatRPM   = "rpm"
	FormatImage = "image" // of a container, as docker save or the OCI layout have it
)

// Scratch holds the inflated bytes of one file. It is written once from the start, then read, then
// closed; Close also frees it.
type Scratch interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// Options say what to read and where to keep it. The zero value visits every file, in memory, under
// the default limits.
type Options struct {
	Limits Limits

	// Scratch makes room for one inflated file. size is what the archive declares, -1 where it does
	// not; it is a hint from outside and may be wrong either way. Nil keeps content in memory. An
	// error of it ends the walk: a full disk is no property of the archive.
	Scratch func(size int64) (Scratch, error)

	// List is told of each member of a zip that has a usable name, in the order of its directory
	// and before Want is asked; a directory's path ends in a slash. Links and members that can't be
	// read are told too. Nil tells nothing.
	List func(p *Package, path string)

	// Skip is asked before anything of a file is read, by its path and declared size (-1: unknown)
	// alone; a skipped file is not mentioned again. It is for content that is slow to reach: asking
	// Want costs a read for each file. Nil skips nothing.
	Skip func(path string, size int64) bool

	// NoDigest leaves SHA256 of the file given itself empty and does not read that file in whole,
	// for the same reason.
	NoDigest bool
	SHA256   string // of the file given itself, hex, where the caller knows it

	// Want tells which files are inflated in full and visited, by their package (of a loose file only
	// with its path), path is as in File.Path, size is the
	// declared size (-1: unknown), head holds up to 64 first bytes and is nil where they cannot be
	// read (encrypted, unknown compression, damage): wanted then means that the reason becomes a
	// Problem. Nil wants everything. Archives that are descended into are not asked for. With
	// Workers it is called concurrently.
	Want func(p *Package, path string, size int64, head []byte) bool

	// Digest asks for File.SHA256 of a wanted file, by its package, declared size and first bytes:
	// hashing while it is inflated saves a second look at all of it. Nil asks for none.
	Digest func(p *Package, size int64, head []byte) bool

	// Skim tells which bytes of a wanted file Prepare has no use for, by its first bytes (up to
	// 4096) and declared size: they are inflated and checked, and not kept. It is a guess: where
	// Prepare reads such bytes after all, the file is inflated again in whole and prepared anew.
	// The ranges are in order and don't overlap. It is asked for members of a zip only, and not
	// without Prepare. Nil keeps everything.
	Skim func(head []byte, size int64) []Range

	// Prepare, where set, is called with each wanted file before it is visited, and its result is
	// File.Prepared; Content is valid during Prepare only. It must depend on nothing but the file:
	// with Workers it is called concurrently, in any order.
	Prepare func(f *File) any

	// Workers is how many files are inflated and prepared at once; what is read must then allow for
	// concurrent ReadAt. The order of visits and problems is the same with any number. 0 and 1, and
	// no Prepare: one after the other.
	Workers int
}

// Package is something that is delivered as one file.
type Package struct {
	Path    string   // "outer.zip/dist/x.whl"; safe to show, never to be opened
	Kind    string   // KindWheel, KindArchive or KindObject
	Format  string   // of FormatZip and the others; "" for an object
	SHA256  string   // of the package's own bytes, hex
	Size    int64    // of the package's own bytes
	Parent  *Package // nil: given itself
	Entries int      // members that it lists, directories and links included; 0 for an object
	// names that occur more than once, at most 100; of a zip only the last counts, as installers
	// have it
	Duplicates []string
	// of an rpm: the capabilities that it requires, as "libz.so.1()(64bit)"; at most 20,000
	Requires []string
}

// File is one wanted file. A loose object given itself is a File of its own Package.
type File struct {
	Package *Package
	Path    string      // inside the package: slashes, cleaned, safe to show; never to be opened
	Size    int64       // true size in bytes
	Content io.ReaderAt // valid during visit only; nil there where Prepare is set

	SHA256   string // hex, where Digest asked for it
	Prepared any    // what Prepare found
}

// Problem is something that could not be read, or is not as an archive should be. Path is safe to
// show.
type Problem struct {
	Path   string // package path, then "/" and the member's name where it is about one
	Reason string // a sentence: "the file is truncated or damaged: …"
}

// Walk reads the file called name (as the user gave it; shown, and its ending tells a wheel from
// another zip) and calls visit for each wanted file, one at a time, in the order in which the
// archive lists them. The same bytes give the same calls.
//
// Damage and limits are Problems, at most 200 of them and a last one that counts the rest; the
// files beside a damaged one are still visited. err is set only when ctx ends, when visit fails or
// when Scratch fails; packages and problems then hold what was found so far.
func Walk(
	ctx context.Context,
	name string,
	r io.ReaderAt,
	size int64,
	o Options,
	visit func(*File) error,
) (packages []*Package, problems []Problem, err error) {
	w := newWalker(ctx, o, visit)
	err = w.file(name, r, size)
	return w.packages, w.allProblems(), err
}
