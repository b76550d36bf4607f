package rules

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/shellword"
)

// retagged returns a fix whose command changes the tags of the wheel; fields of to that are "" are
// kept.
func retagged(p *analyzer.Pass, to pkgmeta.Tag, x fix.Fix) fix.Fix {
	w := wheelOf(p)
	if tagsAgree(p) {
		w.Extract, w.Folder, w.Meta = "", "", ""
	}
	x.Retags = []fix.Retagging{{Wheel: w, To: to}}
	x.Command = fix.RetagCommand(x.Retags)
	return x
}

// retagTo returns the fix that gives the wheel the tag of a platform.
func retagTo(p *analyzer.Pass, on *platform.Platform) fix.Candidate {
	return fix.Candidate{
		Fix: retagged(p, pkgmeta.Tag{Platform: on.Name}, fix.Fix{
			Kind:  fix.KindPlatformTag,
			Title: fix.Tagging(on.Name),
		}),
		Change: fix.Retag{Platform: on.Name + "/" + on.Arch},
	}
}

// wheelOf returns what commands for the wheel depend on.
func wheelOf(p *analyzer.Pass) *fix.Wheel {
	return &fix.Wheel{
		Path: p.Facts.Path, File: path.Base(p.Facts.Path),
		Tags: p.Facts.Wheel.Tags, Build: p.Facts.Wheel.Build,
		Extract: extract(p), Folder: folderOf(p), Meta: distInfoOf(p) + "/WHEEL",
	}
}

// tagsAgree reports whether "wheel tags" accepts the wheel: it rejects one whose WHEEL file has
// other tags than its file name, or several in one line, and variant wheels. It also rejects a
// build number that only the file name has, as in many wheels, so it is used for no wheel with one.
func tagsAgree(p *analyzer.Pass) bool {
	if p.Facts.VariantLabel != "" || p.Facts.Wheel.Build != "" {
		return false
	}
	in := p.Facts.Inside
	return in == nil || in.WheelFile == nil ||
		!in.WheelFile.Compressed && slices.Equal(tagSet(in.WheelFile.Tags), tagSet(p.Facts.Wheel.Tags))
}

// edit returns the command that edits an object of the artifact. programs are commands with
// options, to which the path of the object is appended. Wheels and Debian packages are extracted
// and packed again; for other archives it is the path in the extracted archive.
func edit(p *analyzer.Pass, object string, programs ...shellword.Line) shellword.Line {
	file := shellword.Quote(shellword.File(object))
	var before, after []shellword.Line
	switch {
	case p.Facts.Kind == analyzer.KindObject:
		file = quoted(object)
	case p.Facts.Wheel != nil:
		file = folderOf(p) + "/" + file
		before, after = repack(p)
	case p.Facts.Format == unpack.FormatDeb:
		file = "unpacked/" + file
		before = []shellword.Line{"dpkg-deb -R " + quoted(p.Facts.Path) + " unpacked"}
		after = []shellword.Line{"dpkg-deb -b unpacked " + quoted(p.Facts.Path), "rm -r unpacked"}
	}
	commands := before
	for _, x := range programs {
		commands = append(commands, x+" "+file)
	}
	return shellword.Join(append(commands, after...), " && ")
}

// renaming returns the command that renames a file of a wheel and edits an object of it.
func renaming(
	p *analyzer.Pass, object, from, to string, programs ...shellword.Line,
) shellword.Line {
	at := func(member string) shellword.Line {
		return folderOf(p) + "/" + shellword.Quote(shellword.File(member))
	}
	before, after := repack(p)
	commands := append(before, "mv "+at(from)+" "+at(to))
	for _, x := range programs {
		commands = append(commands, x+" "+at(object))
	}
	return shellword.Join(append(commands, after...), " && ")
}

// repack returns the commands before and after those that edit members of the wheel.
func repack(p *analyzer.Pass) (before, after []shellword.Line) {
	w := wheelOf(p)
	before = []shellword.Line{w.Extract}
	if !tagsAgree(p) { // the packed wheel has the tags of WHEEL in its name
		before = append(before, fix.Retagging{Wheel: w}.Edit())
	}
	return before, []shellword.Line{w.Repack()}
}

// addNeeded returns the program for edit that adds DT_NEEDED entries.
func addNeeded(sonames []string) shellword.Line {
	var command shellword.Line = "patchelf"
	for _, s := range sonames {
		command += " --add-needed " + shellword.Quote(s)
	}
	return command
}

// setRunPath returns the program for edit that sets DT_RUNPATH; in a conda package DT_RPATH, as
// conda-build does: with a DT_RUNPATH, that of the program would no longer apply to the object.
func setRunPath(p *analyzer.Pass, to string) shellword.Line {
	var force shellword.Line
	if p.Facts.Conda() {
		force = "--force-rpath "
	}
	return "patchelf " + force + "--set-rpath " + shellword.Quote(to)
}

// extract returns the command that extracts the wheel. "wheel unpack" rejects a wheel whose RECORD
// is wrong. zipfile does not, but drops the permissions of programs.
func extract(p *analyzer.Pass) shellword.Line {
	in := p.Facts.Inside
	if in == nil || !in.NoRecord && in.RecordError == "" &&
		len(in.Missing)+len(in.Unlisted)+len(in.Changed) == 0 {
		return "python -m wheel unpack " + quoted(p.Facts.Path)
	}
	command := "python -m zipfile -e " + quoted(p.Facts.Path) + " " + folderOf(p)
	var programs []shellword.Line
	for _, v := range p.Views {
		if v.Interp != "" {
			programs = append(programs, folderOf(p)+"/"+shellword.Quote(v.Path))
		}
	}
	if programs != nil {
		command += " && chmod +x " + shellword.Join(programs, " ")
	}
	return command
}

