// Package unpack walks build artifacts (wheels, zip and tar archives, archives of wheels,
// single shared objects) and passes the wanted files to a callback one at a time. It opens no
// files: the caller provides an io.ReaderAt, and inflated content is stored in a Scratch of the
// caller or in memory.
//
//	options := unpack.Options{Want: want}
//	visit := func(f *unpack.File) error { return read(f.Package, f.Path, f.Content, f.Size) }
//	packages, problems, err := unpack.Walk(ctx, "dist.zip", r, size, options, visit)
//
// The content of an archive is untrusted. 8 MiB of deflate can contain 8 GiB of zeros, 42 kB of
// nested zips 4 PB, and a central directory of 64 MiB 1.4 million empty members. A member may
// be called "../../etc/passwd", two members may have the same name or share bytes, and every
// size may be wrong. Therefore declared sizes are not trusted, every loop is limited by one of
// Limits, names are only displayed (after Safe) and never used as a path, links are never
// followed, and everything that could not be read is reported as a Problem.
//
// Supported formats: zip (including wheels, jars, PEX and shiv files), tar, plain or compressed
// with gzip, bzip2, xz and zstd (including npm and conda packages), .conda, deb, rpm, and
// container images, whose layers are merged. 7z and SquashFS (AppImage, snap) are reported as
// not supported.
//
// Nested archives are walked if they are wheels, packages or archives in a plain zip or tar, or
// jars in jars. Archives that a wheel or another package installs are not walked: no loader
// reads them, and test data of that kind is often invalid on purpose.
package unpack

import (
	"context"
	"io"
)

// Values of Package.Kind.
const (
	KindWheel   = "wheel"   // a .whl: its files are installed
	KindArchive = "archive" // any other zip or tar
	KindObject  = "object"  // a single file that was passed to Walk; it has one File
)

// Values of Package.Format.
const (
	FormatZip   = "zip"
	FormatTar   = "tar" // with or without compression
	FormatJar   = "jar"
	FormatAPK   = "apk"   // a package of Alpine Linux; that of Android is FormatZip
	FormatConda = "conda" // a .conda file; the older .tar.bz2 is FormatTar
	FormatNPM   = "npm"   // a tar whose first file is in package/
	FormatDeb   = "deb"
	FormatRPM   = "rpm"
	FormatImage = "image" // a container image, as written by docker save or in the OCI layout
)

// Scratch stores the inflated bytes of one file. It is written from the start, then read, then
// closed; Close also frees it. With Options.Partial, more may be written after a read.
type Scratch interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// Locator finds something of which the offset in a file is known in a part of the file of which the
// offset is not: the part was inflated from a block of compressed data in the middle.
type Locator interface {
	Offset() int64
	// Find returns the offset in the file of a part of some bytes. It is false unless that is certain.
	// known reports whether bytes of the part are known; those that are not are zeros.
	Find(part io.ReaderAt, size int64, known func(from, to int64) bool) (offset int64, ok bool)
}

// Options specify which files to read and where to store them. The zero value visits every
// file, in memory, with the default limits.
type Options struct {
	Limits Limits

	// Scratch creates the storage for one inflated file. size is declared in the archive and may be
	// wrong; it is -1 if the archive has none. If nil, content is stored in memory. An error ends
	// the walk, because it is not due to the archive.
	Scratch func(size int64) (Scratch, error)

	// List is called for each member of a zip with a valid name, in the order of the directory and
	// before Want. The path of a folder ends in a slash. Links and members that cannot be read are
	// included. It may be nil.
	List func(p *Package, path string)

	// Link is called for each symbolic or hard link of a tar, in the order of the archive. target
	// is the path in the archive that it leads to; links that lead out of it are left out. It may
	// be nil.
	Link func(p *Package, path, target string)

	// Skip reports whether a file is ignored, by its path and declared size (-1 if unknown), before
	// anything of it is read. It is for content that is slow to read: Want requires a read for each
	// file. Nil ignores none.
	Skip func(path string, size int64) bool

	// NoDigest leaves the SHA256 of the file passed to Walk empty, so that the file need not be
	// read completely.
	NoDigest bool
	SHA256   string // of the file passed to Walk in hex, if the caller knows it

	// Want reports whether a file is inflated completely and visited. p is its package (for a
	// single file only with its path), path is File.Path, size is the declared size (-1 if
	// unknown), and head has up to 64 first bytes. head is nil if they cannot be read (encryption,
	// unknown compression, damage); if Want returns true, the reason becomes a Problem. Nil wants
	// all files. It is not called for archives that are walked. If Workers is set, it is called
	// concurrently.
	Want func(p *Package, path string, size int64, head []byte) bool

	// Digest reports whether to set File.SHA256 of a wanted file, by its package, declared size and
	// first bytes. Hashing while inflating avoids reading it again. Nil sets none.
	Digest func(p *Package, size int64, head []byte) bool

	// Known returns what Prepare returned for a member of a zip archive with this path, size and
	// checksum, which is not read again; nil = it is read. A nil function knows none.
	Known func(pkg *Package, path string, size int64, crc uint32) any
	// Skim returns the ranges of a wanted file that Prepare does not need, by its first bytes (up
	// to 20 KiB) and declared size. They are inflated and verified, but not stored. If Prepare
	// reads them nevertheless, the file is inflated again completely and Prepare is called again.
	// Ranges must be sorted and must not overlap. What is not stored is written to rest until it has
	// enough, unless it is nil. It is called only for members of a zip of at least SkipUnit bytes and
	// if Prepare is set. Nil stores everything.
	Skim func(head []byte, size int64) (ranges []Range, rest Sampler)

	// Partial reads of large deflated members of a zip only what Prepare reads, and what Skim samples.
	// It is for an io.ReaderAt that is slow, and whose content is known to be made by an archiver (see
	// inflate.Reader.End). Members that Digest selects are read completely, and those of which most is
	// needed. The checksum of the others is not compared.
	Partial bool

	// Locate returns what Prepare will read in the middle of a member that is read partially, by its
	// first bytes and size; nil = nothing is searched there.
	Locate func(head []byte, size int64) Locator

	// Prepare is called for each wanted file before it is visited, and sets File.Prepared. Content
	// is valid only during the call. The result must depend only on the file: if Workers is set, it
	// is called concurrently and in any order.
	Prepare func(f *File) any

	// Workers is how many files are inflated and prepared concurrently; the io.ReaderAt must allow
	// concurrent calls. The order of visits and problems does not depend on it. With 0 or 1, or
	// without Prepare, files are processed one after the other.
	Workers int
}

// Package is an archive or a single file.
type Package struct {
	Path    string   // "outer.zip/dist/x.whl"; safe to display, must not be opened
	Kind    string   // KindWheel, KindArchive or KindObject
	Format  string   // FormatZip …; "" for an object
	SHA256  string   // of the package's own bytes, in hex
	Size    int64    // of the package's own bytes
	Parent  *Package // nil for the file passed to Walk
	Entries int      // number of members, including folders and links; 0 for an object
	// Names that occur more than once, at most 100. In a zip the last one counts, as for
	// installers.
	Duplicates []string
	// For an rpm, the capabilities that it requires, such as "libz.so.1()(64bit)"; at most 20,000.
	Arch     string // that an rpm declares: "x86_64", "noarch"; "" for other formats
	Requires []string
	// LibraryPath are the folders of LD_LIBRARY_PATH that a container image sets, absolute.
	LibraryPath []string
}

// File is a wanted file. A single object is a File of its own Package.
type File struct {
	Package *Package
	// Path in the package: with slashes, cleaned, safe to display; must not be opened.
	Path    string
	Size    int64       // actual size in bytes
	Content io.ReaderAt // valid during visit only; nil there if Prepare is set
	Skimmed Sampler     // that of Options.Skim, for Prepare; nil if everything is stored
	// Sample writes to a Sampler, until it has enough, what the one of Options.Skim would have got of
	// a member that is read partially; for Prepare. It is nil if Skimmed would be.
	Sample func(to Sampler)

	// Partial is set for a member of which only what is read is inflated, see Options.Partial.
	Partial bool

	SHA256   string // in hex, if Digest returned true
	CRC32    uint32 // of a member of a zip archive; otherwise 0
	Prepared any    // the result of Prepare
}

// Problem is something that could not be read or is invalid. Path is safe to display.
type Problem struct {
	Path   string // path of the package, then "/" and the name of the member if it is about one
	Reason string // a sentence: "the file is truncated or damaged: …"
}

// Walk reads a file and calls visit for each wanted file, one at a time, in the order of the
// archive. name is shown in paths, and its suffix distinguishes a wheel from another zip. The
// result depends only on the bytes, the name and the options.
//
// Damage and exceeded limits are Problems: at most 200 of them, and a last one with the number
// of others. Other files of a damaged archive are still visited. err is set only if ctx ends,
// or visit or Scratch return an error; packages and problems then contain what was found
// before.
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
	w.line.drop()
	w.line.release()
	w.own.release()
	return w.packages, w.allProblems(), err
}
