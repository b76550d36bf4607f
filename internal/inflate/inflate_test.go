package inflate

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
)

// samples are contents of several kinds: random data, text, runs, long distances, and words as
// in programs.
func samples() map[string][]byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	out := map[string][]byte{"empty": {}, "one byte": {7}}
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	out["noise"] = noise
	out["run"] = bytes.Repeat([]byte{0}, 1_000_000)
	for _, n := range []int{2, 3, 7, 8, 9, 300} {
		out[fmt.Sprintf("every %d bytes again", n)] = bytes.Repeat(noise[:n], 200_000/n)
	}
	out["far back"] = slicesOf(noise[:32<<10], noise[:32<<10], noise[100:400], noise[:32<<10])
	var words []byte
	for len(words) < 1_500_000 {
		words = fmt.Appendf(
			words,
			"_ZN%dfoo%dE%x",
			rnd.IntN(30),
			rnd.IntN(900),
			rnd.IntN(1<<rnd.IntN(20)),
		)
		words = append(words, noise[rnd.IntN(200):][:rnd.IntN(9)]...)
	}
	out["words"] = words
	return out
}

func slicesOf(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func deflated(t testing.TB, level int, b []byte) []byte {
	var buf bytes.Buffer
	w, err := flate.NewWriter(&buf, level)
	if err != nil {
		t.Fatal(err)
	}
	for rest := b; len(rest) > 0; { // several blocks
		n := min(len(rest), 90_000)
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		if n == 90_000 && len(rest)%3 == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// eachDecoder calls a test with decodeFast, if the processor has its instructions, and without it.
func eachDecoder(t *testing.T, test func(t *testing.T)) {
	if accelerated {
		t.Run("decodeFast", test)
		accelerated = false
		defer func() { accelerated = true }()
	}
	t.Run("decode", test)
}

func TestInflatesWhatWasDeflated(t *testing.T) { eachDecoder(t, inflatesWhatWasDeflated) }

func inflatesWhatWasDeflated(t *testing.T) {
	r := NewReader()
	for name, want := range samples() {
		for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, 1, 6, 9} {
			packed := deflated(t, level, want)
			for kind, src := range map[string]io.Reader{"whole": bytes.NewReader(packed),
				"with the end":     iotest.DataErrReader(bytes.NewReader(packed)),
				"something behind": bytes.NewReader(append(bytes.Clone(packed), "behind"...))} {
				r.Reset(src)
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
					t.Errorf(
						"%s, level %d, %s: %d of %d bytes, the same: %v, %v",
						name,
						level,
						kind,
						len(got),
						len(want),
						bytes.Equal(got, want),
						err,
					)
				}
			}
		}
	}
}

func TestCutOffAnywhere(t *testing.T) { eachDecoder(t, cutOffAnywhere) }

func cutOffAnywhere(t *testing.T) {
	r := NewReader()
	for _, level := range []int{flate.NoCompression, 1, 9} {
		packed := deflated(t, level, samples()["words"][:2000])
		for n := range packed {
			r.Reset(bytes.NewReader(packed[:n]))
			if _, err := io.ReadAll(r); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("level %d, %d of %d bytes: %v", level, n, len(packed), err)
			}
		}
	}
}

func TestByteByByte(t *testing.T) { eachDecoder(t, byteByByte) }

func byteByByte(t *testing.T) {
	r := NewReader()
	for name, want := range samples() {
		want = want[:min(len(want), 50_000)]
		r.Reset(iotest.OneByteReader(bytes.NewReader(deflated(t, 6, want))))
		if got, err := io.ReadAll(iotest.OneByteReader(r)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d of %d bytes, %v", name, len(got), len(want), err)
		}
	}
}

func TestErrorOfTheSource(t *testing.T) {
	broken := errors.New("the disk is gone")
	packed := deflated(t, 6, samples()["words"])
	r := NewReader()
	r.Reset(io.MultiReader(bytes.NewReader(packed[:len(packed)/2]), iotest.ErrReader(broken)))
	if _, err := io.ReadAll(r); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// Streams from the tests of zlib and Go for damaged input.
func TestDamaged(t *testing.T) { eachDecoder(t, damaged) }

func damaged(t *testing.T) {
	r := NewReader()
	for name, c := range map[string]string{
		"a kind of block that there is not": "07",
		"length and its complement differ":  "0101",
		"too many lengths":                  "fc",
		"a repetition without a length":     "040024e9",
		"a code that is overfull":           "0400fe",
		"a distance before the beginning":   "0302",
		"a distance that nobody has":        "030200007e",
	} {
		b, err := hex.DecodeString(c)
		if err != nil {
			t.Fatal(err)
		}
		r.Reset(bytes.NewReader(append(b, make([]byte, 100)...)))
		if _, err := io.ReadAll(r); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzInflate compares the reader with that of the standard library: same bytes, and an error
// for the same inputs. It compares decodeFast with decode, which must return the same bytes before
// an error too.
func FuzzInflate(f *testing.F) {
	for _, b := range samples() {
		f.Add(deflated(f, 6, b[:min(len(b), 5000)]))
	}
	f.Add([]byte{0x0c, 0xc0, 0x81, 0, 0, 0, 0, 0, 0x90, 0xff, 0x6b, 4, 0})
	r := NewReader()
	fast := accelerated
	f.Fuzz(func(t *testing.T, packed []byte) {
		const most = 4 << 20
		want, wantErr := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), most))
		accelerated = fast
		r.Reset(bytes.NewReader(packed))
		got, err := io.ReadAll(io.LimitReader(r, most))
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%v, and the standard library says %v", err, wantErr)
		}
		if err == nil && !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, and the standard library makes %d", len(got), len(want))
		}
		accelerated = false
		r.Reset(bytes.NewReader(packed))
		slow, slowErr := io.ReadAll(io.LimitReader(r, most))
		if !errors.Is(err, slowErr) || !bytes.Equal(got, slow) {
			t.Fatalf("%d bytes, %v, and decode makes %d, %v", len(got), err, len(slow), slowErr)
		}
	})
}

func TestGzip(t *testing.T) {
	for name, want := range samples() {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(want)
		w.Close()
		if got, err := Gzip(b.Bytes()); err != nil || got != string(want) {
			t.Errorf("%s: %d of %d bytes, %v", name, len(got), len(want), err)
		}
		if got, err := Gzip(b.Bytes()[:b.Len()-9]); err == nil {
			t.Errorf("%s: %d bytes of a truncated file", name, len(got))
		}
	}
	if _, err := Gzip([]byte("not a file of gzip")); err == nil {
		t.Error("a text is read")
	}
}
