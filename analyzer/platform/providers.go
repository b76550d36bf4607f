package platform

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/platform/debian"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// ProviderKind is the kind of software that provides a library.
type ProviderKind string

// Kinds of providers.
const (
	DriverProvider  ProviderKind = "driver"  // installed with hardware; never bundled
	SystemProvider  ProviderKind = "system"  // part of the operating system; not to be bundled
	LibraryProvider ProviderKind = "library" // a system library that a wheel may bundle
	BundleProvider  ProviderKind = "bundle"  // a system library that a wheel has to bundle
	ToolkitProvider ProviderKind = "toolkit" // CUDA, ROCm and similar
	RuntimeProvider ProviderKind = "runtime" // a Python package or an installation of oneAPI
	PackageProvider ProviderKind = "package" // only a Python package
)

// Provider is a project that provides a library which no wheel policy allows.
type Provider struct {
	Project  string // "FFmpeg 6", "the NVIDIA driver"
	Kind     ProviderKind
	After    string            // the release that replaced it: "OpenSSL 3"; "" if it is current
	packages map[string]string // by ecosystem
}

// Ecosystems of packages, for Provider.Packages.
const (
	Debian   = "debian"   // Debian 12 and earlier, Ubuntu
	Debian13 = "debian13" // Debian 13, Ubuntu 24.04
	Fedora   = "fedora"   // also RHEL and its rebuilds
	Alpine   = "alpine"
	Conda    = "conda" // conda-forge
	PyPI     = "pypi"
)

// Packages returns the packages of an ecosystem that contain the library; nil if there are none, or
// if their names depend on the release.
func (p Provider) Packages(ecosystem string) []string {
	list := p.of(ecosystem)
	if list == "" || list == varies || list == none {
		return nil
	}
	return strings.Split(list, ",")
}

// Available reports whether the library can be installed from the packages of an ecosystem. It is
// true for drivers and toolkits, which are installed separately.
func (p Provider) Available(ecosystem string) bool {
	switch p.Kind {
	case DriverProvider, ToolkitProvider, RuntimeProvider:
		return true
	case PackageProvider:
		return false
	}
	list := p.of(ecosystem)
	for _, e := range []string{Debian, Fedora, Alpine} {
		if list == "" && p.packages[e] != none {
			list = p.packages[e]
		}
	}
	return list != "" && list != none
}

// Special values of a column.
const (
	varies = "?" // the names depend on the release
	none   = "-"
)

// of returns a column. For Debian 13 it is that of Debian unless packages were renamed.
func (p Provider) of(ecosystem string) string {
	if list := p.packages[ecosystem]; list != "" || ecosystem != Debian13 {
		return list
	}
	return p.packages[Debian]
}

// String returns the project with its packages for messages: "ALSA (Debian: libasound2
// (libasound2t64 since Debian 13))".
func (p Provider) String() string {
	var parts []string
	if list := p.Packages(PyPI); list != nil {
		parts = append(parts, "package "+list[0])
	}
	if list := p.Packages(Debian); list != nil {
		text := "Debian: " + strings.Join(list, ", ")
		if newer := p.packages[Debian13]; newer != "" && newer != none {
			text += " (" + newer + " since Debian 13)"
		}
		parts = append(parts, text)
	}
	if list := p.Packages(Conda); len(parts) == 0 && list != nil {
		parts = append(parts, "conda-forge: "+list[0])
	}
	if len(parts) == 0 {
		return p.Project
	}
	return p.Project + " (" + strings.Join(parts, "; ") + ")"
}

//go:embed data/providers.txt
var providersText string

// providerTable is data/providers.txt, indexed by library.
type providerTable struct {
	full  map[string]*Provider // by SONAME
	names map[string]*Provider // by the name before ".so"
	other map[string]*Provider // by name, for versions other than those in full
	wild  []wildProvider
}

type wildProvider struct {
	prefix string
	*Provider
}

var providers = sync.OnceValue(func() *providerTable {
	t := &providerTable{full: map[string]*Provider{}, names: map[string]*Provider{},
		other: map[string]*Provider{}}
	for line := range strings.Lines(providersText) {
		columns := strings.Split(strings.TrimSpace(line), "|")
		if len(columns) != 4 || strings.HasPrefix(line, "#") {
			continue
		}
		p := &Provider{
			Project:  columns[2],
			Kind:     ProviderKind(columns[1]),
			packages: map[string]string{},
		}
		for _, word := range strings.Fields(columns[3]) {
			ecosystem, list, _ := strings.Cut(word, "=")
			if ecosystem == "after" {
				p.After = strings.ReplaceAll(list, "_", " ")
				continue
			}
			p.packages[ecosystem] = list
		}
		for _, pattern := range strings.Fields(columns[0]) {
			prefix, wild := strings.CutSuffix(pattern, "*")
			switch {
			case wild:
				t.wild = append(t.wild, wildProvider{prefix, p})
			case strings.Contains(pattern, ".so"):
				t.full[pattern] = p
				if name, _, _ := strings.Cut(pattern, ".so"); t.other[name] == nil {
					t.other[name] = &Provider{Project: p.Project, Kind: p.Kind}
				}
			default:
				t.names[pattern] = p
			}
		}
	}
	return t
})

