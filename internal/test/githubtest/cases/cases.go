// Package cases generates small artifacts for compat's typical cases without a compiler: ELF
// files of a few hundred bytes with the imports and dependencies of a real wheel. The tests of
// internal/test/stories and `compat demo` use them.
//
//	name, wheel := cases.CaseA("1.6.2").File()
//	artifact := cases.Zip(cases.CaseA("1.6.2").Under("dist/"))
//
// Every function returns the same bytes for the same arguments.
package cases

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/peobj"
)

// Clean returns a wheel for manylinux2014 that only imports symbols of all such systems.
func Clean(version string) Wheel {
	return Wheel{
		Name:    "clean-ext",
		Version: version,
		Tags:    []string{"cp311-cp311-manylinux_2_17_x86_64", "cp311-cp311-manylinux2014_x86_64"},
		Files: map[string][]byte{
			"clean/__init__.py": []byte("from . import _clean\n"),
			"clean/_clean.cpython-311-x86_64-linux-gnu.so": object(`elf x86_64
needed libc.so.6
import malloc@GLIBC_2.2.5 libc.so.6
import free@GLIBC_2.2.5 libc.so.6
export PyInit__clean
`)},
	}
}

// MacOS returns a wheel for macOS whose library lies outside the wheel, as that of an installation
// of Homebrew does.
func MacOS(version string) Wheel {
	return Wheel{
		Name:    "clean-ext",
		Version: version,
		Tags:    []string{"cp311-cp311-macosx_11_0_arm64"},
		Files: map[string][]byte{
			"clean/__init__.py": []byte("from . import _clean\n"),
			"clean/_clean.cpython-311-darwin.so": object(`macho arm64
needed /opt/homebrew/opt/libfoo/lib/libfoo.1.dylib
needed /usr/lib/libSystem.B.dylib
import _foo /opt/homebrew/opt/libfoo/lib/libfoo.1.dylib
import _malloc /usr/lib/libSystem.B.dylib
export _PyInit__clean
`)},
	}
}

// Windows returns a wheel for 64-bit Windows that needs what Python provides.
func Windows(version string) Wheel {
	return Wheel{
		Name:    "clean-ext",
		Version: version,
		Tags:    []string{"cp311-cp311-win_amd64"},
		Files: map[string][]byte{
			"clean/__init__.py": []byte("from . import _clean\n"),
			"clean/_clean.cp311-win_amd64.pyd": object(`pe amd64
import python311.dll PyModule_Create2
import VCRUNTIME140.dll memcpy
export PyInit__clean
`)},
	}
}

// CaseA returns a wheel like that of NVIDIA Warp: it has the tag manylinux2014, but its library
// was built on Ubuntu 20.04 and needs pow of glibc 2.29 and string symbols of GCC 5.
func CaseA(version string) Wheel {
	return Wheel{
		Name:    "warp-lang",
		Version: version,
		Tags:    []string{"py3-none-manylinux2014_x86_64"},
		Files: map[string][]byte{
			"warp/__init__.py": {},
			"warp/bin/warp.so": object(`elf x86_64
soname warp.so
needed libstdc++.so.6
needed libm.so.6
needed libc.so.6
import pow@GLIBC_2.29 libm.so.6
import _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm@GLIBCXX_3.4.21 libstdc++.so.6
import __cxa_throw_bad_array_new_length@CXXABI_1.3.8 libstdc++.so.6
import malloc@GLIBC_2.2.5 libc.so.6
export init
comment GCC: (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0
`)},
	}
}

// CaseB returns a wheel like that of CCCL: its library was linked with nvJitLink 12.9, but its
// requirement (such as "nvidia-nvjitlink-cu12>=12.8,<12.9") allows 12.8, which lacks some symbols.
func CaseB(version, requirement string) Wheel {
	return Wheel{
		Name:     "cuda-parallel",
		Version:  version,
		Tags:     []string{"cp311-cp311-manylinux_2_28_x86_64"},
		Requires: []string{requirement},
		Files: map[string][]byte{
			"cuda/parallel/__init__.py": {},
			"cuda/parallel/cccl/libs/libcccl.c.parallel.so": object(`elf x86_64
soname libcccl.c.parallel.so
needed libnvJitLink.so.12
needed libc.so.6
runpath $ORIGIN/../../../../nvidia/nvjitlink/lib
import __nvJitLinkCreate_12_9@libnvJitLink.so.12 libnvJitLink.so.12
import __nvJitLinkGetErrorLogSize_12_9@libnvJitLink.so.12 libnvJitLink.so.12
import malloc@GLIBC_2.2.5 libc.so.6
export cccl_device_reduce
`)},
	}
}

