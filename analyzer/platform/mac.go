package platform

import (
	"strings"

	"github.com/compat-app/compat/analyzer/machoobj"
)

// OfMacOS returns the platform of a macOS version on an architecture ("arm64", "x86_64"), named
// like a wheel tag. Its Library returns nil; package macos has the contents of macOS.
func OfMacOS(version, arch string) *Platform {
	return &Platform{
		Name:        "macosx_" + strings.ReplaceAll(version, ".", "_") + "_" + arch,
		Arch:        arch,
		OS:          MacOS,
		LibcVersion: version,
		Kind:        Policy,
	}
}

// macOS returns the platform of a tag such as macosx_11_0_universal2 on an architecture, which may
// follow the name after a slash; nil for another system or architecture.
func macOS(name, arch string) *Platform {
	if base, own, ok := strings.Cut(name, "/"); ok {
		name, arch = base, own
	}
	for _, t := range ParseTag(name).MacOS() {
		if arch == "" || Arch(t.Arch) == Arch(arch) {
			return OfMacOS(t.Oldest.String(), t.Arch)
		}
	}
	if v := shortMacOS(name); v != 0 && arch != "" {
		return OfMacOS(v.String(), macArch(arch))
	}
	return nil
}

// shortMacOS returns the version in a name such as macos14, which is for any architecture; 0 for
// other names.
func shortMacOS(name string) machoobj.Version {
	version, ok := strings.CutPrefix(name, "macos")
	v, err := machoobj.ParseVersion(version)
	if !ok || err != nil {
		return 0
	}
	return v
}

// macArch returns the name of an architecture in macOS tags.
func macArch(arch string) string {
	if Arch(arch) == "aarch64" {
		return "arm64"
	}
	return arch
}
