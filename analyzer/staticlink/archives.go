package staticlink

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/lazy"
)

// archive is a static library or a start file that gcc adds to every link line.
type archive struct {
	name string
	// Reports whether it has a hidden symbol, which no shared library may refer to.
	has func(p *platform.Platform, symbol string) bool
}

// Indexes in archives.
const (
	libgcc = iota
	nonshared
	startFiles
)

var archives = [...]archive{
	libgcc:     {"libgcc.a", inLibgcc},
	nonshared:  {"libc_nonshared.a", InNonshared},
	startFiles: {"the start files (crti.o, crtbeginS.o)", inStartFiles},
}

//go:embed archives/libgcc-x86_64.txt
var libgccX86 string

//go:embed archives/libgcc-aarch64.txt
var libgccARM string

//go:embed archives/libgcc-i686.txt
var libgccI686 string

// hiddenMembers are the hidden symbols of libgcc.a by architecture. It is empty for other
// architectures.
var hiddenMembers = lazy.Value[map[string]map[string]bool]{New: func() map[string]map[string]bool {
	byArch := map[string]map[string]bool{}
	for arch, text := range map[string]string{"x86_64": libgccX86, "aarch64": libgccARM,
		"i686": libgccI686} {
		byArch[arch] = map[string]bool{}
		_, names, _ := strings.Cut(text, "\n")
		for _, n := range strings.Fields(names) {
			byArch[arch][n] = true
		}
	}
	return byArch
}}

// inLibgcc reports whether libgcc.a has a hidden symbol. GCC 12 added half precision;
// distributions with glibc 2.36 or later have it.
func inLibgcc(p *platform.Platform, name string) bool {
	if !strings.HasPrefix(name, "__") ||
		// all of them start like this, and few other symbols do
		!hiddenMembers.Get()[p.Arch][name] {
		return false
	}
	return !platform.Older(p.LibcVersion, "2.36") || p.Arch == "aarch64" ||
		!strings.Contains(name, "hf") && name != "__extendsfdf2" && name != "__truncdfsf2"
}

// alwaysNonshared are in libc_nonshared.a of every glibc; the others moved to libc.so.6 in
// 2.33.
var (
	alwaysNonshared = []string{
		"atexit",
		"at_quick_exit",
		"pthread_atfork",
		"__pthread_atfork",
		"__stack_chk_fail_local",
	}
	oldNonshared = []string{
		"stat",
		"fstat",
		"lstat",
		"stat64",
		"fstat64",
		"lstat64",
		"fstatat",
		"fstatat64",
		"mknod",
		"mknodat",
		"__stat",
		"__fstat",
		"__lstat",
		"__mknod",
	}
)

// InNonshared reports whether programs and libraries that are built on a platform contain a
// function of the C library themselves.
func InNonshared(p *platform.Platform, name string) bool {
	return slices.Contains(alwaysNonshared, name) ||
		slices.Contains(oldNonshared, name) && platform.Older(p.LibcVersion, "2.33")
}

// inArchives reports whether one of the archives has a symbol. None has C++ symbols.
func inArchives(p *platform.Platform, name string) bool {
	return !strings.HasPrefix(name, "_Z") &&
		(inLibgcc(p, name) || InNonshared(p, name) || inStartFiles(p, name))
}

func inStartFiles(_ *platform.Platform, name string) bool {
	return slices.Contains([]string{"_init", "_fini", "__dso_handle", "__TMC_END__"}, name)
}

// ofProgram reports whether every program defines a symbol, in its own code, the start files or
// the linker script.
func ofProgram(p *platform.Platform, name string) bool {
	switch name {
	case "main",
		"_start",
		"data_start",
		"__data_start",
		"_IO_stdin_used",
		"__bss_start",
		"_edata",
		"edata",
		"_end",
		"end",
		"etext",
		"_etext",
		"__etext",
		"__executable_start",
		"__ehdr_start",
		"__init_array_start",
		"__init_array_end",
		"__fini_array_start",
		"__fini_array_end",
		"_DYNAMIC",
		"_GLOBAL_OFFSET_TABLE_":
		return true
	case "__libc_csu_init", "__libc_csu_fini":
		return platform.Older(p.LibcVersion, "2.34")
	}
	return false
}

// emptyArchive reports whether -lX finds an empty archive: glibc 2.34 merged these libraries
// into libc.so.6 and removed their links.
func emptyArchive(p *platform.Platform, soname string) bool {
	return Merged(soname) && !platform.Older(p.LibcVersion, "2.34")
}

// Merged reports whether glibc 2.34 merged a library into libc.so.6.
func Merged(soname string) bool {
	return slices.Contains(
		[]string{"libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1"},
		soname,
	)
}
