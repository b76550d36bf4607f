package platform

import (
	"strings"
	"testing"
)

// The libraries of the packages that Debian and Ubuntu install everywhere are found: those that are
// essential or required, and what they depend on. The names are those of Debian 12. The closures in
// the package lists of Debian 11 and 13 decide which of them these lack: libmd0 and libcap2 are not
// in Debian 11's, libgcrypt20 is not in Debian 13's. For Ubuntu what Debian 12 has and Ubuntu's
// generated table lacks is left out, so there this test only finds what gets lost.
func TestBaseSystems(t *testing.T) {
	const everywhere = `libBrokenLocale.so.1 libacl.so.1 libanl.so.1 libattr.so.1 libaudit.so.1
		libblkid.so.1 libbz2.so.1.0 libc.so.6 libcap-ng.so.0 libcrypt.so.1 libdebconfclient.so.0
		libdl.so.2 libgcc_s.so.1 libgmp.so.10 liblz4.so.1 liblzma.so.5 libm.so.6 libmount.so.1
		libmvec.so.1 libnsl.so.1 libnss_compat.so.2 libnss_dns.so.2 libnss_files.so.2
		libnss_hesiod.so.2 libpam.so.0 libpam_misc.so.0 libpamc.so.0 libpcre2-8.so.0 libpthread.so.0
		libresolv.so.2 librt.so.1 libselinux.so.1 libsmartcols.so.1 libsystemd.so.0
		libthread_db.so.1 libtic.so.6 libtinfo.so.6 libudev.so.1 libutil.so.1 libuuid.so.1 libz.so.1
		libzstd.so.1`
	for name, more := range map[string]string{
		"debian11":    "libgcrypt.so.20 libgpg-error.so.0",
		"ubuntu22.04": "libcap.so.2 libgcrypt.so.20 libgpg-error.so.0 libc_malloc_debug.so.0",
		"debian12": "libcap.so.2 libgcrypt.so.20 libgpg-error.so.0 libc_malloc_debug.so.0 " +
			"libmd.so.0 libpsx.so.2 libdrop_ambient.so.0",
		"ubuntu24.04": "libcap.so.2 libgcrypt.so.20 libgpg-error.so.0 libc_malloc_debug.so.0 " +
			"libmd.so.0 libpsx.so.2 libdrop_ambient.so.0",
		"debian13": "libcap.so.2 libc_malloc_debug.so.0 libmd.so.0 libpsx.so.2 libdrop_ambient.so.0",
	} {
		p := lookup(t, name, "x86_64")
		for _, soname := range strings.Fields(everywhere + " " + more) {
			if l := p.Library(soname); l == nil || !l.Installed {
				t.Errorf("%s: %s is %+v, want it in every system", name, soname, l)
			}
		}
	}
}
