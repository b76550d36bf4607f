package platform

import (
	"fmt"
	"strings"
)

// SDKs of iOS, which the platform tag of a wheel names after the architecture (PEP 730).
const (
	Device    = "iphoneos"
	Simulator = "iphonesimulator"
)

// OfIOS returns the platform of a version of iOS ("13.0") on an architecture with its SDK, named
// like a wheel tag. Its Library returns nil.
func OfIOS(version, arch string) *Platform {
	return &Platform{
		Name: "ios_" + strings.ReplaceAll(version, ".", "_") + "_" + arch, Arch: arch, OS: IOS,
		LibcVersion: version, Kind: Policy,
	}
}

// IOS returns the platform of a tag for iOS; nil for other systems, and for another SDK.
func (t Tag) IOS() *Platform {
	if t.System != TagIOS {
		return nil
	}
	switch t.Arch {
	case "arm64_" + Device, "arm64_" + Simulator, "x86_64_" + Simulator:
		return OfIOS(fmt.Sprintf("%d.%d", t.Version[0], t.Version[1]), t.Arch)
	}
	return nil
}

// Machine returns the architecture of a platform of iOS and its SDK: "arm64", "iphoneos".
func (p *Platform) Machine() (arch, sdk string) {
	at := strings.LastIndexByte(p.Arch, '_')
	return p.Arch[:max(at, 0)], p.Arch[at+1:]
}
