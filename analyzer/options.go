package analyzer

import (
	"fmt"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/unpack"
)

// Options are the settings of one analysis. The zero value judges each artifact against its own
// tag, what it declares, and itself. Its JSON leaves out what isn't plain data.
type Options struct {
	Platforms []string // judge against these instead of what the artifact claims
	Also      []string // judge against these as well
	// Root is an unpacked system to judge against, on an architecture, as one of Platforms. It
	// returns an error where it is none of that architecture. nil: none.
	Root func(arch string) (*platform.Platform, error) `json:"-"`
	// LibraryPath are the folders of LD_LIBRARY_PATH where the artifact is loaded.
	LibraryPath []Folder `json:"-"`
	// Conda is the conda environment that the artifact is installed into; nil: none.
	Conda *Conda `json:"-"`
	// NoHistory: nothing is taken from the embedded history, not even which packages may bring a
	// library.
	NoHistory bool
	With      []string // requirements beside the artifact, PEP 508; they win over what it declares
	// Origins says where requirements of With stand, by their text; what is not in it was given by
	// itself, as with --with.
	Origins map[string]Origin
	First   []string // packages whose libraries are loaded before everything else
	GPU     GPU      // what the artifact is for, as the user says
	Link    bool     // link findings of every library are errors

	Base    []Input `json:"-"` // what the base branch has; nil: no comparison, everything is new
	NoFixes bool    // no fix is looked for: only what is wrong is asked

	Rules  map[string]Severity // severity by rule id; Off silences it
	Accept []Accept            // findings that count for nothing
	// YYYY-MM-DD, against which Accept.Until is held; "" holds against nothing
	Today string

	Source packages.Source `json:"-"` // what is known of other packages; nil: the embedded history
	// say in Notes that no package index was configured
	NoIndex bool
	Scratch func(size int64) (unpack.Scratch, error) `json:"-"`
	Limits  unpack.Limits
	Version string // of the tool, for the report

	Progress func(text string) `json:"-"` // told what goes on, for a person; nil: nobody
}

// Origin is where a requirement stands.
type Origin struct {
	File string // as it is shown
	Line int    // from 1; 0 unknown
	Lock bool   // the file is a lock file: what is given otherwise may take the place of its pins
}

// String is FILE:LINE; "--with" of the zero value.
func (o Origin) String() string {
	switch {
	case o.File == "":
		return "--with"
	case o.Line == 0:
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// GPU says which accelerators the artifacts are for. The zero value says nothing.
type GPU struct {
	Stack string   // "cuda" or "rocm"; "" = not said
	Archs []string // each has to run: "sm_86", "gfx90a"
}

// Accept names findings that somebody decided to live with. An empty Rule, Symbol or Object means
// any.
type Accept struct {
	Rule    string
	Symbol  string
	Object  string
	Finding string // the Identity of the one finding that is meant; "" for all that fit the rest
	Because string
	Until   string // YYYY-MM-DD, the last day it counts; "" for ever
	By      string // "" for the configuration file
}

func (o *Options) progress(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}
