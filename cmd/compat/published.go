package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/shellword"
)

// fromIndex begins an input that is a release in the package index: pypi:torch==2.7.0.
const fromIndex = "pypi:"

// published adds the wheel of a release.
func (in *inputs) published(requirement string) error {
	w, err := in.download(requirement)
	if err != nil {
		return fmt.Errorf("%s%s: %w", fromIndex, requirement, err)
	}
	in.opened = append(in.opened, w)
	in.list = append(in.list, w.Input())
	if name, err := pkgmeta.ParseWheelName(w.File); err == nil {
		in.saving = append(in.saving, saving{w.File, saveCommand(name)})
		tag := name.Tags[0]
		if v, ok := strings.CutPrefix(tag.Python, "cp3"); ok {
			if tag.ABI == "abi3" {
				v += " and later"
			}
			in.notes = append(in.notes, fmt.Sprintf("%s%s is the wheel for Python 3.%s; those for other "+
				"versions of Python are not checked", fromIndex, requirement, v))
		}
	}
	return nil
}

// saving is how the wheel of a release is saved to a file, which the commands of a report name.
type saving struct {
	file    string
	command shellword.Line
}

// saveCommand returns pip's command for a wheel. It names the system and the Python of the wheel,
// so that the pip of another one saves it too.
func saveCommand(name pkgmeta.WheelName) shellword.Line {
	tag := name.Tags[0]
	arguments := []string{"pip", "download", "--no-deps"}
	minor, ok := strings.CutPrefix(tag.Python, "cp3")
	ok = ok && minor != ""
	if ok || tag.Platform != "any" { // pip demands it for both
		arguments = append(arguments, "--only-binary", ":all:")
	}
	if tag.Platform != "any" {
		arguments = append(arguments, "--platform", tag.Platform)
	}
	if ok {
		arguments = append(arguments, "--python-version", "3."+minor)
	}
	return shellword.Quoted(append(arguments, name.Name+"=="+name.Version))
}

// saved returns the command that saves the wheel that commands of a report name and that is no file
// yet; "" if there is none.
func (in *inputs) saved(r *analyzer.Report) shellword.Line {
	for _, s := range in.saving {
		named := func(command shellword.Line) bool {
			return strings.Contains(string(command), string(shellword.Quote(shellword.File(s.file))))
		}
		if named(r.Plan.Command) || slices.ContainsFunc(r.Causes, func(c analyzer.Cause) bool {
			return slices.ContainsFunc(c.Fixes, func(x analyzer.CauseFix) bool { return named(x.Command) })
		}) {
			return s.command
		}
	}
	return ""
}

// files are the names of the wheels that were downloaded from the index.
func (in *inputs) files() (names []string) {
	for _, s := range in.saving {
		names = append(names, s.file)
	}
	return names
}

// download returns a function that downloads the wheel that pip would install for a requirement:
// for the interpreter of the flags, else the newest, on the first of the platforms, else on glibc
// systems like this one.
func (p *packageSource) download(
	ctx context.Context,
	f checkFlags,
) func(requirement string) (*index.Wheel, error) {
	return func(requirement string) (*index.Wheel, error) {
		q, err := p.release(requirement)
		if err != nil {
			return nil, err
		}
		python, err := f.interpreter()
		if err != nil {
			return nil, err
		}
		on := packages.Target{Python: python, Arch: machines[runtime.GOARCH], Libc: "glibc"}
		if len(f.platforms) > 0 {
			to, err := platform.Named(f.platforms[0], on.Arch)
			if err != nil {
				return nil, err
			}
			if to.OS != platform.Linux {
				return p.downloadFor(ctx, q, python, to, f.platforms[0])
			}
			on.Arch, on.Libc, on.LibcVersion = to.Arch, to.Libc, to.LibcVersion
		}
		version, err := p.newest(ctx, q, on)
		if err != nil {
			return nil, err
		}
		return p.Indexes.Download(ctx, q.Name, version, on, maxInput)
	}
}

// downloadFor downloads the wheel that pip would install on macOS or Windows, for an interpreter
// or, if it is "", for the newest, of the newest final release that has one; a pinned release may
// be yanked. name is that of the platform: "macos15" without an architecture is also the other one.
func (p *packageSource) downloadFor(
	ctx context.Context,
	q pkgmeta.Requirement,
	python string,
	on *platform.Platform,
	name string,
) (*index.Wheel, error) {
	spec, err := pkgmeta.ParseSpec(q.Spec)
	if err != nil {
		return nil, err
	}
	listed, err := p.Indexes.Wheels(ctx, q.Name)
	if err != nil {
		return nil, err
	}
	_, pinned := spec.Pin()
	var best index.Published
	var first packages.Rank
	for _, w := range listed {
		name, err := pkgmeta.ParseWheelName(w.File)
		if err != nil || !spec.Admits(w.Version) || !judge.Installs(name.Tags, on) ||
			!pinned && (w.Yanked || w.Version.IsPreRelease()) ||
			!packages.AdmitsPython(w.RequiresPython, python) {
			continue
		}
		for _, tag := range name.Tags {
			tag.Platform = "any"
			rank, fits := packages.Rate(tag, packages.Target{Python: python})
			if (fits || python == "") &&
				(best.File == "" || cmp.Or(w.Version.Compare(best.Version), rank.Compare(first)) > 0) {
				best, first = w, rank
			}
		}
	}
	if best.File == "" && on.OS == platform.MacOS {
		arch := "arm64"
		if on.Arch == arch {
			arch = "x86_64"
		}
		other, err := platform.Named(name, arch)
		if err == nil && other.Arch != on.Arch { // the name has no architecture
			return p.downloadFor(ctx, q, python, other, other.Name)
		}
	}
	if best.File == "" {
		where := platform.Title(on.Name)
		if python != "" {
			where = "Python " + python + " on " + where
		}
		return nil, fmt.Errorf("the index has no wheel of %s for %s", q.Name+q.Spec, where)
	}
	return p.Indexes.DownloadFile(ctx, q.Name, best.File, maxInput)
}

