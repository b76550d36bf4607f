package macos

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/internal/lazy"
)

// since is the first macOS release with a symbol, or with all symbols that have a prefix.
type since struct {
	name     string
	prefix   bool // match every name with the prefix
	contains string
	release  machoobj.Version
}

func from(major, minor int, names ...string) []since {
	var out []since
	for _, n := range names {
		s := since{release: machoobj.Make(major, minor)}
		if s.name, s.prefix = strings.CutSuffix(n, "*"); !s.prefix {
			s.name = n
		}
		if at := strings.Index(s.name, "…"); at >= 0 {
			s.name, s.contains = s.name[:at], s.name[at+len("…"):]
		}
		out = append(out, s)
	}
	return out
}

// cplusplus are symbols of libc++ and libc++abi that were added to macOS later. The sources are
// libc++'s availability tables (libcxx/include/__availability in LLVM 11 to 14,
// __configuration/availability.h in later releases); if they disagree, the oldest macOS is used.
// They name features; the symbols of each were chosen by hand, and other symbols of libc++ are not
// known. For those of LLVM 21 the table names no macOS yet: 26.1 stands for a release after 26.0.
// The part of a name after … may occur anywhere after its beginning.
var cplusplus = lazy.Value[[]since]{New: func() []since {
	return slices.Concat(
		from(10, 12, "___cxa_uncaught_exceptions", "__ZSt19uncaught_exceptionsv",
			"__ZNSt3__119__shared_mutex_base*", "__ZNSt3__118shared_timed_mutex*"),
		from(10, 13, "__Znwm…St11align_val_t*", "__Znam…St11align_val_t*", "__ZdlPv…St11align_val_t*",
			"__ZdaPv…St11align_val_t*", "__ZTISt18bad_variant_access", "__ZTSSt18bad_variant_access",
			"__ZTVSt18bad_variant_access", "__ZNKSt18bad_variant_access4whatEv",
			"__ZTISt19bad_optional_access", "__ZTSSt19bad_optional_access",
			"__ZTVSt19bad_optional_access", "__ZNKSt19bad_optional_access4whatEv",
			"__ZNSt19bad_optional_accessD*", "__ZNSt18bad_variant_accessD*", "__ZTISt12bad_any_cast",
			"__ZTSSt12bad_any_cast", "__ZTVSt12bad_any_cast", "__ZNKSt12bad_any_cast4whatEv"),
		from(10, 15, "__ZNSt3__14__fs10filesystem*", "__ZNKSt3__14__fs10filesystem*",
			"__ZTINSt3__14__fs10filesystem*", "__ZTSNSt3__14__fs10filesystem*",
			"__ZTVNSt3__14__fs10filesystem*"),
		from(11, 0, "__ZNSt3__123__libcpp_atomic_monitor*", "__ZNSt3__120__libcpp_atomic_wait*",
			"__ZNSt3__123__cxx_atomic_notify_*",
			"__ZNSt3__131__arrive_barrier_algorithm_base*", "__ZNSt3__132__destroy_barrier_algorithm*",
			"__ZNSt3__133__construct_barrier_algorithm*"),
		from(12, 0, "__ZNKSt3__115basic_stringbuf…3strEv", "__ZNSt3__115basic_stringbuf*",
			"__ZTVNSt3__115basic_stringbuf*", "__ZTINSt3__115basic_stringbuf*",
			"__ZNSt3__118basic_stringstream*", "__ZTVNSt3__118basic_stringstream*",
			"__ZNSt3__119basic_ostringstream*", "__ZTVNSt3__119basic_ostringstream*",
			"__ZNSt3__119basic_istringstream*", "__ZTVNSt3__119basic_istringstream*",
			"__ZNSt3__113basic_filebuf*", "__ZTVNSt3__113basic_filebuf*",
			"__ZNSt3__114basic_ifstream*", "__ZTVNSt3__114basic_ifstream*",
			"__ZNSt3__114basic_ofstream*", "__ZTVNSt3__114basic_ofstream*",
			"__ZNSt3__113basic_fstream*", "__ZTVNSt3__113basic_fstream*"),
		from(13, 3, "__ZNSt3__122__libcpp_verbose_abortEPKcz", "__ZNSt3__18to_charsEPcS0_d*",
			"__ZNSt3__18to_charsEPcS0_e*", "__ZNSt3__18to_charsEPcS0_f*"),
		from(14, 0, "__ZNSt3__13pmr*", "__ZNKSt3__13pmr*", "__ZTINSt3__13pmr*", "__ZTVNSt3__13pmr*",
			"__ZTSNSt3__13pmr*"),
		from(15, 0, "___cxa_init_primary_exception", "__ZNSt3__119__is_posix_terminalEP*",
			"__ZNSt3__117__get_ostream_fileERNS_13basic_ostreamI*"),
		from(15, 4, "__ZNSt3__14__tz*", "__ZNSt3__16chrono…tzdb*", "__ZNKSt3__16chrono…time_zone*",
			"__ZTISt19bad_expected_accessIvE", "__ZTVSt19bad_expected_accessIvE"),
		from(26, 0, "__ZNSt3__131__from_chars_floating_point*"),
		from(26, 1, "__ZNSt3__113__hash_memoryEPKvm"),
	)
}}

// objectiveC are functions of the Objective-C runtime that compilers call only for newer deployment
// targets. The releases are those of runtime/objc-internal.h in Apple's objc4, without the patch
// version (10.14.4), which no tag has. Other functions of the runtime and its classes are not
// known.
var objectiveC = lazy.Value[[]since]{New: func() []since {
	return slices.Concat(
		from(10, 14, "_objc_alloc_init"),
		from(10, 15, "_objc_opt_class", "_objc_opt_isKindOfClass", "_objc_opt_new",
			"_objc_opt_respondsToSelector", "_objc_opt_self"),
	)
}}

// accelerate are the interfaces that were added with LAPACK 3.9.1 (Accelerate release notes, macOS
// 13.3). Other symbols of Accelerate are not known.
var accelerate = lazy.Value[[]since]{New: func() []since { return from(13, 3, "_…$NEWLAPACK*") }}

func find(list []since, name string) Availability {
	for _, s := range list {
		rest, ok := strings.CutPrefix(name, s.name)
		switch {
		case !ok:
		case s.contains != "":
			at := strings.Index(rest, s.contains)
			ok = at >= 0 && (s.prefix || at+len(s.contains) == len(rest))
		case !s.prefix:
			ok = rest == ""
		}
		if ok {
			return Availability{Known: true, Since: s.release}
		}
	}
	return Availability{}
}

// InCPlusPlus returns since when the system's C++ library exports a symbol. It knows only symbols
// added after macOS 10.9.
func InCPlusPlus(name string) Availability { return find(cplusplus.Get(), name) }

func inObjectiveC(name string) Availability { return find(objectiveC.Get(), name) }

func inAccelerate(name string) Availability { return find(accelerate.Get(), name) }
