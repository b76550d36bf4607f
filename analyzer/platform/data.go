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

	// As text: every check reads them, and what is not read stays on the disk.
	//go:embed data/names.txt
	nameList string
	//go:embed data/policies.txt
	policyList string
)

// embedded data that does not decode is a broken build, so reading it panics; a test reads all of
// it.
var (
	names = sync.OnceValue(func() *table.Names { return table.NewNames(nameList) })
	sets  sync.Map // architecture -> func() *table.Set
)

// symbols is the symbol table of one architecture; empty for one that was not read.
func symbols(arch string) *table.Set {
	get, _ := sets.LoadOrStore(arch, sync.OnceValue(func() *table.Set {
		if packed := file(arch); packed != nil {
			return must(table.Decode(names, packed))
		}
		return &table.Set{Arch: arch}
	}))
	return get.(func() *table.Set)()
}

// file gives an embedded file, nil where there is none.
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
