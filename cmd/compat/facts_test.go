package main

import (
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// factsSchema is the published schema of compat facts.
var factsSchema = filepath.Join("..", "..", "docs", "facts.schema.json")

// schema validates the last output against the published schema.
func schema(ts *testscript.TestScript, _ bool, _ []string) {
	s, err := jsonschema.NewCompiler().Compile(factsSchema)
	ts.Check(err)
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile("stdout")))
	ts.Check(err)
	ts.Check(s.Validate(v))
}
