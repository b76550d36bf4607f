package debian

import (
	"slices"
	"strings"
	"testing"
)

// From the contents and dependencies of the packages (dpkg -L, apt-cache depends).
func TestProvides(t *testing.T) {
	for _, c := range []struct {
		depends, soname string
		want            Answer
	}{
		{"libldap2 libc6", "liblber.so.2", Yes},
		{"libext2fs2t64", "libe2p.so.2", Yes},
		{"libext2fs2t64", "libcom_err.so.2", Yes}, // of a package that it depends on
		{"libjxl0.7", "libjxl_threads.so.0.7", Yes},
		{"libssl3", "libcrypto.so.3", Yes},
		{"libgomp1", "libgomp.so.1.0.0", Yes},
		{"zlib1g libc6", "libbz2.so.1.0", No},
		{"libc6", "libcurl.so.4", No},
		{"", "libz.so.1", No},
		{"libc6 a-package-of-nobody", "libcurl.so.4", Unknown},
		{"libicu76", "libicuuc.so.76", Yes}, // like libicu72
		{"libicu76", "libicuuc.so.72", No},
		{"libssl3t64", "libssl.so.1.1", No},
		// only in trixie
		{"libmircommon11", "libmircommon.so.11", Yes},
		{"libmircommon11", "libmircommon.so.9", No},
		{"libmircommon11", "libboost_filesystem.so.1.83.0", Yes},
		{"libmircommon11", "libboost_filesystem.so.1.74.0", No},
		{"libboost-chrono1.83.0t64", "libboost_chrono.so.1.83.0", Yes},
		{"libdb5.3", "libdb-5.3.so", Yes},
		{"libc6 media-types", "libz.so.1", No},
		// through libgtk-3-common, which has no library
		{"libgtk-3-0", "libdconf.so.1", Yes},
		{"libblas.so.3", "libblas.so.3", Yes},                             // a virtual package
		{"libopenblas0-pthread", "liblapack.so.3", Yes},                   // by update-alternatives
		{"pulseaudio-utils libpulse0", "libpulsecommon-16.1.so", Unknown}, // in a private folder
	} {
		if got := ClosureOf(strings.Fields(c.depends)).Provides(c.soname); got != c.want {
			t.Errorf("%s provide %s: %v, want %v", c.depends, c.soname, got, c.want)
		}
	}
	for name, want := range map[string]string{
		"liblber.so.2": "libldap2", "libbz2.so.1.0": "libbz2-1.0", "libgomp.so.1.0.0": "libgomp1",
	} {
		if got := Holders(name, ""); !slices.Contains(got, want) {
			t.Errorf("%s is in %q, want %s", name, got, want)
		}
	}
	for _, c := range []struct{ name, on, want string }{
		{"libicuuc.so.72", "debian12", "libicu72"},
		{"libicuuc.so.72", "debian11", ""},
		{"libicuuc.so.76", "debian13", "libicu76"},
		{"libxml2.so.16", "debian13", ""},
		{"libxml2.so.2", "debian13", "libxml2"},
		{"libavahi-client.so.3.2.9", "debian11", "libavahi-client3"},
		{"libicuuc.so.72", "ubuntu22.04", "libicu72"}, // not known
	} {
		if got := strings.Join(Holders(c.name, c.on), " "); got != c.want {
			t.Errorf("%s on %s is in %q, want %q", c.name, c.on, got, c.want)
		}
	}
	if got := Holders("libpulsecommon-16.1.so", ""); got != nil {
		t.Errorf("a private library is in %q", got)
	}
	if got := Holders("libnone.so.1", ""); got != nil {
		t.Errorf("libnone.so.1 is in %q", got)
	}
}
