package buildlog

import (
	"cmp"
	"strings"
)

// moduleName is the pattern for a module without the function that Python calls, which has the
// name of the file.
const moduleName = "python-module-name"

// cythonAPI is the pattern for a module of Cython that was built for another release of the package
// whose types or C functions it uses (Cython/Utility/ImportExport.c).
const cythonAPI = "cython-api"

// libxml2Mismatch is the pattern for wheels of lxml and xmlsec that bundle different releases of
// libxml2 (xmlsec, src/lxml.c).
const libxml2Mismatch = "libxml2-mismatch"

// hostPatterns are messages of programs that load an extension built for another version of
// them.
var hostPatterns = []pattern{
	{
		id: "numpy-abi", class: "host-abi",
		needles: []string{
			"module compiled against ABI",
			"A module that was compiled using NumPy",
			" size changed, may indicate binary incompatibility",
			"numpy.core.multiarray failed to import",
			"numpy.core.umath failed to import",
			"_ARRAY_API not found",
			"_UFUNC_API not found",
		},
		expr: `module compiled against ABI version \S+ but this version of numpy is|A module that was compiled using NumPy 1\.x cannot be run in|(?:^|[^\w.])numpy[\w.]* size changed, may indicate binary incompatibility|numpy\.core\.(?:multiarray|umath) failed to import|_(?:ARRAY|UFUNC)_API not found`,
		example: "RuntimeError: module compiled against ABI version 0x1000009 but this version of " +
			"numpy is 0x2000000",
		similar: "module compiled against numpy 2.0",
	},
	{
		id: cythonAPI, class: "host-abi",
		needles: []string{
			" size changed, may indicate binary incompatibility",
			" has the wrong size, try recompiling",
			" does not export expected C ",
			" has wrong signature (expected ",
		},
		expr: `(?:^|[^\w.])(?P<sym>\w+(?:\.\w+)+) (?:size changed, may indicate binary incompatibility|has the wrong size, try recompiling)|(?P<obj>\w+(?:\.\w+)*) does not export expected C (?:function|variable) (?P<lib>\w+)|C (?:function|variable) (?P<named>\w+(?:\.\w+)+) has wrong signature \(expected `,
		example: "ValueError: greenlet.greenlet size changed, may indicate binary incompatibility. " +
			"Expected 152 from C header, got 40 from PyObject",
		similar: "the file size changed, may indicate binary incompatibility",
		fill: func(m *match) bool {
			if m.obj != "" {
				m.sym = m.obj + "." + m.lib
			}
			m.sym, m.obj, m.lib, m.named = cmp.Or(m.sym, m.named), "", "", ""
			return !strings.HasPrefix(m.sym, "numpy.")
		},
	},
	{
		id: libxml2Mismatch, class: "host-abi",
		needles: []string{"lxml & xmlsec libxml2 library version mismatch"},
		expr:    `lxml & xmlsec libxml2 library version mismatch`,
		example: "xmlsec.InternalError: (-1, 'lxml & xmlsec libxml2 library version mismatch')",
		similar: "lxml and xmlsec use one libxml2",
	},
	{
		id: "numpy-not-available", class: "host-abi",
		needles: []string{"Numpy is not available"},
		expr:    `RuntimeError: Numpy is not available`,
		example: "RuntimeError: Numpy is not available",
		similar: "Numpy is not available, skipping",
	},
	{
		id: "numpy-api", class: "host-abi",
		needles: []string{"module compiled against API"},
		expr:    `module compiled against API version \S+ but this version of numpy is`,
		example: "RuntimeError: module compiled against API version 0x11 but this version of " +
			"numpy is 0xf",
		similar: "module compiled against API 17",
	},
	{
		id: "python-version-mismatch", class: "host-abi",
		needles: []string{
			"module was compiled for Python",
			"global interpreter lock (GIL) has been enabled to load module",
		},
		expr: `module was compiled for Python [\d.]+, but the interpreter version is incompatible|global interpreter lock \(GIL\) has been enabled to load module '(?P<obj>[^']+)'`,
		example: "ImportError: module was compiled for Python 3.11, but the interpreter version is " +
			"incompatible: 3.12.1",
		similar: "the module was compiled for Python 3.12",
	},
	{
		id: moduleName, class: "host-abi",
		needles: []string{"dynamic module does not define "},
		expr:    `dynamic module does not define (?:module export|init) function(?: \((?P<named>\w+)\))?`,
		example: "ImportError: dynamic module does not define module export function (PyInit_spam)",
		similar: "the dynamic module does not define a version",
	},
	{
		id: "postgres-incompatible-library", class: "host-abi",
		needles: []string{
			"incompatible library \"",
			"incompatible library version",
			"loadable library and perl binaries are mismatched",
			"Module compiled with module API=",
		},
		expr:    `incompatible library "(?P<obj>[^"]+)"|incompatible library version - (?P<lib>\S+)|(?P<ver>\S+): loadable library and perl binaries are mismatched|Module compiled with module API=\d+`,
		example: `ERROR:  incompatible library "/usr/lib/postgresql/15/lib/x.so": version mismatch`,
		similar: `found an incompatible library in the cache`,
		fill: func(m *match) bool {
			m.obj, m.lib, m.ver = m.obj+m.lib+m.ver, "", ""
			return true
		},
	},
	{
		id: "openssl-mismatch", class: "version-missing",
		needles: []string{"OpenSSL version mismatch"},
		expr:    `OpenSSL version mismatch`,
		example: "OpenSSL version mismatch. Built against 30000020, you have 30200010",
		similar: "OpenSSL version: 3.0.2",
	},
}
