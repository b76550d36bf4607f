//go:build ignore

// Trim reduces GitHub's description of its REST API to the requests of the operations that
// githubtest supports.
//
//	npm pack @octokit/openapi && tar xzf octokit-openapi-*.tgz
//	go run trim.go package/generated/api.github.com.json
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/compat-app/compat/internal/test/githubtest"
)

type object = map[string]any

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run trim.go api.github.com.json")
	}
	raw, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var full object
	if err := json.Unmarshal(raw, &full); err != nil {
		log.Fatalf("%s: %v", os.Args[1], err)
	}
	t := trimmer{full: full, components: object{}}
	paths := object{}
	for _, op := range githubtest.Operations() {
		item, _ := full["paths"].(object)[op.Path].(object)
		from, _ := item[strings.ToLower(op.Method)].(object)
		if from == nil || from["operationId"] != op.ID {
			log.Fatalf("%s %s is not %s in GitHub's description", op.Method, op.Path, op.ID)
		}
		if paths[op.Path] == nil {
			paths[op.Path] = object{}
		}
		kept := object{
			"operationId": op.ID,
			"responses":   object{"default": object{"description": ""}},
		}
		for _, key := range []string{"parameters", "requestBody"} {
			if from[key] != nil {
				kept[key] = t.trim(from[key], false)
			}
		}
		paths[op.Path].(object)[strings.ToLower(op.Method)] = kept
	}
	out, err := json.Marshal(
		object{
			"openapi": full["openapi"],
			"info": object{
				"title":   "GitHub REST API, requests only",
				"version": full["info"].(object)["version"],
				"license": object{"name": "MIT"},
			},
			"paths":      paths,
			"components": t.components,
		},
	)
	if err != nil {
		log.Fatal(err)
	}
	var gz bytes.Buffer
	w, _ := gzip.NewWriterLevel(&gz, gzip.BestCompression)
	w.Write(out)
	w.Close()
	if err := os.WriteFile("github.json.gz", gz.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d paths, %d bytes, %d compressed\n", len(paths), len(out), gz.Len())
}

type trimmer struct{ full, components object }

// trim copies a part without descriptions, and the components that it references. names means
// that the keys are names of properties.
func (t *trimmer) trim(v any, names bool) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = t.trim(v[i], false)
		}
		return out
	case object:
		out := object{}
		for key, x := range v {
			prose := key == "description" || key == "summary" || key == "title" || key == "example" ||
				key == "examples" || key == "externalDocs" || strings.HasPrefix(key, "x-")
			if prose && !names {
				continue
			}
			if ref, ok := x.(string); ok && key == "$ref" {
				t.keep(ref)
			}
			out[key] = t.trim(x, key == "properties" && !names)
		}
		return out
	}
	return v
}

func (t *trimmer) keep(ref string) {
	parts := strings.Split(ref, "/") // #/components/KIND/NAME
	kind, name := parts[2], parts[3]
	if t.components[kind] == nil {
		t.components[kind] = object{}
	}
	kept := t.components[kind].(object)
	if kept[name] == nil {
		kept[name] = object{} // for recursive references
		kept[name] = t.trim(t.full["components"].(object)[kind].(object)[name], false)
	}
}
