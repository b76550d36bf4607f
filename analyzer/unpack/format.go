package unpack

import (
	"bytes"
	"strings"
)

// format is how an archive's bytes are laid out.
type format int

const (
	formatNone format = iota // no archive
	formatZip
	formatTar
	formatTarGzip
	formatTarBzip2
	formatTarZstd
)

// sniff tells the format by content; only for a zip, which may begin with anything, does the name count too.
// head should hold 512 bytes of a plain tar; fewer are enough for the others.
func sniff(name string, head []byte) format {
	switch {
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return formatNone
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return formatZip
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return formatTarGzip
	case bytes.HasPrefix(head, []byte("BZh")) && hasSuffix(name, ".tar.bz2", ".tbz2", ".tbz"):
		return formatTarBzip2
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return formatTarZstd
	case len(head) > 262 && string(head[257:262]) == "ustar", hasSuffix(name, ".tar"):
		return formatTar
	case hasSuffix(name, ".whl", ".zip"):
		return formatZip
	}
	return formatNone
}

func isWheel(name string) bool { return hasSuffix(name, ".whl") }

// archiveName tells whether a member of an archive is one itself. By name only: a .npz or .docx is a zip as well and no place for
// a shared object. Formats that compat cannot read are in the list so that they are named
// as unread.
func archiveName(name string) bool {
	return hasSuffix(name, ".whl", ".zip", ".jar", ".tar", ".tgz", ".tar.gz", ".tbz", ".tbz2", ".tar.bz2", ".tzst", ".tar.zst",
		".txz", ".tar.xz", ".7z", ".conda", ".deb", ".rpm")
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
