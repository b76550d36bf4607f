// Package android describes what Android provides to the native code of apps, by API level: the
// libraries of the NDK, and the symbols of those that most code uses.
//
//	l, ok := android.Lookup("libc.so")          // l.Since is 21
//	since, ok := l.Symbol("preadv2", "aarch64") // 33
//
// The names of libraries are those of the NDK's list of stable APIs; apps cannot load others of the
// system since API level 24. The symbols are those of the version scripts from which the stub
// libraries of the NDK are made; internal/gen/android writes the table. Libraries whose symbols are
// not in it are known by name only. No table says when a symbol was removed: none ever was.
package android

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/symboltable"
)

//go:embed data/symbols.txt
var text string

// symbols has, for each library with a symbol, its name and four API levels, in the order of
// architectures.
var symbols = lazy.Value[symboltable.Table]{New: func() symboltable.Table {
	return symboltable.Open(text)
}}

var architectures = []string{"aarch64", "armv7l", "i686", "x86_64"}

// Library is a library of the NDK.
type Library struct {
	Name  string
	Since int // the API level that added it
	// Until is the newest API level for which its symbols are known; 0 = they are not.
	Until int
}

// libraries are those of developer.android.com/ndk/guides/stable_apis, with the API levels of the
// version scripts that were read. Levels before 21, the first of wheels, count as 21.
var libraries = []Library{
	{"libc.so", 21, 36}, {"libm.so", 21, 36}, {"libdl.so", 21, 36}, {"libstdc++.so", 21, 36},
	{"libz.so", 21, 36}, {"liblog.so", 21, 30},
	{"libandroid.so", 21, 0}, {"libEGL.so", 21, 0}, {"libGLESv1_CM.so", 21, 0},
	{"libGLESv2.so", 21, 0}, {"libGLESv3.so", 21, 0}, {"libjnigraphics.so", 21, 0},
	{"libOpenMAXAL.so", 21, 0}, {"libOpenSLES.so", 21, 0}, {"libmediandk.so", 21, 0},
	{"libcamera2ndk.so", 24, 0}, {"libvulkan.so", 24, 0},
	{"libaaudio.so", 26, 0}, {"libnativewindow.so", 26, 0}, {"libsync.so", 26, 0},
	{"libneuralnetworks.so", 27, 0}, {"libamidi.so", 29, 0}, {"libbinder_ndk.so", 29, 0},
	{"libicu.so", 31, 0}, {"libnativehelper.so", 31, 0},
}

// Lookup returns a library of the NDK by its SONAME.
func Lookup(name string) (Library, bool) {
	for _, l := range libraries {
		if l.Name == name {
			return l, true
		}
	}
	return Library{}, false
}

// Symbol returns the API level that added a symbol of the library on an architecture. ok is false
// if no known level has it; of a library without Until that proves nothing.
func (l Library) Symbol(symbol, arch string) (since int, ok bool) {
	for of, since := range Exporters(symbol, arch) {
		if of == l.Name {
			return since, true
		}
	}
	return 0, false
}

// Exporters calls yield with each library that has a symbol on an architecture, and the API level
// that added it.
func Exporters(symbol, arch string) func(yield func(library string, since int) bool) {
	return func(yield func(string, int) bool) {
		fields := symbols.Get().Find(symbol)
		for ; len(fields) > len(architectures); fields = fields[1+len(architectures):] {
			for i, a := range architectures {
				since, err := strconv.Atoi(fields[1+i])
				if a == arch && err == nil && !yield(fields[0], since) {
					return
				}
			}
		}
	}
}

// abis are the names of ABIs in platform tags, and the architectures of their files.
var abis = map[string]string{
	"arm64_v8a": "aarch64", "armeabi_v7a": "armv7l", "x86": "i686", "x86_64": "x86_64",
}

// Arch returns the architecture of the files of an ABI, such as "aarch64" of "arm64_v8a"; "" for
// other names.
func Arch(abi string) string { return abis[abi] }

// ABI returns the ABI of an architecture, such as "arm64_v8a" of "aarch64"; "" for others.
func ABI(arch string) string {
	for abi, a := range abis {
		if a == arch {
			return abi
		}
	}
	return ""
}

// Release returns the name of the first release of Android with an API level, "Android 7.0" of 24;
// "API level 40" if it is not known.
func Release(level int) string {
	if level >= 21 && level < 21+len(releases) {
		return "Android " + releases[level-21]
	}
	return "API level " + strconv.Itoa(level)
}

// releases are those of the API levels from 21 on (developer.android.com/tools/releases/platforms).
var releases = strings.Fields("5.0 5.1 6.0 7.0 7.1 8.0 8.1 9 10 11 12 12L 13 14 15 16")
