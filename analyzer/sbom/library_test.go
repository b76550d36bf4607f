package sbom_test

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/sbom"
)

func TestOriginal(t *testing.T) {
	for file, want := range map[string]string{
		"tool.libs/libz-eb09ad1d.so.1.2.11":              "libz.so.1.2.11",
		"libopenblas-r0-2ecf47d5.3.3.so":                 "libopenblas-r0.3.3.so",
		"libgfortran-040039e1-0352e75f.so.5.0.0":         "libgfortran-040039e1.so.5.0.0",
		"tool.libs/libz.so.1":                            "",
		"tool/_a.cpython-312-x86_64-linux-gnu.so":        "",
		"tool.libs/libz-EB09AD1D.so.1":                   "",
		"tool-0a1b2c3d.libs/libz.so.1":                   "",
		"tool.libs/libfoo-bar-12345678.cpython-312.so.1": "libfoo-bar.cpython-312.so.1",
	} {
		if got := sbom.Original(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

// The ref is that of auditwheel 6.7 in psycopg-binary 3.3.9, which was built on CentOS 7.
func TestFiles(t *testing.T) {
	paths := []string{
		"p.libs/libcom_err-2abe824b.so.2.1", "p.libs/libcom_err-55c5739a.so.3.0",
		"p.libs/libcrypto-3a0647ea.so.3", "p.libs/libssl-6a9b88ec.so.3",
	}
	files := sbom.NewFiles(paths)
	for _, c := range []struct {
		component sbom.Component
		want      []string
	}{
		{sbom.Component{Name: "libcom_err", Ref: "pkg:rpm/centos/libcom_err@1.42.9-19.el7" +
			"#acf5d4191003325e79febc61cc2cc17ecbb1c49f03b73edbc4677777f25b75ce"}, paths[:1]},
		// the digest of another path, whatever its name is
		{sbom.Component{Name: "openssl", Ref: "pkg:rpm/centos/openssl@1" +
			"#0cf5d4191003325e79febc61cc2cc17ecbb1c49f03b73edbc4677777f25b75ce"}, nil},
		{sbom.Component{Name: "OpenSSL", Ref: "pkg:generic/openssl@3.5.9"}, paths[2:]},
		{sbom.Component{Name: "libcom_err"}, nil},
	} {
		if got := files.Of(c.component); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.component, got, c.want)
		}
	}
}

func TestDiffers(t *testing.T) {
	const rpm, generic = "pkg:rpm/almalinux/x", "pkg:generic/x"
	for _, c := range []struct {
		purl, listed string
		shown        sbom.Shown
		want, where  string
	}{
		// as in real wheels
		{
			rpm, "1.1.1k-18.el8_6",
			sbom.Shown{File: "libcrypto-64b40125.so.1.1.1k", Text: "1.1.1k"}, "", "",
		},
		{rpm, "1.1.1k-18.el8_6", sbom.Shown{File: "libssl-7f59e8e2.so.1.1.1k"}, "", ""},
		{rpm, "1.0.6-28.el8_10", sbom.Shown{File: "libbz2-a1e77c99.so.1.0.6"}, "", ""},
		{"", "4.7.2", sbom.Shown{File: "libtiff-20b7e810.so.6.3.0", Text: "4.7.2"}, "", ""},
		{"", "2.5.4", sbom.Shown{File: "libopenjp2-e530e1bf.so.2.5.4"}, "", ""},
		{rpm, "8.32-17.el7", sbom.Shown{File: "libpcre-9513aab5.so.1.2.0"}, "", ""},
		// epochs and suffixes of distributions, missing parts
		{
			"pkg:deb/debian/zlib1g", "1:1.2.11.dfsg-2+deb11u2",
			sbom.Shown{File: "libz-eb09ad1d.so.1.2.11"}, "", "",
		},
		{"pkg:apk/alpine/xz", "5.6.0-r0", sbom.Shown{File: "liblzma-eb09ad1d.so.5.6.0"}, "", ""},
		{generic, "1.5", sbom.Shown{File: "libzstd-eb09ad1d.so.1.5.0"}, "", ""},
		{generic, "v1.5.7", sbom.Shown{File: "libzstd-eb09ad1d.so.1.5.7"}, "", ""},
		// zlib-ng has a version of its own
		{generic, "2.3.3", sbom.Shown{File: "libz-eb09ad1d.so.1.3.1.zlib-ng"}, "", ""},
		// nothing is known
		{generic, "", sbom.Shown{File: "libzstd-eb09ad1d.so.1.5.7"}, "", ""},
		{generic, "main", sbom.Shown{File: "libzstd-eb09ad1d.so.1.5.7"}, "", ""},
		{generic, "3.5.9", sbom.Shown{File: "libcrypto-3a0647ea.so.3"}, "", ""},
		{generic, "9.9", sbom.Shown{File: "libfoo-3a0647ea.so.1.2.3"}, "", ""},
		// others
		{rpm, "1.1.1g-15.el8", sbom.Shown{File: "libcrypto-64b40125.so.1.1.1k"}, "1.1.1k", sbom.ByName},
		{
			generic, "3.5.8",
			sbom.Shown{File: "libcrypto-3a0647ea.so.3", Text: "3.5.9"}, "3.5.9", sbom.ByText,
		},
		{generic, "1.5.6", sbom.Shown{File: "libzstd-eb09ad1d.so.1.5.7"}, "1.5.7", sbom.ByName},
		// versions of symbols only say that a library is not older, and distributions add later ones
		{
			generic, "3.0.7",
			sbom.Shown{
				File:  "libcrypto-3a0647ea.so.3",
				Nodes: []string{"OPENSSL_3.0.0", "OPENSSL_3.2.0", "OPENSSL_3.0.9"},
			},
			"3.2.0", sbom.BySymbols,
		},
		{
			rpm, "3.0.7",
			sbom.Shown{File: "libcrypto-3a0647ea.so.3", Nodes: []string{"OPENSSL_3.2.0"}}, "", "",
		},
		{
			generic, "3.5.1",
			sbom.Shown{File: "libcrypto-3a0647ea.so.3", Nodes: []string{"OPENSSL_3.2.0"}}, "", "",
		},
		{
			generic, "1.1.1",
			sbom.Shown{
				File: "libcrypto-3a0647ea.so.1.1", Nodes: []string{"OPENSSL_1_1_0", "OPENSSL_1_1_1"},
			}, "", "",
		},
	} {
		got, where := sbom.Differs(sbom.Component{Version: c.listed, PURL: c.purl}, c.shown)
		if got != c.want || where != c.where {
			t.Errorf("%s %s, %+v: %q by %q, want %q by %q",
				c.purl, c.listed, c.shown, got, where, c.want, c.where)
		}
	}
}

// The texts are those of real libraries.
func TestReadText(t *testing.T) {
	for _, c := range []struct{ file, constants, want string }{
		{"libcrypto-3a0647ea.so.3", "OpenSSL 3 provider\x00OpenSSL 3.5.9 9 Jun 2026\x00", "3.5.9"},
		{"libcrypto-64b40125.so.1.1.1k", "\x00OpenSSL 1.1.1k  FIPS 25 Mar 2021\x00", "1.1.1k"},
		{"libz-eb09ad1d.so.1", " deflate 1.2.11 Copyright 1995-2017 Jean-loup Gailly", "1.2.11"},
		{"libz-eb09ad1d.so.1", " deflate 1.3.1.zlib-ng Copyright 1995-2024", ""},
		{"libtiff-20b7e810.so.6.3.0", "LIBTIFF, Version 4.7.2\nCopyright (c) 1988", "4.7.2"},
		{"libjpeg-e87d2658.so.62.2.0", "libjpeg-turbo version 1.5.3 (build 20190521)", "1.5.3"},
		{"libpng16-8ebcc106.so.16.35.0", "libpng version 1.6.35 - July 15, 2018", "1.6.35"},
		{"libcurl-7f1692d5.so.4.8.0", "libcurl/\x00libcurl/8.14.1\x00", "8.14.1"},
		{"libssh2-470cf730.so.1.0.1", "SSH-2.0-libssh2_1.11.1\r\n", "1.11.1"},
		{"libfoo-470cf730.so.1", "OpenSSL 3.5.9 9 Jun 2026", ""},
	} {
		if got := sbom.ReadText(c.file, []byte(c.constants)); got != c.want {
			t.Errorf("%s: %q, want %q", c.file, got, c.want)
		}
	}
}
