package unpack

import (
	"bytes"
	"errors"
	"io"
	"path"
	"strings"
)

// format is the format of an archive.
type format int

const (
	formatNone     format = iota // not an archive
	formatZip                    // possibly with data before it: wheels, jars, PEX and shiv files
	formatTar                    // not compressed
	formatPacked                 // a tar compressed with gzip, bzip2, xz or zstd
	formatDeb                    // ar, with control.tar and data.tar
	formatRPM                    // lead, two headers and a cpio
	formatSevenZip               // recognized, but not supported
	formatSquashFS               // recognized, but not supported: AppImage, snap
	formatRAR                    // recognized, but not supported
	formatOther                  // compressed with LZ4 or lzip: recognized, but not supported
)

// sniff returns the format of content. The name is considered only for a zip, which may start
// with any data. head should have 512 bytes to recognize a plain tar; fewer are enough for the
// other formats.
func sniff(name string, head []byte) format {
	starts := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	switch {
	case len(head) > 10 && starts("\x7fELF") && string(head[8:10]) == "AI":
		// AppImage specification, "Type 2": the image follows its runtime
		return formatSquashFS
	case starts("\x7fELF"):
		return formatNone
	case starts("PK\x03\x04"), starts("PK\x05\x06"):
		return formatZip
	case compressionOf(head) != plain:
		return formatPacked
	case starts(arMagic) && (len(head) < len(arMagic)+len(debFirst) || starts(arMagic+debFirst)):
		return formatDeb
	case starts(rpmMagic):
		return formatRPM
	case starts("7z\xbc\xaf\x27\x1c"):
		return formatSevenZip
	case starts("hsqs"):
		return formatSquashFS
	case starts("Rar!\x1a\x07"):
		return formatRAR
	case starts("\x04\x22\x4d\x18"), starts("LZIP"):
		return formatOther
	case len(head) > 262 && string(head[257:262]) == "ustar", hasSuffix(name, ".tar"):
		return formatTar
	case hasSuffix(name, ".whl", ".zip", ".conda", ".jar", ".aar", ".war", ".ear"):
		return formatZip
	case hasSuffix(name, ".deb"):
		return formatDeb
	case hasSuffix(name, ".rpm"):
		return formatRPM
	}
	return formatNone
}

// sniffed returns the format of a file, and its first bytes, at most 512.
func sniffed(name string, r io.ReaderAt, size int64) (format, []byte, error) {
	head := make([]byte, min(size, 512))
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return formatNone, nil, err
	}
	head = head[:n]
	f := sniff(name, head)
	if f == formatNone && zipAtEnd(r, size, head) {
		f = formatZip
	}
	return f, head, nil
}

// zipAtEnd reports whether a zip follows other data, by the end of the file: a PEX starts with a
// line for the shell, a self-extracting archive with a program.
func zipAtEnd(r io.ReaderAt, size int64, head []byte) bool {
	if !bytes.HasPrefix(head, []byte("#!")) {
		return false
	}
	_, err := readEnd(r, size)
	return err == nil
}

// unreadable returns why a recognized archive is not supported, or "".
func (f format) unreadable() string {
	switch f {
	case formatSevenZip:
		return "a 7z archive, which compat does not read; give it as zip or tar"
	case formatSquashFS:
		return "a SquashFS image (AppImage, snap), which compat does not read; extract it " +
			"(--appimage-extract, unsquashfs) and give the folder"
	case formatRAR:
		return "a RAR archive, which compat does not read; give it as zip or tar"
	case formatOther:
		return "compressed with LZ4 or lzip, which compat does not read; use gzip, xz or zstd"
	}
	return ""
}

func isWheel(name string) bool { return hasSuffix(name, ".whl") }

// layout returns the Format of a package from its content and, for a zip, its name.
func layout(f format, name string) string {
	switch {
	case f == formatDeb:
		return FormatDeb
	case f == formatRPM:
		return FormatRPM
	case f == formatPacked && hasSuffix(name, ".apk"):
		return FormatAPK
	case f == formatZip && hasSuffix(name, ".conda"):
		return FormatConda
	case f == formatZip && hasSuffix(name, ".jar", ".aar", ".war", ".ear"):
		return FormatJar
	case f == formatZip:
		return FormatZip
	case f == formatNone:
		return ""
	}
	return FormatTar
}

// ArchiveName reports whether a file is an archive or package, by its name only: a .npz or .docx is
// a zip as well, but contains no shared objects. Formats that are not supported are included, so
// that they are reported.
func ArchiveName(name string) bool {
	return hasSuffix(
		name,
		".whl",
		".zip",
		".jar",
		".aar",
		".war",
		".ear",
		".tar",
		".tgz",
		".tar.gz",
		".tbz",
		".tbz2",
		".tar.bz2",
		".tzst",
		".tar.zst",
		".txz",
		".tar.xz",
		".tlz",
		".tar.lzma",
		".tar.lz",
		".tar.lz4",
		".7z",
		".rar",
		".snap",
		".egg",
		".gem",
		".nupkg",
		".vsix",
		".apk",
		".conda",
		".deb",
		".rpm",
		".appimage",
		".pex",
		".pyz",
	)
}

// nested reports whether a member of a package is an archive to be walked. Files of a wheel, a
// deb or another package are not, because their installers do not extract them; a jar contains
// other jars, and a plain archive may contain anything.
func (p *Package) nested(name string) bool {
	switch {
	case p.Kind == KindWheel:
		return false
	case p.Format == FormatZip, p.Format == FormatTar:
		return ArchiveName(name)
	case p.Format == FormatJar:
		return hasSuffix(name, ".jar", ".aar", ".war")
	}
	return false
}

// condaPart reports whether a name is one of the two tars in a .conda file.
func condaPart(name string) bool {
	base := path.Base(name)
	return base == name && hasSuffix(name, ".tar.zst") &&
		(strings.HasPrefix(base, "pkg-") || strings.HasPrefix(base, "info-"))
}

func hasSuffix(name string, endings ...string) bool {
	name = strings.ToLower(name)
	for _, e := range endings {
		if strings.HasSuffix(name, e) {
			return true
		}
	}
	return false
}
