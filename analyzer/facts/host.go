package facts

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// Host is the kind of program that loads an object. It provides symbols that no needed library
// defines.
type Host string

const (
	HostNone    Host = ""        // a library that other objects link, or a program
	HostPython  Host = "python"  // an extension module, or any object in a wheel
	HostNode    Host = "node"    // an addon of Node.js, which exports Node-API, libuv, V8 and OpenSSL
	HostJava    Host = "java"    // a library with native methods
	HostUnknown Host = "plug-in" // loaded by an unknown program
	// libthread_db, which a debugger opens; the debugger defines proc_service.h.
	HostDebugger Host = "debugger"
)

// libraryFolder matches a library in a folder that loaders search.
var libraryFolder = lazyregexp.New(
	`^(usr/(local/)?)?(lib|lib32|lib64|libx32)/([a-z0-9_]+-linux-(gnu|musl)[a-z0-9]*/)?` +
		`(glibc-hwcaps/[^/]+/)?[^/]+$`,
)

// hostOf determines the host of an object from its name and from the entry points that it
// exports.
func hostOf(o *Object) Host {
	switch {
	case o.Program():
		return HostNone
	case o.module:
		return HostPython
	case strings.HasSuffix(o.Path, ".node") || exports(o, "napi_register_module_v",
		"node_register_module_v"):
		return HostNode
	case exports(o, "JNI_OnLoad", "Java_"):
		return HostJava
	case exports(o, "td_ta_new"):
		return HostDebugger
	case o.SONAME == "" || o.inside || !sharedName.MatchString(o.Path):
		return HostUnknown
	}
	return HostNone
}

func exports(o *Object, prefixes ...string) bool {
	return o.Exports.Any(func(name string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	})
}

// loaded lists the libraries that every build of a host loads: objects can use their symbols
// without listing them in DT_NEEDED.
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
	}, // DT_NEEDED of libjvm.so, which java loads with RTLD_GLOBAL
	HostNone: {
		"libc.so.6",
	}, // DT_NEEDED of every dynamic program
}

// exported lists prefixes of the symbols that a host itself exports. Node.js exports libuv and
// OpenSSL intentionally (doc/api/addons.md).
var exported = map[Host][]string{
	HostPython: {"Py", "_Py", "GraalPy", "_GraalPy"},
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
	HostJava:     {"JVM_", "JNI_", "jio_", "JNU_", "jdk_"},
	HostDebugger: {"ps_"},
}

// Opens reports whether the host opens its objects, so that no program links with them.
func (h Host) Opens() bool {
	return h == HostPython || h == HostNode || h == HostJava || h == HostDebugger
}

// Exports reports whether the host itself exports a symbol.
func (h Host) Exports(symbol string) bool {
	return slices.ContainsFunc(
		exported[h],
		func(p string) bool { return strings.HasPrefix(symbol, p) },
	)
}

// cpp matches the C++ API of V8 and Node.js, which changes with each NODE_MODULE_VERSION.
var cpp = lazyregexp.New(`^_Z(T[VIS])?NK?(2v8|4node|5cppgc)`)

// Unstable reports whether only some releases of the host export a symbol.
func (h Host) Unstable(symbol string) bool { return h == HostNode && cpp.MatchString(symbol) }

// Loaded returns the SONAMEs of the libraries that every build of the host loads, or nil if
// they are not known.
func (h Host) Loaded() []string { return loaded[h] }
