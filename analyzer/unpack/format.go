package unpack

import (
	"bytes"
	"errors"
	"io"
	"path"
	"strings"
)

// format is how an archive's bytes are laid out.
type format int

const (
	formatNone     format = iota // no archive
	formatZip                    // with anything before it: wheels, jars, PEX and shiv files
	formatTar                    // as it is
	formatPacked                 // a tar under gzip, bzip2, xz or zstd
	formatDeb                    // ar, with control.tar and data.tar
	formatRPM                    // lead, two headers and a cpio
	formatSevenZip               // recognised, not read
	formatSquashFS               // recognised, not read: AppImage, snap
)

// sniff tells the format by content; only for a zip, which may begin with anything, does the name
// count too. head should hold 512 bytes of a plain tar; fewer are enough for the others.
func sniff(name string, head []byte) format {
	starts := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	switch {
	case len(head) > 10 && starts("\x7fELF") && string(head[8:10]) == "AI":
		// AppImage specification, "Type 2": the image stands behind its runtime
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

// sniffed tells the format of a file from its name and its beginning, which it gives too: at most
// 512 bytes.
func sniffed(name string, r io.ReaderAt, size int64) (format, []byte, error) {
	head := make([]byte, min(size, 512))
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return formatNone, nil, err
	}
	head = head[:n]
	f := sniff(name, head)
	if f == formatNone && behind(r, size, head) {
		f = formatZip
	}
	return f, head, nil
}

// behind tells a zip that stands behind something else, by its end: a PEX begins with a line for
// the shell, a self-extractor with a program.
func behind(r io.ReaderAt, size int64, head []byte) bool {
	if !bytes.HasPrefix(head, []byte("#!")) {
		return false
	}
	_, err := readEnd(r, size)
	return err == nil
}

// unreadable says why an archive that is recognised is not read; "" when it is.
func (f format) unreadable() string {
	switch f {
	case formatSevenZip:
		return "a 7z archive, which compat does not read; give it as zip or tar"
	case formatSquashFS:
		return "a SquashFS image (AppImage, snap), which compat does not read; extract it " +
			"(--appimage-extract, unsquashfs) and give the folder"
	}
	return ""
}

func isWheel(name string) bool { return hasSuffix(name, ".whl") }

// layout is the Format of a package, by its bytes and, for a zip, its name.
func layout(f format, name string) string {
	switch {
	case f == formatDeb:
		return FormatDeb
	case f == formatRPM:
		return FormatRPM
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

// archiveName tells whether a member of an archive is one itself. By name only: a .npz or .docx is
// a zip as well and no place for a shared object. Formats that compat cannot read are in the list
// so that they are named as unread.
func archiveName(name string) bool {
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
		".7z",
		".conda",
		".deb",
		".rpm",
		".appimage",
		".pex",
		".pyz",
	)
}

// nested tells whether a member of a package is an archive to look into. What is installed from a
// wheel, a deb or another package is data to its installer, whatever it looks like; a jar brings
// other jars, and a plain archive may hold anything.
func (p *Package) nested(name string) bool {
	switch {
	case p.Kind == KindWheel:
		return false
	case p.Format == FormatZip, p.Format == FormatTar:
		return archiveName(name)
	case p.Format == FormatJar:
		return hasSuffix(name, ".jar", ".aar", ".war")
	}
	return false
}

// condaPart tells the two tars that a .conda file is made of.
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
