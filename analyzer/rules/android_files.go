package rules

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/android"
)

// androidName returns the API level of the platform with its release: "API level 24 (Android 7.0)".
func androidName(level int) string {
	name := "API level " + strconv.Itoa(level)
	if release := android.Release(level); release != name {
		name += " (" + release + ")"
	}
	return name
}

// retagAndroid returns the fix that gives the wheel a tag for a newer API level; none for the
// platform that the user named.
func retagAndroid(p *analyzer.Pass, level int) []fix.Candidate {
	if p.Facts.Wheel == nil || !onTag(p) {
		return nil
	}
	to := platform.OfAndroid(level, p.Platform.Arch)
	return []fix.Candidate{{
		Fix: retagged(p, pkgmeta.Tag{Platform: to.Name}, fix.Fix{
			Kind: fix.KindPlatformTag, Title: fix.Tagging(to.Name),
			Cost: []string{"pip no longer installs it on Android before " + androidName(level)},
		}),
		Change: fix.Retag{Platform: to.Name + "/" + to.Arch},
	}}
}

// forLevel returns the fix that builds for the API level of the platform.
func forLevel(p *analyzer.Pass) fix.Candidate {
	return fix.Candidate{Fix: fix.Fix{
		Kind: fix.KindRebuild,
		Title: fix.Titled("Build for API level %s (ANDROID_API_LEVEL of cibuildwheel)",
			strconv.Itoa(p.Android.Level)),
		Command: "ANDROID_API_LEVEL=" + quoted(strconv.Itoa(p.Android.Level)),
	}}
}

// checkArchitectureAndroid reports files for another architecture than that of the tag, and those
// for Linux.
func checkArchitectureAndroid(p *analyzer.Pass) {
	none := !slices.ContainsFunc(p.Facts.Android, func(o *analyzer.Object) bool {
		return o.Arch() == p.Android.Arch
	})
	for _, o := range p.Facts.Android {
		arch := o.Arch()
		tagged := slices.ContainsFunc(p.Facts.PlatformTags(), func(t string) bool {
			q := platform.ParseTag(t).Android()
			return q != nil && q.Arch == arch
		})
		var what string
		switch {
		case arch != p.Android.Arch && !none && tagged:
			continue // another tag is for it
		case arch != p.Android.Arch:
			what = fmt.Sprintf("built for %s, but the wheel's tag is for %s", arch, p.Platform.Name)
		case o.ForLinux():
			what = fmt.Sprintf("built for Linux on %s, but the wheel's tag is for %s", arch, p.Platform.Name)
		default:
			continue
		}
		f := builtForOther(o.Path, what)
		if o.Extension() || !slices.ContainsFunc(p.Facts.Android, (*analyzer.Object).Extension) {
			f.Severity = analyzer.Error
		}
		p.Report(f, relink(fix.Titled("Build it with the NDK for %s", p.Platform.Name)))
	}
}

// threadLocal are the relocations of ELF TLS.
const threadLocal = elfobj.RelocTLSGD | elfobj.RelocTLSIE | elfobj.RelocTLSDesc

// The first API levels with features of the linker (bionic, android-changes-for-ndk-developers.md).
const (
	firstELFTLS = 29
	firstRELR   = 28 // with the tags of Android; with the official ones 30
)

// checkMinimumAPI is minimum-os-too-new for Android: the note of a file names a newer API level, or
// it needs a linker that is newer.
func checkMinimumAPI(p *analyzer.Pass) {
	for _, o := range p.Android.Objects {
		if o.Load == nil {
			continue
		}
		level := p.Android.Level
		if o.Local&threadLocal != 0 && level < firstELFTLS {
			reportLinkerTooOld(p, o, "ELF thread-local variables", firstELFTLS)
		}
		if o.RelR && level < firstRELR {
			reportLinkerTooOld(p, o, "packed relative relocations (DT_RELR)", firstRELR)
		}
		if o.AndroidAPI <= level {
			continue
		}
		text := fmt.Sprintf("%s is built for %s, but %s %s", o.Path, androidName(o.AndroidAPI),
			claims(p), androidName(level))
		p.Report(analyzer.Finding{
			Object: o.Path, Version: strconv.Itoa(o.AndroidAPI), Chain: []string{o.Path}, Headline: text,
			Reason:  "built for API level " + strconv.Itoa(o.AndroidAPI) + " of Android",
			Message: text,
		}, append(retagAndroid(p, o.AndroidAPI), forLevel(p))...)
	}
}

// reportLinkerTooOld reports a file that needs a feature which the linker has since an API level.
func reportLinkerTooOld(p *analyzer.Pass, o *analyzer.AndroidObject, what string, since int) {
	text := fmt.Sprintf("%s has %s, which Android's linker supports since %s, but %s %s", o.Path,
		what, androidName(since), claims(p), androidName(p.Android.Level))
	p.Report(analyzer.Finding{
		Severity: analyzer.Error, Object: o.Path, Version: strconv.Itoa(since), Chain: []string{o.Path},
		Headline: text, Message: text, Reason: "has " + what + ", which API level " +
			strconv.Itoa(since) + " of Android added",
	}, append(retagAndroid(p, since), forLevel(p))...)
}

// claims returns who says for which version of a system the wheel is checked: "the wheel's tag is
// for".
func claims(p *analyzer.Pass) string {
	if onTag(p) {
		return "the wheel's tag is for"
	}
	return "it is checked for"
}

// checkTextRelocationsAndroid reports files with relocations in their code, which Android
// refuses to load since API level 23.
func checkTextRelocationsAndroid(p *analyzer.Pass) {
	for _, o := range p.Android.Objects {
		if o.Load == nil || !o.TextRel {
			continue
		}
		p.Report(analyzer.Finding{
			Severity: analyzer.Error, Object: o.Path, Chain: []string{o.Path},
			Message: o.Path + " has text relocations (DT_TEXTREL), so Android does not load it",
		}, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindRebuild, Title: fix.Titled("Compile all of its code with -fPIC"),
			Command: "-fPIC -Wl,-z,text",
		}})
	}
}

// checkSuffixesAndroid is extension-suffix on Android.
func checkSuffixesAndroid(p *analyzer.Pass) {
	if p.Facts.Wheel == nil || p.Requested {
		return
	}
	var files []moduleFile
	for _, o := range p.Android.Objects {
		if o.Load == nil || !o.Extension() || o.ForLinux() {
			continue
		}
		f := moduleFile{path: o.Path}
		for _, e := range o.Exports.All() {
			f.add(e.Name)
		}
		files = append(files, f)
	}
	checkSuffixes(p, files, parseModule)
}
