package rules

import (
	"fmt"
	"path"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

var minimumOSTooNew = &analyzer.Rule{
	ID:       "minimum-os-too-new",
	Title:    "A file is built for a newer macOS than the wheel's tag",
	Severity: analyzer.Warning,
	Doc: `Every Mach-O file names the oldest macOS that it was built for (LC_BUILD_VERSION or
LC_VERSION_MIN_MACOSX). Here it is newer than the one of the wheel's tag, and pip installs the wheel
on that older macOS. dyld loads the file all the same. It fails if the file uses a function that
the older macOS does not have; dyld then adds "built for macOS 14.0 which is newer than running OS"
to its message.

The file is often a library of Homebrew, which is built for the macOS of the machine.

Fix: build the library with MACOSX_DEPLOYMENT_TARGET set to the macOS of the tag, or tag the wheel
for the newer macOS, as delocate does.

Severity: a warning. symbol-version-too-new reports the functions that are missing, where
they are known. It is an error if the file has chained fixups, which linkers write for new versions
of macOS, and the tag is for a macOS before 10.15, whose dyld refuses them: "load command 0x80000034
is unknown".

A file for Android names the API level that it was built for (the note .note.android.ident), and
the wheel's tag may be for an older one. It loads there, unless symbol-version-too-new reports a
function. It is an error if the file has thread-local variables of ELF or packed relative
relocations, which the linker of Android reads since API levels 29 and 28.

A file for iOS is checked in the same way. On arm64 the simulator exists since iOS 14, which is
not newer than an older tag.

Tags of macOS 11 and later have no minor version, and no tag has a patch version. Differences in
those are not reported.`,
	References: []string{
		"mach-o/loader.h, LC_BUILD_VERSION, LC_DYLD_CHAINED_FIXUPS",
		"dyld: dyld/Loader.cpp",
		"bionic: android-changes-for-ndk-developers.md",
		"PyPA: Platform compatibility tags",
	},
	Cause: cause.Rule{
		Warns: "no function was found that the older systems lack",
		Kind: &cause.Kind{
			OfTags: true,
			Short: func(t *cause.Text) string {
				system, newest := minimumOS(t)
				return "built for " + system + " " + newest
			},
			Task: func(t *cause.Text) cause.Task {
				system, newest := minimumOS(t)
				task := cause.Task{
					Actor: result.Builder, Do: "correct the tag or build it for an older system",
					Affected: system + " before " + newest,
				}
				if t.Severity() != result.Error {
					task.Affected += ", if a file uses what older ones do not have"
				}
				return task
			},
		},
	},
	MacOS:   checkMinimumOS,
	Android: checkMinimumAPI,
	IOS:     checkMinimumIOS,
}

// minimumOS returns the system that files were built for, and the version: "macOS" and "10.9".
func minimumOS(t *cause.Text) (system, version string) {
	switch tag := platform.ParseTag(t.First().Target); {
	case tag.Android() != nil:
		return "Android", "API level " + t.Newest()
	case tag.IOS() != nil:
		return "iOS", t.Newest()
	}
	return "macOS", t.Newest()
}

func checkMinimumOS(p *analyzer.Pass) {
	claim := "the wheel's tag is for "
	switch {
	case p.Facts.Wheel == nil && p.Requested:
		claim = "it is checked for "
	case p.Facts.Wheel == nil, !onTag(p):
		return
	}
	for _, i := range ownImages(p) {
		built := i.Object.MinOS
		unread := i.Object.Fixups == machoobj.Chained && p.MacOS.OS < firstChained
		if tagPart(built) <= tagPart(p.MacOS.OS) && !unread {
			continue
		}
		f := analyzer.Finding{
			Object:   i.Name,
			Version:  built.String(),
			Chain:    chainTo(p, i),
			Headline: fmt.Sprintf("built for macOS %v, but %s%s", built, claim, macOSName(p)),
			Message: fmt.Sprintf("%s%s is built for macOS %v, but %s%s",
				i.Name, inSlice(p, i.Name), built, claim, macOSName(p)),
		}
		if unread {
			f.Headline = fmt.Sprintf("%s is built for macOS %v, with chained fixups, which dyld does not "+
				"read before macOS %v", i.Name, built, firstChained)
			built = max(built, firstChained)
			f.Severity, f.Version = analyzer.Error, built.String()
			f.Message = fmt.Sprintf("%s%s has chained fixups, which dyld supports since macOS %v, but "+
				"%s%s. An older dyld fails: load command 0x80000034 is unknown", i.Name, inSlice(p, i.Name),
				firstChained, claim, macOSName(p))
		}
		p.Report(f, append(retagMacOS(p, built), deploymentTarget(p, fix.Object(path.Base(i.Name))))...)
	}
}

// firstChained is the macOS since which dyld reads LC_DYLD_CHAINED_FIXUPS.
var firstChained = machoobj.Make(10, 15)

// tagPart returns the part of a version that a tag contains: major and minor; since macOS 11, the
// major.
func tagPart(v machoobj.Version) machoobj.Version {
	if v>>16 >= bigSur {
		return v >> 16 << 16
	}
	return v >> 8 << 8
}
