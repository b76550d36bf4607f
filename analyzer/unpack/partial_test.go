package unpack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// library returns content like that of a library with GPU code in the middle: names and tables at
// both ends, which compress well, and noise between them.
func library(seed uint64, ends, middle int) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	var out []byte
	table := func() {
		for from := len(out); len(out)-from < ends; {
			out = fmt.Appendf(out, "_ZN%dat%xEv", r.IntN(90), r.Uint32())
			out = append(out, byte(r.Uint32()), byte(r.Uint32()), 0, 0, 0, 0, 0, 0)
		}
	}
	table()
	noise := make([]byte, middle)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	out = append(out, noise...)
	table()
	return out
}

// readCounter counts what is read of an archive.
type readCounter struct {
	*bytes.Reader
	n int64
}

func (c *readCounter) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.Reader.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}

// TestPartial checks that Prepare reads the same of a member that is read partially, and that only
// a part of the archive is read if it reads little.
func TestPartial(t *testing.T) {
	data := library(1, 1_500_000, 8_000_000)
	size := int64(len(data))
	archive := zipOf(t, item{name: "a.so", data: string(data)}, item{name: "b.txt", data: "x"})
	type span struct{ from, to int64 }
	for _, c := range []struct {
		name  string
		reads []span
		share int64 // at most, in percent of the archive
		times int   // Prepare is called
	}{
		{"the beginning", []span{{0, 100}, {20_000, 30_000}}, 15, 1},
		{"the end", []span{{0, 64}, {size - 1000, size}, {size - 200_000, size - 100_000}}, 30, 1},
		{"both", []span{{0, 64}, {size - 100, size + 50}, {600_000, 700_000}, {size - 9000, size - 10}},
			30, 1},
		{"what begins in the noise", []span{{0, 64}, {size - 1_500_100, size - 100}}, 50, 1},
		{"the middle", []span{{0, 64}, {size - 64, size}, {size/2 - 10, size / 2}}, 250, 2},
		{"beyond the end", []span{{size, size + 1}, {0, 1}}, 15, 1},
		{"all", []span{{0, size}}, 250, 2},
	} {
		times := 0
		prepare := func(f *File) any {
			times++
			for _, s := range c.reads {
				got := make([]byte, s.to-s.from)
				n, err := f.Content.ReadAt(got, s.from)
				want := data[min(s.from, size):min(s.to, size)]
				if errors.Is(err, errSkipped) {
					return err
				}
				if n != len(want) || !bytes.Equal(got[:n], want) || (err == io.EOF) != (n < len(got)) {
					t.Errorf("%s: %d bytes at %d: %d, %v", c.name, len(got), s.from, n, err)
				}
			}
			return nil
		}
		from := &readCounter{Reader: bytes.NewReader(archive)}
		_, problems, err := Walk(context.Background(), "x.whl", from, int64(len(archive)), Options{
			NoDigest: true, Partial: true, Prepare: prepare,
			Want: func(_ *Package, path string, _ int64, _ []byte) bool { return path == "a.so" },
		}, func(f *File) error {
			if f.Size != size || f.Prepared != nil {
				t.Errorf("%s: a file of %d bytes: %v", c.name, f.Size, f.Prepared)
			}
			return nil
		})
		if share := from.n * 100 / int64(len(archive)); err != nil || len(problems) > 0 ||
			times != c.times || share > c.share {
			t.Errorf("%s: prepared %d times, %d %% read, %v %v", c.name, times, share, problems, err)
		}
	}
}

// marked locates a text, of which nothing before its last bytes may be unknown.
type marked struct {
	at   int64
	text string
}

func (m marked) Offset() int64 { return m.at }

func (m marked) Find(
	part io.ReaderAt, size int64, known func(from, to int64) bool,
) (offset int64, ok bool) {
	b := make([]byte, size)
	if n, err := part.ReadAt(b, 0); n < len(b) {
		panic(err)
	}
	i := int64(bytes.Index(b, []byte(m.text)))
	return m.at - i, i >= 0 && known(i, i+int64(len(m.text)))
}

