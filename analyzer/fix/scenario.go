package fix

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Scenario is the environment in which an artifact is checked, as far as fixes can change it.
// The zero value is an artifact without other packages on no platform. Apply does not modify
// its argument.
type Scenario struct {
	Platform string // name of the platform, with the architecture
	Retagged bool   // the artifact is tagged for Platform
	// Requirements to install, PEP 508. A later one replaces an earlier one for the same package.
	With     []string
	Requires []string // requirements that replace the artifact's own for the same package

	Needed  map[string][]string  // DT_NEEDED entries added to an object
	Dropped map[string][]string  // DT_NEEDED entries removed from an object
	Renamed map[string]string    // paths of files of the artifact that get another path
	Symver  map[Reference]string // version to which an import is bound instead
	// Libraries on the link line of a program that uses the artifact, by SONAME.
	Link          []string
	ImportedLater []string // packages that are not imported first, although the user specified it
	// Folders that are removed from LD_LIBRARY_PATH.
	RemovedFolders []string

	// Mach-O file -> path in a load command -> its replacement.
	Paths map[string]map[string]string

	// Of the built files: PT_INTERP that is set, objects without an executable stack, and Mach-O files
	// that are signed again.
	Interp   map[string]string
	NoStack  map[string]bool
	Signed   map[string]bool
	Recorded bool // RECORD lists the members of the wheel
	Tags     bool // WHEEL has the tags of the file name

	LinkLast []string // like Link, but after the artifact's library
	// DT_RUNPATH set for an object, or run paths that are added to a Mach-O file. See Folders.
	RunPath map[string]string
	// Folders in -rpath-link, in the form of the objects' paths.
	RPathLink           []string
	AllowShlibUndefined bool // the link line has --allow-shlib-undefined

	// Windows: folders of the artifact passed to os.add_dll_directory, relative to site-packages,
	// and DLLs next to every module, in lower case.
	DLLFolders, Bundled []string
}

// Unlinked returns the scenario without link options, which do not affect loading the artifact.
func (s Scenario) Unlinked() Scenario {
	s.Link, s.LinkLast, s.RPathLink, s.AllowShlibUndefined = nil, nil, nil, false
	return s
}

// Plain reports whether the link line has no options.
func (s Scenario) Plain() bool {
	return len(s.Link) == 0 && len(s.LinkLast) == 0 && len(s.RPathLink) == 0 &&
		!s.AllowShlibUndefined
}

// Declares reports whether a package with a normalized name is in Requires.
func (s Scenario) Declares(name string) bool {
	return slices.ContainsFunc(s.Requires, func(text string) bool {
		q, err := pkgmeta.ParseRequirement(text)
		return err == nil && q.Name == name
	})
}

// Reference identifies an import of an object.
type Reference struct{ Object, Symbol, Version string }

// Change is a change of a scenario.
type Change interface {
	Apply(Scenario) Scenario
}

// Pin requires a version of a package. If Direct is set, it replaces the artifact's
// requirement, otherwise that of the environment. If Implied is set, nothing has to be written for
// it: no file names the package, and another change leads an installer to this version.
type Pin struct {
	Requirement     string
	Direct, Implied bool
}

// AsRequired installs the versions that the artifact requires instead of the specified ones.
type AsRequired struct {
	Requirements []string // as the artifact has them
	Pins         []string // what is installed for them: these, or versions of an environment
	// Implied are the versions that an installer then chooses of packages that no file names.
	Implied []string
}

// Retag checks the artifact on another platform.
type Retag struct{ Platform string }

// AddNeeded adds DT_NEEDED entries to an object.
type AddNeeded struct {
	Object    string
	Libraries []string
}

// DropNeeded removes a DT_NEEDED entry from an object.
type DropNeeded struct{ Object, Library string }

// SetInterp sets the interpreter of a program.
type SetInterp struct{ Object, Interp string }

// ClearExecStack makes an object ask for a stack that is not executable.
type ClearExecStack struct{ Object string }

// Sign signs a Mach-O file again.
type Sign struct{ Object string }

// WriteRecord writes the RECORD of a wheel again.
type WriteRecord struct{}

// WriteTags writes the tags of the file name into WHEEL.
type WriteTags struct{}

func (c SetInterp) Apply(s Scenario) Scenario {
	s.Interp = with(s.Interp, c.Object, c.Interp)
	return s
}

func (c ClearExecStack) Apply(s Scenario) Scenario {
	s.NoStack = with(s.NoStack, c.Object, true)
	return s
}

