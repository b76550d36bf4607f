package analyzer

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Host is the program that loads an object, and brings symbols that the object does not say where
// to find.
type Host string

const (
	HostNone    Host = ""        // the object stands for itself: a library that others link against, or a program
	HostPython  Host = "python"  // an extension module, or anything in a wheel
	HostNode    Host = "node"    // an addon of Node.js, which exports Node-API, libuv, V8 and OpenSSL
	HostJava    Host = "java"    // a library with native methods
	HostUnknown Host = "plug-in" // of a program that nothing names
)

// libraryFolder matches a library where the programs of a distribution look for one.
var libraryFolder = lazyregexp.New(
	`^(usr/(local/)?)?(lib|lib32|lib64|libx32)/([a-z0-9_]+-linux-(gnu|musl)[a-z0-9]*/)?[^/]+$`,
)

// hostOf guesses who loads an object, by its name and by what it exports for its host to find.
func hostOf(o *Object) Host {
	switch {
	case o.Interp != "" && o.SONAME == "":
		return HostNone
	case o.module:
		return HostPython
	case strings.HasSuffix(o.Path, ".node") || exports(o, "napi_register_module_v", "node_register_module_v"):
		return HostNode
	case exports(o, "JNI_OnLoad", "Java_"):
		return HostJava
	case o.SONAME == "" || o.inside || !sharedName.MatchString(o.Path):
		return HostUnknown
	}
	return HostNone
}

func exports(o *Object, prefixes ...string) bool {
	return o.Exports.Any(func(name string) bool {
		return slices.ContainsFunc(
			prefixes,
			func(p string) bool { return strings.HasPrefix(name, p) },
		)
	})
}

// loaded is what the process of a host has loaded on every build of it: these libraries' symbols
// resolve in an object that does not list them.
var loaded = map[Host][]string{
	HostPython: {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libutil.so.1"},
	HostNode: {
		"libc.so.6",
		"libm.so.6",
		"libdl.so.2",
		"libpthread.so.0",
		"libstdc++.so.6",
		"libgcc_s.so.1",
	}, // DT_NEEDED of node
	HostJava: {
		"libc.so.6",
		"libm.so.6",
		"libdl.so.2",
		"libpthread.so.0",
	}, // of libjvm.so, which java loads with RTLD_GLOBAL
	HostNone: {
		"libc.so.6",
	}, // of every dynamic program
}

// brings are the beginnings of the names that a host exports itself. Node.js exports libuv and
// OpenSSL on purpose (its doc/api/addons.md).
var brings = map[Host][]string{
	HostPython: {"Py", "_Py"},
	HostNode: {
		"napi_",
		"node_api_",
		"node_module_register",
		"uv_",
		"OPENSSL_",
		"CRYPTO_",
		"SSL_",
		"SSL",
		"TLS_",
		"EVP_",
		"ERR_",
		"BIO_",
		"BN_",
		"RSA_",
		"EC_",
		"ECDSA_",
		"ECDH_",
		"DH_",
		"DSA_",
		"X509",
		"PEM_",
		"ASN1_",
		"d2i_",
		"i2d_",
		"RAND_",
		"HMAC",
		"SHA1",
		"SHA2",
		"SHA3",
		"SHA5",
		"MD5",
		"AES_",
		"PKCS",
		"OBJ_",
		"ENGINE_",
		"CMAC_",
		"inflate",
		"deflate",
		"zlibVersion",
		"crc32",
		"adler32",
		"compressBound",
		"nghttp2_",
		"ares_",
	},
	HostJava: {"JVM_", "JNI_", "jio_", "JNU_", "jdk_"},
}

// Brings tells whether the host exports a symbol.
func (h Host) Brings(symbol string) bool {
	return slices.ContainsFunc(
		brings[h],
		func(p string) bool { return strings.HasPrefix(symbol, p) },
	)
}

// cpp matches the C++ API of V8 and Node.js, which changes with each NODE_MODULE_VERSION.
var cpp = lazyregexp.New(`^_Z(T[VIS])?NK?(2v8|4node|5cppgc)`)

// Changes tells whether a symbol is one that some releases of the host export and others don't.
func (h Host) Changes(symbol string) bool { return h == HostNode && cpp.MatchString(symbol) }

// android tells a library for Android's loader: its libc has versions of its own, and its libm,
// libdl and liblog stand apart without a number, which musl's don't.
func android(o *elfobj.Object) bool {
	for _, n := range o.VersionNeeds {
		if n.Library == "libc.so" &&
			slices.ContainsFunc(
				n.Versions,
				func(v elfobj.NeededVersion) bool { return v.Name == "LIBC" || strings.HasPrefix(v.Name, "LIBC_") },
			) {
			return true
		}
	}
	return slices.Contains(o.Needed, "libc.so") &&
		slices.ContainsFunc(o.Needed, func(n string) bool {
			return n == "libm.so" || n == "libdl.so" || n == "liblog.so" || n == "libandroid.so"
		})
}

// numberedLibc matches libc and libm by their numbers, which are 6 on Linux (6.1 on some machines),
// 1 and 2 on Solaris, 7 and 5 on FreeBSD, two numbers on OpenBSD.
var numberedLibc = lazyregexp.New(`^lib[cm]\.so\.[0-9.]+$`)

// otherLibc is the C library of another system that an object needs, "" for none. EI_OSABI does not
// always tell.
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

// muslLibc tells a library that was linked with musl.
func muslLibc(o *Object) bool {
	return slices.ContainsFunc(
		o.Needed,
		func(n string) bool { return strings.HasPrefix(n, "libc.musl-") || n == "libc.so" },
	)
}

// elsewhereOnly tells whether an object of an artifact is for the other libc, and the artifact has
// one for this libc beside it: of these one is picked when it is installed or loaded.
func elsewhereOnly(f *Facts, o *Object, libc string) bool {
	other := func(x *Object) bool { return muslLibc(x) != (libc == "musl") && libcKnown(x) }
	return other(o) &&
		slices.ContainsFunc(f.Objects, func(x *Object) bool { return libcKnown(x) && !other(x) })
}

// libcKnown tells whether an object says which libc it is for.
func libcKnown(o *Object) bool { return muslLibc(o) || slices.Contains(o.Needed, "libc.so.6") }
