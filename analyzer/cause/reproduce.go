package cause

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

// Loader is the error that shows a finding to who installs the artifact.
type Loader int

const (
	Silent         Loader = iota // none, or one that is not known
	ReportsLibrary               // the loader does not find a library
	ReportsVersion               // the loader does not find a version of symbols
	ReportsSymbol                // the loader does not find a symbol
	RefusesStack                 // the loader refuses an executable stack
	PipRefuses                   // pip does not install the wheel
	Raises                       // Python raises Finding.Raises
)

// image is a distribution for which there are container images with Python.
type image struct {
	name, platform, glibc, tag string
	from, to                   int // the minor versions of Python that it has images for
}

// images are those of the official Python image, the newest first.
var images = []image{
	{"Debian 13", "debian13", "2.41", "trixie", 9, 14},
	{"Debian 12", "debian12", "2.36", "bookworm", 8, 14},
	{"Debian 11", "debian11", "2.31", "bullseye", 7, 13},
	{"Debian 10", "debian10", "2.28", "buster", 7, 11},
}

// usualImage is the index in images of the one that shows an error of any system.
const usualImage = 1

// usualPython is the Python for artifacts that run with several, and oldPython the one for those
// that fail on old systems only.
const (
	usualPython = 12
	oldPython   = 11
)

// reproduce returns how to see a cause fail; nil if no message of a loader shows it.
func (t *Text) reproduce() *result.Reproduction {
	f, loader := t.visible()
	if f == nil {
		return nil
	}
	on, err := platform.Lookup(f.Target, platform.Architecture(f.Target))
	if err != nil || on.OS != platform.Linux {
		return nil
	}
	install := t.installed(f)
	if install == "" {
		return nil
	}
	out := &result.Reproduction{Message: message(f, loader, on.Libc)}
	minor, several := t.minor(f, loader)
	tag := t.image(f, loader, on, minor, out)
	if tag == "" && several {
		minor = oldPython
		tag = t.image(f, loader, on, minor, out)
	}
	python := shellword.Quote("python3." + strconv.Itoa(minor))
	run, raises := importing(f)
	switch {
	case loader == PipRefuses:
		run = ""
	case loader == Raises:
		out.Message = f.Raises
	default:
		out.Message = raises + out.Message
	}
	then := func(pip, python shellword.Line) shellword.Line {
		line := pip + " install " + install
		if run != "" {
			line += " && " + python + " " + run
		}
		return line
	}
	if tag != "" {
		out.Container = inContainer(on.Arch, tag, then("pip", "python"))
	}
	if older := t.old(f, on.Arch, out); older != "" {
		out.Container = older
	}
	out.Venv = python + " -m venv reproduce && " + then("reproduce/bin/pip", "reproduce/bin/python")
	return out
}

// printed returns what a program prints that loads a library which pip does not install; "" for
// others, and for musl, whose programs print nothing else.
func (t *Text) printed() string {
	f, loader := t.visible()
	if f == nil || f.Program || t.pinned() || t.artifact.wheel() {
		return ""
	}
	on, err := platform.Lookup(f.Target, platform.Architecture(f.Target))
	if err != nil || on.Libc != "glibc" {
		return ""
	}
	switch loader {
	case ReportsLibrary:
		return "error while loading shared libraries: " + message(f, loader, on.Libc)
	case ReportsSymbol:
		return "symbol lookup error: " + message(f, loader, on.Libc)
	case ReportsVersion:
		return message(f, loader, on.Libc)
	}
	return ""
}

// visible returns the first finding of the cause, of its severity, that a loader, Python or pip
// reports. That of a module is easier to reproduce.
func (t *Text) visible() (found *result.Finding, loader Loader) {
	for _, f := range t.all {
		l := t.rules[f.Rule].loader(f)
		if l == Silent || f.Severity != t.cause.Severity || f.RevealedBy != "" ||
			pythonLibrary.MatchString(f.Library) { // the Python of an image may have it
			continue
		}
		if found == nil || moduleOf(found) == "" && moduleOf(f) != "" ||
			l == ReportsVersion && platform.Older(glibcOf(found), glibcOf(f)) {
			found, loader = f, l
		}
	}
	return found, loader
}

// glibcOf returns the version of glibc that a finding is about; "" for another one.
func glibcOf(f *result.Finding) string {
	if m := glibcVersion.FindStringSubmatch(f.Version); m != nil {
		return m[1]
	}
	return ""
}

// loader returns the error that shows a finding.
func (r Rule) loader(f *result.Finding) Loader {
	switch {
	case r.Linker: // a loader does not say what a linker says
		return Silent
	case f.Raises != "":
		return Raises
	case r.Loader != Silent:
		return r.Loader
	case r.Lacks == LacksLibrary:
		return ReportsLibrary
	case r.Lacks != LacksNothing && f.NoVersion:
		return ReportsVersion
	case r.Lacks != LacksNothing:
		return ReportsSymbol
	}
	return Silent
}

