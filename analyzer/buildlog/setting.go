package buildlog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// setting is where the program of a message runs, and what built and installs it. It decides the
// advice. A field that no text shows is empty.
type setting struct {
	system    system
	ecosystem ecosystem
	arch      string // as uname prints it on Linux: "x86_64", "aarch64"
}

type system string

const (
	alpine     system = "alpine" // or another system with musl
	fedora     system = "fedora" // or another one with RPM
	android    system = "android"
	ios        system = "ios"
	macos      system = "macos"
	windows    system = "windows"
	emscripten system = "emscripten"
)

type ecosystem string

const (
	python   ecosystem = "python"
	node     ecosystem = "node"
	electron ecosystem = "electron"
	jvm      ecosystem = "jvm"
	dotnet   ecosystem = "dotnet"
	conda    ecosystem = "conda"
	ruby     ecosystem = "ruby"
	rust     ecosystem = "rust"
	golang   ecosystem = "go"
)

// settingMarks are phrases of a log that show a setting; the first of a line counts for its system
// and for its ecosystem.
var settingMarks = []struct {
	setting
	phrases []string
}{
	{setting{system: android}, []string{
		"dlopen failed:", "/data/app/", "/data/user/", "/data/data/", ".apk!", "AndroidRuntime",
		"arm64-v8a", "armeabi-v7a", "com.chaquo.python", "ndk-build", "/ndk/", "aarch64-linux-android",
	}},
	{setting{system: ios}, []string{
		"/var/containers/Bundle/", "CoreSimulator", ".app/Frameworks/", "iphoneos", "iphonesimulator",
	}},
	{setting{system: emscripten, ecosystem: python}, []string{"pyodide", "Pyodide", "micropip"}},
	{setting{system: emscripten}, []string{"emscripten", "Emscripten", "wasm32", "WebAssembly."}},
	{setting{ecosystem: electron}, []string{"electron", "Electron", "app.asar"}},
	{setting{ecosystem: node}, []string{
		"node_modules", "node:internal", "npm ERR!", "npm error", "ERR_DLOPEN_FAILED", ".node' ",
		"Module._extensions..node", "internal/modules/cjs/loader", "at process.dlopen", "node-gyp",
	}},
	{setting{ecosystem: jvm}, []string{
		"UnsatisfiedLinkError", "\tat java.", "java.lang.", "jdk.internal.", ".jnilib", "NoClassDefFound",
	}},
	{setting{ecosystem: dotnet}, []string{"System.DllNotFoundException", "BadImageFormatException"}},
	{setting{ecosystem: conda}, []string{"conda", "miniforge", "mambaforge", "micromamba"}},
	{setting{ecosystem: python}, []string{
		"site-packages", "dist-packages", "ImportError", "ModuleNotFoundError", ".cpython-", ".abi3.so",
		".whl", "OSError: ", "auditwheel", "most recent call last",
	}},
	{setting{ecosystem: ruby}, []string{"LoadError", "/gems/"}},
	{setting{ecosystem: rust}, []string{"error: linking with `", ".rcgu.o", "rust-lld", ".rlib"}},
	{setting{ecosystem: golang}, []string{"/link: running ", "$WORK/b0", "# runtime/cgo"}},
	{setting{system: alpine}, []string{"Error loading shared library ", "Error relocating ", "musl"}},
	{setting{system: fedora}, []string{"/lib64/"}},
}

// architectures are names of processors in paths and file names, and how Linux calls them. Those
// with a separator on both sides count.
var architectures = map[string]string{
	"x86_64": "x86_64", "amd64": "x86_64", "x64": "x86_64", "x86-64": "x86_64",
	"aarch64": "aarch64", "arm64": "aarch64", "arm64-v8a": "aarch64",
	"i386": "i686", "i486": "i686", "i586": "i686", "i686": "i686", "ia32": "i686",
	"armv7l": "armv7l", "armhf": "armv7l", "armeabi-v7a": "armv7l", "arm": "armv7l",
	"ppc64le": "ppc64le", "powerpc64le": "ppc64le", "s390x": "s390x",
	"riscv64": "riscv64", "loongarch64": "loongarch64", "loong64": "loongarch64",
}

