package buildlog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

// owners maps symbols to libraries of the toolchain and the system, by -l name. The first match
// wins.
var owners = []struct {
	symbol *lazyregexp.Regexp
	name   string
}{
	{lazyregexp.New(`^dl(?:open|sym|close|error|vsym|mopen|addr1?|info)$`), "dl"},
	{
		lazyregexp.New(
			`^(?:shm_(?:open|unlink)|timer_\w+|mq_\w+|aio_\w+|lio_listio|clock_(?:gettime|getres|settime|nanosleep))$`,
		),
		"rt",
	},
	{lazyregexp.New(`^(?:__)?(?:pthread_|sem_)\w+$`), "pthread"},
	{lazyregexp.New(`^__atomic_`), "atomic"},
	{lazyregexp.New(`^_gfortran`), "gfortran"},
	{lazyregexp.New(`^_ZGV[a-f]`), "mvec"},
	{lazyregexp.New(`^cblas_`), "cblas"},
	{lazyregexp.New(`^crypt(?:_r|_gensalt\w*)?$`), "crypt"},
	{lazyregexp.New(`^(?:GOMP_|omp_)`), "gomp"},
	{
		lazyregexp.New(
			`^(?:a?(?:sin|cos|tan)h?|atan2|exp(?:2|10|m1)?|log(?:2|10|1p|b)?|pow|sqrt|cbrt|fmod|hypot|floor|ceil|l?l?r(?:ound|int)|trunc|erfc?|[lt]gamma|fma|ldexp|remainder|copysign)[fl]?$`,
		),
		"m",
	},
	{
		lazyregexp.New(
			`^(?:deflate|inflate|compress2?|uncompress|crc32|adler32|gz\w+|zlibVersion)(?:_|Init\w*|End|Reset)?$`,
		),
		"z",
	},
	{lazyregexp.New(`^SSL_`), "ssl"},
	{
		lazyregexp.New(`^(?:EVP_|RSA_|BN_|X509_|SHA(?:1|256|512)_|HMAC_|BIO_|ERR_|OPENSSL_|RAND_)`),
		"crypto",
	},
	{lazyregexp.New(`^(?:_{1,2}cuda(?:Register|Push|Pop|Unregister|Init)|cuda[A-Z])`), "cudart"},
	{lazyregexp.New(`^cublasLt`), "cublasLt"},
	{lazyregexp.New(`^(?:__)?nvJitLink`), "nvJitLink"},
	{lazyregexp.New(`^nvrtc`), "nvrtc"},
	{lazyregexp.New(`^cu[A-Z][a-z]`), "cuda"},
	{lazyregexp.New(`^nccl[A-Z]`), "nccl"},
	{lazyregexp.New(`^hip[A-Z]`), "amdhip64"},
}

var simpleOwner = lazyregexp.New(
	`^(cublas|cudnn|cusparse|cusolver|cufft|curand|cupti|rocblas|hipblas|hipsparse|rocsolver|rocsparse)[A-Z_]`,
)

// owner returns the -l name of the library that defines a symbol, or "".
func owner(symbol string) string {
	for _, o := range owners {
		if o.symbol.MatchString(symbol) {
			return o.name
		}
	}
	if m := simpleOwner.FindStringSubmatch(symbol); m != nil {
		return m[1]
	}
	return ""
}

// inLibc reports whether the symbols of a library are in libc.so.6 since glibc 2.34.
func inLibc(library string) bool {
	return library == "dl" || library == "rt" || library == "pthread"
}

