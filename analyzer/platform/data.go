package platform

import (
	"embed"
	"fmt"
	"sync"

	"github.com/compat-app/compat/analyzer/platform/table"
)

var (
	//go:embed data/*.gz
	data embed.FS

	// Uncompressed: every check reads them, and pages that are not read stay on disk.
	//go:embed data/names.txt
	names string
	//go:embed data/policies.txt
	policyList string
)

// sets are the decoded tables. Embedded data that does not decode is a build error, so reading it
// panics; a test decodes all of it.
var sets sync.Map // architecture -> func() *table.Set

// symbols returns the symbol table of an architecture; an empty one if there is no data for it.
func symbols(arch string) *table.Set {
	get, _ := sets.LoadOrStore(arch, sync.OnceValue(func() *table.Set {
		if packed := file(arch); packed != nil {
			return must(table.Decode(names, packed))
		}
		return &table.Set{Arch: arch}
	}))
	return get.(func() *table.Set)()
}

// file returns an embedded file, nil if it does not exist.
func file(name string) []byte {
	packed, err := data.ReadFile("data/" + name + ".gz")
	if err != nil {
		return nil
	}
	return packed
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Errorf("embedded platform data: %w", err))
	}
	return v
}
