package webhook

import (
	"bytes"
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"
)

// fields are the names of the object members to keep. A member with nil fields is kept whole. The
// fields of a list apply to its elements.
type fields map[string]fields

// fieldsOf returns the members that encoding/json decodes into a T.
func fieldsOf[T any]() fields { return membersOf(reflect.TypeFor[T]()) }

func membersOf(t reflect.Type) fields {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return nil
	}
	all := fields{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			all.with(membersOf(f.Type))
		case f.IsExported():
			all[cmp.Or(name, strings.ToLower(f.Name))] = membersOf(f.Type)
		}
	}
	return all
}

// with adds the members of other, and returns f.
func (f fields) with(other fields) fields {
	for name, inner := range other {
		if mine, both := f[name]; both && len(mine) > 0 && len(inner) > 0 {
			mine.with(inner)
			continue
		}
		f[name] = inner
	}
	return f
}

// maxDepth limits nesting; payloads of GitHub nest far less.
const maxDepth = 256

// maxMembers limits the members of a payload that are compared with its event; payloads of GitHub
// have about ten.
const maxMembers = 100

var errNotJSON = errors.New("the body is not JSON")

// keep copies a JSON object without the members that are not in f. A payload has about 25 KB, of
// which a few hundred bytes are used, and decoding all of it would take several times as long as
// the rest of the request. Dropped values are only scanned for their end; kept values are validated
// by the decoder. members are the names of all members of the object, as they are written.
func (f fields) keep(body []byte) (kept []byte, members []string, _ error) {
	t := copier{in: body, out: make([]byte, 0, 1024)}
	t.space()
	if !t.value(f, maxDepth) {
		return nil, nil, errNotJSON
	}
	if t.space(); t.at != len(t.in) {
		return nil, nil, errNotJSON
	}
	return t.out, t.members, nil
}

type copier struct {
	in      []byte
	at      int
	out     []byte
	members []string // of the outermost object
}

// value copies the wanted parts of the value at t.at. It returns false if the value is malformed.
func (t *copier) value(want fields, depth int) bool {
	start := t.at
	if start == len(t.in) || depth == 0 {
		return false
	}
	if c := t.in[start]; len(want) == 0 || c != '{' && c != '[' {
		if !t.skip() {
			return false
		}
		t.out = append(t.out, t.in[start:t.at]...)
		return true
	}
	if t.in[start] == '[' {
		return t.list('[', ']', func(bool) bool { return t.value(want, depth-1) })
	}
	return t.list('{', '}', func(first bool) bool { return t.member(want, first, depth) })
}

// list copies a list or object between the brackets from and to. It calls each for every element;
// first is true until something was copied. For members of an object each writes the comma
// itself.
func (t *copier) list(from, to byte, each func(first bool) bool) bool {
	t.at++
	t.out = append(t.out, from)
	empty := len(t.out)
	for t.space(); t.at < len(t.in); t.space() {
		if t.in[t.at] == to {
			t.at++
			t.out = append(t.out, to)
			return true
		}
		if from == '[' && len(t.out) > empty {
			t.out = append(t.out, ',')
		}
		if !each(len(t.out) == empty) {
			return false
		}
		if t.space(); t.at < len(t.in) && t.in[t.at] == ',' {
			t.at++
			if t.space(); t.at < len(t.in) && t.in[t.at] == to {
				return false
			}
		} else if t.at < len(t.in) && t.in[t.at] != to {
			return false
		}
	}
	return false
}

// member copies a wanted member of an object and skips others.
func (t *copier) member(want fields, first bool, depth int) bool {
	start := t.at
	if t.in[start] != '"' || !t.text() {
		return false
	}
	name := t.in[start+1 : t.at-1]
	if depth == maxDepth && len(t.members) < maxMembers {
		t.members = append(t.members, string(name))
	}
	quoted := t.in[start:t.at]
	if t.space(); t.at == len(t.in) || t.in[t.at] != ':' {
		return false
	}
	t.at++
	t.space()
	inner, wanted := want[string(name)]
	// GitHub never escapes names. An escaped name is kept, so that nobody can hide a member from
	// the decoder.
	if !wanted && bytes.IndexByte(name, '\\') < 0 {
		return t.skip()
	}
	if !first {
		t.out = append(t.out, ',')
	}
	t.out = append(append(t.out, quoted...), ':')
	return t.value(inner, depth-1)
}

// skip moves to the end of a value.
func (t *copier) skip() bool {
	var open []byte
	for t.at < len(t.in) {
		switch c := t.in[t.at]; c {
		case '"':
			if !t.text() {
				return false
			}
		case '{', '[':
			if len(open) == maxDepth {
				return false
			}
			open = append(open, c+2) // the matching closing bracket
			t.at++
			continue
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return false
			}
			open = open[:len(open)-1]
			t.at++
		case ',', ':', ' ', '\t', '\r', '\n':
			if len(open) == 0 {
				return false
			}
			t.at++
			continue
		default:
			if !t.word() {
				return false
			}
		}
		if len(open) == 0 {
			return true
		}
	}
	return false
}

// text moves behind the end of a string.
func (t *copier) text() bool {
	for at := t.at + 1; ; {
		n := bytes.IndexByte(t.in[at:], '"')
		if n < 0 {
			return false
		}
		at += n + 1
		slashes := 0
		for t.in[at-2-slashes] == '\\' { // ends at the opening quote
			slashes++
		}
		if slashes%2 == 0 {
			t.at = at
			return true
		}
	}
}

// words are the JSON literals other than numbers.
var words = [][]byte{[]byte("true"), []byte("false"), []byte("null")}

// word moves behind a number, true, false or null.
func (t *copier) word() bool {
	start := t.at
	for t.at < len(t.in) && (t.in[t.at] >= 'a' && t.in[t.at] <= 'z' || t.in[t.at] >= '0' &&
		t.in[t.at] <= '9' || t.in[t.at] == '-' || t.in[t.at] == '+' || t.in[t.at] == '.' ||
		t.in[t.at] == 'E') {
		t.at++
	}
	w := t.in[start:t.at]
	if len(w) == 0 {
		return false
	}
	return w[0] == '-' || w[0] <= '9' ||
		slices.ContainsFunc(words, func(known []byte) bool { return bytes.Equal(known, w) })
}

func (t *copier) space() {
	for t.at < len(t.in) && (t.in[t.at] == ' ' || t.in[t.at] == '\n' || t.in[t.at] == '\r' ||
		t.in[t.at] == '\t') {
		t.at++
	}
}
