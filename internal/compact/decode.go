package compact

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
)

const (
	// allocations are limited to so many bytes for each byte of the input
	perByte = 64
	// and so many for any input
	forAny = 1 << 20
)

// Decode sets the value that a pointer points to. The error wraps ErrDamaged; the value is then
// undefined.
func Decode(data []byte, value any, names Names) (err error) {
	d := &decoder{names: names, left: perByte*len(data) + forAny}
	n, width := binary.Uvarint(data)
	if width <= 0 || n > uint64(len(data)-width) {
		return fmt.Errorf("%w: it ends too early", ErrDamaged)
	}
	d.numbers, d.letters = data[width:width+int(n)], string(data[width+int(n):])
	d.values([]reflect.Value{reflect.ValueOf(value).Elem()}, reflect.TypeOf(value).Elem())
	if d.err == nil && len(d.numbers)+len(d.letters) > 0 {
		d.fail("%d bytes follow it", len(d.numbers)+len(d.letters))
	}
	return d.err
}

// decoder reads the streams of an encoder. After an error it returns zeros.
type decoder struct {
	names   Names
	texts   []string
	numbers []byte
	letters string
	left    int // bytes that may be allocated
	err     error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
	}
	d.numbers, d.letters = nil, ""
}

func (d *decoder) number() uint64 {
	n, width := binary.Uvarint(d.numbers)
	if width <= 0 {
		d.fail("a number is missing")
		return 0
	}
	d.numbers = d.numbers[width:]
	return n
}

// count returns a number of values, each of which has a byte at least.
func (d *decoder) count(n uint64, size uintptr) int {
	const column = 24 // bytes of a reflect.Value
	if n > uint64(len(d.numbers)) {
		d.fail("%d values are in %d bytes", n, len(d.numbers))
		return 0
	}
	if d.left -= int(n) * (int(size) + column); d.left < 0 { // n and size are small
		d.fail("it needs too much memory")
		return 0
	}
	return int(n)
}

func (d *decoder) present() bool {
	n := d.number()
	if n > 1 {
		d.fail("%d is neither 0 nor 1", n)
	}
	return n == 1
}

func (d *decoder) text() string {
	n := d.number()
	if n > uint64(len(d.texts)) {
		d.fail("text %d is not one of %d", n, len(d.texts))
		return ""
	}
	if n > 0 {
		return d.texts[n-1]
	}
	length := d.number()
	if length > uint64(len(d.letters)) {
		d.fail("a text of %d bytes is in %d bytes", length, len(d.letters))
		return ""
	}
	s := d.letters[:length]
	d.letters = d.letters[length:]
	d.texts = append(d.texts, s)
	return s
}

// values sets values of a type.
func (d *decoder) values(list []reflect.Value, t reflect.Type) {
	if len(list) == 0 || d.err != nil {
		return
	}
	switch t.Kind() {
	case reflect.Bool:
		for _, v := range list {
			v.SetBool(d.present())
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		for _, v := range list {
			n := d.number()
			s := int64(n>>1) ^ -int64(n&1)
			if v.OverflowInt(s) {
				d.fail("%d is no %s", s, t)
				return
			}
			v.SetInt(s)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		for _, v := range list {
			n := d.number()
			if v.OverflowUint(n) {
				d.fail("%d is no %s", n, t)
				return
			}
			v.SetUint(n)
		}
	case reflect.String:
		for _, v := range list {
			v.SetString(d.text())
		}
	case reflect.Struct:
		for f := range stored(t) {
			d.fields(column(list, f), f)
		}
		if d.err == nil && reflect.PointerTo(t).Implements(checkedType) {
			d.check(list)
		}
	case reflect.Array:
		d.count(uint64(len(list)*t.Len()), 0)
		var all []reflect.Value
		for _, v := range list {
			all = append(all, elements(v)...)
		}
		d.values(all, t.Elem())
	case reflect.Pointer:
		var all []reflect.Value
		for _, v := range list {
			if d.present() && d.count(1, t.Elem().Size()) == 1 {
				v.Set(reflect.New(t.Elem()))
				all = append(all, v.Elem())
			}
		}
		d.values(all, t.Elem())
	case reflect.Slice:
		var all []reflect.Value
		for _, v := range list {
			if n := d.number(); n > 0 {
				n := d.count(n-1, t.Elem().Size())
				v.Set(reflect.MakeSlice(t, n, n))
				all = append(all, elements(v)...)
			}
		}
		d.values(all, t.Elem())
	case reflect.Map:
		d.maps(list, t)
	case reflect.Interface:
		for _, v := range list {
			if d.present() {
				v.Set(reflect.ValueOf(errors.New(d.text())))
			}
		}
	default:
		d.fail("a %s cannot be stored", t)
	}
}

func (d *decoder) check(list []reflect.Value) {
	for _, v := range list {
		if err := v.Addr().Interface().(Checked).Valid(); err != nil {
			d.fail("%v", err)
			return
		}
	}
}

// fields sets a field of several structs.
func (d *decoder) fields(list []reflect.Value, f reflect.StructField) {
	if d.err != nil {
		return
	}
	switch f.Tag.Get(tagName) {
	case "":
		d.values(list, f.Type)
	case "name":
		for _, v := range list {
			v.SetUint(uint64(d.names.Add(d.text())))
		}
	case "names":
		for _, v := range list {
			v.Set(reflect.ValueOf(d.names))
		}
	case "set":
		for _, v := range list {
			d.set(v)
		}
	}
}

func (d *decoder) set(v reflect.Value) {
	n := d.count(d.number(), v.Type().Elem().Size())
	if n == 0 {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	at := uint64(0)
	for n := range n {
		at += d.number()
		if v.Index(n).OverflowUint(at) {
			d.fail("%d is no %s", at, v.Type().Elem())
			return
		}
		v.Index(n).SetUint(at)
	}
}

func (d *decoder) maps(list []reflect.Value, t reflect.Type) {
	var keys, all []reflect.Value
	var of []reflect.Value // the map of each key
	for _, v := range list {
		if !d.present() {
			continue
		}
		n := d.count(d.number(), 2*(t.Key().Size()+t.Elem().Size()))
		v.Set(reflect.MakeMapWithSize(t, n))
		for range n {
			keys = append(keys, reflect.New(t.Key()).Elem())
			all = append(all, reflect.New(t.Elem()).Elem())
			of = append(of, v)
		}
	}
	d.values(keys, t.Key())
	d.values(all, t.Elem())
	if d.err != nil {
		return
	}
	for n, k := range keys {
		of[n].SetMapIndex(k, all[n])
	}
}
