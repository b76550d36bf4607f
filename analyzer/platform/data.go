package platform

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/compat-app/compat/analyzer/platform/table"
)

//go:embed data/*.gz
var data embed.FS

// embedded data that does not decode is a broken build, so reading it panics; a test reads all of it.
var (
	names    = sync.OnceValue(func() []string { return must(table.Names(file("names"))) })
	policies = sync.OnceValue(decodePolicies)
	sets     sync.Map // architecture -> func() *table.Set
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

func decodePolicies() []*policy {
	r := must(gzip.NewReader(bytes.NewReader(file("policies"))))
	var list []*policy
	if err := json.Unmarshal(must(io.ReadAll(r)), &list); err != nil {
		panic(fmt.Errorf("embedded policies: %w", err))
	}
	return list
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
