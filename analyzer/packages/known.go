package packages

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

//go:generate go run github.com/compat-app/compat/internal/gen/knownbad data/knownbad.json

// knownBadFile is a list of KnownBad, which internal/gen/knownbad tries.
//
//go:embed data/knownbad.json
var knownBadFile []byte

// KnownBad is a release of a package that does not work with releases of another one that its
// requirements admit, or that an installation may have.
type KnownBad struct {
	Package string `json:"package"` // normalized
	Version string `json:"version"`
	With    string `json:"with"` // the other package, normalized
	Bad     string `json:"bad"`  // PEP 440 specifier of its releases with which it does not work
	Works   string `json:"works"`
	// Module is the module that Python imported, or the path of a library in site-packages that it
	// loaded. It did with Good, a release of Works. With each of Tried, of Bad, it failed, with the
	// first with Error.
	Module string   `json:"module"`
	Python string   `json:"python"`
	Good   string   `json:"good"`
	Tried  []string `json:"tried"`
	Error  string   `json:"error"`
	// What is missing: a library, or symbols that With no longer exports; both are empty if an ABI is
	// checked at run time.
	Library string `json:"library,omitempty"` // SONAME
	Symbol  string `json:"symbol,omitempty"`
	Added   string `json:"added"` // RFC 3339
}

// ID is the name of the entry in advisories. OSV's schema admits the prefixes of its registered
// databases, and "x_" for all others.
func (k *KnownBad) ID() string {
	return fmt.Sprintf("x_COMPAT-%s-%s-%s", k.Package, k.Version, k.With)
}

// Check is the command that checks an entry again without running anything.
func (k *KnownBad) Check() string {
	return fmt.Sprintf("compat impact pypi:%s==%s --old pypi:%s==%s --python %s "+
		"--dependents pypi:%s==%s", k.With, k.Tried[0], k.With, k.Good, k.Python, k.Package, k.Version)
}

// opposites are specifiers of PEP 440, each with the one that admits all final releases that it
// does not. They are searched in this order.
var opposites = [][2]string{
	{">=", "<"}, {"<=", ">"}, {"==", "!="}, {"!=", "=="}, {"<", ">="}, {">", "<="},
}

// Avoids is the specifier of the releases of With that are not Bad. Bad has one clause, without
// "~=" and "===".
func (k *KnownBad) Avoids() string {
	for _, o := range opposites {
		if version, ok := strings.CutPrefix(k.Bad, o[0]); ok {
			return o[1] + version
		}
	}
	return ""
}

// knownBadList panics if the file is damaged, which is a build error; a test reads it.
var knownBadList = sync.OnceValue(func() (list []KnownBad) {
	if err := json.Unmarshal(knownBadFile, &list); err != nil {
		panic(fmt.Errorf("embedded list of pairs that do not work: %w", err))
	}
	return list
})

// KnownBad returns all entries, sorted by package.
func (Embedded) KnownBad() []KnownBad { return knownBadList() }

// KnownBadPair returns the entry about two releases, in this order; nil if there is none.
func (Embedded) KnownBadPair(user, with ID) *KnownBad {
	list := knownBadList()
	i := slices.IndexFunc(list, func(k KnownBad) bool { return k.IsAbout(user, with) })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// IsAbout reports whether an entry is about two releases, in this order. It is not if a version
// cannot be parsed.
func (k *KnownBad) IsAbout(user, with ID) bool {
	if k.Package != user.Name || k.With != with.Name {
		return false
	}
	version, err := pkgmeta.ParseVersion(k.Version)
	u, noUser := pkgmeta.ParseVersion(user.Version)
	w, noWith := pkgmeta.ParseVersion(with.Version)
	bad, noSpec := pkgmeta.ParseSpec(k.Bad)
	return errors.Join(err, noUser, noWith, noSpec) == nil && version.Compare(u) == 0 && bad.Admits(w)
}
