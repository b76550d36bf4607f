package unpack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// holed is a Scratch in memory that can skip; skipped bytes are read as 0xEE.
type holed struct{ b []byte }

func (s *holed) Write(p []byte) (int, error) { s.b = append(s.b, p...); return len(p), nil }
func (s *holed) Skip(n int64) error {
	if n%SkipUnit != 0 || len(s.b)%SkipUnit != 0 {
		return errors.New("not a whole unit")
	}
	s.b = append(s.b, bytes.Repeat([]byte{0xee}, int(n))...)
	return nil
}
func (s *holed) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(s.b).ReadAt(p, off)
}
func (s *holed) Close() error { return nil }

// sampler keeps what is not stored.
type sampler struct {
	bytes.Buffer
	before []byte // what precedes that
	enough int    // bytes; 0 = all
}

func (s *sampler) Before(p []byte) { s.before = append(s.before, p...) }

func (s *sampler) Enough() bool { return s.enough > 0 && s.Len() >= s.enough }

// TestSkim checks that the result does not depend on skipped ranges, whether they are read or
// not, and that a file is inflated again only if they are.
func TestSkim(t *testing.T) {
	const size = 5*SkipUnit + 1234
	data := make([]byte, size)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(r.IntN(7))
	}
	archive := zipOf(t, item{name: "a.so", data: string(data)})
	want := sha256.Sum256(data)
	for _, c := range []struct {
		name   string
		ranges []Range
		from   int64 // Prepare reads from here
		to     int64
		times  int
	}{
		{"nothing", nil, 0, size, 1},
		{"less than a unit", []Range{{100, SkipUnit + 100}}, 0, size, 1},
		{"a unit that is not read", []Range{{100, 2*SkipUnit + 5}}, 2 * SkipUnit, size, 1},
		{"a unit that is read", []Range{{100, 2*SkipUnit + 5}}, 2*SkipUnit - 1, size, 2},
		{"two of them", []Range{{SkipUnit, 2 * SkipUnit}, {3 * SkipUnit, 4 * SkipUnit}}, 2 * SkipUnit,
			3 * SkipUnit, 1},
		{"side by side", []Range{{SkipUnit, 2 * SkipUnit}, {2 * SkipUnit, 3 * SkipUnit}}, 3 * SkipUnit,
			size, 1},
		{"beyond the end", []Range{{3 * SkipUnit, 99 * SkipUnit}}, 0, 3 * SkipUnit, 1},
		{"beyond the end, and read", []Range{{3 * SkipUnit, 99 * SkipUnit}}, 0, size, 2},
	} {
		times := 0
		var rest sampler // what is not stored
		o := Options{
			Scratch: func(int64) (Scratch, error) { return &holed{}, nil },
			Digest:  func(*Package, int64, []byte) bool { return true },
			Skim: func(head []byte, declared int64) ([]Range, Sampler) {
				if !bytes.Equal(head, data[:skimHead]) || declared != size {
					t.Errorf("%s: asked with %d bytes of a file of %d", c.name, len(head), declared)
				}
				rest.Reset()
				rest.before = nil
				return c.ranges, &rest
			},
			Prepare: func(f *File) any {
				if c.name == "two of them" && (f.Skimmed != &rest || !bytes.Equal(rest.Bytes(),
					slices.Concat(data[SkipUnit:2*SkipUnit], data[3*SkipUnit:4*SkipUnit]))) {
					t.Errorf("%s: %d other bytes are not stored", c.name, rest.Len())
				}
				if c.name == "two of them" && !bytes.Equal(rest.before, data[:SkipUnit]) {
					t.Errorf("%s: %d bytes precede what is not stored", c.name, len(rest.before))
				}
				times++
				got := make([]byte, c.to-c.from)
				if _, err := f.Content.ReadAt(got, c.from); err != nil && err != io.EOF {
					return err
				}
				return got
			},
			Workers: 2,
		}
		_, problems, err := Walk(
			context.Background(),
			"x.zip",
			bytes.NewReader(archive),
			int64(len(archive)),
			o,
			func(f *File) error {
				if got, ok := f.Prepared.([]byte); !ok || !bytes.Equal(got, data[c.from:c.to]) {
					t.Errorf("%s: another content", c.name)
				}
				if f.Size != size || f.SHA256 != hex.EncodeToString(want[:]) {
					t.Errorf("%s: size %d, digest %s", c.name, f.Size, f.SHA256)
				}
				return nil
			},
		)
		if err != nil || len(problems) > 0 || times != c.times {
			t.Errorf("%s: prepared %d times, want %d; %v %v", c.name, times, c.times, problems, err)
		}
	}
}

// TestSkimCounts checks that a file that is inflated twice is counted once.
func TestSkimCounts(t *testing.T) {
	data := string(bytes.Repeat([]byte("0123456789abcdef"), SkipUnit/4))
	archive := zipOf(t, item{name: "a", data: data}, item{name: "b", data: data})
	o := Options{
		Limits:  Limits{Bytes: int64(2 * len(data))},
		Scratch: func(int64) (Scratch, error) { return &holed{}, nil },
		Skim:    func([]byte, int64) ([]Range, Sampler) { return []Range{{SkipUnit, 2 * SkipUnit}}, nil },
		Prepare: func(f *File) any {
			n, _ := io.Copy(io.Discard, io.NewSectionReader(f.Content, 0, f.Size))
			return n
		},
	}
	n := 0
	_, problems, err := Walk(
		context.Background(),
		"x.zip",
		bytes.NewReader(archive),
		int64(len(archive)),
		o,
		func(f *File) error {
			if f.Prepared.(int64) == int64(len(data)) {
				n++
			}
			return nil
		},
	)
	if n != 2 || len(problems) > 0 || err != nil {
		t.Errorf("%d files in whole, %v %v", n, problems, err)
	}
}
