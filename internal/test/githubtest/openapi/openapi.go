// Package openapi validates requests by GitHub's OpenAPI description of its REST API, for tests
// with githubtest.
//
// github.json.gz is that description (MIT license, see LICENSE), reduced by trim.go to the
// requests of the operations that githubtest supports. It is a separate package, so that the
// shipped binary, whose demo uses githubtest, does not contain it.
//
//	githubtest.Start(githubtest.Options{Validate: openapi.Validate})
package openapi

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

//go:generate go run trim.go ../../../package/generated/api.github.com.json

//go:embed github.json.gz
var compressed []byte

// load parses the description once per process, which takes some ten milliseconds.
var load = sync.OnceValues(func() (*openapi3.T, error) {
	zr, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(zr)
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(text)
})

// Validate returns an error if a request does not conform to GitHub's description. r.Pattern must
// be "METHOD TEMPLATE" with GitHub's path template, and r.PathValue must have its parameters. The
// error has the operation's ID and the first problem in the body.
func Validate(r *http.Request, body []byte) error {
	doc, err := load()
	if err != nil {
		return fmt.Errorf("github.json.gz can't be read: %w", err)
	}
	method, path, _ := strings.Cut(r.Pattern, " ")
	item := doc.Paths.Value(path)
	if item == nil || item.GetOperation(method) == nil {
		return fmt.Errorf("GitHub's description has no %s", r.Pattern)
	}
	op := item.GetOperation(method)
	known, params := map[string]bool{}, map[string]string{}
	for _, p := range op.Parameters {
		known[p.Value.Name] = p.Value.In == "query"
		if p.Value.In == "path" {
			params[p.Value.Name] = r.PathValue(p.Value.Name)
		}
	}
	for name := range r.URL.Query() {
		if !known[name] {
			return fmt.Errorf("%s has no query parameter %q", op.OperationID, name)
		}
	}
	clone := r.Clone(context.Background())
	clone.Body = io.NopCloser(bytes.NewReader(body))
	if len(bytes.TrimSpace(body)) == 0 ||
		string(bytes.TrimSpace(body)) == "null" { // some clients send it for an empty body
		clone.Body, clone.ContentLength = http.NoBody, 0
	} else if op.RequestBody == nil {
		return fmt.Errorf("%s takes no body", op.OperationID)
	}
	err = openapi3filter.ValidateRequest(
		context.Background(),
		&openapi3filter.RequestValidationInput{
			Request: clone, PathParams: params, Route: &routers.Route{Spec: doc, Path: path, PathItem: item,
				Method: method, Operation: op},
			Options: &openapi3filter.Options{
				AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
			},
		},
	)
	if err != nil {
		return fmt.Errorf("%s: %s", op.OperationID, brief(err))
	}
	return nil
}

// brief shortens an error of kin-openapi, which contains the schema and the value.
func brief(err error) string {
	var schema *openapi3.SchemaError
	if errors.As(err, &schema) {
		return strings.Join(schema.JSONPointer(), "/") + ": " + schema.Reason
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}
