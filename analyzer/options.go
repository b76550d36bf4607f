package analyzer

import (
	"fmt"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/unpack"
)

// Options are the settings of one analysis. The zero value checks each artifact on the platform of
// its own tag, with what it declares. Its JSON leaves out what isn't plain data.
type Options struct {
	Platforms []string // check on these instead of what the artifact claims
	Also      []string // check on these as well
	// Root is an unpacked system of an architecture to check on, as one of Platforms. It returns an
	// error where the system is not of that architecture. nil: none.
	Root func(arch string) (*platform.Platform, error) `json:"-"`
	// LibraryPath are the folders of LD_LIBRARY_PATH where the artifact is loaded.
	LibraryPath []Folder `json:"-"`
	// Conda is the conda environment that the artifact is installed into; nil: none.
	Conda *Conda `json:"-"`
	// NoHistory: the embedded history is not used, not even to guess who provides a library.
	NoHistory bool
	With      []string // requirements in the environment, PEP 508; they win over declared ones
	// Origins are the places where requirements of With were written, by their text; a requirement
	// that is not in it was given by itself, as with --with.
	Origins map[string]Origin
	First   []string // packages whose libraries are loaded before everything else
	GPU     GPU      // what the artifact is for
	Link    bool     // link findings of every library are errors

	Base     []Input `json:"-"` // what the base branch has; nil: no comparison, everything is new
	BaseName string  // what the base is called in messages; "": "the base"
	// BaseRelease: Base is what was published before.
	BaseRelease bool
	BaseVersion string    // "": that of each artifact
	Earlier     []Earlier // more earlier builds that libraries are compared with
	ABI         ABI       // how libraries are compared
	NoFixes     bool      // no fix is tried

	Rules  map[string]Severity // severity by rule id; Off turns it off
	Accept []Accept            // findings that do not count
	// Today is YYYY-MM-DD, to which Accept.Until is compared; "": nothing has ended.
	Today string

	Source packages.Source `json:"-"` // what is known of other packages; nil: the embedded history
	// NoIndex: no package index was configured, which Report.Notes mention where it matters.
	NoIndex bool
	Scratch func(size int64) (unpack.Scratch, error) `json:"-"`
	Limits  unpack.Limits
	Version string // of the tool, for the report

	Progress func(text string) `json:"-"` // called with what is being done, for a person; nil: not
}

// ABI says how shared libraries are compared with earlier builds; see package judge.
type ABI = judge.ABI

// Earlier is a build that programs may have been linked against.
type Earlier struct {
	Name    string // as people call it: a tag or the path of a baseline
	Version string // "": that of each artifact
	Release bool   // it was published

	Inputs []Input `json:"-"`
	// Baseline is a file that describes a library: of compat abi, debian/*.symbols, or the XML of
	// libabigail. Then there are no Inputs.
	Baseline []byte
}

// compares reports whether libraries are compared with earlier builds.
func (o *Options) compares() bool {
	return o.ABI.Policy != judge.PolicyNone && (o.Base != nil && !o.ABI.SkipBase || len(o.Earlier) > 0)
}

// reading is the part of the options that reading the inputs needs.
func (o *Options) reading() facts.Options {
	return facts.Options{
		Limits:   o.Limits,
		Scratch:  o.Scratch,
		Progress: o.Progress,
		ABI:      o.compares(),
	}
}

// platforms is the part of the options that chooses the targets.
func (o *Options) platforms() judge.Platforms {
	return judge.Platforms{Instead: o.Platforms, Also: o.Also, Root: o.Root}
}

// environment is the part of the options that describes the environment of the artifacts.
func (o *Options) environment() judge.Options {
	return judge.Options{
		With:        o.With,
		Origins:     o.Origins,
		First:       o.First,
		LibraryPath: o.LibraryPath,
		Conda:       o.Conda,
		Source:      o.Source,
		NoIndex:     o.NoIndex,
		NoHistory:   o.NoHistory,
		GPU:         o.GPU,
		Link:        o.Link,
		ABI:         o.ABI,
	}
}

// Accept names findings that a maintainer accepted. An empty Rule, Symbol or Object means any.
type Accept struct {
	Rule    string
	Symbol  string
	Object  string
	Finding string // the Identity of one finding; "" for all that match the rest
	Because string
	Until   string // YYYY-MM-DD, the last day it applies; "" without end
	By      string // "" for the configuration file
}

func (o *Options) progress(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}
