package wheelpolicy

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
)

// C libraries that policies exist for.
const (
	glibc   = "glibc"
	musl    = "musl"
	android = "android"
)

// policy is a tag and what it allows.
type policy struct {
	name      string
	rank      int             // a higher one runs on more systems; linux has 0
	whitelist map[string]bool // external libraries that it allows
	platform  *platform.Platform
	known     []allowance // by number of a name: whether it is allowed
}

// policies are the policies for one libc on one architecture.
type policies struct {
	linux *policy   // allows everything
	list  []*policy // without linux, by rank, at least one
}

func (ps *policies) highest() *policy { return ps.list[len(ps.list)-1] }

// newPolicies returns the policies (WheelPolicies). For musl only the newest is used: auditwheel
// uses the version of the machine that it runs on, and the newest if that has no musl.
func newPolicies(libc, arch string, platforms []string) (*policies, error) {
	ps := &policies{linux: &policy{name: "linux_" + arch}}
	if libc == android {
		p, err := androidPolicy(arch, platforms)
		ps.list = []*policy{p}
		return ps, err
	}
	for _, p := range platform.All(arch) {
		if p.Kind == platform.Policy && p.Libc == libc {
			ps.list = append(
				ps.list,
				&policy{name: p.Name, rank: p.Priority(), whitelist: whitelistOf(p), platform: p},
			)
		}
	}
	if len(ps.list) == 0 {
		return nil, crash("there is no policy for %s on %s", libc, arch)
	}
	slices.SortFunc(ps.list, func(a, b *policy) int { return cmp.Compare(a.rank, b.rank) })
	if libc == musl {
		ps.list = ps.list[:1]
	}
	return ps, nil
}

// whitelists are the whitelists of platforms, which all wheels have in common.
var whitelists sync.Map

// whitelistOf returns the external libraries that a policy allows.
func whitelistOf(p *platform.Platform) map[string]bool {
	if known, ok := whitelists.Load(p); ok {
		return known.(map[string]bool)
	}
	out := map[string]bool{}
	for _, soname := range p.Whitelist() {
		if p.Libc == musl && soname == "libc.so" {
			soname = platform.MuslLibc(p.Arch)
		}
		out[soname] = true
	}
	whitelists.Store(p, out)
	return out
}

// androidLevels are the Android API levels with the NDK libraries that each added. The *_python.so
// libraries are part of Python (auditwheel's android-policy.json, from the NDK's list of stable
// APIs).
var androidLevels = []struct {
	level, rank int
	libraries   string
}{
	{
		21,
		79,
		"libEGL.so libGLESv1_CM.so libGLESv2.so libOpenMAXAL.so libOpenSLES.so libandroid.so libc.so " +
			"libcrypto_python.so libdl.so libjnigraphics.so liblog.so libm.so libmediandk.so " +
			"libsqlite3_python.so libssl_python.so libz.so",
	},
	{24, 76, "libcamera2ndk.so libvulkan.so"},
	{26, 74, "libaaudio.so libsync.so"},
	{27, 73, "libneuralnetworks.so"},
}

// androidPolicy returns the newest policy that the wheel's tag allows, named after the tag.
func androidPolicy(arch string, platforms []string) (*policy, error) {
	if len(platforms) != 1 {
		return nil, crash("an Android wheel has one platform tag, and this has %d", len(platforms))
	}
	level := platform.ParseTag(platforms[0]).Version[0]
	if level < androidLevels[0].level || arch != "x86_64" && arch != "aarch64" {
		return nil, crash("no Android policy is for %s on %s", platforms[0], arch)
	}
	p := &policy{name: platforms[0], whitelist: map[string]bool{}}
	for _, l := range androidLevels {
		if l.level <= level {
			p.rank = l.rank
			for _, soname := range strings.Fields(l.libraries) {
				p.whitelist[soname] = true
			}
		}
	}
	return p, nil
}

// satisfying returns the highest policy that allows all versions (versioned_symbols_policy).
func (ps *policies) satisfying(versions map[string]map[string]bool) *policy {
	all := map[string]bool{}
	for _, of := range versions {
		for v := range of {
			all[v] = true
		}
	}
	for _, p := range slices.Backward(ps.list) {
		if p.allows(all) {
			return p
		}
	}
	return ps.linux
}

func (p *policy) allows(versions map[string]bool) bool {
	if p.platform == nil {
		return true
	}
	for v := range versions {
		if allowed, known := p.platform.Allows(v); known && !allowed {
			return false
		}
	}
	return true
}

// blacklisted reports for each policy whether an object has a strong reference to a symbol that the
// policy forbids in one of its DT_NEEDED libraries (filter_undefined_symbols).
func (ps *policies) blacklisted(o *elfobj.Object) []bool {
	out := make([]bool, len(ps.list))
	by := map[string][]int{} // symbol -> policies that forbid it
	for i, p := range ps.list {
		if p.platform == nil {
			continue
		}
		for _, n := range o.Needed {
			for _, symbol := range p.platform.Blacklist(n) {
				by[symbol] = append(by[symbol], i)
			}
		}
	}
	if len(by) == 0 {
		return out
	}
	for _, i := range o.Imports.All() {
		if !i.Weak {
			for _, n := range by[i.Name] {
				out[n] = true
			}
		}
	}
	return out
}
