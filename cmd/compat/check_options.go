package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/options"
	"github.com/compat-app/compat/internal/pinned"
	"github.com/compat-app/compat/internal/spool"
)

// checkFlags are the settings of one check.
type checkFlags struct {
	platforms, with, first, lock []string
	extras                       []string
	requirements                 []string // files
	venv                         string
	libraryPath                  []string
	base, config, root           string
	index                        []string // URLs
	facts                        string   // address of the facts store
	conda                        string
	failOn, format               string
	output                       []string
	link, verbose, quiet         bool
	noCache, noHistory           bool
	wholeRanges                  bool
	allowPure                    bool
	strict                       bool
}

// environment reports whether the flags describe an environment that can be checked by itself.
func (f checkFlags) environment() bool {
	return len(f.requirements)+len(f.lock) > 0 || f.venv != ""
}

// interpreter returns the version of the Python that artifacts are installed with: that of --venv
// or --conda-prefix, or the one that the lock or requirements files name; "" if none of them does.
func (f checkFlags) interpreter() (string, error) {
	if dir := cmp.Or(f.venv, f.conda); dir != "" && f.root == "" {
		flag := "--venv"
		if f.venv == "" {
			flag = "--conda-prefix"
		}
		_, in, err := describe(dir)
		if err != nil {
			return "", fmt.Errorf("%s: %w", flag, err)
		}
		return in.Wheels.On.Python, nil
	}
	files := pinnedIn(slices.Concat(f.lock, f.requirements)...)
	if len(files.Paths) == 0 {
		return "", nil
	}
	python, _ := files.Python()
	return python, nil
}

// pinnedIn returns lock and requirements files of this machine.
func pinnedIn(list ...string) pinned.Files {
	files := pinned.Files{Read: readInput}
	for _, file := range list {
		files.Paths = append(files.Paths, filepath.ToSlash(file))
	}
	return files
}

// pins returns what the lock and requirements files pin with which artifacts are checked. Each lock
// file is read on its own: two that pin different versions of a package contradict each other.
func (f checkFlags) pins(configured []string) ([]*pinned.Pinned, error) {
	var out []*pinned.Pinned
	read := func(files ...string) error {
		list := pinnedIn(files...)
		list.NoDefaultGroups = true
		p, err := list.Anywhere()
		out = append(out, p)
		return err
	}
	for _, file := range slices.Concat(f.lock, configured) {
		// The errors are not those of a file that is checked, so reports name the settings.
		err := read(file)
		if missing := (*pinned.FileError)(nil); errors.As(err, &missing) && missing.Missing {
			return nil, fmt.Errorf("--lock: open %s: %w; give a readable file", missing.Path, missing.Err)
		}
		if err != nil {
			return nil, errors.New("--lock " + err.Error())
		}
	}
	if len(f.requirements) > 0 {
		if err := read(f.requirements...); err != nil {
			return nil, fmt.Errorf("--requirement: %w; %s", err, correction(err))
		}
	}
	return out, nil
}

// asEnvironment returns the flags of `compat env` for a check without files.
func (f checkFlags) asEnvironment() (envFlags, error) {
	for _, x := range []struct {
		flag string
		set  bool
	}{
		{"--root", f.root != ""}, {"--library-path", len(f.libraryPath) > 0},
		{"--with", len(f.with) > 0}, {"--link", f.link}, {"--no-history", f.noHistory},
	} {
		if x.set {
			return envFlags{}, fmt.Errorf("%s needs a PATH to check; give a wheel or a shared library",
				x.flag)
		}
	}
	e := envFlags{checkFlags: f, prefix: f.conda, budget: pinned.DefaultBudget >> 20}
	e.conda, e.extras = "", f.extras
	if f.base != "" {
		e.before = []string{f.base}
	}
	return e, nil
}

// checkSettings are the settings of a check, from flags, configuration and environment.
type checkSettings struct {
	analyzer.Options
	failOn analyzer.Severity
	pins   []*pinned.Pinned // in With
	// broken lists the problems of an invalid configuration; nil = there are none.
	broken *analyzer.Report
}

// checkOptions combines flags, configuration and environment; flags take precedence.
func checkOptions(env environment, f checkFlags) (s checkSettings, err error) {
	s.Options = analyzer.Options{
		First:  f.first,
		Extras: f.extras,
		Link:   f.link,

		WholeRanges: f.wholeRanges,
		NoHistory:   f.noHistory,
		Today:       time.Now().UTC().Format(time.DateOnly),
		Scratch:     spool.In(""),
		Version:     version(),
	}
	o := &s.Options
	c, err := repository(f.config)
	if err != nil {
		return s, err
	}
	if len(c.problems) > 0 {
		s.broken = brokenConfig(c)
		return s, nil
	}
	options.Apply(c.Repository, c.file, o)
	if err := addEarlier(c.ABI, o); err != nil {
		return s, err
	}
	if f.root != "" {
		if o.Root, err = unpacked(f.root); err != nil {
			return s, err
		}
		o.Platforms = nil // --root replaces the platforms of the configuration
	}
	if err := addFolders(f, o); err != nil {
		return s, err
	}
	if len(f.platforms) > 0 {
		o.Platforms = f.platforms
	}
	if len(f.with) > 0 {
		if err := requirements(f.with); err != nil {
			return s, err
		}
		o.With, o.Origins = f.with, nil
	}
	if s.pins, err = f.pins(c.Python.Lock); err != nil {
		return s, err
	}
	o.With = slices.Concat(options.Locked(o, s.pins...), o.With)
	if f.failOn == "" {
		f.failOn = c.FailOn
	}
	switch f.failOn {
	case "", "error", "warning", "never":
		s.failOn = options.FailOn(f.failOn)
	default:
		return s, fmt.Errorf("unknown --fail-on %s; use error, warning or never", f.failOn)
	}
	return s, nil
}

