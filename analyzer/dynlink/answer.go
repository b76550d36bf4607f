package dynlink

// Answer is what a loader makes of one file: the document of `compat ldd`.
type Answer struct {
	Objects         []LoadedObject   `json:"objects"`
	NotFound        []NotFound       `json:"not_found"`
	MissingVersions []MissingVersion `json:"missing_versions"`
	Undefined       []Undefined      `json:"undefined"`
	Error           string           `json:"error,omitempty"` // why the loader gives up, in its own words; the lists are what it had said by then
}

func newAnswer() *Answer {
	return &Answer{
		Objects:         []LoadedObject{},
		NotFound:        []NotFound{},
		MissingVersions: []MissingVersion{},
		Undefined:       []Undefined{},
	}
}

// LoadedObject is one object that is loaded, under the name that the loader prints.
type LoadedObject struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	NeededBy string `json:"needed_by"`
	FoundBy  string `json:"found_by"` // "rpath", "library-path", "runpath", "cache", "default", "path", "preload" or "loader"
}

// NotFound is a need that nothing answers.
type NotFound struct {
	Name     string   `json:"name"`
	NeededBy string   `json:"needed_by"`
	Searched []string `json:"searched"` // paths, in the order of the search
}

// MissingVersion is a version node that the library which was found does not define.
type MissingVersion struct {
	Version    string `json:"version"`
	Library    string `json:"library"`
	RequiredBy string `json:"required_by"`
}

// Undefined is a symbol that nothing in the scope defines.
type Undefined struct {
	Symbol  string `json:"symbol"`
	Version string `json:"version"` // "" where the reference has none
	Object  string `json:"object"`
}

// Reason says who asked for a symbol and who provides it.
type Reason struct {
	Object   string   // who refers to it
	Version  string   // under which version
	Weak     bool     // nobody need provide it
	Provider string   // "" where nobody does
	Chain    []string // from the file asked for to the provider, each needed by the one before
}

// FoundBy values of LoadedObject.
const (
	foundRPath   = "rpath"
	foundLibPath = "library-path"
	foundRunPath = "runpath"
	foundCache   = "cache"
	foundDefault = "default"
	foundPath    = "path"
	foundPreload = "preload"
	foundLoader  = "loader"
	foundLent    = "lent" // of an Environment only: no path leads there
	foundHost    = "host" // of an Environment only: in the process before
)

// failure is an error at which a loader gives up; its text is what the loader prints.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }
