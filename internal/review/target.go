package review

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/pinned"
)

const (
	defaultPlatform = "manylinux_2_28"
	architecture    = "x86_64"
)

// side is an environment at the head or the base.
type side struct {
	python    string
	targets   []target
	installed []*pinned.Pinned // on each of targets
	pins      []pinned.Pin     // of all of them
	// from has the lines that name the interpreter or the platform, by file.
	from map[string]int
	open *comparing
}

// target is a platform on which the packages are installed.
type target struct {
	Platform string
	On       packages.Target
}

// read reads the environment at one commit. The Unreviewed is set if it cannot be read.
func (e *environmentReview) read(
	ctx context.Context,
	from Commit,
) (s *side, bad *comment.Unreviewed, err error) {
	s = &side{from: map[string]int{}}
	files := filesOf(ctx, from, e.at.file, &err)
	var picture image
	for _, file := range nearby(e.at.file) {
		if !strings.HasSuffix(file, "Dockerfile") || picture.name != "" {
			continue
		}
		if text, noFile := files.Read(file); noFile == nil {
			picture = lastStage(string(text))
			s.from[file] = picture.line
		}
	}
	files.ImagePython = picture.python()
	if _, file := files.PythonVersionFile(); file != "" && e.at.settings.Python == "" {
		s.from[file] = 1
	}
	s.targets = e.platforms(picture)
	for i, t := range s.targets {
		p, unread := files.Pinned(t.On)
		if err != nil {
			return nil, nil, err
		}
		if unread != nil {
			return nil, unreviewed(e.at.file, unread), nil
		}
		s.python, s.targets[i].On = p.On.Python, p.On
		// Only pins are reviewed: what has no version was not chosen by the change.
		p.Platform, p.Budget, p.Unpinned, p.Notes = t.Platform, maxBytes, nil, nil
		s.installed = append(s.installed, p)
		for _, pin := range p.Pins {
			if !slices.ContainsFunc(s.pins, func(x pinned.Pin) bool {
				return x.Requirement == pin.Requirement && x.File == pin.File
			}) {
				s.pins = append(s.pins, pin)
			}
		}
	}
	digests := pinned.Locked([]string{e.change.Index.String()}, s.installed...).Digests
	s.open = &comparing{e.open, e.change.Index.Comparing(digests), digests}
	return s, nil, err
}