func (c Sign) Apply(s Scenario) Scenario {
	s.Signed = with(s.Signed, c.Object, true)
	return s
}

func (WriteRecord) Apply(s Scenario) Scenario {
	s.Recorded = true
	return s
}

func (WriteTags) Apply(s Scenario) Scenario {
	s.Tags = true
	return s
}

// Rename gives a file of the artifact another path.
type Rename struct{ File, To string }

// BindOlder binds an import to another version of the same symbol.
type BindOlder struct {
	Reference Reference
	Version   string
}

// LinkWith adds libraries after --no-as-needed, and flags, to the link line of the artifact's
// users.
type LinkWith struct {
	Libraries           []string // by SONAME
	Last                bool     // after the artifact's library instead of before the objects
	RPathLink           []string // -rpath-link
	AllowShlibUndefined bool     // --allow-shlib-undefined
}

// All combines several changes: a command that makes more than one.
type All []Change

// PerArtifact makes another change for each artifact, by its path. Of returns it.
type PerArtifact map[string]Change

// Apply changes nothing, because the scenario has no artifact.
func (c PerArtifact) Apply(s Scenario) Scenario { return s }

// Of returns the change for an artifact, which changes nothing if there is none.
func Of(c Change, artifact string) Change {
	if per, ok := c.(PerArtifact); ok {
		c = per[artifact]
	}
	if c == nil {
		return All{}
	}
	return c
}

// Versions returns what a change of one package of an environment means for the others: the
// versions that it chooses.
func Versions(c Change) Change {
	switch c := c.(type) {
	case Pin:
		return Pin{Requirement: c.Requirement}
	case AsRequired, Releases:
		return c
	case All:
		out := make(All, 0, len(c))
		for _, x := range c {
			out = append(out, Versions(x))
		}
		return out
	}
	return All{}
}

// Releases chooses other releases of the packages that fail, as NAME==VERSION. Their artifacts take
// the place of those that fail.
type Releases []string

func (c Releases) Apply(s Scenario) Scenario {
	s.With = append(slices.Clone(s.With), c...)
	return s
}

// ImportBefore imports the artifact before a package that the user imports first.
type ImportBefore struct{ Package string }

// RemoveLibraryPath removes a folder from LD_LIBRARY_PATH.
type RemoveLibraryPath struct{ Folder string }

// ChangePath replaces the path of a needed library in a Mach-O file.
type ChangePath struct{ Object, From, To string }

func (c ChangePath) Apply(s Scenario) Scenario {
	s.Paths = with(s.Paths, c.Object, with(s.Paths[c.Object], c.From, c.To))
	return s
}

// SetRunPath sets the DT_RUNPATH of an object, or adds run paths to a Mach-O file.
type SetRunPath struct{ Object, RunPath string }

// AddDLLFolder passes a folder of the artifact, relative to site-packages, to
// os.add_dll_directory.
type AddDLLFolder struct{ Folder string }

// Bundle adds a DLL to the artifact, where its modules find it. Its exports are not known.
type Bundle struct{ DLL string }

func (c AddDLLFolder) Apply(s Scenario) Scenario {
	s.DLLFolders = append(slices.Clone(s.DLLFolders), c.Folder)
	return s
}

func (c Bundle) Apply(s Scenario) Scenario {
	s.Bundled = append(slices.Clone(s.Bundled), strings.ToLower(c.DLL))
	return s
}

func (c Pin) Apply(s Scenario) Scenario {
	if c.Direct {
		s.Requires = append(slices.Clone(s.Requires), c.Requirement)
	} else {
		s.With = append(slices.Clone(s.With), c.Requirement)
	}
	return s
}

func (c AsRequired) Apply(s Scenario) Scenario {
	s.With = slices.Concat(s.With, c.Pins, c.Implied)
	return s
}

func (c Retag) Apply(s Scenario) Scenario {
	s.Platform, s.Retagged, s.Tags = c.Platform, true, true
	return s
}

func (c AddNeeded) Apply(s Scenario) Scenario {
	s.Needed = with(s.Needed, c.Object, append(slices.Clone(s.Needed[c.Object]), c.Libraries...))
	return s
}

func (c DropNeeded) Apply(s Scenario) Scenario {
	s.Dropped = with(s.Dropped, c.Object, append(slices.Clone(s.Dropped[c.Object]), c.Library))
	return s
}

func (c Rename) Apply(s Scenario) Scenario {
	s.Renamed = with(s.Renamed, c.File, c.To)
	return s
}

func (c BindOlder) Apply(s Scenario) Scenario {
	s.Symver = with(s.Symver, c.Reference, c.Version)
	return s
}