// message is what the loader says, without the paths of the machine.
func message(f *result.Finding, loader Loader, libc string) string {
	object := path.Base(f.Object)
	program := "" // the loader of glibc begins with the program that it starts
	if f.Program && libc != "musl" {
		program = "…/" + object + ": "
	}
	switch {
	case loader == PipRefuses:
		return "ERROR: " + path.Base(f.Artifact) + " is not a supported wheel on this platform."
	case loader == RefusesStack:
		return object + ": cannot enable executable stack as shared object requires: Invalid argument"
	case loader == ReportsLibrary && libc == "musl":
		return "Error loading shared library " + f.Library +
			": No such file or directory (needed by …/" + object + ")"
	case loader == ReportsLibrary && program != "":
		return program + "error while loading shared libraries: " + f.Library +
			": cannot open shared object file: No such file or directory"
	case loader == ReportsLibrary:
		return f.Library + ": cannot open shared object file: No such file or directory"
	case libc == "musl":
		return "Error relocating …/" + object + ": " + f.Symbol + ": symbol not found"
	case loader == ReportsVersion:
		return program + "version `" + f.Version + "' not found (required by …/" + object + ")"
	}
	out := "…/" + object + ": undefined symbol: " + f.Symbol
	if program != "" {
		out = program + "symbol lookup error: " + out
	}
	if f.Version != "" {
		out += ", version " + f.Version
	}
	return out
}

// glibcVersion matches the version of symbols of glibc.
var glibcVersion = lazyregexp.New(`^GLIBC_(2\.\d+)`)

// image returns the container image that shows the error, "" if none is known, and sets the system
// of out.
func (t *Text) image(
	f *result.Finding, loader Loader, on *platform.Platform, minor int, out *result.Reproduction,
) string {
	python := "python:3." + strconv.Itoa(minor) + "-"
	if on.Libc == "musl" {
		out.System = "Alpine"
		return python + "alpine"
	}
	older := "" // the newest glibc that lacks the version
	if loader == ReportsVersion {
		older = glibcOf(f)
	}
	name, _, _ := strings.Cut(on.Name, "/")
	ofSystem := t.rules[f.Rule].Loader == ReportsVersion
	fits := func(i image) bool {
		switch {
		case minor < i.from || minor > i.to:
			return false
		case loader == RefusesStack:
			return i.tag == images[0].tag
		case older != "":
			return platform.Older(i.glibc, older)
		case ofSystem || loader == PipRefuses:
			return !platform.Older(on.LibcVersion, i.glibc)
		}
		return !platform.Older(images[usualImage].glibc, i.glibc)
	}
	n := slices.IndexFunc(images, func(i image) bool { return i.platform == name })
	if n < 0 || !fits(images[n]) {
		n = slices.IndexFunc(images, fits)
	}
	switch {
	case n >= 0:
		out.System = images[n].name
		return python + "slim-" + images[n].tag
	case older != "":
		out.System = "a system with a glibc older than " + older
	default:
		out.System = f.Target
	}
	return ""
}

// machines are the names that containers have for those of platform tags.
var machines = map[string]shellword.Line{
	"aarch64": "linux/arm64", "ppc64le": "linux/ppc64le", "s390x": "linux/s390x",
	"i686": "linux/386", "armv7l": "linux/arm/v7", "riscv64": "linux/riscv64",
}

// onMachine returns the option for the machine of a container; "" for the usual one.
func onMachine(arch string) shellword.Line {
	if m := machines[arch]; m != "" {
		return "--platform " + m + " "
	}
	return ""
}

// inContainer returns the command that runs a line in the folder of the files, in a container. The
// line is its input, so that no command is a word of another.
func inContainer(arch, image string, line shellword.Line) shellword.Line {
	return "docker run --rm -i " + onMachine(arch) + "-v .:/dist -w /dist " +
		shellword.Quote(image) + " sh <<< " + shellword.Quote(string(line))
}

// oldSystem is an image for versions of glibc that no image with a Python of today lacks. It has a
// Python that unpacks the wheel, and ldd prints what the loader says.
var oldSystem = image{name: "CentOS 7", glibc: "2.17", tag: "centos:7"}

// old returns the command for a version of glibc that oldSystem lacks, and sets the system of out,
// if no image shows it; else "".
func (t *Text) old(f *result.Finding, arch string, out *result.Reproduction) shellword.Line {
	if out.Container != "" || !platform.Older(oldSystem.glibc, glibcOf(f)) || t.pinned() {
		return ""
	}
	out.System = oldSystem.name
	return inContainer(arch, oldSystem.tag, "python -m zipfile -e "+
		shellword.Quote("./"+path.Base(f.Artifact))+" /tmp/wheel && ldd "+
		shellword.Quote("/tmp/wheel/"+f.Object))
}