var archName = lazyregexp.New(`(?:^|[/\-_.])(x86[_-]64|amd64|x64|aarch64|arm64|i[3-6]86|ia32|` +
	`armv7l|` +
	`armhf|armeabi-v7a|arm|powerpc64le|ppc64le|s390x|riscv64|loongarch64|loong64)(?:[/\-_.]|$)`)

// windowsFile matches files of Windows.
var windowsFile = lazyregexp.New(`^(?:\\\\\?\\)?[A-Za-z]:[\\/]|\.(?i:dll|pyd|exe)$`)

// archOf returns the architecture of the files in a text; "" if the text names none or several.
func archOf(texts ...string) string {
	found := ""
	for _, t := range texts {
		for _, m := range archName.FindAllStringSubmatch(t, 8) {
			a := architectures[m[1]]
			if found != "" && found != a {
				return ""
			}
			found = a
		}
	}
	return found
}

// completed returns the setting with the missing fields of another one. Electron is also Node.
func (t setting) completed(o setting) setting {
	if t.ecosystem == node && o.ecosystem == electron {
		t.ecosystem = electron
	}
	return setting{cmp.Or(t.system, o.system), cmp.Or(t.ecosystem, o.ecosystem), cmp.Or(t.arch,
		o.arch)}
}

// markBits are the bits of all settingMarks.
var markBits = lazy.Value[set]{New: func() (out set) {
	for i := range settingMarks {
		out.add(firstMark + i)
	}
	return out
}}

// markOf returns the setting that the settingMarks of a line show.
func markOf(hits set) setting {
	var out setting
	for i := range settingMarks {
		if hits.has(firstMark + i) {
			out = out.completed(settingMarks[i].setting)
		}
	}
	return out
}

// fromRule returns the setting that a kind of message is only printed in.
func fromRule(rule string) setting {
	for _, x := range []struct {
		prefix string
		setting
	}{
		{"bionic-", setting{system: android}}, {"macos-", setting{system: macos}},
		{"ld64-", setting{system: macos}}, {"windows-", setting{system: windows}},
		{"msvc-", setting{system: windows}}, {"wasm-", setting{system: emscripten}},
		{"emcc-", setting{system: emscripten}}, {"micropip-", setting{emscripten, python, ""}},
		{"musl-", setting{system: alpine}}, {"node-", setting{ecosystem: node}},
		{"jvm-", setting{ecosystem: jvm}}, {"dotnet-", setting{ecosystem: dotnet}},
		{"pip-", setting{ecosystem: python}}, {"uv-", setting{ecosystem: python}},
		{"auditwheel-", setting{ecosystem: python}}, {"abi3audit", setting{ecosystem: python}},
		{"numpy-", setting{ecosystem: python}}, {"python-", setting{ecosystem: python}},
	} {
		if strings.HasPrefix(rule, x.prefix) {
			return x.setting
		}
	}
	return setting{}
}

// settingOf returns the setting of a diagnosis: what only such a message shows, then that of its
// line.
func settingOf(d *Diagnosis, line setting) setting {
	t := fromRule(d.Rule)
	if line.system == ios {
		t.system = ios // whose loader is that of macOS
	}
	if strings.HasSuffix(d.Object, ".node") {
		t.ecosystem = node
	}
	if windowsFile.MatchString(d.Object) || windowsFile.MatchString(d.Library) {
		t.system = windows
	}
	t.arch = archOf(d.Object, d.Library)
	return t.completed(line)
}

// is reports whether the program is of one of some ecosystems.
func (t setting) is(list ...ecosystem) bool { return slices.Contains(list, t.ecosystem) }

// on reports whether the program runs on one of some systems.
func (t setting) on(list ...system) bool { return slices.Contains(list, t.system) }