// platforms returns the platforms of an environment: those of the configuration, else that of its
// image.
func (e *environmentReview) platforms(picture image) (out []target) {
	names := e.at.settings.Platforms
	if len(names) == 0 { // those for wheels, which may also be for other systems than the packages
		names = slices.DeleteFunc(slices.Clone(e.change.Config.Platforms), func(name string) bool {
			return platform.SystemOf(name) != platform.Linux
		})
	}
	if len(names) == 0 {
		names = []string{cmp.Or(picture.platform(), defaultPlatform)}
	}
	for _, name := range names {
		p, err := platform.Named(name, architecture)
		if err != nil { // it is reported elsewhere
			continue
		}
		t := target{Platform: p.Name, On: packages.On(p, e.at.settings.Python)}
		if p.Kind == platform.Distribution && p.Arch != architecture {
			t.Platform += "/" + p.Arch
		}
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// image is the base image of a Dockerfile's last stage.
type image struct {
	name string // "python:3.12-slim-bookworm"
	line int
}

var (
	fromLine = lazyregexp.New(`(?i)^\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?\s*$`)
	argLine  = lazyregexp.New(`(?i)^\s*ARG\s+([A-Za-z_][A-Za-z0-9_]*)=["']?([^"'\s]*)["']?\s*$`)
	variable = lazyregexp.New(`\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^}]*))?\}|([A-Za-z_][A-Za-z0-9_]*))`)
)

// lastStage returns the base image of the last stage, with the default values of its arguments.
func lastStage(text string) image {
	args, stages := map[string]string{}, map[string]image{}
	var last image
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if m := argLine.FindStringSubmatch(line); m != nil && last.name == "" {
			args[m[1]] = m[2]
		}
		m := fromLine.FindStringSubmatch(line)
		if m == nil || len(line) > 1000 {
			continue
		}
		name := variable.ReplaceAllStringFunc(m[1], func(s string) string {
			v := variable.FindStringSubmatch(s)
			return cmp.Or(args[cmp.Or(v[1], v[3])], v[2])
		})
		last = image{name, n}
		if earlier, ok := stages[strings.ToLower(name)]; ok {
			last = earlier
		}
		if m[2] != "" {
			stages[strings.ToLower(m[2])] = last
		}
	}
	return last
}

// parts returns the last component of the repository and the tag of an image.
func (i image) parts() (name, tag string) {
	full, _, _ := strings.Cut(strings.ToLower(i.name), "@")
	full = full[strings.LastIndexByte(full, '/')+1:]
	name, tag, _ = strings.Cut(full, ":")
	return name, tag
}

var pythonTag = lazyregexp.New(`^(3\.\d{1,2})(?:[.\-]|$)`)

// python returns the interpreter in an official Python image; "" for others.
func (i image) python() string {
	if name, tag := i.parts(); name == "python" || name == "pypy" {
		if m := pythonTag.FindStringSubmatch(tag); m != nil {
			return m[1]
		}
	}
	return ""
}

// release returns the release of Debian or Ubuntu with a codename; "" if it is not known.
func release(codename string) string {
	switch codename {
	case "buster":
		return "debian10"
	case "bullseye":
		return "debian11"
	case "bookworm":
		return "debian12"
	case "trixie":
		return "debian13"
	case "focal":
		return "ubuntu20.04"
	case "jammy":
		return "ubuntu22.04"
	case "noble":
		return "ubuntu24.04"
	}
	return ""
}

// systems maps names of images, or words of tags, that are followed by a version.
var systems = lazy.Value[map[string]string]{New: func() map[string]string {
	return map[string]string{
		"debian": "debian", "ubuntu": "ubuntu", "alpine": "alpine", "almalinux": "almalinux",
		"rockylinux": "rocky", "amazonlinux": "amazonlinux", "fedora": "fedora", "ubi8": "rhel8",
		"ubi9": "rhel9", "ubi10": "rhel10",
	}
}}

var number = lazyregexp.New(`^v?(\d+(?:\.\d+)?)`)

// platform returns the distribution of an image; "" = unknown.
func (i image) platform() string {
	name, tag := i.parts()
	words := strings.FieldsFunc(tag, func(c rune) bool { return c == '-' || c == '_' })
	for _, w := range words {
		if p := release(w); p != "" {
			return known(p)
		}
	}
	for _, w := range append(words, name) {
		for system, p := range systems.Get() {
			rest, ok := strings.CutPrefix(w, system)
			if !ok {
				continue
			}
			if w == name && rest == "" {
				rest = tag
			}
			version := ""
			if m := number.FindStringSubmatch(rest); m != nil {
				version = m[1]
			}
			return cmp.Or(known(p+version), known(p), newest(p))
		}
	}
	if name == "python" { // the official image without a distribution in its tag
		return newest("debian")
	}
	return ""
}

// known returns name if there is a platform of that name, or else "".
func known(name string) string {
	if _, err := platform.Lookup(name, architecture); err != nil {
		return ""
	}
	return name
}

// newest returns the newest release of a distribution.
func newest(distribution string) string {
	best, top := "", pkgmeta.Version{}
	for _, name := range platform.Names(architecture) {
		rest, ok := strings.CutPrefix(name, distribution)
		v, err := pkgmeta.ParseVersion(rest)
		if ok && err == nil && (best == "" || v.Compare(top) > 0) {
			best, top = name, v
		}
	}
	return best
}
