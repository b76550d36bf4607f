package facts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// foreign maps the first bytes of binaries of other systems, and of attributes of files, to the
// reason why they are skipped.
var foreign = map[string]string{
	"\x00\x05\x16\x07": "attributes of a macOS file (AppleDouble), not checked", // ._NAME
	"\x00asm":          "WebAssembly, not checked",
	"\xbe\xba\xfe\xca": "Mach-O, not checked",
	"\x01\xf7\x00":     "XCOFF of AIX, not checked",
	"\x01\xdf\x00":     "XCOFF of AIX, not checked",
}

// foreignReason returns why a binary with the given first bytes is skipped, or "" for other files.
func foreignReason(head []byte) string {
	for magic, why := range foreign {
		if strings.HasPrefix(string(head), magic) {
			return why
		}
	}
	return ""
}

// skipReason returns why an ELF file is not for a loader of Linux or Android, or "" if it is.
func skipReason(o *elfobj.Object) string {
	switch {
	case o.OSABI != 0 && o.OSABI != 3:
		return fmt.Sprintf("ELF for another system (EI_OSABI %d), not checked", o.OSABI)
	case o.System != "":
		return "ELF for " + o.System + ", not checked"
	case o.Type == "ET_REL":
		return "object file (ET_REL), not checked"
	case o.Type == "ET_CORE":
		return "core file, not checked"
	case otherLibc(o) != "":
		return "ELF for another system (it needs " + otherLibc(o) + "), not checked"
	case !o.Dynamic && !o.Static:
		return "debug file, not checked"
	}
	return ""
}

// android reports whether a library is for Android's loader. Android's libc has its own
// versions, and unlike musl has libm, libdl and liblog as separate files without a version
// number.
func android(o *elfobj.Object) bool {
	for _, n := range o.VersionNeeds {
		if n.Library == "libc.so" &&
			slices.ContainsFunc(
				n.Versions,
				func(v elfobj.NeededVersion) bool {
					return v.Name == "LIBC" || strings.HasPrefix(v.Name, "LIBC_")
				},
			) {
			return true
		}
	}
	return slices.Contains(o.Needed, "libc.so") &&
		slices.ContainsFunc(o.Needed, func(n string) bool {
			return n == "libm.so" || n == "libdl.so" || n == "liblog.so" || n == "libandroid.so"
		})
}

// numberedLibc matches libc and libm with their numbers: 6 on Linux (6.1 on some machines), 1
// and 2 on Solaris, 7 and 5 on FreeBSD, two numbers on OpenBSD.
var numberedLibc = lazyregexp.New(`^lib[cm]\.so\.[0-9.]+$`)

// otherLibc returns the C library of another system that an object needs, or "". EI_OSABI alone
// is not reliable.
func otherLibc(o *elfobj.Object) string {
	for _, n := range o.Needed {
		if numberedLibc.MatchString(n) && !strings.HasSuffix(n, ".so.6") &&
			!strings.HasSuffix(n, ".so.6.1") {
			return n
		}
	}
	for _, n := range o.VersionNeeds {
		if slices.ContainsFunc(
			n.Versions,
			func(v elfobj.NeededVersion) bool { return strings.HasPrefix(v.Name, "SUNW_") },
		) {
			return n.Library
		}
	}
	return ""
}
