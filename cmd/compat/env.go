package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cython"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/pinned"
	"github.com/compat-app/compat/internal/shellword"
	"github.com/spf13/cobra"
)

// envFlags are the flags of `compat env`; checkFlags contains those shared with `compat check`.
type envFlags struct {
	checkFlags
	before []string // files of the base
	python string
	prefix string // conda environment
	extras []string
	groups []string
	budget int // MB of wheels

	// stdin reads standard input, which files named - are
	stdin func() ([]byte, error)
	// system is that of the packages, if they are installed on this machine and no platform was
	// named; else nil
	system *ownSystem
}

// installed returns the flag that names installed packages, or "".
func (f *envFlags) installed() string {
	switch {
	case f.venv != "":
		return "--venv"
	case f.prefix != "":
		return "--conda-prefix"
	case f.root != "":
		return "--root"
	}
	return ""
}

func newEnvCommand(env environment) *cobra.Command {
	var f envFlags
	c := &cobra.Command{
		Use:   "env [flags]",
		Short: "Check whether pinned packages work together, from a lock file alone",
		Long: `Check whether the native code of pinned packages loads together. compat looks up the
wheels that pip would install in the package index, and downloads only the parts that a loader
reads. Nothing is installed and nothing is run.

If a requirements file does not pin a package that another one requires, compat checks the version
that pip would install today. (With hashes in the file, pip would refuse such a package.)

Exit code: 0 no problem found, 1 a problem found, 2 could not check or wrong usage.`,
		Example: `  compat env --lock uv.lock
  compat env --lock 'services/*/uv.lock'
  compat env --requirement requirements.txt --python 3.12 --platform debian12
  compat env --lock uv.lock --platform win_amd64,macosx_14_0_arm64
  compat env --base old.txt --requirement requirements.txt
  git show origin/main:uv.lock | compat env --base - --lock uv.lock
  compat env --venv .venv
  compat env --root rootfs/`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return fmt.Errorf("%q is not a flag; give the file with %s", args[0], flagFor(args[0]))
		},
		RunE: func(c *cobra.Command, _ []string) error {
			return checkEnvironment(c.Context(), env, f)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.lock, "lock", nil,
		"a lock file ("+lockfile.Usual()+"), or a pattern of files that are checked each on its own; "+
			"repeatable")
	flags.StringArrayVarP(&f.requirements, "requirement", "r", nil,
		"a requirements file, with the files that it includes; repeatable")
	flags.StringArrayVar(&f.before, "base", nil,
		"a lock or requirements file, or - for standard input, to compare with: only new findings "+
			"count; repeatable")
	flags.StringVar(&f.venv, "venv", "",
		"check the packages installed in this virtual environment")
	flags.StringVar(&f.prefix, "conda-prefix", "",
		"check the packages that are installed in this conda environment")
	flags.StringVar(&f.root, "root", "",
		"check all Python packages in this unpacked image, with its libraries and its libc")
	flags.StringArrayVar(&f.extras, "extra", nil,
		"also include this extra of the project in the lock file; repeatable")
	flags.StringArrayVar(&f.groups, "group", nil,
		"also include this dependency group (of pixi.lock: this environment); repeatable")
	flags.IntVar(&f.budget, "budget", pinned.DefaultBudget>>20,
		"limit in megabytes for what is read of all wheels together; the wheels that remain are "+
			"listed as not read")
	flags.StringVar(&f.python, "python", "",
		"version of the interpreter (default: that of --venv, else of .python-version, else the one "+
			"that the requirements file was compiled for, else the oldest that the lock file or "+
			"pyproject.toml allows, else "+pinned.DefaultPython+")")
	flags.Var((*nameList)(&f.platforms), "platform",
		"the system that the packages run on (debian12, win_amd64, macosx_14_0_arm64; default: that of "+
			"the configuration, else "+defaultPlatform+"; for installed packages this system); may be "+
			"repeated")
	flags.StringArrayVar(&f.first, "first", nil,
		"assume that this package was imported before, so that its libraries are loaded; repeatable")
	flags.StringVar(&f.config, "config", "",
		"configuration file (default: "+config.Path+" or [tool.compat] in "+config.ProjectPath+")")
	flags.StringArrayVar(&f.index, "index-url", nil,
		"package index (default: those of PIP_INDEX_URL, UV_DEFAULT_INDEX, pip.conf and uv.toml), "+
			"or \"pip\" for the one that pip uses by default; "+
			"repeatable, the first that has a wheel is used")
	factsFlag(flags, &f.checkFlags)
	flags.StringVar(&f.failOn, "fail-on", "",
		"lowest severity that fails the check: error, warning or never (default error)")
	outputFlags(flags, &f.checkFlags)
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show every symbol and object")
	flags.BoolVar(&f.noCache, "no-cache", false,
		"ignore cached results and pages; those for files are used for ten minutes, or longer if "+
			"they depend on the files only")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress on a terminal")
	completeValues(c)
	return c
}