// machines are the architectures in platform tags by GOARCH.
var machines = map[string]string{
	"amd64": "x86_64", "arm64": "aarch64", "386": "i686", "arm": "armv7l", "ppc64le": "ppc64le",
	"s390x": "s390x", "riscv64": "riscv64",
}

// newest returns the newest version that a requirement allows; the pinned version even if it is
// yanked.
func (p *packageSource) newest(
	ctx context.Context,
	q pkgmeta.Requirement,
	on packages.Target,
) (string, error) {
	spec, err := pkgmeta.ParseSpec(q.Spec)
	if err != nil {
		return "", err
	}
	if v, ok := spec.Pin(); ok {
		return v.String(), nil
	}
	listed, err := p.Indexes.Versions(ctx, q.Name, on)
	if err != nil {
		return "", err
	}
	versions := packages.Sorted(listed)
	for _, early := range []bool{false, true} {
		for _, v := range slices.Backward(versions) {
			if v.IsPreRelease() == early && spec.Admits(v) {
				return v.String(), nil
			}
		}
	}
	return "", fmt.Errorf("the index has no version of %s that fits; its newest is %s", q.Name,
		versions[len(versions)-1])
}

// compared is a release that wheels are compared with.
type compared struct {
	name   string               // NAME VERSION
	wheels []analyzer.WheelFile // all of them
}

// compareWith adds the wheels of a release that correspond to the wheels of head. Of a requirement
// that pins no version, it takes the newest final release before that of head. Yanked releases are
// only taken if they are pinned.
func (in *inputs) compareWith(
	ctx context.Context,
	from *packageSource,
	requirement string,
	head []analyzer.Input,
) (compared, error) {
	var c compared
	q, err := from.release(requirement)
	if err != nil {
		return c, err
	}
	var wheels []string
	var next *pkgmeta.Version // the oldest version in head
	for _, h := range head {
		file := path.Base(h.Name)
		w, err := pkgmeta.ParseWheelName(file)
		if err != nil || pkgmeta.Normalize(w.Name) != q.Name {
			continue
		}
		wheels = append(wheels, file)
		v, err := pkgmeta.ParseVersion(w.Version)
		if err == nil && (next == nil || v.Compare(*next) < 0) {
			next = &v
		}
	}
	if len(wheels) == 0 {
		return c, fmt.Errorf("none of the given files is a wheel of %s", q.Name)
	}
	spec, err := pkgmeta.ParseSpec(q.Spec)
	if err != nil {
		return c, err
	}
	listed, err := from.Indexes.Wheels(ctx, q.Name)
	if err != nil {
		return c, err
	}
	pinned, isPinned := spec.Pin()
	var version *pkgmeta.Version
	for _, w := range listed {
		v := w.Version
		switch {
		case isPinned && v.Compare(pinned) == 0:
		case isPinned || w.Yanked || v.IsPreRelease() || !spec.Admits(v),
			next != nil && v.Compare(*next) >= 0, version != nil && v.Compare(*version) < 0:
			continue
		}
		version = &v
	}
	if version == nil {
		return c, fmt.Errorf("the index has no wheels of such a release of %s; name one of its "+
			"versions, or leave out --base before the first release", q.Name)
	}
	c.name = q.Name + " " + version.String()
	var names []string
	for _, w := range listed {
		if w.Version.Compare(*version) == 0 && !slices.Contains(names, w.File) {
			names = append(names, w.File)
			c.wheels = append(c.wheels, analyzer.WheelFile{Name: w.File, RequiresPython: w.RequiresPython})
		}
	}
	for _, file := range analyzer.Counterparts(wheels, names) {
		w, err := from.Indexes.DownloadFile(ctx, q.Name, file, maxInput)
		if err != nil {
			return c, err
		}
		in.opened = append(in.opened, w)
		in.list = append(in.list, w.Input())
	}
	return c, nil
}

// note says what was compared.
func (c compared) note(wheels int) string {
	return fmt.Sprintf("compared with %s: %d of its %d wheels, those for the Pythons and systems of "+
		"the given wheels", c.name, wheels, len(c.wheels))
}

// release returns the requirement after pypi:, which has no marker and no extras.
func (p *packageSource) release(requirement string) (pkgmeta.Requirement, error) {
	if len(p.names) == 0 {
		return pkgmeta.Requirement{}, noIndex(p.env,
			"releases are downloaded from a package index, and none is configured")
	}
	q, err := pkgmeta.ParseRequirement(requirement)
	if err != nil || q.URL+q.Marker != "" || len(q.Extras) > 0 {
		return q, errors.New("give NAME==VERSION, for example torch==2.7.0; " +
			"extras are added with --with NAME[EXTRA]")
	}
	return q, nil
}