// CaseC returns a wheel like that of mamba_ssm: its extension was built for the CUDA build of
// torch and needs libc10_cuda.so.
func CaseC(version string) Wheel {
	return Wheel{
		Name:     "mamba-ssm",
		Version:  version,
		Tags:     []string{"cp311-cp311-linux_x86_64"},
		Requires: []string{"torch"},
		Files: map[string][]byte{
			"mamba_ssm/__init__.py": {},
			"selective_scan_cuda.cpython-311-x86_64-linux-gnu.so": object(`elf x86_64
needed libc10.so
needed libc10_cuda.so
needed libc.so.6
import _ZN3c104cuda20getCurrentCUDAStreamEa
import malloc@GLIBC_2.2.5 libc.so.6
export PyInit_selective_scan_cuda
`)},
	}
}

// CaseD returns a library like that of cuFile: it uses functions of libdl, unversioned and
// without a dependency on libdl, because it was linked on a system where libc contains them
// (glibc 2.34). needed are further libraries that it lists: with libdl.so.2 it is correct.
func CaseD(needed ...string) (name string, content []byte) {
	text := "elf x86_64\nsoname libcufile.so.0\n"
	for _, library := range append(needed, "libc.so.6") {
		text += "needed " + library + "\n"
	}
	return "libcufile.so", object(text + `import dlopen
import dlsym
import dlclose
import dlerror
import dlvsym
import malloc@GLIBC_2.2.5 libc.so.6
export cuFileDriverOpen
`)
}

// NvJitLink returns NVIDIA's package for case B, as in an index: a release has the symbols of all
// 12.x up to its own.
func NvJitLink(version string, minor int) Wheel {
	text := "elf x86_64\nsoname libnvJitLink.so.12\nneeded libc.so.6\nimport malloc@GLIBC_2.2.5 " +
		"libc.so.6\n"
	for m := range minor + 1 {
		text += fmt.Sprintf(
			"export __nvJitLinkCreate_12_%d@@libnvJitLink.so.12\nexport "+
				"__nvJitLinkGetErrorLogSize_12_%d@@libnvJitLink.so.12\n",
			m,
			m,
		)
	}
	return Wheel{
		Name:    "nvidia-nvjitlink-cu12",
		Version: version,
		Tags:    []string{"py3-none-manylinux2010_x86_64", "py3-none-manylinux_2_12_x86_64"},
		Files: map[string][]byte{
			"nvidia/__init__.py": {}, "nvidia/nvjitlink/__init__.py": {},
			"nvidia/nvjitlink/lib/libnvJitLink.so.12": object(text)},
	}
}

// Many returns a wheel for manylinux2014 with the given number of findings: it imports this many
// functions of glibc 2.38.
func Many(version string, functions int) Wheel {
	text := "elf x86_64\nsoname libmany.so\nneeded libc.so.6\n"
	for i := range functions {
		text += fmt.Sprintf("import many_%04d@GLIBC_2.38 libc.so.6\n", i)
	}
	return Wheel{
		Name:    "many",
		Version: version,
		Tags:    []string{"py3-none-manylinux2014_x86_64"},
		Files:   map[string][]byte{"many/__init__.py": {}, "many/libmany.so": object(text)},
	}
}

// object returns an ELF file from its text form, which must be valid.
func object(text string) []byte {
	b, err := binary(text)
	if err != nil {
		panic(fmt.Sprintf("cases: %v in\n%s", err, text))
	}
	return b
}

func binary(text string) ([]byte, error) {
	switch {
	case strings.HasPrefix(text, "macho "):
		o, err := machoobj.Parse(text)
		if err != nil {
			return nil, err
		}
		return machoobj.Write(o...)
	case strings.HasPrefix(text, "pe "):
		o, err := peobj.Parse(text)
		if err != nil {
			return nil, err
		}
		return peobj.Write(o)
	}
	return elftest.Build(text)
}

// Gear returns a wheel of the package gear, whose library exports some functions.
func Gear(version string, exports ...string) Wheel {
	text := "elf x86_64\nsoname libgear.so.1\nneeded libc.so.6\n" +
		"import malloc@GLIBC_2.2.5 libc.so.6\n"
	for _, e := range exports {
		text += "export " + e + "\n"
	}
	return Wheel{
		Name: "gear", Version: version, Tags: []string{"py3-none-manylinux_2_28_x86_64"},
		Files: map[string][]byte{"gear/__init__.py": {}, "gear/libgear.so.1": object(text)},
	}
}

// UserOfGear returns a wheel whose extension module imports functions of gear, which it requires in
// some versions ("gear>=1").
func UserOfGear(name, version, requirement string, imports ...string) Wheel {
	text := "elf x86_64\nneeded libgear.so.1\nneeded libc.so.6\nrunpath $ORIGIN/../gear\n" +
		"import malloc@GLIBC_2.2.5 libc.so.6\nexport PyInit__" + name + "\n"
	for _, i := range imports {
		text += "import " + i + "\n"
	}
	return Wheel{
		Name: name, Version: version, Tags: []string{"cp311-cp311-manylinux_2_28_x86_64"},
		Requires: []string{requirement},
		Files: map[string][]byte{
			name + "/__init__.py": {},
			name + "/_" + name + ".cpython-311-x86_64-linux-gnu.so": object(text),
		},
	}
}
