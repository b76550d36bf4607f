package webhook

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestKeepFields(t *testing.T) {
	want := fieldsOf[struct {
		A     struct{ B any }
		List  []struct{ ID int }
		Whole any
	}]()
	for _, c := range []struct{ body, kept string }{
		{`{"a":{"b":1,"c":2},"d":"e"}`, `{"a":{"b":1}}`},
		{` { "x" : [1, {"a": "}"}] , "a" : { "b" : "q\"}" } } `, `{"a":{"b":"q\"}"}}`},
		{`{"list":[{"id":1,"x":"\\"},{"x":[]},3],"whole":{"k":[1,2]}}`,
			`{"list":[{"id":1},{},3],"whole":{"k":[1,2]}}`},
		{`{"a":null,"whole":"text"}`, `{"a":null,"whole":"text"}`},
		{`{"d":-1.5E+3,"e":true}`, `{}`},
		{`{"\u0061":{"b":1}}`, `{"\u0061":{"b":1}}`},
		{`null`, `null`},
	} {
		if got, _, err := want.keep([]byte(c.body)); err != nil || string(got) != c.kept {
			t.Errorf("%s\ngot  %s, %v\nwant %s", c.body, got, err, c.kept)
		}
	}
	for _, body := range []string{``, ` `, `{`, `{"a"`, `{"a":`, `{"a":{"b":1}`, `{"d":"e}`,
		`{"d":"e\"}`, `{"d":e}`, `{"d":[}]}`, `{"d":1}x`, `{"d":1,}`, `{"d" 1}`, `{d:1}`,
		`{"a":1 "b":2}`, `not JSON`, strings.Repeat(`{"d":`, 1000) + `1` + strings.Repeat(`}`, 1000)} {
		if got, _, err := want.keep([]byte(body)); err == nil {
			t.Errorf("%.80q is taken: %s", body, got)
		}
	}
}

// FuzzKeepFields compares with encoding/json: the same members must be kept with the same values.
func FuzzKeepFields(f *testing.F) {
	payloads(f, func(event string, body []byte) { f.Add(event, body) })
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		e, known := events.Get()[event]
		if !known {
			return
		}
		used := e.fields()
		got, _, err := used.keep(body)
		var whole, left any
		if json.Unmarshal(body, &whole) != nil {
			return // the decoder validates what is kept
		}
		if err != nil {
			if nesting(body) < maxDepth {
				t.Fatalf("refused: %v", err)
			}
			return
		}
		if err := json.Unmarshal(got, &left); err != nil {
			t.Fatalf("left %q: %v", got, err)
		}
		if want, got := prune(whole, used), prune(left, used); !reflect.DeepEqual(want, got) {
			t.Fatalf("left %v, want %v", got, want)
		}
	})
}

// nesting returns an upper bound of the nesting depth of brackets.
func nesting(body []byte) (most int) {
	depth := 0
	for _, c := range body {
		switch c {
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth--
		}
	}
	return most
}

// prune does the same as fields.keep on decoded values.
func prune(v any, want fields) any {
	switch v := v.(type) {
	case map[string]any:
		if len(want) == 0 {
			return v
		}
		out := map[string]any{}
		for k, inner := range v {
			if f, ok := want[k]; ok {
				out[k] = prune(inner, f)
			}
		}
		return out
	case []any:
		if len(want) == 0 {
			return v
		}
		out := []any{}
		for _, inner := range v {
			out = append(out, prune(inner, want))
		}
		return out
	}
	return v
}