// flagFor returns the flag for a file or folder of packages, with it as the value.
func flagFor(file string) string {
	flag := "--lock"
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		flag = "--venv"
	} else if ext := path.Ext(file); ext == ".txt" || ext == ".in" || ext == ".pip" {
		flag = "--requirement"
	}
	return flag + " " + string(shellword.Quote(file))
}

// maxPins limits the bytes of standard input; lockfile refuses smaller files.
const maxPins = 64 << 20

// pythonVersion matches the values of --python; 3.13t is the free-threaded build.
var pythonVersion = lazyregexp.New(`^\d+\.\d+(\.\d+)?t?$`)

// wheelsNeedIndex is why there is no result without a package index, see noIndex.
const wheelsNeedIndex = "wheels are looked up in a package index, and none is configured"

var errTwoEnvironments = errors.New("--venv and --conda-prefix are two environments; give one")

func checkEnvironment(ctx context.Context, env environment, f envFlags) error {
	outputs, err := newOutputs(env, f.checkFlags)
	if err != nil {
		return err
	}
	return outputs.orReport(checkEnvironmentFor(ctx, env, f, outputs))
}

// checkEnvironmentFor checks what the flags name, and prints the report.
func checkEnvironmentFor(
	ctx context.Context,
	env environment,
	f envFlags,
	outputs *outputs,
) error {
	f.stdin = sync.OnceValues(func() ([]byte, error) {
		return io.ReadAll(io.LimitReader(env.In, maxPins))
	})
	files := slices.Concat(f.lock, f.requirements)
	if outputs.of = f.venv + f.prefix + f.root; len(files) == 1 {
		outputs.of = files[0]
	}
	many, err := f.manyFiles()
	if err != nil {
		return err
	}
	if err := f.usage(files); err != nil {
		return err
	}
	asked := f // each of many files may have other settings
	if err := f.configure(files); err != nil {
		return err
	}
	note := f.defaultPlatforms()
	only := f.checkFlags // the environment is what is checked, not where artifacts are installed
	only.lock, only.requirements, only.venv = nil, nil, ""
	settings, err := checkOptions(env, only)
	if err != nil {
		return err
	}
	outputs.failOn = settings.failOn
	if settings.broken != nil {
		return errors.Join(outputs.write(env.Out, settings.broken), exit{code: exitUsage})
	}
	o := settings.Options
	if o.Unused = f.verbose; f.system != nil {
		o.Root, o.Platforms = f.system.platform, nil
	}
	from, err := openPackages(env, f.index, f.facts, false, f.noCache)
	if err != nil {
		return err
	}
	if len(from.names) == 0 && len(files)+len(f.before) > 0 {
		return noIndex(env, wheelsNeedIndex)
	}
	if many != nil {
		return checkMany(ctx, env, from, o, settings.failOn, asked, many)
	}
	c := newCheck(from, o)
	if err := f.read(c, files); err != nil {
		return err
	}
	defer pinned.Close(c.Installed) //nolint:errcheck // files that were only read
	var cached result
	if len(files) > 0 && !f.noCache && len(f.output) == 0 && !ofSources(f.format) {
		inputs := []any{"env", from.Addresses(), c.Pins, c.Base}
		cached, err = newResult(env, f.checkFlags, o, settings.failOn, index.PageLife, inputs)
		if err != nil {
			return err
		}
		if ok, err := cached.print(ctx, env, f.verbose); ok {
			return err
		}
	}
	return f.report(ctx, env, c, note, outputs, cached, from)
}