func (c LinkWith) Apply(s Scenario) Scenario {
	if c.Last {
		s.LinkLast = append(slices.Clone(s.LinkLast), c.Libraries...)
	} else {
		s.Link = append(slices.Clone(s.Link), c.Libraries...)
	}
	s.RPathLink = append(slices.Clone(s.RPathLink), c.RPathLink...)
	s.AllowShlibUndefined = s.AllowShlibUndefined || c.AllowShlibUndefined
	return s
}

func (c All) Apply(s Scenario) Scenario {
	var own map[Reference]string // s.Symver, if it was copied here
	for _, x := range c {
		older, ok := x.(BindOlder)
		if !ok {
			s, own = x.Apply(s), nil
			continue
		}
		if own == nil { // there may be thousands of them, so the map is copied once
			own = with(s.Symver, older.Reference, older.Version)
			s.Symver = own
		}
		own[older.Reference] = older.Version
	}
	return s
}

// Apply adds the folders to those that other fixes set, since they are for other libraries.
func (c SetRunPath) Apply(s Scenario) Scenario {
	folders := Folders(s.RunPath[c.Object])
	for _, folder := range Folders(c.RunPath) {
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	s.RunPath = with(s.RunPath, c.Object, strings.Join(folders, ":"))
	return s
}

// Folders returns the folders of a search path; nil if it is "".
func Folders(searchPath string) []string {
	return strings.FieldsFunc(searchPath, func(c rune) bool { return c == ':' })
}

func (c ImportBefore) Apply(s Scenario) Scenario {
	s.ImportedLater = append(slices.Clone(s.ImportedLater), c.Package)
	return s
}

func (c RemoveLibraryPath) Apply(s Scenario) Scenario {
	s.RemovedFolders = append(slices.Clone(s.RemovedFolders), c.Folder)
	return s
}

// with returns a copy of m with the value v for k.
func with[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	out := map[K]V{}
	maps.Copy(out, m)
	out[k] = v
	return out
}

// Key is equal for equal scenarios only.
func (s Scenario) Key() string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"%s|%t|%s|%s|%s|%s|%s|%s|%s|%t|%s|%s",
		s.Platform,
		s.Retagged,
		strings.Join(s.ImportedLater, ","),
		strings.Join(s.RemovedFolders, ":"),
		strings.Join(s.With, ","),
		strings.Join(s.Requires, ","),
		strings.Join(s.Link, ","),
		strings.Join(s.LinkLast, ","),
		strings.Join(s.RPathLink, ","),
		s.AllowShlibUndefined,
		strings.Join(s.DLLFolders, ","),
		strings.Join(s.Bundled, ","),
	)
	fmt.Fprintf(&b, "|%t|%t", s.Recorded, s.Tags)
	for _, o := range slices.Sorted(maps.Keys(s.Interp)) {
		fmt.Fprintf(&b, "|%s:interp:%s", o, s.Interp[o])
	}
	for _, o := range slices.Sorted(maps.Keys(s.NoStack)) {
		fmt.Fprintf(&b, "|%s:stack", o)
	}
	for _, o := range slices.Sorted(maps.Keys(s.Signed)) {
		fmt.Fprintf(&b, "|%s:signed", o)
	}
	for _, o := range slices.Sorted(maps.Keys(s.RunPath)) {
		fmt.Fprintf(&b, "|%s:%s", o, s.RunPath[o])
	}
	for _, o := range slices.Sorted(maps.Keys(s.Paths)) {
		for _, from := range slices.Sorted(maps.Keys(s.Paths[o])) {
			fmt.Fprintf(&b, "|%s:%s>%s", o, from, s.Paths[o][from])
		}
	}
	for _, o := range slices.Sorted(maps.Keys(s.Needed)) {
		fmt.Fprintf(&b, "|%s+%s", o, strings.Join(s.Needed[o], ","))
	}
	for _, o := range slices.Sorted(maps.Keys(s.Dropped)) {
		fmt.Fprintf(&b, "|%s-%s", o, strings.Join(s.Dropped[o], ","))
	}
	for _, o := range slices.Sorted(maps.Keys(s.Renamed)) {
		fmt.Fprintf(&b, "|%s>%s", o, s.Renamed[o])
	}
	refs := make([]string, 0, len(s.Symver))
	for r, v := range s.Symver {
		refs = append(refs, fmt.Sprintf("|%s:%s@%s=%s", r.Object, r.Symbol, r.Version, v))
	}
	slices.Sort(refs)
	b.WriteString(strings.Join(refs, ""))
	return b.String()
}