// SamePackages reports whether two libraries of a project are in the same packages of Debian.
func (p Provider) SamePackages(q Provider) bool {
	return p.Project == q.Project && p.Packages(Debian) != nil &&
		p.packages[Debian] == q.packages[Debian]
}

// fileVersion matches the name of a library's file, with its SONAME: libgomp.so.1.0.0.
var fileVersion = lazyregexp.New(`^(.+\.so\.[0-9]+)\.[0-9]+\.[0-9]+$`)

// ProviderOf returns the project that provides a library, by its SONAME or the name of its file. ok
// is false for a library that is not in the table.
func ProviderOf(soname string) (p Provider, ok bool) {
	t := providers()
	if found := t.full[soname]; found != nil {
		return *found, true
	}
	if m := fileVersion.FindStringSubmatch(soname); m != nil && t.full[m[1]] != nil {
		return *t.full[m[1]], true
	}
	m := sonameParts.FindStringSubmatch(soname)
	if m == nil {
		return Provider{}, false
	}
	name, version := m[1], m[2]
	found := t.names[name]
	if found == nil {
		i := slices.IndexFunc(t.wild, func(w wildProvider) bool {
			return strings.HasPrefix(name, w.prefix)
		})
		if i >= 0 {
			found = t.wild[i].Provider
		} else if found = t.other[name]; found == nil {
			return Provider{}, false
		}
	}
	p = *found
	switch release := ffmpegReleases[name+"."+version]; {
	case release != "":
		p.Project += " " + release
		if !strings.Contains(release, " ") {
			p.packages = map[string]string{Debian: varies, Conda: "ffmpeg=" + release}
		}
	case rocmMajor[name] && version != "":
		p.Project += " " + version
	}
	return p, true
}

// InDebian returns who provides a library that is not in the table of providers but in packages of
// Debian, by its SONAME or the name of its file: the library itself, with the package that has it
// on a platform ("debian12", also with an architecture), or on any release of Debian if it is none
// of those. ok is false for other libraries.
//
// That Debian has a library does not mean that no Python package has it, as ProviderOf knows of the
// libraries in its table. So it is the last source of an answer.
func InDebian(soname, on string) (p Provider, ok bool) {
	if _, listed := ProviderOf(soname); listed || LibcOf(soname) != "" {
		return Provider{}, false
	}
	on, _, _ = strings.Cut(on, "/")
	p = Provider{Project: Stem(soname), Kind: LibraryProvider, packages: map[string]string{}}
	for _, name := range debian.Holders(soname, on) {
		ecosystem := Debian
		if strings.HasSuffix(name, renamed) {
			ecosystem = Debian13
		}
		if p.packages[ecosystem] == "" {
			p.packages[ecosystem] = name
		}
	}
	if p.packages[Debian] == "" {
		p.packages[Debian] = p.packages[Debian13]
	}
	return p, p.packages[Debian] != ""
}

// renamed ends the names of many packages from Debian 13 and Ubuntu 24.04 on.
const renamed = "t64"

// OfSystem returns the project that provides a library on systems: one of the table of providers,
// or else what InDebian returns.
func OfSystem(soname, on string) (p Provider, ok bool) {
	if p, ok = ProviderOf(soname); !ok {
		p, ok = InDebian(soname, on)
	}
	return p, ok
}

// Known describes the project that provides a system library which no policy allows:
// Known("libcuda.so.1") is "the NVIDIA driver". ok is false for unknown libraries, for those that a
// wheel has to bundle, and for those that only a Python package provides.
func Known(soname string) (provider string, ok bool) {
	p, ok := ProviderOf(soname)
	if !ok || p.Kind == BundleProvider || !p.Available(Debian) {
		return "", false
	}
	return p.String(), true
}

// OfDriver reports whether a library is part of a driver, or finds the driver of the system at run
// time, as the loaders of OpenGL, Vulkan and OpenCL do. A copy from another system does not work.
func OfDriver(soname string) bool {
	p, ok := ProviderOf(soname)
	return ok && (p.Kind == DriverProvider || p.Kind == SystemProvider &&
		slices.Contains(driverLoaders, p.Project))
}

// DriverLibraries are patterns of names for which OfDriver is true: those of the drivers and
// loaders that libraries of systems need.
var DriverLibraries = []string{
	"libcuda.so*", "libnvcuvid.so*", "libnvidia-*.so*",
	"libGL.so*", "libGLX.so*", "libGLdispatch.so*", "libOpenGL.so*", "libEGL.so*", "libGLESv2.so*",
	"libgbm.so*", "libdrm.so*", "libvulkan.so*", "libOpenCL.so*", "libva.so*", "libvdpau.so*",
}

// driverLoaders are projects whose libraries open those of a driver.
var driverLoaders = []string{"libglvnd and Mesa", "libglvnd", "Mesa", "libdrm", "the Vulkan loader",
	"the OpenCL loader", "VA-API", "VDPAU"}

// ffmpegReleases maps libraries of FFmpeg with their SONAME version to the release of FFmpeg
// (library versions from ffmpeg.org/download).
var ffmpegReleases = map[string]string{
	"libavcodec.57": "3", "libavformat.57": "3", "libavutil.55": "3", "libavdevice.57": "3",
	"libavfilter.6": "3", "libswscale.4": "3", "libswresample.2": "3", "libpostproc.54": "3",
	"libavcodec.58": "4", "libavformat.58": "4", "libavutil.56": "4", "libavdevice.58": "4",
	"libavfilter.7": "4", "libswscale.5": "4", "libswresample.3": "4", "libpostproc.55": "4",
	"libavcodec.59": "5", "libavformat.59": "5", "libavutil.57": "5", "libavdevice.59": "5",
	"libavfilter.8": "5", "libswscale.6": "5", "libswresample.4": "5 or 6", "libpostproc.56": "5",
	"libavcodec.60": "6", "libavformat.60": "6", "libavutil.58": "6", "libavdevice.60": "6",
	"libavfilter.9": "6", "libswscale.7": "6", "libpostproc.57": "6", "libavcodec.61": "7",
	"libavformat.61": "7", "libavutil.59": "7", "libavdevice.61": "7", "libavfilter.10": "7",
	"libswscale.8": "7", "libswresample.5": "7", "libpostproc.58": "7", "libavcodec.62": "8",
	"libavformat.62": "8", "libavutil.60": "8", "libavdevice.62": "8", "libavfilter.11": "8",
	"libswscale.9": "8", "libswresample.6": "8",
}

// FFmpegOf returns the release of FFmpeg that the package ffmpeg of a distribution has, as in
// Provider.Project: "FFmpeg 5" on debian12. It is "" if that is not known.
func FFmpegOf(distribution string) string { return ffmpegPackages[distribution] }

// from packages.debian.org and packages.ubuntu.com
var ffmpegPackages = map[string]string{
	"debian10": "FFmpeg 4", "debian11": "FFmpeg 4", "debian12": "FFmpeg 5", "debian13": "FFmpeg 7",
	"ubuntu18.04": "FFmpeg 3", "ubuntu20.04": "FFmpeg 4", "ubuntu22.04": "FFmpeg 4",
	"ubuntu24.04": "FFmpeg 6",
}

// rocmMajor are the libraries of ROCm whose SONAME version is the version of ROCm.
var rocmMajor = map[string]bool{"libamdhip64": true, "libhiprtc": true, "libhiprtc-builtins": true}

var sonameParts = lazyregexp.New(`^(lib[^/]*?)\.so(?:\.([0-9]+))?(?:[.0-9a-z]*)$`)

var (
	glibcLibrary = lazyregexp.New(
		`^(?:ld-linux[^/]*|ld64\.so\.\d|lib(?:c|m|mvec)\.so\.6|lib(?:dl|util|resolv)\.so\.2|` +
			`libutil\.so\.1|lib(?:pthread|thread_db)\.so\.\d|libnsl\.so\.1|librt\.so\.1)$`,
	)
	muslLibrary = lazyregexp.New(`^(?:libc\.musl-|ld-musl-)`)
)

// Stem returns the file name or SONAME of a library up to ".so", to compare libraries of different
// versions: "libfoo" for "lib/libfoo.so.1". Of a DLL it is the whole name in lower case.
func Stem(name string) string {
	if lower := strings.ToLower(path.Base(name)); strings.HasSuffix(lower, ".dll") {
		return lower
	}
	before, _, _ := strings.Cut(path.Base(name), ".so")
	return before
}

// Family returns the stem of a library without digits. It is the same in all releases of most
// libraries whose name has a version: libvtksys-9.7.so and libvtksys-9.6.so.
func Family(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return -1
		}
		return c
	}, Stem(name))
}

// OfFamily returns a function that reports whether a library has the Family of another one.
func OfFamily(library string) func(file string) bool {
	family := Family(library)
	return func(file string) bool { return Family(file) == family }
}

// LibcOf returns the C library that a library is part of, by its SONAME: "glibc", "musl", or "".
func LibcOf(soname string) string {
	switch {
	case glibcLibrary.MatchString(soname):
		return "glibc"
	case muslLibrary.MatchString(soname):
		return "musl"
	}
	return ""
}