// usage returns an error for flags that contradict each other, or name nothing to check.
func (f *envFlags) usage(files []string) error {
	switch {
	case len(files) == 0 && f.installed() == "":
		return errors.New(
			"nothing to check; give --lock, --requirement, --venv, --conda-prefix or --root")
	case f.venv != "" && f.prefix != "":
		return errTwoEnvironments
	case f.root != "" && f.venv+f.prefix != "":
		return errors.New("--root checks all environments of the image; " +
			"leave out --venv and --conda-prefix")
	case len(files) > 0 && f.installed() != "":
		return fmt.Errorf("%s cannot be combined with --lock or --requirement", f.installed())
	case len(f.before) > 0 && f.root != "":
		return errors.New("--root cannot be combined with --base")
	case f.python != "" && !pythonVersion.MatchString(f.python):
		return fmt.Errorf("--python %q is not a version of Python such as 3.11", f.python)
	case f.python != "" && !packages.KnowsPython(f.python):
		known := packages.Interpreters("")
		return fmt.Errorf("--python %s: compat knows Python %s to %s; choose one of them", f.python,
			known[0], known[len(known)-1])
	case f.budget <= 0:
		return errors.New("--budget must be a number of megabytes greater than 0")
	}
	if i := slices.IndexFunc(f.platforms, func(name string) bool {
		return platform.SystemOf(name) != platform.Linux
	}); i >= 0 && f.installed() != "" {
		return fmt.Errorf("platform %q: %s reads only packages that are installed on Linux; "+
			"for other systems give the lock file, with --lock", f.platforms[i], f.installed())
	}
	return nil
}

// newCheck returns a check of packages that are looked up in the indexes.
func newCheck(from *packageSource, o analyzer.Options) *pinned.Check {
	return &pinned.Check{
		Lookup: from.Lookup, Run: analyzer.New(rules.All()).CheckEnvironments, Options: o,
	}
}

// read reads what is checked: installed packages, or the pins of files, and the pins of the base.
func (f *envFlags) read(c *pinned.Check, files []string) (err error) {
	if f.installed() != "" {
		if c.Installed, err = openInstalled(*f); err != nil {
			return err
		}
		f.python = cmp.Or(f.python, c.Installed[0].On.Python) // also of the base
		if on := f.libc(); f.venv != "" && on != nil {
			c.Installed[0].On.Libc, c.Installed[0].On.LibcVersion = on.Libc, on.LibcVersion
		}
	} else if c.Pins, err = readPinned(*f, files); err != nil {
		return unusable(err)
	} else if !slices.ContainsFunc(c.Pins, func(p *pinned.Pinned) bool {
		return len(p.Pins)+len(p.Unpinned) > 0
	}) {
		return fmt.Errorf("nothing to check: no requirement for these platforms in %s",
			strings.Join(files, ", "))
	}
	if c.Base, err = readPinned(*f, f.before); err != nil {
		return errors.Join(unusable(err), pinned.Close(c.Installed))
	}
	return nil
}

// report checks and prints the report, and stores what was printed.
func (f *envFlags) report(
	ctx context.Context,
	env environment,
	c *pinned.Check,
	note string, // about the platform; "" = none
	outputs *outputs,
	cached result,
	from *packageSource,
) error {
	defer collect()()
	shown := startProgress(env, f.quiet)
	c.Options.Progress = shown.set
	r, lasting, err := c.Report(ctx)
	shown.stop()
	if err != nil {
		return err
	}
	if f.system != nil {
		note = f.system.note()
	}
	for _, note := range []string{note, from.facts.Note()} {
		if note != "" {
			r.AddNote(note)
		}
	}
	f.nameFix(r)
	if f.venv != "" {
		installInto(r, f.venv)
	}
	r.Decide(outputs.failOn)
	var printed bytes.Buffer
	if err := outputs.write(io.MultiWriter(env.Out, &printed), r); err != nil {
		return err
	}
	if f.verbose {
		fmt.Fprintln(env.Err, from.cost())
	}
	code := 0
	switch r.Outcome {
	case analyzer.OutcomeFail:
		code = exitIncompatible
	case analyzer.OutcomeError:
		return exit{code: exitUsage}
	}
	if lasting {
		cached.life = cacheLife
	}
	cached.store(ctx, printed.Bytes(), code)
	return exited(code)
}

