package result

import "github.com/compat-app/compat/analyzer/abi"

// ABI is the comparison of a library with an earlier build. Its relevant changes are findings.
type ABI struct {
	Against  string `json:"against"`           // a branch, a tag, or the path of a baseline
	Release  bool   `json:"release,omitempty"` // it was published
	Artifact string `json:"artifact"`          // path of the Artifact
	// Path of the library; the earlier path if it was removed.
	Object     string      `json:"object"`
	Library    string      `json:"library"`              // SONAME of the earlier build
	NewSONAME  string      `json:"new_soname,omitempty"` // set if it differs
	Verdict    abi.Verdict `json:"verdict"`
	Interfaces int         `json:"interfaces"` // number of exports of the earlier build
	Broken     int         `json:"broken"`     // number of these that a change breaks
	Changes    int         `json:"changes"`
	Warnings   int         `json:"warnings,omitempty"` // number of these that may break programs
	// Warned says what the first three of them are, a sentence each.
	Warned     []string `json:"warned,omitempty"`
	Suppressed int      `json:"suppressed,omitempty"` // changes that the configuration hides
	Old        ABISide  `json:"old"`
	New        ABISide  `json:"new"`
	// Number of types that were not compared because programs cannot see them.
	PrivateTypes int `json:"private_types"`
	// What programs can see and was not compared, a sentence each; empty if all was compared.
	Blind []string `json:"blind,omitempty"`
	// Why debug information could not be used.
	Problems []string `json:"problems,omitempty"`
}

// ABISide is one of the two builds.
type ABISide struct {
	Evidence abi.Evidence `json:"evidence"`          // what its ABI was read from
	Version  string       `json:"version,omitempty"` // "" if unknown
}

// Types reports whether the types of both builds were compared.
func (a *ABI) Types() bool {
	return a.Old.Evidence != abi.EvidenceSymbols && a.New.Evidence != abi.EvidenceSymbols
}
