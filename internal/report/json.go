package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"reflect"

	"github.com/compat-app/compat/analyzer"
)

// JSON writes the report as indented JSON in the schema compat/report/v1, with a final newline.
// Empty lists and tables are [] or {}, never null. "<", ">" and "&" are not escaped, because
// symbol names contain them. Findings are encoded one at a time: a hostile object has tens of
// thousands, and an encoder would need three times their memory.
func JSON(w io.Writer, r *analyzer.Report) error {
	full := *r
	if full.Schema == "" {
		full.Schema = analyzer.Schema
	}
	full.Findings = nil
	lists(reflect.ValueOf(&full).Elem())
	head, err := indented(&full, "")
	if err != nil {
		return err
	}
	before, after, _ := bytes.Cut(head, noFindings)
	out := bufio.NewWriter(w)
	put := func(text []byte) { _, _ = out.Write(text) } // Flush returns the error
	put(before)
	put([]byte("\n  \"findings\": ["))
	for i, f := range r.Findings {
		lists(reflect.ValueOf(&f).Elem())
		one, err := indented(&f, "    ")
		if err != nil {
			return err
		}
		if i > 0 {
			put([]byte(","))
		}
		put([]byte("\n    "))
		put(bytes.TrimSuffix(one, []byte("\n")))
	}
	if len(r.Findings) > 0 {
		put([]byte("\n  "))
	}
	put([]byte("]"))
	put(after)
	return out.Flush()
}

// noFindings is the empty list of findings. It occurs once: strings contain no newline, and
// nested lists are indented further.
var noFindings = []byte("\n  \"findings\": []")

// indented encodes a value with a final newline; each line but the first starts with prefix.
func indented(v any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// lists replaces nil lists by empty ones, in copies, so that the caller's report is not changed.
// Lists with omitempty are still left out.
func lists(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				lists(v.Field(i))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			c := reflect.New(v.Type().Elem())
			c.Elem().Set(v.Elem())
			lists(c.Elem())
			v.Set(c)
		}
	case reflect.Slice:
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		for i := range c.Len() {
			lists(c.Index(i))
		}
		v.Set(c)
	case reflect.Map:
		c := reflect.MakeMap(v.Type())
		for it := v.MapRange(); it.Next(); {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(it.Value())
			lists(e)
			c.SetMapIndex(it.Key(), e)
		}
		v.Set(c)
	}
}