// nameFix adds the command that makes the changes of the plan, if they are all in one file that
// compat changes, and it checks the same environment.
func (f *envFlags) nameFix(r *analyzer.Report) {
	files := slices.Concat(f.lock, f.requirements)
	if !r.Plan.Verified || len(files) != 1 || files[0] == "-" || !lockfile.Edits(files[0]) ||
		len(f.before)+len(f.extras)+len(f.groups)+len(f.first) > 0 || f.config != "" {
		return
	}
	words := []string{"compat", "fix"}
	if f.python != "" {
		words = append(words, "--python", f.python)
	}
	if !slices.Equal(f.platforms, []string{defaultPlatform}) {
		words = append(words, "--platform", strings.Join(f.platforms, ","))
	}
	for _, address := range f.index {
		words = append(words, "--index-url", address)
	}
	command := shellword.Quoted(append(words, files[0]))
	for n := range r.Plan.Fixes {
		x := &r.Plan.Fixes[n]
		if x.Requirement == "" || x.Command != "" {
			continue
		}
		for i := range r.Causes {
			if c := &r.Causes[i]; c.ID == x.Cause && len(c.Fixes) > 0 && c.Fixes[0].Same(x.Fix) {
				c.Fixes[0].Command = command
			}
		}
		x.Command, r.Plan.Command = command, command
	}
}

// libc returns the platform whose libc installed packages run on; nil if they are for several.
func (f *envFlags) libc() *platform.Platform {
	if f.system != nil {
		return f.system.own()
	}
	if len(f.platforms) != 1 {
		return nil
	}
	p, err := platform.Named(f.platforms[0], "x86_64")
	if err != nil {
		return nil // reported with the options
	}
	return p
}

// configure takes the interpreter and the platforms of files from the configuration, unless flags
// name them: from the entry of environments for one of the files, as in the reviews of the App, or
// else from platforms, of which those that are not Linux are for wheels only. Problems of the
// configuration are reported by checkOptions.
func (f *envFlags) configure(files []string) error {
	if len(files) == 0 {
		return nil
	}
	c, err := repository(f.config)
	if err != nil || len(c.problems) > 0 {
		return err
	}
	names := slices.DeleteFunc(slices.Clone(c.Platforms), func(name string) bool {
		return platform.SystemOf(name) != platform.Linux
	})
	for _, file := range files {
		i := slices.IndexFunc(c.Environments.List, func(e config.Environment) bool {
			return path.Clean(e.File) == path.Clean(filepath.ToSlash(file))
		})
		if i < 0 {
			continue
		}
		e := c.Environments.List[i]
		if f.python = cmp.Or(f.python, e.Python); len(e.Platforms) > 0 {
			names = e.Platforms
		}
		break
	}
	if len(f.platforms) > 0 {
		return nil
	}
	for _, name := range names {
		if _, err := platform.Named(name, "x86_64"); err == nil {
			f.platforms = append(f.platforms, name)
		}
	}
	return nil
}

// defaultPlatforms chooses the platform if none was named, and returns a note about the choice, or
// "". Installed packages run on the system that they are installed on, which has its own note.
func (f *envFlags) defaultPlatforms() (note string) {
	if len(f.platforms) > 0 || f.root != "" {
		return ""
	}
	if f.installed() != "" {
		if f.system = openOwnSystem("/"); f.system != nil {
			return ""
		}
		note = "this is not a Linux system, so " + defaultPlatform + " was assumed; --platform " +
			"names another"
	}
	f.platforms = []string{defaultPlatform}
	return note
}

// unusable returns an error of readPinned with what to do.
func unusable(err error) error {
	var file *pinned.FileError
	if !errors.As(err, &file) {
		return err
	}
	return fmt.Errorf("%w; %s", err, correction(err))
}

// correction returns what to do about an error of a file that was named.
func correction(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "correct the path"
	case errors.Is(err, pinned.ErrPython):
		return "name another one with --python"
	}
	return "correct the file"
}

// readPinned reads what some files pin, for each platform; nothing if there are no files.
func readPinned(f envFlags, files []string) ([]*pinned.Pinned, error) {
	return readPinnedWith(f, files, func(path string) ([]byte, error) {
		if path == "-" {
			return f.stdin()
		}
		return readInput(path)
	})
}

