package unpack

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"
)

// imageOf returns an image in the format of docker save; the upper layer deletes, replaces and
// adds files.
func imageOf(t testing.TB) []byte {
	low := tarOf(
		t,
		&tar.Header{Name: "usr/lib/kept.so", Uname: elf},
		&tar.Header{Name: "usr/lib/gone.so", Uname: elf},
		&tar.Header{Name: "usr/lib/changed.so", Uname: elf + " old"},
		&tar.Header{
			Name:  "opt/a/under.so",
			Uname: elf,
		},
		&tar.Header{Name: "srv/x/deep.so", Uname: elf},
		&tar.Header{Name: "linked.so", Uname: elf},
	)
	high := tarOf(
		t,
		&tar.Header{Name: "usr/lib/.wh.gone.so"},
		&tar.Header{Name: "usr/lib/changed.so", Uname: elf + " new"},
		&tar.Header{Name: "opt/a/.wh..wh..opq"},
		&tar.Header{
			Name:  "opt/a/new.so",
			Uname: elf,
		},
		&tar.Header{Name: ".wh.srv"},
		&tar.Header{Name: "linked.so", Linkname: "/x", Typeflag: tar.TypeSymlink},
	)
	return tarOf(
		t,
		&tar.Header{Name: "blobs/sha256/aa", Uname: string(low)},
		&tar.Header{Name: "blobs/sha256/bb", Uname: string(gzipped(high))},
		&tar.Header{
			Name:  "manifest.json",
			Uname: `[{"Config":"blobs/sha256/cc","RepoTags":null,"Layers":["blobs/sha256/aa","blobs/sha256/bb"]}]`,
		},
	)
}

const imageStory = `
file i.tar : usr/lib/changed.so = "\x7fELF and so on new"
file i.tar : opt/a/new.so = "\x7fELF and so on"
file i.tar : usr/lib/kept.so = "\x7fELF and so on"
archive i.tar
`

func TestImage(t *testing.T) {
	same(t, story(t, "i.tar", imageOf(t), Options{Want: elfOrSO}), imageStory)
	same(t, story(t, "i.tar", gzipped(imageOf(t)), Options{Want: elfOrSO}), imageStory)
	layout := func(index string, more ...*tar.Header) []byte {
		return tarOf(
			t,
			append(
				[]*tar.Header{
					{Name: "oci-layout", Uname: "{}"},
					{Name: "index.json", Uname: index},
					{
						Name:  "blobs/sha256/aa",
						Uname: string(tarOf(t, &tar.Header{Name: "x.so", Uname: elf})),
					},
				},
				more...)...)
	}
	manifest := &tar.Header{Name: "blobs/sha256/mm", Uname: `{"layers":[{"digest":"sha256:aa"}]}`}
	found := "file i.tar : x.so = \"\\x7fELF and so on\"\narchive i.tar"
	same(
		t,
		story(
			t,
			"i.tar",
			layout(
				`{"manifests":[{"digest":"sha256:att","platform":{"os":"unknown"}},{"digest":"sha256:mm"}]}`,
				manifest,
			),
			Options{Want: elfOrSO},
		),
		found,
	)
	manifest.Uname = `{"layers":[{"digest":"sha256:aa"}]}`
	nested := &tar.Header{
		Name:  "blobs/sha256/ii",
		Uname: `{"manifests":[{"digest":"sha256:mm"},{"digest":"sha256:other"}]}`,
	}
	same(
		t,
		story(
			t,
			"i.tar",
			layout(`{"manifests":[{"digest":"sha256:ii"}]}`, manifest, nested),
			Options{Want: elfOrSO},
		),
		found+"\nproblem i.tar: it contains 1 more images; only the first was read. Save each image to "+
			"its own file",
	)
	loop := &tar.Header{Name: "blobs/sha256/ii", Uname: `{"manifests":[{"digest":"sha256:ii"}]}`}
	for want, data := range map[string][]byte{
		"its index refers only to other indexes": layout(`{"manifests":[{"digest":"sha256:ii"}]}`, loop),
		"blobs/sha256/none is missing":           layout(`{"manifests":[{"digest":"sha256:none"}]}`),
		"index.json is not a JSON manifest":      layout(`[`),
		"its layer blobs/sha256/zz is missing":   layout(`{"layers":[{"digest":"sha256:zz"}]}`),
		"it has 1001 layers, more than the limit of 1000": layout(`{"layers":[` +
			strings.Repeat(`{"digest":"sha256:aa"},`, 1000) + `{}]}`),
	} {
		if got := story(t, "i.tar", data, Options{Want: elfOrSO}); !strings.Contains(
			got,
			"problem i.tar: the container image is damaged: "+want,
		) {
			t.Errorf("want %s, got\n%s", want, got)
		}
	}
	// A tar that only starts like an image is a tar.
	same(
		t,
		story(t, "i.tar", tarOf(t, &tar.Header{Name: "blobs/x.so", Uname: elf}), Options{Want: elfOrSO}),
		"file i.tar : blobs/x.so = \"\\x7fELF and so on\"\narchive i.tar",
	)
}

