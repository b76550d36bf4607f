package unpack

import (
	"io"
	"strconv"
	"strings"
)

// A deb is an ar archive with three members: debian-binary, control.tar.* and data.tar.*
// (deb(5)). Only the part of ar that all its variants share is supported.
const (
	arMagic     = "!<arch>\n"
	arHeader    = 60
	debFirst    = "debian-binary"
	maxArMember = 64 // dpkg-deb writes three, signatures add some
)

// DebianControl is the path of a deb's control file in File.Path. Other files of control.tar
// are in the same folder.
const DebianControl = "DEBIAN/control"

// AlpineInfo is the path of the description of a package of Alpine Linux in File.Path.
const AlpineInfo = ".PKGINFO"

// deb walks data.tar, and control.tar with DEBIAN/ before its names.
func (w *walker) deb(pkg *Package, r io.ReaderAt, size int64, depth int) error {
	at, control, data := int64(len(arMagic)), false, false
	for n := 0; at < size; n++ {
		name, length, why := readArHeader(r, size, at)
		if why == "" && n == 0 && name != debFirst {
			why = "the file is not a Debian package: its first member is not " + debFirst
		}
		if why == "" && n >= maxArMember {
			why = "the file has more members than the limit of " + strconv.Itoa(maxArMember)
		}
		if why != "" {
			w.problem(pkg.Path, "%s", why)
			return nil
		}
		at += arHeader
		part := io.NewSectionReader(r, at, length)
		var err error
		switch {
		case name == debFirst:
			w.debVersion(pkg, part)
		case strings.HasPrefix(name, "control.tar") && !control:
			control = true
			err = w.tar(pkg, "DEBIAN/", part, length, depth)
		case strings.HasPrefix(name, "data.tar") && !data:
			data = true
			err = w.tar(pkg, "", part, length, depth)
		case strings.HasPrefix(name, "control.tar"), strings.HasPrefix(name, "data.tar"):
			w.problem(pkg.Path, "it has %s more than once, which different tools interpret differently",
				name)
		}
		if err != nil {
			return err
		}
		at += length + length%2
	}
	if !control {
		w.problem(pkg.Path, "the file is truncated or damaged: it has no control.tar")
	}
	if !data {
		w.problem(pkg.Path, "the file is truncated or damaged: it has no data.tar")
	}
	return nil
}

func (w *walker) debVersion(pkg *Package, part *io.SectionReader) {
	b := make([]byte, 8)
	n, _ := part.ReadAt(b, 0)
	if version := string(b[:n]); !strings.HasPrefix(version, "2.") {
		w.problem(pkg.Path, "its format is %q; compat reads 2.x", strings.TrimSpace(version))
	}
}

// readArHeader reads the header at an offset. why is the reason if it is invalid.
func readArHeader(r io.ReaderAt, size, at int64) (name string, length int64, why string) {
	b := make([]byte, arHeader)
	if n, _ := r.ReadAt(b, at); n < arHeader {
		return "", 0, "the file is truncated or damaged: it ends inside an ar header"
	}
	if string(b[58:]) != "`\n" {
		return "", 0, "the file is damaged: an ar header has a wrong end marker"
	}
	length, err := strconv.ParseInt(strings.TrimRight(string(b[48:58]), " "), 10, 64)
	if err != nil || length < 0 {
		return "", 0, "the file is damaged: an ar header has an invalid size"
	}
	name = strings.TrimSuffix(strings.TrimRight(string(b[:16]), " "), "/")
	if length > size-at-arHeader {
		return name, length, "the file is truncated or damaged: " + Safe(name) + " reaches beyond its end"
	}
	return name, length, ""
}