// requirements returns an error if an argument of --with is a file, which is no requirement.
func requirements(with []string) error {
	for _, w := range with {
		if info, err := os.Stat(w); err == nil && !info.IsDir() {
			return fmt.Errorf("--with takes requirements such as torch==2.7.0, and %s is a file; name "+
				"it as another PATH: files that are given together are checked together", w)
		}
	}
	return nil
}

// settings is a configuration, or the problems of one, with the file that it is in.
type settings struct {
	*config.Repository
	file     string
	problems []config.Problem
}

// repository reads the configuration: a named file, or else compat.yml or the project file, of
// which neither need exist.
func repository(path string) (settings, error) {
	if path != "" {
		s, found, err := readSettings(path)
		if err == nil && !found {
			err = fmt.Errorf("%s has no table [tool.compat]; add it or give another file", path)
		}
		if err != nil {
			return s, fmt.Errorf("--config: %w; give a readable file", err)
		}
		return s, nil
	}
	for _, path := range []string{config.Path, config.ProjectPath} {
		s, found, err := readSettings(path)
		if path == config.Path && errors.Is(err, fs.ErrNotExist) {
			other := strings.TrimSuffix(config.Path, ".yml") + ".yaml"
			if _, err := os.Lstat(other); err == nil {
				return s, fmt.Errorf("%s is not read; rename it to %s", other, config.Path)
			}
		}
		if errors.Is(err, fs.ErrNotExist) || err == nil && !found {
			continue
		}
		return s, err
	}
	return settings{Repository: &config.Repository{}, file: config.Path}, nil
}

// readSettings reads a configuration file. found is false for a project file without a
// configuration.
func readSettings(path string) (s settings, found bool, err error) {
	data, err := readInput(path)
	if err != nil {
		return s, false, err
	}
	s, found = settings{file: filepath.ToSlash(path)}, true
	if strings.HasSuffix(path, ".toml") {
		s.Repository, s.problems, found = config.ParseProject(data, rules.IDs())
	} else {
		s.Repository, s.problems = config.ParseRepository(data, rules.IDs())
	}
	return s, found, nil
}

// brokenConfig returns a report that lists the problems of a configuration.
func brokenConfig(s settings) *analyzer.Report {
	r := analyzer.NewReport(version())
	for _, p := range s.problems {
		at := fmt.Sprintf("%s:%d", s.file, p.Line)
		r.Unread = append(r.Unread, analyzer.Unread{
			Path:   at,
			Reason: strings.TrimPrefix(p.In(s.file), at+": "),
		})
	}
	r.Verdict = analyzer.Unchecked
	return r
}

// unpacked returns a function that reads the system in a directory as a platform, once per
// architecture.
func unpacked(dir string) (func(arch string) (*platform.Platform, error), error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("--root: %w; give the folder of an unpacked image", err)
	}
	linker, name := dynlink.NewLinker(root), filepath.ToSlash(filepath.Clean(dir))
	known := map[string]*platform.Platform{}
	return func(arch string) (*platform.Platform, error) {
		if known[arch] == nil {
			p, err := linker.Platform(name, arch)
			if err != nil {
				return nil, fmt.Errorf("--root %s: %w; give the folder of an unpacked image", dir, err)
			}
			p.Like = platform.LikeOf(osRelease(root))
			known[arch] = p
		}
		return known[arch], nil
	}, nil
}

// addEarlier reads the configured baselines and suppression files. Releases are available to the
// service only.
func addEarlier(c config.ABI, o *analyzer.Options) error {
	for _, path := range c.Baselines() {
		b, err := readInput(path)
		if err != nil {
			return fmt.Errorf("abi.against: %w; correct the path", err)
		}
		o.Earlier = append(o.Earlier, analyzer.Earlier{Name: path, Baseline: b})
	}
	paths, required := c.Suppressions()
	for _, path := range paths {
		b, err := readInput(path)
		if errors.Is(err, fs.ErrNotExist) && !required {
			continue
		}
		if err != nil {
			return fmt.Errorf("abi.suppress: %w; correct the path", err)
		}
		o.ABI.Suppress = append(o.ABI.Suppress, b)
	}
	return nil
}