// minor returns the minor version of the Python that loads the artifact. One of the stable ABI runs
// with the usual one, unless it uses what its own lacks. several is set if others load it too.
func (t *Text) minor(f *result.Finding, loader Loader) (found int, several bool) {
	ofTag := loader == ReportsSymbol && t.rules[f.Rule].Loader == loader
	for _, a := range t.report.Artifacts {
		if a.Path != f.Artifact || a.Wheel == nil {
			continue
		}
		for _, tag := range a.Wheel.Tags {
			parts := strings.Split(tag, "-")
			digits, cpython := strings.CutPrefix(parts[0], "cp3")
			if parts[1] == "abi3" && !ofTag {
				digits, several = strconv.Itoa(usualPython), true
			}
			if n, err := strconv.Atoi(digits); cpython && err == nil && n > found {
				found = n
			}
		}
	}
	return cmp.Or(found, usualPython), several || found == 0
}

// installed returns what pip has to install: the file, and the version of the package that is the
// problem. It is "" for an artifact that pip does not install.
func (t *Text) installed(f *result.Finding) shellword.Line {
	var words []string
	if t.pinned() {
		words = strings.Split(strings.Join(t.Failing(), "\x00"), "\x00")
		for i, w := range words {
			words[i] = strings.Replace(w, " ", "==", 1)
		}
		words = words[:min(len(words), 3)]
		if name, p := t.blamed(); p.Version != "" && !slices.Contains(words, name+"=="+p.Version) {
			words = append(words, name+"=="+p.Version)
		}
		return shellword.Quoted(words)
	}
	if !strings.HasSuffix(f.Artifact, ".whl") {
		return ""
	}
	words = append(words, "./"+path.Base(f.Artifact))
	if r := f.Range; r != nil { // the targets have both ends
		version := r.Highest
		if r.Fails == packages.Lowest {
			version = r.Lowest
		}
		return shellword.Quoted(append(words, r.Package+"=="+version))
	}
	with := "" // without a range it fails at both ends, and the newer one is the last
	for _, target := range t.report.Targets {
		for _, w := range target.With {
			q, err := pkgmeta.ParseRequirement(w)
			if target.Name == f.Target && err == nil && q.Name == f.Package &&
				q.Name != pkgmeta.Normalize(t.artifact.own) {
				with = w
			}
		}
	}
	if with != "" {
		words = append(words, with)
	}
	return shellword.Quoted(words)
}

// loadFile loads an installed file: the folder that it is in, as sysconfig names it, and its path
// there are the arguments.
const loadFile shellword.Line = `-c 'import ctypes, sys, sysconfig as s; ` +
	`ctypes.CDLL(s.get_path(sys.argv[1]) + "/" + sys.argv[2])' `

// startFile starts an installed program, with the same arguments as loadFile.
const startFile shellword.Line = `-c 'import os, sys, sysconfig as s; ` +
	`f = s.get_path(sys.argv[1]) + "/" + sys.argv[2]; os.execv(f, [f])' `

// importing returns the arguments of Python that load the object of a finding, and with which
// exception its message begins; "" for a program, which the loader starts.
func importing(f *result.Finding) (arguments shellword.Line, raises string) {
	if m := moduleOf(f); m != "" {
		return "-c " + shellword.Quote("import "+m), "ImportError: "
	}
	folder, file := installedAt(f.Object)
	of := shellword.Quote(folder) + " " + shellword.Quote(file)
	if f.Program {
		return startFile + of, ""
	}
	return loadFile + of, "OSError: "
}

// installedAt returns the folder that a member of a wheel is installed to, as sysconfig names it,
// and its path there.
func installedAt(member string) (folder, file string) {
	if data, file, ok := strings.Cut(member, ".data/"); ok && !strings.Contains(data, "/") {
		for _, folder := range []string{"platlib", "purelib", "data", "scripts"} {
			if rest, ok := strings.CutPrefix(file, folder+"/"); ok {
				return folder, rest
			}
		}
	}
	return "platlib", member
}

// moduleFile matches the name of an extension module.
var moduleFile = lazyregexp.New(`^([A-Za-z_]\w*)((?:\.cpython-|\.abi3|\.pypy)[\w.-]*)?\.so$`)

// moduleOf returns the module whose import loads the object of a finding; "" if none does.
func moduleOf(f *result.Finding) string {
	object := f.Object // where its module is not known, its name says it
	if f.Module != nil {
		object = *f.Module
	}
	folder, file := installedAt(object)
	if !strings.HasSuffix(folder, "lib") {
		return ""
	}
	dir, file := path.Split(file)
	m := moduleFile.FindStringSubmatch(file)
	if m == nil || m[2] == "" && strings.HasPrefix(file, "lib") {
		return ""
	}
	name := m[1]
	if dir != "" {
		name = strings.ReplaceAll(dir, "/", ".") + name
	}
	for part := range strings.SplitSeq(name, ".") {
		if !identifier.MatchString(part) {
			return ""
		}
	}
	return name
}

var identifier = lazyregexp.New(`^[A-Za-z_]\w*$`)
