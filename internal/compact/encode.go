package compact

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
)

// Encode returns the value that a pointer points to. It panics for a value that cannot be stored: a
// function or an interface other than error that is not nil, or a type that contains itself.
func Encode(value any, names Names) []byte {
	e := encoder{names: names, texts: map[string]uint64{}}
	e.values([]reflect.Value{reflect.ValueOf(value).Elem()}, reflect.TypeOf(value).Elem())
	out := binary.AppendUvarint(nil, uint64(len(e.numbers)))
	return append(append(out, e.numbers...), e.letters...)
}

// encoder has two streams: numbers, and the letters of the texts in the order of their first use.
type encoder struct {
	names            Names
	texts            map[string]uint64 // numbers of the texts, from 1
	numbers, letters []byte
}

func (e *encoder) number(n uint64) { e.numbers = binary.AppendUvarint(e.numbers, n) }

// text adds the number of a text, or 0 and its length if it is new.
func (e *encoder) text(s string) {
	n := e.texts[s]
	if e.number(n); n == 0 {
		e.texts[s] = uint64(len(e.texts)) + 1
		e.number(uint64(len(s)))
		e.letters = append(e.letters, s...)
	}
}

// values adds values of a type.
func (e *encoder) values(list []reflect.Value, t reflect.Type) {
	if len(list) == 0 {
		return
	}
	switch t.Kind() {
	case reflect.Bool:
		for _, v := range list {
			n := uint64(0)
			if v.Bool() {
				n = 1
			}
			e.number(n)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		for _, v := range list {
			e.number(zigzag(v.Int()))
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		for _, v := range list {
			e.number(v.Uint())
		}
	case reflect.String:
		for _, v := range list {
			e.text(v.String())
		}
	case reflect.Struct:
		for f := range stored(t) {
			e.fields(column(list, f), f)
		}
	case reflect.Array:
		var all []reflect.Value
		for _, v := range list {
			all = append(all, elements(v)...)
		}
		e.values(all, t.Elem())
	case reflect.Pointer:
		var all []reflect.Value
		for _, v := range list {
			if e.present(!v.IsNil()) {
				all = append(all, v.Elem())
			}
		}
		e.values(all, t.Elem())
	case reflect.Slice:
		var all []reflect.Value
		for _, v := range list {
			if n := uint64(v.Len()) + 1; v.IsNil() {
				e.number(0)
			} else {
				e.number(n)
			}
			all = append(all, elements(v)...)
		}
		e.values(all, t.Elem())
	case reflect.Map:
		e.maps(list, t)
	case reflect.Interface:
		e.errors(list, t)
	default:
		panic(fmt.Sprintf("compact: a %s cannot be stored", t))
	}
}

// fields adds a field of several structs.
func (e *encoder) fields(list []reflect.Value, f reflect.StructField) {
	switch f.Tag.Get(tagName) {
	case "":
		e.values(list, f.Type)
	case "name":
		for _, v := range list {
			e.text(e.names.Name(uint32(v.Uint())))
		}
	case "set":
		for _, v := range list {
			e.set(v)
		}
	}
}

// set adds numbers as the differences to the ones before.
func (e *encoder) set(v reflect.Value) {
	numbers := make([]uint64, v.Len())
	for n := range numbers {
		numbers[n] = v.Index(n).Uint()
	}
	slices.Sort(numbers)
	e.number(uint64(len(numbers)))
	before := uint64(0)
	for _, n := range numbers {
		e.number(n - before)
		before = n
	}
}

func (e *encoder) present(is bool) bool {
	n := uint64(0)
	if is {
		n = 1
	}
	e.number(n)
	return is
}

// maps adds maps with their keys in ascending order; only those with texts as keys are stored.
func (e *encoder) maps(list []reflect.Value, t reflect.Type) {
	var keys, all []reflect.Value
	for _, v := range list {
		if !e.present(!v.IsNil()) {
			continue
		}
		e.number(uint64(v.Len()))
		own := v.MapKeys()
		slices.SortFunc(own, func(a, b reflect.Value) int {
			if a.String() < b.String() {
				return -1
			}
			return 1
		})
		for _, k := range own {
			value := reflect.New(t.Elem()).Elem() // fields of it are addressable
			value.Set(v.MapIndex(k))
			keys, all = append(keys, k), append(all, value)
		}
	}
	e.values(keys, t.Key())
	e.values(all, t.Elem())
}

func (e *encoder) errors(list []reflect.Value, t reflect.Type) {
	for _, v := range list {
		if !e.present(!v.IsNil()) {
			continue
		}
		err, ok := v.Interface().(error)
		if !ok || t != errorType {
			panic(fmt.Sprintf("compact: a %s cannot be stored", v.Elem().Type()))
		}
		e.text(err.Error())
	}
}

func elements(v reflect.Value) []reflect.Value {
	out := make([]reflect.Value, v.Len())
	for n := range out {
		out[n] = v.Index(n)
	}
	return out
}

// zigzag gives small numbers to negative ones near 0.
func zigzag(n int64) uint64 { return uint64(n)<<1 ^ uint64(n>>63) }
