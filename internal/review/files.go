package review

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/pinned"
)

// place is an environment to review: its file and its configuration.
type place struct {
	file     string
	settings config.Environment
}

const (
	maxSearched = 60 // requirements files that are read to find the files that they include
	maxIncluded = 30 // files of one environment
)

// IsEnvironment reports whether a file name is that of a lock or requirements file.
func IsEnvironment(file string) bool {
	base := path.Base(file)
	switch base {
	case "uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml", "conda-lock.yml",
		"pixi.lock", "environment.yml":
		return true
	}
	return isRequirements(file) ||
		strings.HasPrefix(base, "pylock.") && strings.HasSuffix(base, ".toml")
}

// isRequirements reports whether a file name is that of a requirements file of pip.
func isRequirements(file string) bool {
	base := path.Base(file)
	return strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt")
}

// code matches files that environments never include.
var code = lazyregexp.New(
	`(?i)\.(py|pyi|pyx|md|rst|c|cc|cpp|cxx|h|hpp|cu|rs|go|js|ts|css|html|svg|png|jpg|ipynb|toml|json)$`)

// environments returns the environments that the diff changes, and the number of those above the
// limit.
func (c Change) environments(ctx context.Context) (out []place, more int, err error) {
	touched := func(p string) bool { return slices.Contains(c.Paths, p) }
	if !slices.ContainsFunc(c.Paths, func(p string) bool {
		return IsEnvironment(p) || !code.MatchString(p) ||
			slices.ContainsFunc(c.Config.Environments.List, func(e config.Environment) bool {
				return e.File == p
			})
	}) {
		return nil, 0, nil
	}
	var all []place
	files, err := c.Head.Files(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range c.Config.Environments.List {
		if file := path.Clean(e.File); slices.Contains(files, file) {
			all = append(all, place{file, e})
		}
	}
	if len(c.Config.Environments.List) == 0 {
		for _, f := range files {
			if IsEnvironment(f) {
				all = append(all, place{file: f})
			}
		}
	}
	searched := 0
	for _, p := range all {
		used := touched(p.file)
		for _, near := range nearby(p.file) {
			used = used || touched(near)
		}
		if !used && searched < maxSearched && mayInclude(p.file) {
			searched++
			read, err := c.readAll(ctx, c.Head, p.file)
			if err != nil {
				return nil, 0, err
			}
			used = slices.ContainsFunc(read.files, touched)
		}
		switch {
		case used && len(out) == maxEnvironments:
			more++
		case used:
			out = append(out, p)
		}
	}
	return out, more, nil
}

// nearby returns the files that may name the interpreter and the system of an environment, those
// in its directory first.
func nearby(file string) []string {
	var out []string
	for _, dir := range slices.Compact([]string{path.Dir(file), "."}) {
		for _, name := range []string{"Dockerfile", ".python-version"} {
			out = append(out, path.Join(dir, name))
		}
	}
	return out
}

// mayInclude reports whether a file may include others.
func mayInclude(file string) bool {
	return !strings.HasSuffix(file, ".lock") && !strings.HasSuffix(file, ".toml") &&
		!strings.HasSuffix(file, ".yml") && !strings.HasSuffix(file, ".yaml")
}

// contents are the files of an environment at one commit.
type contents struct {
	files []string
	texts map[string]string // by file
	pins  []pinned.Pin
	bad   *comment.Unreviewed
}

// include matches a line of a requirements file that includes another.
var include = lazyregexp.New(`^\s*(?:-r|-c|--requirement|--constraint)[\s=]*(\S.*?)\s*$`)

// readAll reads the pins of a file and of the files that it includes.
func (c Change) readAll(ctx context.Context, from Commit, file string) (*contents, error) {
	out := &contents{texts: map[string]string{}}
	err := out.read(ctx, from, file, comment.Unreviewed{File: file, Line: 1})
	return out, err
}

var lineNumber = lazyregexp.New(`^line (\d+): `)

func (o *contents) read(
	ctx context.Context,
	from Commit,
	file string,
	by comment.Unreviewed, // the line that includes file
) error {
	if slices.Contains(o.files, file) || o.bad != nil {
		return nil
	}
	fail := func(at comment.Unreviewed, reason string) {
		at.Reason = reason
		o.bad = &at
	}
	if len(o.files) == maxIncluded {
		fail(by, fmt.Sprintf("the environment has more than %d files", maxIncluded))
		return nil
	}
	text, there, err := from.Read(ctx, file)
	if err != nil {
		return err
	}
	if !there {
		fail(by, file+" does not exist in this commit, or is too large")
		return nil
	}
	o.files, o.texts[file] = append(o.files, file), text
	pins, err := lockfile.Pins(file, []byte(text))
	if err != nil {
		at := comment.Unreviewed{File: file, Line: 1}
		reason := err.Error()
		if m := lineNumber.FindStringSubmatch(reason); m != nil {
			at.Line, _ = strconv.Atoi(m[1]) // 0 if there is no number, and then line 1
		}
		at.Line = max(1, min(at.Line, strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1))
		fail(at, reason)
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	names := quoted(lines)
	for _, p := range pins {
		p.Line = versionLine(lines, names, p)
		o.pins = append(o.pins, pinned.Pin{Pin: p, File: file})
	}
	if !mayInclude(file) {
		return nil
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, " #")
		m := include.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		at := comment.Unreviewed{File: file, Line: n}
		target := path.Join(path.Dir(file), strings.ReplaceAll(m[1], "\\", "/"))
		if strings.Contains(m[1], "://") || path.IsAbs(m[1]) || target == ".." ||
			strings.HasPrefix(target, "../") {
			fail(at, "it takes in a file outside of the repository")
			return nil
		}
		if err := o.read(ctx, from, target, at); err != nil {
			return err
		}
	}
	return nil
}

// quoted maps each string in double quotes, in lower case, to the number of its first line. It is
// made once per file, so that finding the lines of many pins takes linear time.
func quoted(lines []string) map[string]int {
	first := map[string]int{}
	for i, l := range lines {
		for j, word := range strings.Split(strings.ToLower(l), `"`) {
			if _, known := first[word]; !known && j%2 == 1 {
				first[word] = i + 1
			}
		}
	}
	return first
}

// versionLine returns the line of a pin's version, which in a lock file follows the name.
func versionLine(lines []string, names map[string]int, p lockfile.Pin) int {
	name, version := split(p.Requirement)
	from := p.Line
	if from <= 0 {
		from = names[name]
	}
	for i := max(from, 1); i < from+8 && i <= len(lines); i++ {
		if strings.Contains(lines[i-1], version) {
			return i
		}
	}
	return max(from, 1)
}

// read reads the environment at one commit. The Unreviewed is set if it cannot be read. Both are
// nil if it does not exist.
func (e *environmentReview) read(
	ctx context.Context,
	from Commit,
) (*side, *comment.Unreviewed, error) {
	c, err := e.change.readAll(ctx, from, e.at.file)
	if err != nil || c.bad != nil {
		return nil, c.bad, err
	}
	s := &side{pins: unique(c.pins)}
	if s.settings, err = e.settings(ctx, from, c.texts[e.at.file]); err != nil || len(s.targets) == 0 {
		return s, nil, err
	}
	e.addHashes(s, c)
	s.declared = pinned.Declared(e.at.file, s.targets[0].On, func(file string) ([]byte, error) {
		text, ok := c.texts[file]
		if !ok {
			text, _, err = from.Read(ctx, file)
		}
		return []byte(text), err
	})
	return s, nil, err
}

// addHashes adds the hashes of the files to the pins, as compat env reads them, and an index that
// compares them.
func (e *environmentReview) addHashes(s *side, c *contents) {
	files := pinned.Files{Paths: []string{e.at.file}, Read: func(path string) ([]byte, error) {
		text, ok := c.texts[path]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}}
	var digests map[packages.ID][]string
	on := packages.Target{Python: s.python, Arch: architecture}
	if p, err := files.Pinned(on); err == nil { // else nothing is installed with this interpreter
		for _, hashed := range p.Pins {
			for i := range s.pins {
				pin, _, _ := strings.Cut(s.pins[i].Requirement, ";")
				if strings.TrimSpace(pin) == hashed.Requirement {
					s.pins[i].Hashes, s.pins[i].HashLine = hashed.Hashes, hashed.HashLine
					s.pins[i].Files = hashed.Files
				}
			}
		}
		digests = pinned.Locked([]string{e.change.Index.String()}, p).Digests
		s.unhashed = p.Unhashed
	}
	s.open = &comparing{e.open, e.change.Index.Comparing(digests), digests}
}

// unique keeps only the last pin of each package.
func unique(pins []pinned.Pin) []pinned.Pin {
	at := map[string]int{}
	var out []pinned.Pin
	for _, p := range pins {
		key := p.Requirement
		if !strings.Contains(key, ";") {
			key, _ = split(key)
		}
		if i, again := at[key]; again {
			out[i] = p
			continue
		}
		at[key] = len(out)
		out = append(out, p)
	}
	return out
}

// String returns the interpreter and the platforms, for the report.
func (s *side) String() string {
	var targets []string
	for _, t := range s.targets {
		targets = append(targets, fmt.Sprintf("%s (%s)", t.Platform, t.On.Libc))
	}
	return fmt.Sprintf("Python %s, %s", s.python, cmp.Or(strings.Join(targets, ", "), "any"))
}
