package unpack

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// bomb returns a zip with one entry of so many MiB of zeros, compressed about 1:1000, with
// correct or wrong sizes.
func bomb(t *testing.T, name string, mib int) []byte {
	t.Helper()
	var one bytes.Buffer
	w, _ := flate.NewWriter(&one, flate.BestCompression)
	w.Write(make([]byte, 1<<20))
	w.Flush() // ends on a byte boundary, so the block can be repeated
	body := append(bytes.Repeat(one.Bytes(), mib), 1, 0, 0, 0xff, 0xff)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.CreateRaw(
		&zip.FileHeader{
			Name:               name,
			Method:             zip.Deflate,
			CompressedSize64:   uint64(len(body)),
			UncompressedSize64: uint64(mib) << 20,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	f.Write(body)
	z.Close()
	return b.Bytes()
}

// allocated runs f and returns how many bytes it allocated.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestBomb(t *testing.T) {
	for name, want := range map[string]string{
		"x.so":  "problem b.zip/x.so: it declares 8 GiB, more than the limit of 4 GiB for one file",
		"x.whl": "problem b.zip/x.whl: it declares 8 GiB, more than the limit of 4 GiB for one file",
		"zeros.bin": "problem b.zip/zeros.bin: it declares 8 GiB, more than the limits of 4 GiB for " +
			"one file and of 250 times its compressed size",
	} {
		if got := story(t, "b.zip", bomb(t, name, 8<<10), Options{Want: elfOrSO}); !strings.Contains(
			got,
			want,
		) {
			t.Error(got)
		}
		// 3 GiB, declared as 100 bytes.
		lying := bomb(t, name, 3<<10)
		copy(lying[bytes.LastIndex(lying, []byte(sigHeader))+24:], "\x64\x00\x00\x00")
		var got string
		used := allocated(func() { got = story(t, "b.zip", lying, Options{Want: elfOrSO}) })
		if name != "zeros.bin" &&
			!strings.Contains(
				got,
				"problem b.zip/"+name+": it inflates to more than 250 times its compressed size, the limit "+
					"on the compression ratio (stopped after 32.",
			) {
			t.Error(got)
		}
		// 32 MiB and the growth of a buffer; 3 GiB would need 6
		if used > 400<<20 {
			t.Errorf("%s: %d MiB allocated", name, used>>20)
		}
	}
}

func TestLimits(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 4096) // 64 KiB
	nest := zipOf(t, item{name: "x.so", data: elf})
	for range 6 {
		nest = zipOf(t, item{name: "n.zip", data: string(nest)})
	}
	for name, c := range map[string]struct {
		data   []byte
		limits Limits
		want   string
	}{
		"one file": {zipOf(t, item{name: "a.so", data: big}, item{name: "b.so", data: elf}),
			Limits{FileBytes: 1 << 10}, "problem x.zip/a.so: it declares 64 KiB, more than the limit of 1 " +
				"KiB for one file"},
		"in all": {zipOf(t, item{name: "a.so", data: big}, item{name: "b.so", data: big},
			item{name: "c.so", data: big}), Limits{Bytes: 100 << 10},
			"problem x.zip/b.so: the limit of 100 KiB of inflated content is reached; the rest was not read"},
		"entries": {zipOf(t, item{name: "a.so"}, item{name: "b.so"}, item{name: "c.so"}),
			Limits{Entries: 2}, "problem x.zip: it was not read: the archives have more than the limit of " +
				"2 entries together"},
		"depth": {nest, Limits{}, "problem x.zip/n.zip/n.zip/n.zip/n.zip/n.zip: it exceeds the limit " +
			"of 4 nested archives"},
		"entries of archives": {zipOf(t, item{name: "a.whl",
			data: string(zipOf(t, item{name: "1"}, item{name: "2"}))},
			item{name: "b.whl", data: string(zipOf(t, item{name: "1"}, item{name: "2"}))}),
			Limits{Entries: 5},
			"problem x.zip/b.whl: it was not read: the archives have more than the limit of 5 entries " +
				"together"},
	} {
		got := story(t, "x.zip", c.data, Options{Limits: c.limits, Want: elfOrSO})
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: want %s, got\n%s", name, c.want, got)
		}
		if name == "one file" && !strings.Contains(got, "file x.zip : b.so") {
			t.Errorf("the next file is not visited:\n%s", got)
		}
		if name == "in all" && strings.Contains(got, "c.so") {
			t.Errorf("c.so is named:\n%s", got)
		}
	}
}

// A wheel with 300,000 empty entries is read with little memory.
func TestManyEntries(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range 300_000 {
		z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("empty/e%d", i)})
	}
	w, _ := z.Create("dist/x.whl")
	w.Write(zipOf(t, item{name: "x.so", data: elf}))
	z.Close()
	var got string
	used := allocated(func() { got = story(t, "many.zip", b.Bytes(), Options{Want: elfOrSO}) })
	same(
		t,
		got,
		"file many.zip/dist/x.whl : x.so = \"\\x7fELF and so on\"\narchive many.zip\nwheel "+
			"many.zip/dist/x.whl in many.zip",
	)
	if used > 400<<20 {
		t.Errorf("%d MiB allocated in all", used>>20)
	}
	t.Logf("%d MiB allocated in all", used>>20)
}

func TestManyProblems(t *testing.T) {
	var items []item
	for i := range 500 {
		items = append(items, item{name: fmt.Sprintf("../%d.so", i)})
	}
	_, problems, err := Walk(
		context.Background(),
		"x.zip",
		bytes.NewReader(zipOf(t, items...)),
		int64(len(zipOf(t, items...))),
		Options{},
		nil,
	)
	if err != nil || len(problems) != 201 ||
		problems[200].Reason != "300 more files could not be read completely" {
		t.Errorf("%d problems, %v", len(problems), err)
	}
}

// Of several entries with the same bytes, all but one are rejected, and nothing is inflated
// twice.
func TestOverlap(t *testing.T) {
	data := zipOf(
		t,
		item{name: "a.so", data: strings.Repeat("a", 1000)},
		item{name: "b.so", data: strings.Repeat("a", 1000)},
		item{name: "c.so", data: strings.Repeat("a", 1000)},
	)
	for n := 1; n <= 3; n++ {
		data = patch(data, sigHeader, n, 42, "\x00\x00\x00\x00")
	}
	got := story(t, "x.whl", data, Options{Want: elfOrSO})
	if !strings.Contains(got, "problem x.whl: 2 entries overlap other entries; they were not read") {
		t.Error(got)
	}
}

func TestHuman(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1 << 10: "1 KiB",
		3 << 19: "1.5 MiB", 4 << 30: "4 GiB", 1<<63 - 1: "8 EiB"} {
		if got := human(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