// linkFixes returns the link flag, the change of the library, and a newer system on which no
// flag is needed.
func linkFixes(d *Diagnosis, all []string) []fix.Fix {
	name := owner(d.Symbol)
	if lib := linkName(d.Library); name == "" ||
		d.Class != "underlinked" && d.Class != "link-undefined-symbol" && lib != "" {
		name = lib
	}
	switch {
	case d.Class == "link-needed-not-found":
		return []fix.Fix{
			newFix(
				fix.KindLinkFlag,
				"Add the folder of "+base(d.Library)+", which "+base(d.Object)+" needs, with -Wl,-rpath-link",
				"",
			),
			newFix(
				fix.KindEnvironment,
				"Install "+base(d.Library)+", or link with the compiler that built the other libraries "+
					"(conda: gxx_linux-64)",
				"",
			),
			newFix(
				fix.KindRebuild,
				"Rebuild "+base(d.Object)+" with a RUNPATH to its folder",
				`LDFLAGS="-Wl,-rpath,'$ORIGIN'"`,
			),
		}
	case glibcMinor(d.Version) >= 34 || glibcMinor(d.Version) > 17 && !inLibc(name) ||
		glibcMinor(d.Version) >= 0 && name == "":
		out := []fix.Fix{
			newFix(fix.KindImage, "Link on a system with "+d.Version+": "+glibcSince(d.Version), ""),
			newFix(
				fix.KindRebuild,
				cmp.Or(base(d.Object), "The library")+" was built on a newer glibc: use its build for "+
					"this system, or rebuild it here",
				"",
			),
			newFix(
				fix.KindLinkFlag,
				"Allow undefined symbols at link time; the program still needs the newer glibc to start",
				`LDFLAGS="-Wl,--allow-shlib-undefined"`,
			),
		}
		if name != "" && !inLibc(name) {
			out[2] = newFix(
				fix.KindLinkFlag,
				"On a system whose glibc has it, link with -l"+name,
				shellword.Bare(`LDFLAGS="-Wl,--no-as-needed -l%s"`, name),
			)
		}
		return out
	case strings.Contains(d.Version, ".so."):
		return []fix.Fix{
			newFix(
				fix.KindLinkFlag,
				"Link with the libraries of one release: "+
					cmp.Or(base(d.Object), "the library")+" needs a newer "+d.Version+
					" than the one that was found",
				`LDFLAGS="-L$CUDA_HOME/lib64 -Wl,-rpath-link,$CUDA_HOME/lib64"`,
			),
			newFix(
				fix.KindEnvironment,
				"Remove other releases from LIBRARY_PATH, LD_LIBRARY_PATH and the linker's folders",
				"",
			),
			newFix(fix.KindRebuild, "Rebuild it against the installed release", ""),
		}
	case d.Symbol == "main":
		return []fix.Fix{
			newFix(
				fix.KindLinkFlag,
				"Link a library with -shared; a program needs a main",
				`LDFLAGS="-shared"`,
			),
			newFix(fix.KindSource, "Add the source that defines main to the program", ""),
		}
	case name == "" && cxxName.MatchString(d.Symbol):
		if strings.Contains(d.Symbol, "std::__1") {
			return []fix.Fix{
				newFix(
					fix.KindLinkFlag,
					"Link with the C++ library it was compiled with",
					`CXXFLAGS="-stdlib=libc++"`,
				),
				newFix(fix.KindRebuild, "Compile every part with one C++ library", ""),
			}
		}
		return []fix.Fix{
			newFix(
				fix.KindLinkFlag,
				"Link with g++ (or clang++), not with gcc, and with the compiler that built the C++ libraries",
				`LDFLAGS="-Wl,--no-as-needed -lstdc++"`,
			),
			newFix(
				fix.KindRebuild,
				"Rebuild all parts with one compiler and one value of _GLIBCXX_USE_CXX11_ABI",
				"",
			),
			newFix(
				fix.KindEnvironment,
				"Use only conda's compilers, or only the system's",
				"conda install gxx_linux-64",
			),
		}
	case name == "":
		out := []fix.Fix{
			newFix(
				fix.KindLinkFlag,
				"Link with the library that has "+cmp.Or(shorten(d.Symbol), "it")+", after the objects "+
					"that use it",
				"",
			),
			newFix(
				fix.KindRebuild,
				"Rebuild "+cmp.Or(base(d.Object), "the object")+" against the version of the library "+
					"that is linked; that version may have renamed or removed the symbol",
				"",
			),
			newFix(fix.KindDependency, "Add the package that has it to the build's dependencies", ""),
		}
		if abi, ok := otherABI(d); ok {
			out = []fix.Fix{out[0], abi, out[1]}
		}
		return out
	}
	if !slices.Contains(all, name) {
		all = []string{name}
	}
	var words []string
	for _, name := range all {
		words = append(words, "-l"+name)
	}
	flags := strings.Join(words, " ")
	title := "Link with " + flags + "; --no-as-needed is required because the linker otherwise " +
		"drops it"
	if inLibc(name) {
		title += ". glibc 2.34 and later need no flag"
	}
	out := []fix.Fix{newFix(fix.KindLinkFlag, title,
		`LDFLAGS="-Wl,--no-as-needed `+shellword.Plain(words)+`"`)}
	object := cmp.Or(base(d.Object), "the object")
	if strings.Contains(object, ".so") || d.Class == "underlinked" {
		out = append(
			out,
			newFix(
				fix.KindPatchelf,
				"Add the DT_NEEDED entry to "+object+"; its users then need no flag",
				addNeeded(all, d.Object),
			),
		)
	}
	return append(
		out,
		newFix(
			fix.KindRebuild,
			"Rebuild "+object+" with "+flags+" on its own link line (-Wl,-z,defs reports what is missing"+
				ofPython(object)+")",
			"",
		),
	)
}

