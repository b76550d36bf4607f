package analyzer

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

// Folder is a folder of the system with libraries in it, of which a platform knows nothing: a CUDA
// toolkit's.
type Folder struct {
	Path string // absolute, as it is shown
	// one of its files; nil where there is none that can be read
	Open func(file string) *elfobj.Object
}

// Conda is a conda environment: a folder below which Python, its packages and their libraries lie.
// Its python was linked with a DT_RPATH, which serves everything that is loaded and has no
// DT_RUNPATH of its own.
type Conda struct {
	Path string // absolute, as it is shown
	// site-packages below it: "lib/python3.12/site-packages"; "" where there is no Python
	Site  string
	RPath []string // folders of its python's DT_RPATH below it: "lib"
	// a file below it; nil where there is none that can be read
	Open func(path string) *elfobj.Object
	// DistInfo are the names of the *.dist-info folders in Site: the packages for Python that are
	// installed. Those that the artifact asks for are beside it in the version that is there, where
	// that meets what it asks.
	DistInfo []string
	// a file below it; nil where there is none, or one of more than some megabytes
	Text func(path string) []byte
	// the conda package that brought a file, as NAME VERSION; "" where none says so
	Owner func(path string) string
}

// site is where wheels are installed, below the conda environment; "" where there is none.
func (c *check) site() string {
	if c.options.Conda == nil {
		return ""
	}
	return c.options.Conda.Site
}

// libraryPath are the folders of LD_LIBRARY_PATH in a scenario.
func (c *check) libraryPath(s fix.Scenario) []string {
	var out []string
	for _, f := range c.options.LibraryPath {
		if !slices.Contains(s.Off, f.Path) {
			out = append(out, f.Path)
		}
	}
	return out
}

// reach lets an environment find what lies in the folders.
func (c *check) reach(e *dynlink.Environment, h Host, arch string, libraryPath []string) {
	if len(c.options.LibraryPath) == 0 && c.options.Conda == nil {
		return
	}
	e.Files, e.LibraryPath = c.filesFor(arch), libraryPath
	if k := c.options.Conda; k != nil && h == HostPython {
		for _, dir := range k.RPath {
			e.ProgramPath = append(e.ProgramPath, "/"+dir)
		}
	}
}

// filesFor reads the files of the folders for an architecture, each once.
func (c *check) filesFor(arch string) *dynlink.Files {
	if c.files[arch] == nil {
		c.files[arch] = dynlink.NewFiles(func(p string) *dynlink.Library { return c.file(p, arch) })
	}
	return c.files[arch]
}

// file is the library at a path: of LD_LIBRARY_PATH, or below the conda environment as if that were
// "/". The loader passes over a file for another machine.
func (c *check) file(p, arch string) *dynlink.Library {
	of := func(o *elfobj.Object, shown string) *dynlink.Library {
		if o == nil || o.Arch() != arch {
			return nil
		}
		return dynlink.InFolder(shown, o)
	}
	for _, f := range c.options.LibraryPath {
		if path.Dir(p) == path.Clean(f.Path) {
			if l := of(f.Open(path.Base(p)), p); l != nil {
				return l
			}
		}
	}
	k := c.options.Conda
	if k == nil {
		return nil
	}
	below := strings.TrimPrefix(p, "/")
	l := of(k.Open(below), path.Join(k.Path, below))
	if l != nil {
		if owner := k.Owner(below); owner != "" {
			l.Origin = owner
		}
	}
	return l
}

// nearby are libraries of the folders that some libraries lead to by their names, and those by
// which they need others in turn.
func (c *check) nearby(libraries []*dynlink.Library, arch string) []*dynlink.Library {
	var dirs []string
	for _, f := range c.options.LibraryPath {
		dirs = append(dirs, f.Path)
	}
	if k := c.options.Conda; k != nil {
		for _, dir := range k.RPath {
			dirs = append(dirs, "/"+dir)
		}
	}
	var out []*dynlink.Library
	seen := map[string]bool{}
	for queue := slices.Clone(libraries); len(dirs) > 0 && len(queue) > 0; queue = queue[1:] {
		for _, n := range queue[0].Needed {
			if seen[n] || strings.Contains(n, "/") {
				continue
			}
			seen[n] = true
			for _, dir := range dirs {
				if l := c.filesFor(arch).At(path.Join(dir, n)); l != nil {
					out, queue = append(out, l), append(queue, l)
				}
			}
		}
	}
	return out
}

// folders tells of each finding whether it is there only because a folder is in LD_LIBRARY_PATH,
// and offers to take that out.
func (t *tries) folders(fresh []judged) error {
	for _, f := range t.check.options.LibraryPath {
		if !slices.ContainsFunc(fresh, func(x judged) bool { return x.Severity != Note }) {
			return nil
		}
		t.most = len(t.known) + 1
		change := fix.TakeOut{Folder: f.Path}
		w, err := t.run(change.Apply(t.scenario))
		if err != nil || w == nil {
			return err
		}
		for _, x := range fresh {
			if x.Severity == Note || !t.mends(w, x) {
				continue
			}
			x.Message += fmt.Sprintf(
				"; it fails with %s in LD_LIBRARY_PATH, and works without",
				f.Path,
			)
			offer := fix.Fix{
				Kind:     fix.KindEnvironment,
				Title:    "Take " + f.Path + " out of LD_LIBRARY_PATH",
				Command:  "unset LD_LIBRARY_PATH",
				Verified: true,
				Cost:     t.cost(w),
			}
			if left := t.check.libraryPath(change.Apply(t.scenario)); len(left) > 0 {
				offer.Command = "export LD_LIBRARY_PATH=" + shellword.Quote(strings.Join(left, ":"))
			}
			x.Fixes = append(x.Fixes, offer)
		}
	}
	return nil
}