// folderOf is the folder for the extracted wheel.
func folderOf(p *analyzer.Pass) shellword.Line {
	return shellword.Quote(p.Facts.Wheel.Name + "-" + p.Facts.Wheel.Version)
}

// distInfoOf is the dist-info folder of the extracted wheel.
func distInfoOf(p *analyzer.Pass) shellword.Line {
	name := p.Facts.Wheel.Name + "-" + p.Facts.Wheel.Version + ".dist-info"
	if in := p.Facts.Inside; in != nil && len(in.DistInfo) == 1 {
		name = in.DistInfo[0]
	}
	return folderOf(p) + "/" + shellword.Quote(name)
}

// quoted returns the base name of a file as a shell argument.
func quoted(p string) shellword.Line {
	return shellword.Quote(shellword.File(p[strings.LastIndex(p, "/")+1:]))
}

// repairing returns the fix that bundles libraries into the wheel. The tag linux_ARCH has to be
// replaced; to any other, auditwheel would add a second one. system are the packages that have the
// libraries, nil if they are not known.
func repairing(p *analyzer.Pass, title fix.Title, system *fix.SystemPackages) fix.Candidate {
	w := p.Facts.Wheel // nil if the file name is not a wheel's
	not := notCopiedInto(p)
	with := &fix.Bundling{
		With: fix.Auditwheel, Exclude: not.exclude, Installed: not.installed,
		KeepTags: w != nil && !slices.ContainsFunc(w.Tags, func(t pkgmeta.Tag) bool {
			return platform.ParseTag(t.Platform).WithoutLibc()
		}),
		System: system,
	}
	cost := []string{"a larger wheel"}
	if with.KeepTags { // although what is copied is of another system than that of the tag
		cost = append(cost, "a newer tag, if that system is newer than the tag")
	}
	return fix.Candidate{Fix: fix.Fix{
		Kind: fix.KindPatchelf, Title: title, Command: with.Command(quoted(p.Facts.Path)),
		Bundling: with, Cost: cost,
	}}
}

// notCopied are libraries that auditwheel must not copy into the wheel.
type notCopied struct{ exclude, installed []string }

// notCopiedInto returns the libraries that auditwheel must not copy into the wheel. It is computed
// once, because a fix of each library that is not found needs it.
func notCopiedInto(p *analyzer.Pass) notCopied {
	return p.Once("libraries that auditwheel must not copy", func() any {
		return notCopied{slices.Clip(outside(p)), slices.Clip(ofPackages(p))}
	}).(notCopied)
}

// outside returns the libraries that auditwheel would copy or look for, but that must not be in the
// wheel: those of a driver, of the operating system, of a toolkit, and of other packages.
func outside(p *analyzer.Pass) []string {
	var names, others []string
	own := map[string]bool{}
	for _, v := range p.Views {
		for _, name := range v.Library.Names() {
			own[name] = true
		}
	}
	system := allowed(p)
	type kind struct{ inside, known bool }
	kinds := map[string]kind{}
	for _, v := range p.Views {
		installed := map[string]bool{} // with another package
		for _, f := range v.Loading.Found {
			if f.Library.Kind == dynlink.FromPackage {
				for _, name := range f.Library.Names() {
					installed[name] = true
				}
			}
		}
		for _, name := range v.Needed {
			k, before := kinds[name]
			if !before {
				s, known := platform.ProviderOf(name)
				k.inside = own[name] || known &&
					(s.Kind == platform.LibraryProvider || s.Kind == platform.BundleProvider)
				k.known = known && !slices.Contains(system, name)
				kinds[name] = k
			}
			if !k.inside && (installed[name] || k.known) {
				names = withName(names, name)
			} else {
				others = withName(others, name)
			}
		}
	}
	return fix.Families(names, others)
}

// ofPackages returns the libraries of packages that are installed with the wheel, apart from those
// that every wheel has its own copy of.
func ofPackages(p *analyzer.Pass) []string {
	if p.Packages == nil {
		return nil
	}
	var names []string
	for r := range p.Packages.All() {
		for _, l := range r.Libraries {
			name := cmp.Or(l.SONAME, path.Base(l.Path))
			s, known := platform.ProviderOf(name)
			if !known || s.Kind != platform.LibraryProvider && s.Kind != platform.BundleProvider {
				names = append(names, name)
			}
		}
	}
	return names
}

// allowed returns the libraries of the system that a wheel may use, so that auditwheel does not
// copy them.
func allowed(p *analyzer.Pass) []string {
	policy, err := platform.Lookup("manylinux2014", p.Platform.Arch)
	if err != nil {
		return nil
	}
	return policy.Whitelist()
}

// builtWheel returns the file name of the wheel before auditwheel replaced the tag linux_ARCH of
// the build. It is "" for other artifacts.
func builtWheel(p *analyzer.Pass) shellword.Line {
	at := strings.LastIndexByte(p.Facts.Path, '-')
	if p.Facts.Wheel == nil || at < 0 {
		return ""
	}
	return quoted(p.Facts.Path[:at+1] + "linux_" + p.Platform.Arch + ".whl")
}

// tagSet returns the sorted tags without duplicates.
func tagSet(tags []pkgmeta.Tag) []string {
	var out []string
	for _, t := range tags {
		out = append(out, t.String())
	}
	slices.Sort(out)
	return slices.Compact(out)
}