// ofPython limits what -Wl,-z,defs reports of an object that may be a Python extension, which is
// linked without the library of Python. It is "" for other objects.
func ofPython(object string) string {
	if strings.HasPrefix(object, "lib") || !strings.Contains(object, ".so") {
		return ""
	}
	return "; in a Python extension, those of Python itself are expected"
}

func addNeeded(names []string, object string) shellword.Line {
	var format shellword.Line = "patchelf"
	parts := make([]string, 0, len(names)+1)
	for _, n := range names {
		format += " --add-needed %s"
		parts = append(parts, soname(n))
	}
	return shellword.Bare(format+" %s", append(parts, object)...)
}

// ownersByObject returns all libraries that each object does not link, so that one flag fixes
// it: libcufile.so needs -ldl, and on some machines -lrt.
func ownersByObject(diagnoses []Diagnosis) map[string][]string {
	out := map[string][]string{}
	for _, d := range diagnoses {
		if d.Class != "link-undefined-symbol" && d.Class != "underlinked" {
			continue
		}
		if o := owner(d.Symbol); o != "" && !slices.Contains(out[d.Object], o) {
			out[d.Object] = append(out[d.Object], o)
		}
	}
	return out
}

// stem returns the name of a shared or static library without "lib" and the extension.
func stem(file string) string {
	name := strings.TrimPrefix(base(file), "lib")
	if n, _, ok := strings.Cut(name, ".so"); ok {
		return n
	}
	return strings.TrimSuffix(name, ".a")
}

// stringABI matches symbols whose arguments or result are strings or lists of C++11, and oldStrings
// those with strings of the ABI before it: mangled, and as linkers print them.
var (
	stringABI  = lazyregexp.New(`7__cxx11|B5cxx11|__cxx11::|\[abi:cxx11\]`)
	oldStrings = lazyregexp.New(`^_Z.*(?:RKSs|RSs|ESs|Ss$)|std::string\b|std::basic_string<char`)
)

// otherABI returns the fix for a symbol with a string in its signature, which the other C++ string
// ABI gives another name. ok is false for other symbols.
func otherABI(d *Diagnosis) (f fix.Fix, ok bool) {
	has := "1"
	var flags shellword.Line = `CXXFLAGS="-D_GLIBCXX_USE_CXX11_ABI=0"`
	switch {
	case stringABI.MatchString(d.Symbol):
	case oldStrings.MatchString(d.Symbol):
		has, flags = "0", `CXXFLAGS="-D_GLIBCXX_USE_CXX11_ABI=1"`
	default:
		return f, false
	}
	return newFix(
		fix.KindRebuild,
		cmp.Or(base(d.Object), "The object")+" uses the string ABI of _GLIBCXX_USE_CXX11_ABI="+has+
			". If the library was built with the other one, build both with one value",
		flags,
	), true
}

// linkName returns the -l name of a library: dl for libdl.so.2.
func linkName(library string) string {
	name, _, ok := strings.Cut(strings.TrimPrefix(base(library), "lib"), ".so")
	if !ok || !strings.HasPrefix(base(library), "lib") || shellword.Bare("%s", name) == "" {
		return ""
	}
	return name
}

// sonames are the SONAMEs of system and compiler libraries, which are the same on all systems.
var sonames = lazy.Value[map[string]string]{New: func() map[string]string {
	return map[string]string{
		"dl":       "libdl.so.2",
		"rt":       "librt.so.1",
		"pthread":  "libpthread.so.0",
		"m":        "libm.so.6",
		"atomic":   "libatomic.so.1",
		"gomp":     "libgomp.so.1",
		"gfortran": "libgfortran.so.5",
		"mvec":     "libmvec.so.1",
		"z":        "libz.so.1",
	}
}}

// soname returns the SONAME for a -l name, or a file name if it depends on the system.
func soname(name string) string { return cmp.Or(sonames.Get()[name], "lib"+name+".so") }

// knownLibrary returns the library that defines a symbol, or "" if it is not known. A symbol
// with a version belongs to the library that defines the version.
func knownLibrary(d *Diagnosis) string {
	if d.Class != "link-undefined-symbol" && d.Class != "underlinked" || d.Version != "" {
		return ""
	}
	return sonames.Get()[owner(d.Symbol)]
}