// TestPartialMiddle checks that a part in the middle is read of which the offset is found.
func TestPartialMiddle(t *testing.T) {
	var data []byte
	for i := range uint64(500) { // noise, before which nothing is copied, every 140 KB
		data = append(data, library(i, 40_000, 60_000)...)
	}
	const at, text = 34_000_000, "the section that is searched"
	copy(data[at:], text)
	archive := zipOf(t, item{name: "a.so", data: string(data)})
	for _, c := range []struct {
		text  string
		share int64 // at most, in percent of the archive
	}{{text, 20}, {"what is nowhere", 120}} {
		times := 0
		prepare := func(f *File) any {
			times++
			for _, off := range []int64{0, f.Size - 1000, at, at + 100_000} {
				got := make([]byte, 1000)
				if _, err := f.Content.ReadAt(got, off); err != nil || !bytes.Equal(got, data[off:][:1000]) {
					t.Errorf("%s: at %d: %v", c.text, off, err)
				}
			}
			return nil
		}
		from := &readCounter{Reader: bytes.NewReader(archive)}
		_, problems, err := Walk(context.Background(), "x.whl", from, int64(len(archive)), Options{
			NoDigest: true, Partial: true, Prepare: prepare,
			Locate: func(head []byte, size int64) Locator {
				if size != int64(len(data)) || !bytes.HasPrefix(data, head) || len(head) == 0 {
					t.Errorf("%d first bytes of %d", len(head), size)
				}
				return marked{at, c.text}
			},
		}, func(*File) error { return nil })
		share := from.n * 100 / int64(len(archive))
		if err != nil || len(problems) > 0 || times != 1 || share > c.share {
			t.Errorf("%s: prepared %d times, %d %% read, %v %v", c.text, times, share, problems, err)
		}
	}
}

// TestPartialDamage checks that what cannot be inflated has the same problem as without.
func TestPartialDamage(t *testing.T) {
	data := library(3, 1_500_000, 3_000_000)
	archive := zipOf(t, item{name: "a.so", data: string(data)})
	for _, at := range []int{36, 300, 100_000} {
		damaged := bytes.Clone(archive)
		for i := range 20_000 {
			damaged[at+i] = 0xff
		}
		var reasons []string
		for _, partial := range []bool{false, true} {
			_, problems, err := Walk(context.Background(), "x.whl", bytes.NewReader(damaged),
				int64(len(damaged)), Options{NoDigest: true, Partial: partial, Prepare: func(f *File) any {
					b := make([]byte, 400_000)
					_, err := f.Content.ReadAt(b, 0)
					if err == nil {
						_, err = f.Content.ReadAt(b, f.Size-400_000)
					}
					return err
				}}, func(f *File) error {
					if f.Prepared != nil {
						t.Errorf("at %d: %v", at, f.Prepared)
					}
					return nil
				})
			if err != nil {
				t.Fatal(err)
			}
			reasons = append(reasons, fmt.Sprint(problems))
		}
		if reasons[0] != reasons[1] || reasons[0] == "[]" {
			t.Errorf("at %d: %q", at, reasons)
		}
	}
}

// TestPartialSample checks that the sample of a member that is read partially is that of Skim.
func TestPartialSample(t *testing.T) {
	data := library(5, 2_000_000, 4_000_000)
	archive := zipOf(t, item{name: "a.so", data: string(data)})
	var got []string
	for _, partial := range []bool{false, true} {
		rest := &sampler{enough: 300_000}
		_, problems, err := Walk(context.Background(), "x.whl", bytes.NewReader(archive),
			int64(len(archive)), Options{
				NoDigest: true, Partial: partial,
				Scratch: func(int64) (Scratch, error) { return &holed{}, nil },
				Skim: func([]byte, int64) ([]Range, Sampler) {
					return []Range{{70_000, 400_000}, {500_000, 3_000_000}}, rest
				},
				Prepare: func(f *File) any {
					if (f.Sample != nil) != partial || (f.Skimmed == Sampler(rest)) == partial {
						t.Errorf("partial %v: %v", partial, f.Skimmed)
					}
					if f.Sample != nil {
						f.Sample(rest)
					}
					return nil
				},
			}, func(*File) error { return nil })
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		got = append(got, rest.String()[:rest.enough])
	}
	if got[0] != got[1] || got[0] != string(data[2*SkipUnit:][:4*SkipUnit])+
		string(data[8*SkipUnit:][:300_000-4*SkipUnit]) {
		t.Error("other samples")
	}
}