// Any number of workers returns the same files and problems in the same order, also if some of the
// files are large enough to be read by another worker.
func TestWorkers(t *testing.T) {
	var items []item
	for i := range 60 {
		items = append(
			items,
			item{
				name: strings.Repeat("d/", i%5) + string(rune('a'+i%26)) + strings.Repeat("x", i) + ".so",
				data: strings.Repeat(elf, 1+i%7*2*i*50),
			},
		)
	}
	items = append(
		items,
		item{name: "../out.so"},
		item{name: "in.whl", data: string(zipOf(t, items[:9]...))},
		item{name: "last.so", data: elf},
	)
	mixed := patch(zipOf(t, items...), sigHeader, 7, 16, "????") // one is damaged
	for name, data := range map[string][]byte{"x.zip": mixed, "i.tar": imageOf(t),
		"t.tar.gz": gzipped(oneTar(t)), "t.tar": oneTar(t),
		"x.rpm": rpmOf(cpioOf("./a.so", elf, "./b.so", elf))} {
		for _, limits := range []Limits{{}, {Bytes: 40 << 10}, {Bytes: 2 << 20}} {
			tell := func(workers int) string {
				var told []string
				o := Options{
					Want:    elfOrSO,
					Limits:  limits,
					Workers: workers,
					Prepare: func(f *File) any {
						b := make([]byte, f.Size)
						n, _ := f.Content.ReadAt(b, 0)
						return string(b[:n])
					},
				}
				packages, problems, err := Walk(
					t.Context(),
					name,
					bytes.NewReader(data),
					int64(len(data)),
					o,
					func(f *File) error {
						told = append(told, f.Package.Path+" : "+f.Path+" = "+f.Prepared.(string))
						return nil
					},
				)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range packages {
					told = append(told, p.Path)
				}
				for _, p := range problems {
					told = append(told, p.Path+": "+p.Reason)
				}
				return strings.Join(told, "\n")
			}
			one := tell(1)
			for _, workers := range []int{2, 7} {
				if many := tell(workers); many != one {
					t.Errorf("%s by %d:\n%s\nby one:\n%s", name, workers, many, one)
				}
			}
		}
	}
}

// tar -C LAYOUT -cf image.tar . stores the folder itself first.
func TestImageOfAFolder(t *testing.T) {
	layer := tarOf(t, &tar.Header{Name: "./x.so", Uname: elf})
	image := tarOf(
		t,
		&tar.Header{Name: "./", Typeflag: tar.TypeDir},
		&tar.Header{Name: "./oci-layout", Uname: "{}"},
		&tar.Header{Name: "./blobs/", Typeflag: tar.TypeDir},
		&tar.Header{
			Name:  "./blobs/sha256/aa",
			Uname: string(layer),
		},
		&tar.Header{Name: "./blobs/sha256/mm", Uname: `{"layers":[{"digest":"sha256:aa"}]}`},
		&tar.Header{Name: "./index.json", Uname: `{"manifests":[{"digest":"sha256:mm"}]}`},
	)
	same(
		t,
		story(t, "i.tar", image, Options{Want: elfOrSO}),
		"file i.tar : x.so = \"\\x7fELF and so on\"\narchive i.tar",
	)
}
