package inflate

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"testing"
)

// program is content like that of a library: words of code, tables with many zeros, and names.
func program(n int) []byte {
	var out []byte
	all := samples()
	for i := 0; len(out) < n; i++ {
		out = append(out, all["words"][i*7919%1_000_000:][:20_000]...)
		for k := range 2000 {
			out = append(out, byte(k*i), byte(k*i>>8), 0, 0, 0, 0, 0, 0)
		}
		out = append(out, all["noise"][i*31%200_000:][:3000]...)
	}
	return out[:n]
}

// checkEnd decodes the end of a stream, and compares what is known with the content.
func checkEnd(t testing.TB, packed, content []byte) (size int64, unknown int64) {
	t.Helper()
	var out *bytes.Buffer
	size, missing, err := NewReader().End(packed, int64(len(content)), func() (io.Writer, error) {
		out = &bytes.Buffer{}
		return out, nil
	})
	if errors.Is(err, ErrNoBlock) {
		return 0, 0
	}
	if err != nil || size != int64(out.Len()) {
		t.Fatalf("%d bytes, %d written: %v", size, out.Len(), err)
	}
	want := bytes.Clone(content[int64(len(content))-size:])
	for _, m := range missing {
		clear(want[m.Start:m.End])
		unknown += m.End - m.Start
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Fatalf("the last %d bytes differ from the content", size)
	}
	return size, unknown
}

// The end of a stream is what was deflated. In these contents nearly all bytes are copied, which
// keeps more of them unknown than in real ones.
func TestEnd(t *testing.T) {
	content := program(3_000_000)
	for _, level := range []int{1, 6, 9} {
		packed := deflated(t, level, content)
		for _, part := range []int{10, 4, 2} {
			size, unknown := checkEnd(t, packed[len(packed)-len(packed)/part:], content)
			if size < int64(len(content)/part/3) || unknown == 0 || unknown > size*3/4 {
				t.Errorf("level %d, a part of %d: %d bytes, %d unknown", level, part, size, unknown)
			}
		}
	}
}

// A part of the middle of a stream is what was deflated there.
func TestPart(t *testing.T) {
	content := program(3_000_000)
	for _, level := range []int{1, 6, 9} {
		packed := deflated(t, level, content)
		n := len(packed)
		for _, cut := range [][2]int{{n / 3, n * 2 / 3}, {n/2 + 7, n - 9}, {n / 5, n / 2}} {
			var out *bytes.Buffer
			create := func() (io.Writer, error) {
				out = &bytes.Buffer{}
				return out, nil
			}
			size, missing, err := NewReader().Part(packed[cut[0]:cut[1]], 3_000_000, create)
			if err != nil || size < int64((cut[1]-cut[0])/2) || size > int64(out.Len()) {
				t.Fatalf("level %d, %v: %d bytes, %v", level, cut, size, err)
			}
			part := out.Bytes()[:size]
			if !within(content, part, missing) {
				t.Errorf("level %d, %v: %d bytes are nowhere in the content", level, cut, size)
			}
		}
		_, _, err := NewReader().Part(packed[n/2:n/2+9000], 3_000_000, func() (io.Writer, error) {
			return io.Discard, nil
		})
		if !errors.Is(err, ErrNoBlock) {
			t.Errorf("level %d, a few bytes: %v", level, err)
		}
	}
}

// within reports whether a part is in the content, without the bytes that are not known.
func within(content, part []byte, missing []Span) bool {
	from := int64(0) // of the longest piece that is known
	to := from
	last := int64(0)
	for _, m := range append(missing, Span{int64(len(part)), 0}) {
		if m.Start = min(m.Start, int64(len(part))); m.Start-last > to-from {
			from, to = last, m.Start
		}
		last = m.End
	}
	for at := 0; ; at++ {
		i := bytes.Index(content[at:], part[from:to])
		if i < 0 {
			return false
		}
		if at += i; at >= int(from) && at-int(from)+len(part) <= len(content) {
			want := bytes.Clone(content[at-int(from):][:len(part)])
			for _, m := range missing {
				clear(want[min(m.Start, int64(len(want))):min(m.End, int64(len(want)))])
			}
			if bytes.Equal(want, part) {
				return true
			}
		}
	}
}

// A stream without a block to begin with has no end, and one of another size neither.
func TestNoEnd(t *testing.T) {
	content := program(1_000_000)
	create := func() (io.Writer, error) { return io.Discard, nil }
	for name, packed := range map[string][]byte{
		"stored": deflated(t, flate.NoCompression, content)[500_000:], "empty": nil,
		"cut off": deflated(t, 6, content)[:200_000], "noise": samples()["noise"],
		"followed": append(deflated(t, 6, content), "something else"...),
	} {
		if size, _, err := NewReader().End(packed, 1_000_000, create); !errors.Is(err, ErrNoBlock) {
			t.Errorf("%s: %d bytes, %v", name, size, err)
		}
	}
	if size, _, err := NewReader().End(deflated(t, 6, content), 400_000, create); err != nil ||
		size > 400_000 || size == 0 {
		t.Errorf("with a limit: %d bytes, %v", size, err)
	}
	broken := errors.New("the disk is full")
	_, _, err := NewReader().End(deflated(t, 6, content), 1_000_000, func() (io.Writer, error) {
		return nil, broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("an error of the writer: %v", err)
	}
}

// counter counts what is written.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// Many blocks that do not lead to the end of the stream cost a limited time.
func TestEndIsBounded(t *testing.T) {
	content := program(8_000_000)
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, 9)
	if err != nil {
		t.Fatal(err)
	}
	for rest := content; len(rest) > 0; rest = rest[100_000:] { // blocks, and none is the last one
		if _, err := w.Write(rest[:100_000]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	var written counter
	_, _, err = NewReader().End(packed.Bytes(), 1<<30, func() (io.Writer, error) { return &written, nil })
	if !errors.Is(err, ErrNoBlock) || written < maxWasted/2 ||
		int64(written) > int64(maxWasted+len(content)) {
		t.Errorf("%d bytes were written: %v", written, err)
	}
}

// FuzzEnd compares the ends of streams with their content, and decodes what is no stream.
func FuzzEnd(f *testing.F) {
	f.Add(program(40_000), uint8(6), uint32(3_000))
	f.Add(samples()["far back"][:50_000], uint8(9), uint32(1))
	f.Add(samples()["words"][:30_000], uint8(1), uint32(9_000))
	const most = 16 << 10 // for more inputs a second; a block is searched in each bit
	f.Fuzz(func(t *testing.T, content []byte, level uint8, cut uint32) {
		content = content[:min(len(content), most)]
		packed := deflated(t, int(level%10), content)
		from := int(cut) % (len(packed) + 1)
		checkEnd(t, packed[from:], content)
		discard := func() (io.Writer, error) { return io.Discard, nil }
		_, _, _ = NewReader().End(content, 1<<20, discard)
		_, _, _ = NewReader().Part(content, 1<<20, discard)
	})
}
