package facts

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// Host is the kind of program that loads an object. It provides symbols for which the object names
// no library.
type Host string

const (
	HostNone    Host = ""        // a library that others link against, or a program
	HostPython  Host = "python"  // an extension module, or anything in a wheel
	HostNode    Host = "node"    // an addon of Node.js, which exports Node-API, libuv, V8 and OpenSSL
	HostJava    Host = "java"    // a library with native methods
	HostUnknown Host = "plug-in" // of an unknown program
)

// libraryFolder matches a library where the programs of a distribution look for one.
var libraryFolder = lazyregexp.New(
	`^(usr/(local/)?)?(lib|lib32|lib64|libx32)/([a-z0-9_]+-linux-(gnu|musl)[a-z0-9]*/)?[^/]+$`,
)

// hostOf guesses the host of an object from its name and from the entry points that it exports.
func hostOf(o *Object) Host {
	switch {
	case o.Interp != "" && o.SONAME == "":
		return HostNone
	case o.module:
		return HostPython
	case strings.HasSuffix(o.Path, ".node") || exports(o, "napi_register_module_v",
		"node_register_module_v"):
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

// loaded lists the libraries that every build of a host has loaded: their symbols resolve in an
// object that does not list them.
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

// exported lists prefixes of the names that a host exports itself. Node.js exports libuv and
// OpenSSL on purpose (its doc/api/addons.md).
var exported = map[Host][]string{
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

// Brings reports whether the host exports a symbol.
func (h Host) Brings(symbol string) bool {
	return slices.ContainsFunc(
		exported[h],
		func(p string) bool { return strings.HasPrefix(symbol, p) },
	)
}

// cpp matches the C++ API of V8 and Node.js, which changes with each NODE_MODULE_VERSION.
var cpp = lazyregexp.New(`^_Z(T[VIS])?NK?(2v8|4node|5cppgc)`)

// Changes reports whether only some releases of the host export a symbol.
func (h Host) Changes(symbol string) bool { return h == HostNode && cpp.MatchString(symbol) }

// Loaded lists the SONAMEs of the libraries that every build of the host has loaded; nil for a host
// of which that is not known.
func (h Host) Loaded() []string { return loaded[h] }
