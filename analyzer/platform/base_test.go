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

// Every library of the packages of a base image is found. The packages are those that the image
// lists. What they provide was read for el10 and for openSUSE's libncurses6 (RPROVIDES); for the
// other systems the libraries are those of the same packages. In RHEL 8's list are all packages of
// the image rockylinux 8 minimal, but for libpeas and gobject-introspection, which only microdnf
// needs.
func TestBaseImages(t *testing.T) {
	const (
		// ncurses-libs, krb5-libs
		everywhere = `libform.so.6 libformw.so.6 libmenu.so.6 libmenuw.so.6 libncurses.so.6
			libncursesw.so.6 libpanel.so.6 libpanelw.so.6 libtic.so.6 libtinfo.so.6 libgssapi_krb5.so.2
			libgssrpc.so.4 libk5crypto.so.3 libkrad.so.0 libkrb5.so.3 libkrb5support.so.0`
		rhel8 = `libaudit.so.1 libauparse.so.0 libbz2.so.1 libsasl2.so.3 libelf.so.1 libmagic.so.1
			libglib-2.0.so.0 libgio-2.0.so.0 libgobject-2.0.so.0 libgmodule-2.0.so.0 libgthread-2.0.so.0
			libgmp.so.10 libgnutls.so.30 libgpgme.so.11 libjson-c.so.4 libkeyutils.so.1 libacl.so.1
			libarchive.so.13 libassuan.so.0 libattr.so.1 libblkid.so.1 libcap.so.2 libcap-ng.so.0
			libcom_err.so.2 libcurl.so.4 libdb-5.3.so libdnf.so.2 libffi.so.6 libgcc_s.so.1
			libgcrypt.so.20 libgpg-error.so.0 libidn2.so.0 libksba.so.8 libmodulemd.so.2 libmount.so.1
			libnghttp2.so.14 librepo.so.0 libselinux.so.1 libsepol.so.1 libsigsegv.so.2 libsmartcols.so.1
			libsolv.so.1 libsolvext.so.1 libstdc++.so.6 libtasn1.so.6 libunistring.so.2 libusb-1.0.so.0
			libuuid.so.1 libverto.so.1 libcrypt.so.1 libxml2.so.2 libyaml-0.so.2 libzstd.so.1
			liblua-5.3.so liblz4.so.1 libmpfr.so.4 libnettle.so.6 libhogweed.so.4 libnpth.so.0
			libldap-2.4.so.2 libldap_r-2.4.so.2 liblber-2.4.so.2 libssl.so.1.1 libcrypto.so.1.1
			libp11-kit.so.0 libpcre.so.1 libpcreposix.so.0 libpcre2-8.so.0 libpcre2-posix.so.2
			libpopt.so.0 libreadline.so.7 libhistory.so.7 librpm.so.8 librpmio.so.8 libsqlite3.so.0
			libsystemd.so.0 libudev.so.1 liblzma.so.5 libz.so.1`
	)
	for name, more := range map[string]string{
		"amazonlinux2": "libpcreposix.so.0 libldap_r-2.4.so.2", "rhel8": rhel8,
		"rhel9":           "libpcre2-posix.so.3 libpcreposix.so.0",
		"amazonlinux2023": "libpcre2-posix.so.3", "rhel10": "libpcre2-8.so.0 libpcre2-posix.so.3",
		"sles15": "", "sles15.6": "",
	} {
		for _, arch := range []string{"x86_64", "aarch64"} {
			p := lookup(t, name, arch)
			for _, soname := range strings.Fields(everywhere + " " + more) {
				if l := p.Library(soname); l == nil || !l.Installed {
					t.Errorf("%s: %s is %+v, want it in every system", p, soname, l)
				}
			}
		}
	}
}
