package buildlog

import (
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// noDistribution is the pattern for a requirement for which pip finds no file.
const noDistribution = "pip-no-distribution"

// pythonPatterns are messages of package installers, of Python about missing extension modules, and
// of the runtimes of such modules.
var pythonPatterns = []pattern{
	{
		id: noDistribution, class: "platform-tag",
		needles: []string{
			"Could not find a version that satisfies the requirement ",
			"No matching distribution found for ",
		},
		expr: `Could not find a version that satisfies the requirement (?P<obj>\w[\w.\-]*(?:\[[\w,.\-]*\])?[^\s;(]*).*? ?\(from versions: (?P<named>[^)]*)\)|` +
			`No matching distribution found for (?P<lib>\w[\w.\-]*(?:\[[\w,.\-]*\])?[^\s;(]*)`,
		example: "ERROR: Could not find a version that satisfies the requirement faiss-cpu==1.7.4 " +
			"(from versions: 1.9.0.post1, 1.10.0)",
		similar: "ERROR: Could not find a version that satisfies the requirement nothing-like-this " +
			"(from versions: none)",
		fill: func(m *match) bool {
			if m.lib != "" {
				m.obj, m.lib = m.lib, ""
			}
			if m.named == "none" {
				m.named = ""
			}
			// Without a list, the name may be wrong.
			return m.named != "" || packages.History().Compiled(projectOf(m.obj)) ||
				wheelsOnly.MatchString(projectOf(m.obj))
		},
	},
	{ // uv-distribution-types/src/prioritized_distribution.rs; poetry/installation/chooser.py
		id: "uv-no-wheel", class: "platform-tag",
		needles: []string{
			"no wheels with a matching",
			"no wheels are available with",
			"doesn't have a source distribution or wheel for the current",
			"only has wheels ",
			"found wheels for ",
			"heels are available for ",
			"nable to find installation candidates for ",
		},
		expr: `(?:(?P<obj>\w[\w.\-]*(?:\[[\w,.\-]*\])?[^\s]*) (?:has|have) |\bbecause )?no wheels (?:are available )?with(?: a matching|\s*$)|` +
			"[Dd]istribution [`']?(?P<lib>\\w[\\w.\\-]*==[^\\s`']+)(?: @ [^`']*)?[`']? can't be installed because it doesn't have a source distribution or wheel|" +
			"(?:but|wheels for|are available for) [`'](?P<sym>\\w[\\w.\\-]*)[`'] \\(v(?P<ver>[^)]+)\\) (?:only has wheels )?(?:for|with|on) the following [^:]*: (?P<named>[^;]*)|" +
			`[Uu]nable to find installation candidates for (?P<syms>\w[\w.\-]*) \((?P<libs>[^)]+)\)`,
		example: "  ╰─▶ Because onnxruntime==1.20.1 has no wheels with a matching Python ABI tag " +
			"(e.g., `cp313`) and you require onnxruntime==1.20.1, we can conclude that your requirements are " +
			"unsatisfiable.",
		similar: "warning: no wheels were built",
		fill: func(m *match) bool {
			switch {
			case m.lib != "":
				m.obj = m.lib
			case m.sym != "":
				m.obj = m.sym + "==" + m.ver
			case m.syms != "":
				m.obj = m.syms + "==" + m.libs
			}
			m.lib, m.sym, m.ver, m.syms, m.libs = "", "", "", "", ""
			m.named = strings.NewReplacer("`", "", "'", "").Replace(m.named)
			return true
		},
	},
	{
		id: "python-extension-missing", class: "host-abi",
		needles: []string{"No module named ", "cannot import name '", "numpy C-extensions failed"},
		expr: `No module named ['"]?(?P<obj>[\w.]+)|cannot import name '(?P<lib>\w+)' from '(?P<ver>[\w.]+)'|` +
			`Importing the numpy C-extensions failed`,
		example: "[ERROR] Runtime.ImportModuleError: Unable to import module 'app': No module named " +
			"'numpy.core._multiarray_umath'",
		similar: "ModuleNotFoundError: No module named 'numpy.core.foo'",
		fill: func(m *match) bool {
			if m.lib != "" {
				m.obj, m.lib, m.ver = m.ver+"."+m.lib, "", ""
			}
			m.named = extensions.Get()[m.obj]
			if m.obj == "" {
				m.named = "numpy"
			}
			return m.named != ""
		},
	},
	{
		// There is no class for two copies of one library; like in version-missing, the process finds
		// another copy than the one that was meant.
		id: "openmp-duplicate", class: "version-missing",
		needles: []string{"Error #15: Initializing ", "MKL_THREADING_LAYER=INTEL is incompatible with "},
		expr: `Error #15: Initializing (?P<obj>[^\s,]+), but found (?P<lib>[^\s,]+) already initialized|` +
			`MKL_THREADING_LAYER=INTEL is incompatible with (?P<libs>[^\s,]+) library`,
		example: "OMP: Error #15: Initializing libiomp5.dylib, but found libomp.dylib already " +
			"initialized.",
		similar: "OMP: Info #15: Initializing libomp.so",
		fill: func(m *match) bool {
			if m.libs != "" {
				m.lib, m.libs, m.named = m.libs, "", "mkl"
			}
			return true
		},
	},
	{
		id: "torch-operator-missing", class: "framework-abi",
		needles: []string{
			"operator ", "Couldn't load custom C++ ops", "object has no attribute '",
		},
		expr: `operator (?P<sym>[A-Za-z_]\w*::\w+) does not exist|No such operator (?P<ver>[A-Za-z_]\w*::\w+)|` +
			`Couldn't load custom C\+\+ ops|'_OpNamespace' '(?P<lib>\w+)' object has no attribute '(?P<obj>\w+)'`,
		example: "RuntimeError: operator torchvision::nms does not exist",
		similar: "ERROR:  operator does not exist: integer = text",
		fill: func(m *match) bool {
			m.sym += m.ver
			if m.lib != "" {
				m.sym = m.lib + "::" + m.obj
			}
			m.named, _, _ = strings.Cut(m.sym, "::")
			if m.sym == "" {
				m.named = "torchvision"
			}
			m.ver, m.lib, m.obj = "", "", ""
			return true
		},
	},
	{
		id: "illegal-instruction", class: "hardware-not-supported",
		needles: []string{"llegal instruction", "SIGILL", "illegal hardware instruction", "C000001D"},
		expr: `Illegal instruction *\(core dumped\)|Illegal instruction: 4\b|(?:^|: )Illegal instruction\s*$|` +
			`line \d+: +\d+ Illegal instruction|SIGILL: illegal instruction|received signal SIGILL|` +
			`Signals\.SIGILL|\bSIGILL \(0x4\)|\d+ illegal hardware instruction|\b0[xX]C000001D\b`,
		example: "Illegal instruction (core dumped)",
		similar: "-- Performing Test HAVE_SIGILL - Success",
	},
	{
		id: "cpu-features-missing", class: "hardware-not-supported",
		needles: []string{
			"NumPy was built with baseline optimizations",
			"instructions, but these aren't available on your machine",
			"instructions, which your CPU and/or operating system do not support",
			"Missing required CPU features",
		},
		expr: `(?P<named>NumPy) was built with baseline optimizations|(?P<obj>\w+)? ?(?:library )?was (?:compiled to use|built using) \S+ instructions, (?:but these aren't available|which your CPU)|Missing required CPU features`,
		example: "RuntimeError: NumPy was built with baseline optimizations: (X86_V2) but your machine " +
			"doesn't support: (X86_V2).",
		similar: "This TensorFlow binary is optimized to use available CPU instructions in " +
			"performance-critical operations.",
		fill: func(m *match) bool { m.obj = ""; return true },
	},
}

// wheelsOnly matches packages without a source distribution: "from versions: none" means that no
// wheel fits. It adds to the history, which knows some hundred packages.
var wheelsOnly = lazyregexp.New(
	`^(?:tensorflow(?:-\w+)*|jaxlib|torch\w*|onnxruntime(?:-\w+)*|open3d|mediapipe|tensorrt(?:-\w+)*|` +
		`nvidia-[\w-]+|cupy-cuda\w+|faiss-\w+|pyside\d+|pyqt\d+(?:-\w+)*|ray|decord|paddlepaddle(?:-gpu)?|` +
		`bitsandbytes|triton|opencv-\w+(?:-\w+)*|pywin32)$`,
)

// extensionModules has a line for each project: its name, and modules of machine code that it
// imports at once. If the package is found and such a module is not, its file is for another
// Python or architecture.
const extensionModules = `
numpy numpy.core._multiarray_umath numpy._core._multiarray_umath
pandas pandas._libs.interval pandas._libs.tslibs.base
scipy scipy._lib._ccallback_c
scikit-learn sklearn.__check_build._check_build
pydantic-core pydantic_core._pydantic_core
cffi _cffi_backend
cryptography cryptography.hazmat.bindings._rust
pillow PIL._imaging
lxml lxml.etree
psycopg2-binary psycopg2._psycopg
orjson orjson.orjson
rpds-py rpds.rpds
tiktoken tiktoken._tiktoken
jiter jiter.jiter
tokenizers tokenizers.tokenizers
safetensors safetensors._safetensors_rust
bcrypt bcrypt._bcrypt
argon2-cffi-bindings _argon2_cffi_bindings._ffi
pynacl nacl._sodium
asyncpg asyncpg.pgproto.pgproto
greenlet greenlet._greenlet
grpcio grpc._cython.cygrpc
regex regex._regex
torch torch._C
onnxruntime onnxruntime.capi.onnxruntime_pybind11_state
pyarrow pyarrow.lib
shapely shapely.lib
h5py h5py._errors
psutil psutil._psutil_linux psutil._psutil_osx psutil._psutil_windows
mysqlclient MySQLdb._mysql
watchfiles watchfiles._rust_notify
duckdb duckdb.duckdb _duckdb
polars polars.polars
`

// extensions maps the modules to the project.
var extensions = lazy.Value[map[string]string]{New: func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(extensionModules) {
		words := strings.Fields(line)
		for i := 1; i < len(words); i++ {
			out[words[i]] = words[0]
		}
	}
	return out
}}

// projectOf returns the project of a requirement: "torch" for "torch[opt]==2.7.0".
func projectOf(requirement string) string {
	name := requirement
	if i := strings.IndexAny(requirement, "[<>=!~ @"); i >= 0 {
		name = requirement[:i]
	}
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
}

// pinnedVersion returns the version of a requirement "NAME==VERSION", or "".
func pinnedVersion(requirement string) string {
	_, version, _ := strings.Cut(requirement, "==")
	return strings.TrimPrefix(version, "=")
}

// requiresPython returns Requires-Python of a version in pip's list of versions that it ignored,
// "1.10.0 Requires-Python <3.12,>=3.8; ...", or "". The list has no names of packages, so a
// version with two of them is not known.
func requiresPython(ignored, version string) string {
	found := map[string]bool{}
	_, list, _ := strings.Cut(ignored, "different python version: ")
	for entry := range strings.SplitSeq(list, ";") {
		v, spec, ok := strings.Cut(strings.TrimSpace(entry), " Requires-Python ")
		if ok && v == version {
			found[strings.TrimSpace(spec)] = true
		}
	}
	if len(found) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(found))[0]
}
