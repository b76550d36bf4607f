package compact

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
)

type inner struct {
	Name  string
	small int8
	list  []uint16
	table map[string][]inner
}

type row struct {
	symbol uint32 `compact:"name"`
	weak   bool
}

type sample struct {
	text   string
	number int64
	none   []string
	empty  []string
	err    error
	parts  []*inner
	array  [2]uint32
	names  *elfobj.Names `compact:"names"`
	rows   []row
	set    []uint32 `compact:"set"`
	skip   func()   `compact:"-"`
}

func (s *sample) Valid() error {
	if s.number == 13 {
		return errors.New("13 is no number")
	}
	return nil
}

func TestEncode(t *testing.T) {
	names := elfobj.NewNames()
	names.Add("first")
	s := sample{
		text: "a", number: -1 << 63, none: nil, empty: []string{}, err: errors.New("broken"),
		parts: []*inner{nil, {Name: "a", small: -7, list: []uint16{1, 65535}}, {
			table: map[string][]inner{"y": nil, "x": {{Name: "deep"}}},
		}},
		array: [2]uint32{1, 1<<32 - 1}, names: names,
		rows: []row{{names.Add("run"), true}, {names.Add("first"), false}},
		set:  []uint32{9, 1, 1<<32 - 1, 4}, skip: func() {},
	}
	data := Encode(&s, names)
	var got sample
	others := elfobj.NewNames()
	if err := Decode(data, &got, others); err != nil {
		t.Fatal(err)
	}
	if got.names != others || others.Name(got.rows[0].symbol) != "run" ||
		others.Name(got.rows[1].symbol) != "first" || got.skip != nil || got.err.Error() != "broken" {
		t.Errorf("decoded %+v", got)
	}
	s.set = []uint32{1, 4, 9, 1<<32 - 1}
	s.names, s.rows, s.skip, s.err = nil, nil, nil, nil
	got.names, got.rows, got.err = nil, nil, nil
	if !reflect.DeepEqual(got, s) {
		t.Errorf("decoded %+v, want %+v", got, s)
	}
	for n := range data {
		if err := Decode(data[:n], &sample{}, others); !errors.Is(err, ErrDamaged) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
	if err := Decode(append(data, 0), &sample{}, others); !errors.Is(err, ErrDamaged) {
		t.Errorf("with a byte more: %v", err)
	}
	s.number = 13
	if err := Decode(Encode(&s, names), &sample{}, others); err == nil ||
		!strings.Contains(err.Error(), "13 is no number") {
		t.Errorf("an invalid value: %v", err)
	}
}

// What would need much more memory than it has bytes is refused before it is allocated.
func TestBounds(t *testing.T) {
	type wide struct {
		Rows []struct{ A [1000]string }
	}
	e := encoder{texts: map[string]uint64{}}
	e.number(1 << 20)
	data := append([]byte{}, 0xff, 0xff, 0x3f) // the length of the numbers
	data = append(append(data, e.numbers...), bytes.Repeat([]byte{1}, 1<<20-1-len(e.numbers))...)
	if err := Decode(data, &wide{}, elfobj.NewNames()); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	got := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = Decode(data, &wide{}, elfobj.NewNames())
		}
	}).AllocedBytesPerOp()
	if got > 1<<20 {
		t.Errorf("%d bytes were allocated", got)
	}
}

// A type that changes has another shape.
func TestShape(t *testing.T) {
	type a struct{ X []int32 }
	type b struct{ X []int64 }
	type c struct{ Y []int32 }
	type d struct {
		X []int32
		y func() `compact:"-"`
	}
	shape := func(v any) string { return Shape(reflect.TypeOf(v)) }
	if shape(a{}) == shape(b{}) || shape(a{}) == shape(c{}) || shape(a{}) != shape(d{y: nil}) {
		t.Error(shape(a{}), shape(b{}), shape(c{}), shape(d{}))
	}
}
