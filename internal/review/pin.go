package review

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/pinned"
)

// maxTries limits the versions of a package that are tried.
const maxTries = 12

// search finds the lines that caused new causes, and versions to pin there.
type search struct {
	*environmentReview
	head    *side
	bases   []*analyzer.Environment
	options analyzer.Options
	report  *analyzer.Report
	until   time.Time
	found   map[string]string // package -> version; "" = none
}

// place returns the lines for a cause: the changed pin that caused it, else the line that changed
// the platform, else the pin of the package.
func (s *search) place(ctx context.Context, c *analyzer.Cause, changed []change) comment.Place {
	p := comment.Place{File: s.at.file, Line: 1}
	names := packagesOf(s.report, c, func(name string) bool { return inHead(changed, name) != nil })
	for _, name := range names {
		if pin := s.head.pin(name); pin != nil {
			n, v := split(pin.Requirement)
			p.Packages = append(p.Packages, n+"=="+v)
		}
	}
	var blamed *pinned.Pin
	for _, name := range names {
		if blamed = inHead(changed, name); blamed != nil {
			break
		}
	}
	if blamed == nil {
		for _, file := range nearby(s.at.file) {
			line, named := s.head.from[file]
			if named && slices.Contains(s.change.Paths, file) {
				p.File, p.Line = file, max(line, 1)
				return p
			}
		}
		for _, name := range names {
			if pin := s.head.pin(name); pin != nil {
				p.File, p.Line = pin.File, max(pin.Line, 1)
				break
			}
		}
		return p
	}
	p.File, p.Line = blamed.File, max(blamed.Line, 1)
	name, version := split(blamed.Requirement)
	p.Old = version
	if s.report.Findings[c.Findings[0]].Rule == analyzer.RuleHash {
		return p // the version may be right
	}
	p.New = s.version(ctx, name, version)
	if p.New == "" {
		return p
	}
	p.Pin = name + "==" + p.New
	p.Command = string(lockfile.Update(p.File, lockfile.Change{
		Requirement: p.Pin, Declared: lockfile.Of(s.head.installed[0].Declared, pkgmeta.Normalize(name)),
	}))
	p.Suggest = !strings.Contains(path.Base(p.File), "lock") && lockfile.Written(p.File)
	s.edit(ctx, &p)
	return p
}

// edit changes the pin in the files of the review's patch. A file that only its tool can write, or
// whose line has hashes, is left out; the place has the command of the tool.
func (s *search) edit(ctx context.Context, p *comment.Place) {
	read := func(file string) ([]byte, error) {
		if text, known := s.old[file]; known {
			return text, nil
		}
		text, there, err := s.change.Head.Read(ctx, file)
		if err == nil && !there {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, err
		}
		s.old[file] = []byte(text)
		return s.old[file], nil
	}
	changed := maps.Clone(s.changed)
	if _, err := pinned.EditFile(s.head.installed, read, changed, p.File,
		lockfile.Edit{Requirement: p.Pin, Old: p.Old}); err == nil {
		maps.Copy(s.changed, changed)
	}
}

// inHead returns the changed pin of a package in the head; nil if there is none.
func inHead(changed []change, name string) *pinned.Pin {
	for _, c := range changed {
		if c.name == name {
			return c.head
		}
	}
	return nil
}

// version returns the newest version of a package for which the check finds nothing new; "" =
// none was found.
func (s *search) version(ctx context.Context, name, old string) string {
	if v, known := s.found[name]; known {
		return v
	}
	s.found[name] = ""
	versions, err := s.options.Source.Versions(ctx, name, s.head.targets[0].On)
	if err != nil {
		return ""
	}
	tries := 0
	for _, v := range slices.Backward(packages.Sorted(versions)) {
		if v.IsPreRelease() || v.String() == old ||
			len(analyzer.Conflicts(name, v, s.report.Artifacts)) > 0 {
			continue
		}
		if tries++; tries > maxTries || time.Now().After(s.until) || ctx.Err() != nil {
			return ""
		}
		if s.loads(ctx, name, v.String()) {
			s.found[name] = v.String()
			return s.found[name]
		}
	}
	return ""
}

// loads checks the head with another version of a package.
func (s *search) loads(ctx context.Context, name, version string) bool {
	changed := *s.head
	changed.installed = nil
	for _, p := range s.head.installed {
		other := *p
		other.Pins = slices.Clone(p.Pins)
		for i := range other.Pins {
			if n, old := split(other.Pins[i].Requirement); n == name {
				pin := &other.Pins[i]
				pin.Requirement = strings.Replace(pin.Requirement, old, version, 1)
			}
		}
		changed.installed = append(changed.installed, &other)
	}
	wheels, err := s.wheels(ctx, &changed)
	if err != nil {
		return false
	}
	for _, w := range wheels {
		for _, n := range w.NoWheel {
			if pkgmeta.Normalize(n.Package) == name {
				return false
			}
		}
		for _, u := range w.Unread {
			if strings.HasPrefix(u.Path, name+"==") {
				return false
			}
		}
	}
	o := s.options
	o.NoFixes = true
	report, err := s.Check(ctx, wheels.environments(), s.bases, o)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(report.Findings, func(f analyzer.Finding) bool {
		return f.New && f.Severity == analyzer.Error
	})
}
