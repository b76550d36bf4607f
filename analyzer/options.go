package analyzer

import (
	"fmt"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/unpack"
)

// Options are the settings of an analysis. The zero value checks each artifact on the platform
// of its tag, with the packages that it declares. The JSON contains only plain data.
type Options struct {
	Platforms []string // check on these instead of the platforms of the artifact's tags
	Also      []string // check on these in addition
	// Root returns an unpacked system for an architecture, which is checked like one of Platforms.
	// It returns an error if the system is not for that architecture. It may be nil.
	Root func(arch string) (*platform.Platform, error) `json:"-"`
	// LibraryPath are the folders of LD_LIBRARY_PATH.
	LibraryPath []Folder `json:"-"`
	// Conda is the conda environment in which the artifact is installed; nil if there is none.
	Conda *Conda `json:"-"`
	// NoHistory disables the embedded history, also for guessing which package provides a library.
	NoHistory bool
	// Requirements to install, PEP 508; they take precedence over declared ones.
	With []string
	// Origins are the places of requirements in With, by their text. A requirement that is missing
	// was given with --with.
	Origins map[string]Origin
	// NoWheel are pins that no installer accepts, for which no platform matters: those without a hash.
	NoWheel []NoWheel
	Extras  []string // of the artifacts that are installed: the EXTRA of pip install NAME[EXTRA]
	First   []string // packages whose libraries are loaded before everything else
	GPU     GPU      // the GPUs that must be supported
	Link    bool     // report link findings of every library as errors
	// WholeRanges makes what fails only with the oldest versions that the requirements allow an error,
	// not a warning.
	WholeRanges bool

	Base     []Input `json:"-"` // artifacts of the base branch; nil: all findings are new
	BaseName string  // name of the base in messages; "": "the base"
	// BaseWheels are all wheels of the base if Base has only some of them; nil: those in Base.
	BaseWheels []WheelFile
	// BaseRelease is set if Base is the previous release.
	BaseRelease bool
	BaseVersion string    // "": that of each artifact
	Earlier     []Earlier // other earlier builds with which libraries are compared
	// OptionalBase is set if what could not be read of Base and Earlier is a note. Otherwise the
	// verdict is unchecked.
	OptionalBase bool
	ABI          ABI  // how libraries are compared
	NoFixes      bool // do not try fixes

	Rules  map[string]Severity // severity by rule ID; Off disables the rule
	Accept []Accept            // findings that are accepted
	// Unused is set if a note names each entry of Accept with a place that no finding matches.
	// Otherwise only those are named that a finding almost matches.
	Unused bool
	// Today is YYYY-MM-DD, which is compared with Accept.Until; "": nothing has expired.
	Today string

	Source packages.Source `json:"-"` // provides other packages; nil: the embedded history
	// NoIndex is set if no package index was configured. Report.Notes mention it if it matters.
	NoIndex bool
	// Published are the paths of artifacts that a package index has under this name, so that another
	// file cannot be published in their place.
	Published []string
	Scratch   func(size int64) (unpack.Scratch, error) `json:"-"`
	Limits    unpack.Limits
	Version   string // version of compat, for the report

	// Called with a description of the current step; may be nil.
	Progress func(text string) `json:"-"`
}

// ABI contains the settings for comparing libraries with earlier builds; see package judge.
type ABI = judge.ABI

// Earlier is an earlier build that programs may have been linked with.
type Earlier struct {
	Name    string // a tag or the path of a baseline
	Version string // "": that of each artifact
	Release bool   // it was published

	Inputs []Input `json:"-"`
	// Baseline is a description of a library: of compat abi, debian/*.symbols, or the XML of
	// libabigail. If set, there are no Inputs.
	Baseline []byte
}

// compares reports whether libraries are compared with earlier builds.
func (o *Options) compares() bool {
	return o.ABI.Policy != judge.PolicyNone && (o.Base != nil && !o.ABI.SkipBase || len(o.Earlier) > 0)
}

// reading returns the options for reading the inputs.
func (o *Options) reading() facts.Options {
	return facts.Options{
		Limits:   o.Limits,
		Scratch:  o.Scratch,
		Progress: o.Progress,
		ABI:      o.compares(),
		NoGPU:    len(o.GPU.Archs) == 0 && o.GPU.Stack == "",
	}
}

// platforms returns the options that determine the targets.
func (o *Options) platforms(published judge.Published) judge.Platforms {
	return judge.Platforms{
		Instead: o.Platforms, Also: o.Also, Root: o.Root, Published: published,
	}
}

// environment returns the options that describe the environment of the artifacts.
func (o *Options) environment() judge.Options {
	return judge.Options{
		With:        o.With,
		Origins:     o.Origins,
		Extras:      o.Extras,
		First:       o.First,
		LibraryPath: o.LibraryPath,
		Conda:       o.Conda,
		Source:      o.Source,
		NoIndex:     o.NoIndex,
		NoHistory:   o.NoHistory,
		GPU:         o.GPU,
		Link:        o.Link,
		WholeRanges: o.WholeRanges,
		ABI:         o.ABI,
	}
}

// Accept selects findings that a maintainer accepted. An empty Rule, Package, Symbol, Library or
// Object means any.
type Accept struct {
	Rule    string
	Package string // name of the package that the finding is about
	Symbol  string
	Library string // SONAME, as in the finding
	Object  string // path in the artifact
	// The Identity of a finding; "" for all findings that match the other fields.
	Finding string
	Because string
	Until   string // YYYY-MM-DD, the last day on which it applies; "" for no end
	By      string // "" for the configuration file
	At      Origin // its place in the configuration file
}

func (o *Options) progress(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}
