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
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
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
		Long: `Check whether the native code of pinned packages loads together. compat looks up
the wheels that pip would install in the package index, and downloads only the parts that a loader
reads. Nothing is installed and nothing is run.

Exit code: 0 no problem found, 1 a problem found, 2 could not check or wrong usage.`,
		Example: `  compat env --lock uv.lock
  compat env --lock 'services/*/uv.lock'
  compat env --requirement requirements.txt --python 3.12 --platform debian12
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
			"pyproject.toml allows, else 3.12)")
	flags.Var((*nameList)(&f.platforms), "platform",
		"the system that the packages run on (debian12, alpine3.20; default: that of the configuration, "+
			"else "+defaultPlatform+"; for installed packages this system); may be repeated")
	flags.StringArrayVar(&f.first, "first", nil,
		"assume that this package was imported before, so that its libraries are loaded; repeatable")
	flags.StringVar(&f.config, "config", "",
		"configuration file (default: "+config.Path+" or [tool.compat] in "+config.ProjectPath+")")
	flags.StringArrayVar(&f.index, "index-url", nil,
		"package index (default: those of PIP_INDEX_URL, UV_DEFAULT_INDEX, pip.conf and uv.toml); "+
			"repeatable, the first that has a wheel is used")
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

var errTwoEnvironments = errors.New("--venv and --conda-prefix are two environments; give one")

func checkEnvironment(ctx context.Context, env environment, f envFlags) error {
	outputs, err := newOutputs(env, f.checkFlags)
	if err != nil {
		return err
	}
	return outputs.orReport(checkEnvironmentFor(ctx, env, f, outputs))
}

func checkEnvironmentFor(
	ctx context.Context,
	env environment,
	f envFlags,
	outputs *outputs,
) (err error) {
	f.stdin = sync.OnceValues(func() ([]byte, error) {
		return io.ReadAll(io.LimitReader(env.In, maxPins))
	})
	files := append(slices.Clone(f.lock), f.requirements...)
	if outputs.of = f.venv + f.prefix + f.root; len(files) == 1 {
		outputs.of = files[0]
	}
	var many []string
	if pattern := f.patternOf(); pattern != "" {
		if many, err = f.manyFiles(pattern); err != nil {
			return err
		}
	}
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
	}); i >= 0 {
		return fmt.Errorf("platform %q: compat env reads only environments for Linux; "+
			"check wheels for other systems with compat check FILE.whl", f.platforms[i])
	}
	asked := f
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
	o, failOn := settings.Options, settings.failOn
	outputs.failOn, o.Unused = failOn, f.verbose
	if f.system != nil {
		o.Root, o.Platforms = f.system.platform, nil
	}
	if settings.broken != nil {
		return errors.Join(outputs.write(env.Out, settings.broken), exit{code: exitUsage})
	}
	from, err := openPackages(env, f.index, false, f.noCache)
	if err != nil {
		return err
	}
	if len(from.names) == 0 && (len(files) > 0 || len(f.before) > 0) {
		return errors.New(
			"wheels are looked up in a package index, and none is configured; " +
				"name one with --index-url or PIP_INDEX_URL")
	}
	if many != nil {
		return checkMany(ctx, env, from, o, failOn, asked, many)
	}
	var head []*pinned.Wheels
	var cached result
	var pins, base []*pinned.Pinned
	if f.installed() != "" {
		if head, err = openInstalled(f); err != nil {
			return err
		}
		f.python = cmp.Or(f.python, head[0].On.Python)
		if on := f.libc(); f.venv != "" && on != nil {
			head[0].On.Libc, head[0].On.LibcVersion = on.Libc, on.LibcVersion
		}
	} else if pins, err = readPinned(f, files); err != nil {
		return unusable(err)
	} else if !slices.ContainsFunc(pins, func(p *pinned.Pinned) bool {
		return len(p.Pins)+len(p.Unpinned) > 0
	}) {
		return fmt.Errorf("nothing to check: no requirement for these platforms in %s",
			strings.Join(files, ", "))
	}
	defer closeAll(head) //nolint:errcheck // files that were only read
	if base, err = readPinned(f, f.before); err != nil {
		return unusable(err)
	}
	if len(files) > 0 && !f.noCache && len(f.output) == 0 && !ofSources(f.format) {
		inputs := []any{"env", from.addresses(), pins, base}
		if cached, err = newResult(env, f.checkFlags, o, failOn, index.PageLife, inputs); err != nil {
			return err
		}
		if ok, err := cached.print(ctx, env, f.verbose); ok {
			return err
		}
	}
	defer collect()()
	shown := startProgress(env, f.quiet)
	o.Progress = shown.set
	r, lasting, err := reviewEnvironment(ctx, from, o, head, pins, base)
	shown.stop()
	if err != nil {
		return err
	}
	if f.system != nil {
		note = f.system.note()
	}
	if note != "" {
		r.AddNote(note)
	}
	if f.venv != "" {
		installInto(r, f.venv)
	}
	r.Decide(failOn)
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

// libc returns the platform whose libc installed packages run on; nil if they are for several.
func (f *envFlags) libc() *platform.Platform {
	if f.system != nil {
		return f.system.own()
	}
	if len(f.platforms) != 1 {
		return nil
	}
	p, err := platform.Lookup(f.platforms[0], "x86_64")
	if err != nil {
		return nil // reported with the options
	}
	return p
}

// configure takes the interpreter and the platforms of files from the configuration, unless flags
// name them: from the entry of environments for one of the files, as in the reviews of the App, or
// else from platforms. Platforms that are not Linux are for wheels only. Problems of the
// configuration are reported by checkOptions.
func (f *envFlags) configure(files []string) error {
	if len(files) == 0 {
		return nil
	}
	c, err := repository(f.config)
	if err != nil || len(c.problems) > 0 {
		return err
	}
	names := c.Platforms
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
		if _, err := platform.Lookup(name, "x86_64"); err == nil &&
			platform.SystemOf(name) == platform.Linux {
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
		note = "this system has no loader of Linux, so " + defaultPlatform + " was assumed; --platform " +
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

// reviewEnvironment checks installed packages, or those that files pin, compared with the pins of
// the base. What the packages require is only read if a fix changes requirements: lock files pin
// all that is needed. lasting is set if the result does not depend on what the index has today.
func reviewEnvironment(
	ctx context.Context,
	from *packageSource,
	o analyzer.Options,
	head []*pinned.Wheels,
	pins, base []*pinned.Pinned,
) (r *analyzer.Report, lasting bool, err error) {
	locked := pinned.Locked(from.addresses(), append(slices.Clone(pins), base...)...)
	// of a release that both have, the hashes may differ
	locked.Digests = pinned.Locked(from.addresses(), pins...).Digests
	locked.Complete = locked.Complete && len(pins) > 0 // of installed packages nothing is known
	locked.ReadAll = len(o.First) > 0 || len(o.GPU.Archs) > 0 || o.GPU.Stack != ""
	from = from.withLock(locked)
	if len(base) > 0 && len(o.First) == 0 {
		if locked.Without, err = pinned.Unreached(ctx, pins, base, from.indexes); err != nil {
			return nil, false, err
		}
	}
	o.Source = from.Source
	if head == nil {
		if head, err = openPinned(ctx, from, pins); err != nil {
			return nil, false, err
		}
		defer closeAll(head) //nolint:errcheck // files that were only read
	}
	var before []*analyzer.Environment
	if len(base) > 0 {
		own := *locked
		own.Digests = pinned.Locked(from.addresses(), base...).Digests
		base, err := openPinned(ctx, from.withLock(&own), base)
		if err != nil {
			return nil, false, err
		}
		defer closeAll(base) //nolint:errcheck // likewise
		before = environmentsOf(base)
	}
	a := analyzer.New(rules.All())
	if !locked.Complete { // else they are needed only if there are errors
		readOthers(head, from, locked)
	}
	r, err = a.CheckEnvironments(ctx, environmentsOf(head), before, o)
	pinning := func(f analyzer.Finding) bool {
		return slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool { return x.Requirement != "" })
	}
	again := locked.Complete && err == nil && slices.ContainsFunc(r.Findings,
		func(f analyzer.Finding) bool {
			return f.Severity == analyzer.Error ||
				f.Severity == analyzer.Warning && len(locked.Without) > 0 || pinning(f)
		})
	if again {
		from = from.withLock(&index.Locked{
			Files: locked.Files, Digests: locked.Digests, AnyPython: locked.AnyPython,
			ReadAll: locked.ReadAll,
		})
		o.Source = from.Source
		readOthers(head, from, locked)
		r, err = a.CheckEnvironments(ctx, environmentsOf(head), before, o)
	}
	if again && err == nil && slices.ContainsFunc(r.Findings, pinning) &&
		slices.ContainsFunc(head, func(w *pinned.Wheels) bool { return w.Together }) {
		// A fix may change the versions with which a wheel is known to load.
		if head, err = openPinned(ctx, from, pins); err != nil {
			return nil, false, err
		}
		defer closeAll(head) //nolint:errcheck // files that were only read
		readOthers(head, from, locked)
		r, err = a.CheckEnvironments(ctx, environmentsOf(head), before, o)
	}
	if err == nil {
		r.Notes = slices.Insert(r.Notes, 0, checkedFor(r, o, head, pins))
		if len(pins) > 0 && pins[0].Guessed {
			r.Assumed = "Python " + pins[0].On.Python
		}
	}
	if len(base) > 0 && err == nil && pinned.SamePins(pins, base) {
		r.Notes = slices.Insert(r.Notes, 0, "no pin differs from the base, so nothing is new")
	}
	if n := len(locked.Without); n > 0 && err == nil {
		r.AddNote(fmt.Sprintf("only what the change can affect was checked; %d packages do not depend "+
			"on a changed package, and none of the changed ones has libraries that they could load", n))
	}
	return r, locked.Complete && !again && err == nil && len(r.Unread) == 0, err
}

// checkedFor returns a sentence about the interpreters and platforms of environments, and where the
// interpreter of pinned ones is known from.
func checkedFor(
	r *analyzer.Report,
	o analyzer.Options,
	head []*pinned.Wheels,
	pins []*pinned.Pinned,
) string {
	var pythons, platforms []string
	for i, w := range head {
		python := w.On.Python
		if i < len(pins) && pins[i].PythonFrom != "" {
			python += " (" + pins[i].PythonFrom + ")"
		}
		if python != "" && !slices.Contains(pythons, python) {
			pythons = append(pythons, python)
		}
		if w.Platform != "" && !slices.Contains(platforms, w.Platform) {
			platforms = append(platforms, w.Platform)
		}
	}
	if len(platforms) == 0 {
		platforms = o.Platforms
	}
	for _, t := range r.Targets {
		if o.Root != nil && !slices.Contains(platforms, t.Name) {
			platforms = append(platforms, t.Name)
		}
	}
	text := "checked"
	if len(pythons) > 0 {
		text += " for Python " + strings.Join(pythons, ", ")
	}
	if len(platforms) > 0 {
		text += " on " + strings.Join(platforms, ", ")
	}
	return text
}

// readPinned reads what some files pin, for each platform; nothing if there are no files.
func readPinned(f envFlags, files []string) ([]*pinned.Pinned, error) {
	list := pinned.Files{Extras: f.extras, Groups: f.groups, Read: func(path string) ([]byte, error) {
		if path == "-" {
			return f.stdin()
		}
		return os.ReadFile(path)
	}}
	for _, file := range files {
		list.Paths = append(list.Paths, filepath.ToSlash(file))
	}
	if len(files) == 0 {
		return nil, nil
	}
	read := func(name string, p *platform.Platform) (*pinned.Pinned, error) {
		e, err := list.Pinned(packages.Target{
			Python: f.python, Arch: p.Arch, Libc: p.Libc, LibcVersion: p.LibcVersion,
		})
		if err == nil {
			e.Platform, e.Budget = name, int64(f.budget)<<20
		}
		return e, err
	}
	if f.system != nil {
		e, err := read("", f.system.own())
		return []*pinned.Pinned{e}, err
	}
	var out []*pinned.Pinned
	for _, name := range f.platforms {
		p, err := platform.Lookup(name, "x86_64")
		if err != nil {
			return nil, err
		}
		e, err := read(name, p)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// openPinned opens the wheels of environments.
func openPinned(
	ctx context.Context,
	from *packageSource,
	list []*pinned.Pinned,
) ([]*pinned.Wheels, error) {
	var out []*pinned.Wheels
	for _, e := range list {
		if err := e.Resolve(ctx, from.Source); err != nil {
			return nil, errors.Join(err, closeAll(out))
		}
		e.Asked = from.addresses()
		w, err := e.Open(ctx, from.indexes)
		if err != nil {
			return nil, errors.Join(err, closeAll(out))
		}
		out = append(out, w)
	}
	return out, nil
}

// readOthers lets a fix be another version of a package, whose wheel is read for it, where it is
// known which wheels pip would choose.
func readOthers(head []*pinned.Wheels, from *packageSource, locked *index.Locked) {
	all := from.withLock(&index.Locked{AnyPython: locked.AnyPython, ReadAll: true})
	for _, w := range head {
		if w.On.Libc != "" && len(all.indexes) > 0 {
			w.ReadOthersFrom(all.indexes)
		}
	}
}

func closeAll(list []*pinned.Wheels) error {
	var err error
	for _, w := range list {
		err = errors.Join(err, w.Close())
	}
	return err
}

func environmentsOf(list []*pinned.Wheels) []*analyzer.Environment {
	var out []*analyzer.Environment
	for _, w := range list {
		out = append(out, &w.Environment)
	}
	return out
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
			return nil, errors.Join(fmt.Errorf("%s: %w", flag, err), closeAll(out))
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
	k.Text = func(p string) []byte {
		if text := in.Text(p); text != nil {
			return text
		}
		return b.text(find(p))
	}
	return k, nil
}
