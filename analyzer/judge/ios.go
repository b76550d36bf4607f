package judge

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// IOSLoad is a wheel in an app of iOS. The build of the app makes a framework of each module (*.so)
// and moves it to the folder Frameworks, so modules find no other file of the wheel.
type IOSLoad struct {
	Arch, SDK string
	Version   machoobj.Version
	Python    string // the release that imports the modules; "" if it is not known
	Objects   []*IOSObject
}

// IOSObject is a Mach-O file of a wheel for iOS.
type IOSObject struct {
	*facts.MachObject
	Slice *machoobj.Object // for the architecture and SDK; nil without one
}

// PythonFramework is the library of Python in an app.
const PythonFramework = "@rpath/Python.framework/Python"

// loadIOS returns the files of a wheel for a platform of iOS.
func loadIOS(c Case) *IOSLoad {
	p := c.Target.Platform
	l := &IOSLoad{Python: macOSPython(c.Artifact)}
	l.Arch, l.SDK = p.Machine()
	if v, err := machoobj.ParseVersion(p.LibcVersion); err == nil {
		l.Version = v
	}
	for _, m := range c.Artifact.MachO {
		o := &IOSObject{MachObject: m}
		for _, s := range m.Slices {
			if s.Object != nil && s.Object.Type.Loadable() && l.fits(s) {
				o.Slice = s.Object
			}
		}
		l.Objects = append(l.Objects, o)
	}
	return l
}

// fits reports whether a slice is for the architecture and the SDK.
func (l *IOSLoad) fits(s machoobj.Slice) bool {
	sdk := platform.Device
	if s.Object.Platform == machoobj.IOSSimulator ||
		s.Object.Platform == machoobj.IOS && s.Arch != "arm64" { // before there was a platform for it
		sdk = platform.Simulator
	}
	return s.Arch == l.Arch && sdk == l.SDK && (s.Object.Platform == machoobj.IOS ||
		s.Object.Platform == machoobj.IOSSimulator)
}

// Provider returns the library of an import: PythonFramework also where the import names none and
// Python has the symbol; "" if it is not known.
func (o *IOSObject) Provider(i machoobj.Import) string {
	if n := i.Ordinal - 1; n >= 0 && n < len(o.Slice.Needed) {
		return o.Slice.Needed[n].Path
	}
	if len(cpython.Releases(strings.TrimPrefix(i.Name, "_"))) > 0 {
		return PythonFramework
	}
	return ""
}

// iOSTargets returns the platforms of iOS on which a wheel is checked: those that the user named,
// otherwise the oldest of its tags for each architecture and SDK. skip is called with what is not
// checked, and why.
func iOSTargets(
	f *facts.Artifact,
	o Platforms,
	skip func(format string, args ...any),
) (out []Target) {
	named := false
	for _, name := range slices.Concat(o.Instead, o.Also) {
		if platform.SystemOf(name) != platform.IOS {
			continue
		}
		named = true
		switch p, err := platform.Lookup(name, ""); {
		case err != nil:
			skip("its files on %s, because compat does not know it", name)
		case len(claimedIOS(f, p.Arch)) == 0:
			skip("its files on %s, because it is for another architecture or SDK", name)
		default:
			out = o.request(f, p, out, skip)
		}
	}
	if len(o.Instead) > 0 {
		if !named {
			skip("%s", o.ofOthers("Mach-O", "iOS", nil, "ios_13_0_arm64_iphoneos"))
		}
		return out
	}
	for _, p := range claimedIOS(f, "") {
		out = append(out, Target{Platform: p})
	}
	return out
}

// claimedIOS is claimed for iOS: the oldest version for each architecture and SDK among the tags,
// or for one of them.
func claimedIOS(f *facts.Artifact, arch string) (oldest []*platform.Platform) {
	if f.Wheel == nil || len(f.MachO) == 0 {
		return nil
	}
	for _, t := range f.Wheel.Tags {
		p := platform.ParseTag(t.Platform).IOS()
		if p == nil || arch != "" && p.Arch != arch {
			continue
		}
		oldest = withOldest(oldest, p)
	}
	return oldest
}

// account accounts for the imports of the files for the architecture and SDK. What the libraries of
// iOS export is not known.
func (l *IOSLoad) account(missing lost) (out result.Accounting) {
	for _, o := range l.Objects {
		if o.Slice == nil {
			continue
		}
		for _, i := range o.Slice.Imports {
			out.Imports++
			library := o.Provider(i)
			switch {
			case missing[[2]string{o.Path, i.Name}]:
				out.Missing++
			case i.Weak, i.Coalesced, i.Ordinal == machoobj.Self,
				library == PythonFramework && cpython.Known(l.Python):
				out.Found++
			case library == PythonFramework:
				out.Undecide(result.OfHost, string(facts.HostPython), 1)
			default:
				out.Undecide(result.NotRead, path.Base(library), 1)
			}
		}
	}
	return out
}
