// Package compact encodes values as few bytes, and decodes bytes that may have been written by
// anybody.
//
//	data := compact.Encode(&set, names)
//	err := compact.Decode(data, &set, names)
//
// A value is a struct of booleans, numbers, strings, errors, and structs, pointers, slices, arrays
// and maps of them, with and without exported names. It is stored by columns: of a slice of
// structs first the first field of all elements, then the second. So equal things stand together
// and a compressor needs little for them. A text is stored once. Decoding a value has the same
// result for every table of names, and an error has only its text.
//
// Tags of fields:
//
//	`compact:"-"`      is not stored, and zero after decoding
//	`compact:"name"`   a number that the Names give to a text; the text is stored
//	`compact:"names"`  the Names
//	`compact:"set"`    unsigned numbers in any order, which are ascending after decoding
//
// The bytes are untrusted: every count is compared with the number of bytes that are left before
// anything is allocated, and all allocations together are limited to a multiple of the input.
package compact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Checked is implemented by types whose values are not all valid. Decode calls it for each of them.
type Checked interface {
	// Valid returns what is wrong with the value, or nil.
	Valid() error
}

// Names gives numbers to texts. *elfobj.Names implements it.
type Names interface {
	Name(number uint32) string
	Add(name string) (number uint32)
}

// ErrDamaged is wrapped by the errors of Decode.
var ErrDamaged = errors.New("damaged facts")

const tagName = "compact"

var (
	errorType   = reflect.TypeFor[error]()
	checkedType = reflect.TypeFor[Checked]()
)

// Shape identifies the encoding of a type: it changes with every field that is stored. It has eight
// hexadecimal digits.
func Shape(t reflect.Type) string {
	var b strings.Builder
	describe(&b, t, nil)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:4])
}

// describe writes the form of a type; around are the types that contain it.
func describe(b *strings.Builder, t reflect.Type, around []reflect.Type) {
	if at := slices.Index(around, t); at >= 0 {
		fmt.Fprintf(b, "^%d", len(around)-at)
		return
	}
	around = append(around, t)
	b.WriteString(t.Kind().String())
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		describe(b, t.Elem(), around)
	case reflect.Array:
		fmt.Fprint(b, t.Len())
		describe(b, t.Elem(), around)
	case reflect.Map:
		describe(b, t.Key(), around)
		describe(b, t.Elem(), around)
	case reflect.Struct:
		for f := range stored(t) {
			fmt.Fprintf(b, "{%s %s ", f.Name, f.Tag.Get(tagName))
			if tag := f.Tag.Get(tagName); tag == "" || tag == "set" {
				describe(b, f.Type, around)
			}
			b.WriteByte('}')
		}
	}
}

// stored iterates over the fields that are stored.
func stored(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for n := range t.NumField() {
			if f := t.Field(n); f.Tag.Get(tagName) != "-" && !yield(f) {
				return
			}
		}
	}
}

// column returns a field of each struct.
func column(structs []reflect.Value, f reflect.StructField) []reflect.Value {
	out := make([]reflect.Value, len(structs))
	for n, s := range structs {
		out[n] = field(s, f.Index[0])
	}
	return out
}
