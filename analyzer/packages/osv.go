package packages

import (
	"fmt"
	"strings"
)

// Advisory is an entry of OSV's format (schema 1.7), as far as it is about a pair of packages.
type Advisory struct {
	SchemaVersion string           `json:"schema_version"`
	ID            string           `json:"id"`
	Modified      string           `json:"modified"`
	Published     string           `json:"published"`
	Summary       string           `json:"summary"`
	Details       string           `json:"details"`
	Affected      []AdvisoryTarget `json:"affected"`
}

// AdvisoryTarget is the package that does not work. OSV has no pairs, so the other package is in
// DatabaseSpecific.
type AdvisoryTarget struct {
	Package          AdvisoryPackage `json:"package"`
	Ranges           []AdvisoryRange `json:"ranges"`
	Versions         []string        `json:"versions"`
	DatabaseSpecific AdvisoryPair    `json:"database_specific"`
}

// AdvisoryPackage is a package of the Python package index.
type AdvisoryPackage struct {
	Ecosystem string `json:"ecosystem"`
	Name      string `json:"name"`
	PURL      string `json:"purl"`
}

// AdvisoryRange is a range of versions; each event has one of its fields.
type AdvisoryRange struct {
	Type   string          `json:"type"`
	Events []AdvisoryEvent `json:"events"`
}

// AdvisoryEvent begins or ends a range.
type AdvisoryEvent struct {
	Introduced   string `json:"introduced,omitempty"`
	LastAffected string `json:"last_affected,omitempty"`
}

// AdvisoryPair is the other package, and the evidence.
type AdvisoryPair struct {
	With     string   `json:"with"`
	Versions string   `json:"with_versions"`       // with which it does not work, PEP 440
	Works    string   `json:"with_versions_works"` // with which it works
	Tried    []string `json:"with_tried"`          // the first is the one of Error
	Good     string   `json:"with_good"`
	Library  string   `json:"library,omitempty"`
	Symbol   string   `json:"symbol,omitempty"`
	Module   string   `json:"module"`
	Python   string   `json:"python"`
	Error    string   `json:"error"`
	Check    string   `json:"check"`      // the command that checks it again
	Keep     string   `json:"constraint"` // for pip and uv, for those who install Package
}

// Advisory returns the entry in OSV's format.
func (k *KnownBad) Advisory() Advisory {
	return Advisory{
		SchemaVersion: "1.7.0", ID: k.ID(), Modified: k.Added, Published: k.Added,
		Summary: fmt.Sprintf("%s %s does not work with %s%s", k.Package, k.Version, k.With, k.Bad),
		Details: fmt.Sprintf("The import of %s fails with %s %s: %s. It works with %s%s.",
			k.Module, k.With, strings.Join(k.Tried, " and "), k.Error, k.With, k.Works),
		Affected: []AdvisoryTarget{{
			Package: AdvisoryPackage{
				Ecosystem: "PyPI", Name: k.Package, PURL: "pkg:pypi/" + k.Package,
			},
			Ranges: []AdvisoryRange{{
				Type:   "ECOSYSTEM",
				Events: []AdvisoryEvent{{Introduced: k.Version}, {LastAffected: k.Version}},
			}},
			Versions: []string{k.Version},
			DatabaseSpecific: AdvisoryPair{
				With: k.With, Versions: k.Bad, Works: k.Works, Tried: k.Tried, Good: k.Good,
				Library: k.Library, Symbol: k.Symbol, Module: k.Module, Python: k.Python, Error: k.Error,
				Check: k.Check(), Keep: k.With + k.Works,
			},
		}},
	}
}
