package platform

import (
	"strings"

	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/platform/macos"
)

// OfMacOS returns a version of macOS on an architecture ("arm64", "x86_64") as a platform, named
// like the tag of a wheel. It has no Library: what a macOS contains is known to package macos.
func OfMacOS(version, arch string) *Platform {
	return &Platform{
		Name:        "macosx_" + strings.ReplaceAll(version, ".", "_") + "_" + arch,
		Arch:        arch,
		OS:          MacOS,
		LibcVersion: version,
		Kind:        Policy,
	}
}

// macOS finds the platform that a tag such as macosx_11_0_universal2 promises on an
// architecture, which may follow the name after a slash; nil for another name or architecture.
func macOS(name, arch string) *Platform {
	if base, own, ok := strings.Cut(name, "/"); ok {
		name, arch = base, own
	}
	for _, t := range macos.Targets(name) {
		if arch == "" || Arch(t.Arch) == Arch(arch) {
			return OfMacOS(t.Oldest.String(), t.Arch)
		}
	}
	if version, ok := strings.CutPrefix(name, "macos"); ok && arch != "" {
		if v, err := machoobj.ParseVersion(version); err == nil {
			return OfMacOS(v.String(), macArch(arch))
		}
	}
	return nil
}

// macArch is an architecture as tags of macOS name it.
func macArch(arch string) string {
	if Arch(arch) == "aarch64" {
		return "arm64"
	}
	return arch
}
