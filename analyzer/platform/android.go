package platform

import (
	"fmt"
	"strconv"

	"github.com/compat-app/compat/analyzer/platform/android"
)

// OfAndroid returns the platform of an API level of Android on an architecture ("aarch64"), named
// like a wheel tag. Its Library returns nil; package android has the contents of Android. It is nil
// for an architecture that Android has no ABI for.
func OfAndroid(level int, arch string) *Platform {
	abi := android.ABI(arch)
	if abi == "" {
		return nil
	}
	return &Platform{
		Name: fmt.Sprintf("android_%d_%s", level, abi), Arch: arch, OS: Android,
		LibcVersion: strconv.Itoa(level), Kind: Policy,
	}
}

// Android returns the platform of a tag for Android; nil for other systems, and for an ABI that
// compat does not check.
func (t Tag) Android() *Platform {
	if t.System != TagAndroid {
		return nil
	}
	return OfAndroid(t.Version[0], android.Arch(t.Arch))
}

// APILevel returns the API level of a platform of Android; 0 for other systems.
func (p *Platform) APILevel() int {
	if p.OS != Android {
		return 0
	}
	n, _ := strconv.Atoi(p.LibcVersion)
	return n
}
