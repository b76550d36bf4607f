package rules

import (
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// accelerator matches a GPU stack in the name of a file or folder.
var accelerator = lazyregexp.New(`(?:^|[^A-Za-z])(cuda|rocm|hip|xpu)(?:[^A-Za-z]|$)`)

// hardware is what a program has to find so that it loads a variant for a GPU stack.
var hardware = map[string]string{
	"cuda": "an NVIDIA GPU", "rocm": "an AMD GPU", "hip": "an AMD GPU", "xpu": "an Intel GPU",
}

// acceleratorOf returns the hardware that an object is for by its name, "" for any.
func acceleratorOf(v *analyzer.View) string {
	if m := accelerator.FindStringSubmatch(v.Path); m != nil {
		return hardware[m[1]]
	}
	return ""
}

// onlyWith returns the hardware without which no program loads an object that needs a newer
// platform: it is a variant for a GPU stack, the import of its package does not load it in any
// case, and another variant, for other hardware or none, works on the platform. "" for others.
func onlyWith(p *analyzer.Pass, v *analyzer.View) string {
	gpu := acceleratorOf(v)
	if gpu == "" || !v.Alternative || p.Facts.Opens(v.Path) ||
		slices.ContainsFunc(v.Users, func(u *analyzer.View) bool { return !u.Alternative }) ||
		!slices.ContainsFunc(p.Views, func(u *analyzer.View) bool {
			return acceleratorOf(u) != gpu && analyzer.Alternatives(v, u) && isOldEnough(p, u)
		}) {
		return ""
	}
	return gpu
}

// isOldEnough reports whether the platform has all symbol versions that an object needs.
func isOldEnough(p *analyzer.Pass, v *analyzer.View) bool {
	for b := range v.Bindings().Failed() {
		if b.Provider != nil && b.Provider.Kind == dynlink.FromPlatform {
			return false
		}
	}
	return !slices.ContainsFunc(bareNodes(v), func(n node) bool { return lacksNode(p, n) })
}

// lacksNode reports whether a library of the platform does not have a version.
func lacksNode(p *analyzer.Pass, n node) bool {
	l := p.Platform.Library(n.Library)
	return l != nil && l.Known && !l.HasVersion(n.Version)
}

// asVariant changes a finding about an object that programs load only with some hardware.
func asVariant(f *analyzer.Finding, only string) {
	if only == "" {
		return
	}
	f.Severity, f.OnlyWith, f.Why = analyzer.Warning, only, "the file is loaded only with "+only
	f.Message += ". It is one of several variants; it is loaded only with " + only
}