// readPinnedWith is readPinned with another way to read files.
func readPinnedWith(
	f envFlags, files []string, read func(path string) ([]byte, error),
) ([]*pinned.Pinned, error) {
	list := pinned.Files{Extras: f.extras, Groups: f.groups, Read: read}
	for _, file := range files {
		list.Paths = append(list.Paths, filepath.ToSlash(file))
	}
	if len(files) == 0 {
		return nil, nil
	}
	choose := func(name string, p *platform.Platform) (*pinned.Pinned, error) {
		e, err := list.Pinned(packages.On(p, f.python))
		if err == nil {
			e.Platform, e.Budget = name, int64(f.budget)<<20
		}
		return e, err
	}
	if f.system != nil {
		e, err := choose("", f.system.own())
		return []*pinned.Pinned{e}, err
	}
	var out []*pinned.Pinned
	for _, name := range f.platforms {
		p, err := platform.Named(name, "x86_64")
		if err != nil {
			return nil, err
		}
		e, err := choose(name, p)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// openInstalled opens the packages of a virtual environment, of a conda environment or of an
// unpacked image.
func openInstalled(f envFlags) ([]*pinned.Wheels, error) {
	flag, top := f.installed(), cmp.Or(f.root, "/")
	root, err := openRoot(top)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	b := folders{root, f.root == ""}
	on := packages.Target{Python: f.python, Arch: f.architecture()}
	var found []*pinned.Installed
	if f.root != "" {
		found, err = pinned.OpenSystem(root.Place, on)
	} else {
		var dir string
		if dir, err = b.folder(cmp.Or(f.venv, f.prefix)); err == nil {
			found = make([]*pinned.Installed, 1)
			found[0], err = pinned.OpenInstalled(dir, root.Place, on)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	var out []*pinned.Wheels
	for _, in := range found {
		out = append(out, &in.Wheels)
		if in.Wheels.Prefix, err = b.prefix(in); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", flag, err), pinned.Close(out))
		}
		show := func(file string) string {
			return displayed(filepath.Join(top, filepath.FromSlash(file)))
		}
		for id, at := range in.Wheels.Origins {
			at.File = show(at.File)
			in.Wheels.Origins[id] = at
		}
		for i := range in.Wheels.Broken {
			if b := &in.Wheels.Broken[i]; b.Remove != "" {
				b.Remove = show(b.Remove)
			}
		}
	}
	return out, nil
}

// architecture returns the one that all names of platforms contain, as in al2023/aarch64; "" if
// they contain none or several.
func (f *envFlags) architecture() string {
	arch := ""
	for i, name := range f.platforms {
		a := platform.Architecture(name)
		if !strings.HasSuffix(name, "/"+a) && !strings.HasSuffix(name, "_"+a) {
			return ""
		}
		if a = platform.Arch(a); i > 0 && a != arch {
			return ""
		}
		arch = a
	}
	return arch
}

// displayed returns a path relative to the working directory if it is in there, with slashes.
func displayed(name string) string {
	if dir, err := os.Getwd(); err == nil && filepath.IsAbs(name) {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			name = rel
		}
	}
	return filepath.ToSlash(name)
}

// prefix describes the files of an installed environment.
func (b folders) prefix(in *pinned.Installed) (*analyzer.Conda, error) {
	k := &analyzer.Conda{Owner: func(string) string { return "" }}
	if b.root.Folder(path.Join(in.Prefix, "conda-meta")) {
		var err error
		if k, err = b.conda(in.Prefix); err != nil {
			return nil, err
		}
	}
	k.Path, k.DistInfo = in.Prefix, in.DistInfo
	if len(in.Sites) > 0 {
		k.Site = in.Sites[0]
	}
	// A path in the first folder with packages stands for the same path in the others.
	find := func(p string) string {
		rel, ok := strings.CutPrefix(p, k.Site+"/")
		for _, site := range in.Sites {
			at := path.Join(in.Prefix, site, rel)
			if ok && b.root.Exists(at) {
				return at
			}
		}
		return path.Join(in.Prefix, p)
	}
	k.Open = func(p string) *elfobj.Object { return dynlink.ReadObject(b.root, find(p)) }
	k.Types = func(p string) []cython.Type { return b.types(find(p)) }
	k.Text = func(p string) []byte {
		if text := in.Text(p); text != nil {
			return text
		}
		return b.text(find(p))
	}
	return k, nil
}
