package report

import (
	"encoding/json"
	"io"
	"reflect"

	"github.com/compat-app/compat/analyzer"
)

// JSON writes the report as indented JSON of the schema compat/report/v1, with a line feed at the end. A list or table without elements
// is [] or {} and never null. "<", ">" and "&" are written as they are: symbol names are full of them.
func JSON(w io.Writer, r *analyzer.Report) error {
	full := *r
	if full.Schema == "" {
		full.Schema = analyzer.Schema
	}
	lists(reflect.ValueOf(&full).Elem())
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(&full)
}

// lists puts an empty list in place of each nil one, in copies: the caller's report is not changed. Lists that JSON leaves out when
// they are empty stay out.
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
