package index

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/unpack"
)

// noise returns incompressible bytes, so that members are far apart.
func noise(seed byte, n int) string {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return string(b)
}

// large is a wheel of a megabyte with two small objects.
func large(t *testing.T) map[string][]wheel {
	lib := func(name string) string { return string(object(t, name, "run", "V1")) }
	return map[string][]wheel{"demo": {build(
		t,
		"demo-1.0-py3-none-manylinux2014_x86_64.whl",
		"",
		"demo/a.bin",
		noise(1, 300<<10),
		"demo/liba.so.1",
		lib("liba.so.1"),
		"demo/b.bin",
		noise(2, 300<<10),
		"demo/libb.so.1",
		lib("libb.so.1"),
		"demo/c.bin",
		noise(3, 300<<10),
		"demo/libhuge.so",
		noise(4, 100<<10),
	)}}
}

func only(names ...string) func(string) int64 {
	return func(path string) int64 {
		if slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(path, n) }) {
			return 50 << 10
		}
		return 0
	}
}

// Reading a library takes one range request, and none the second time.
func TestReadOneRangeEach(t *testing.T) {
	s := serve(t, large(t))
	i := s.index(t, nil)
	r, err := i.Release(ctx, "demo", "1.0", linux)
	if err != nil || len(r.Libraries) != 3 ||
		slices.ContainsFunc(r.Libraries, func(l packages.Library) bool { return !l.Unread || l.Known }) {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := s.takeRequests(); len(got) != 3 ||
		!strings.HasSuffix(got[2], "whl bytes=-131072") { // the page, METADATA, the directory
		t.Errorf("asked %v", got)
	}
	one, err := i.Read(ctx, r, linux, only("liba.so.1", "libhuge.so"))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.takeRequests(); len(got) != 1 || !strings.Contains(got[0], " bytes=") {
		t.Errorf("asked %v for one library", got)
	}
	state := func(r *packages.Release) (out []string) {
		for _, l := range r.Libraries {
			out = append(out, fmt.Sprintf("%s known %v unread %v", l.Path, l.Known, l.Unread))
		}
		return out
	}
	want := []string{
		"demo/liba.so.1 known true unread false",
		"demo/libb.so.1 known false unread true",
		"demo/libhuge.so known false unread true",
	}
	if got := state(one); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if !r.Libraries[0].Unread {
		t.Error("the release that was given is changed")
	}
	both, err := i.Read(ctx, one, linux, only("liba.so.1", "libb.so.1"))
	if err != nil || !both.Libraries[1].Known || len(s.takeRequests()) != 1 {
		t.Errorf("%+v, %v", both, err)
	}
	if _, err := i.Read(ctx, r, linux, only("liba.so.1", "libb.so.1")); err != nil ||
		len(s.takeRequests()) != 0 {
		t.Errorf("asked again: %v", err)
	}
	if c := i.Cost(); c.Requests != 5 || c.Bytes == 0 || c.Bytes > 200<<10 || c.Cached < 2 ||
		c.Recorded != 0 {
		t.Errorf("cost %+v", c)
	}
	// Several libraries take one range request each.
	i = s.index(t, nil)
	if r, err = i.Release(ctx, "demo", "1.0", linux); err != nil {
		t.Fatal(err)
	}
	s.takeRequests()
	if both, err := i.Read(ctx, r, linux, only("liba.so.1", "libb.so.1")); err != nil ||
		!both.Libraries[0].Known ||
		!both.Libraries[1].Known {
		t.Errorf("%+v, %v", both, err)
	}
	if got := s.takeRequests(); len(got) != 2 || got[0] == got[1] {
		t.Errorf("asked %v for two libraries", got)
	}
	// If most of the file is needed, one plain GET downloads it and all objects are read.
	s.wheels["demo"] = []wheel{
		build(
			t,
			"demo-1.0-py3-none-manylinux2014_x86_64.whl",
			"",
			"demo/liba.so.1",
			noise(5, 700<<10),
			"demo/b.bin",
			noise(6, 300<<10),
		),
	}
	i = s.index(t, nil)
	if r, err = i.Release(ctx, "demo", "1.0", linux); err != nil {
		t.Fatal(err)
	}
	s.takeRequests()
	if _, err := i.Read(ctx, r, linux, everything); err != nil {
		t.Error(err)
	}
	if got := s.takeRequests(); len(got) != 1 || !strings.HasSuffix(got[0], ".whl") {
		t.Errorf("asked %v for most of the file", got)
	}
}

// recorded is a history of demo 1.0.
type recorded struct {
	packages.Source
	file, sum string
	needed    []string
	listed    map[string]packages.Listed // by "FILE DIGEST"
}

func (h recorded) Listed(file, sum string) (packages.Listed, bool) {
	l, ok := h.listed[file+" "+sum]
	return l, ok
}

func (h recorded) WheelOf(name, version string, on packages.Target) (string, string, bool) {
	return h.file, h.sum, name == "demo" && version == "1.0" && on == linux
}

func (h recorded) Release(context.Context, string, string, packages.Target) (*packages.Release,
	error) {
	return &packages.Release{
		Name:      "demo",
		Version:   "1.0",
		Known:     true,
		Libraries: []packages.Library{{Path: "demo/lib.so", Known: true, Needed: h.needed}},
	}, nil
}

// For a release of the history only the page is requested. One with another digest is read.
func TestHistoryFirst(t *testing.T) {
	wheels := large(t)
	file := wheels["demo"][0]
	other := wheel{name: "demo-1.0-py3-none-manylinux1_x86_64.whl", data: file.data}
	wheels["demo"] = append(wheels["demo"], other)
	for _, c := range []struct {
		name    string
		history recorded
		asked   int
	}{
		{"the file", recorded{file: file.name, sum: sum(file.data)}, 1},
		{"another digest", recorded{file: file.name, sum: strings.Repeat("0", 64)}, 3},
		{"no digest", recorded{file: file.name}, 3},
		{"another file", recorded{
			file: strings.Replace(file.name, "py3", "py2.py3", 1), sum: sum(file.data),
		}, 3},
		{"another platform", recorded{file: other.name, sum: sum(other.data)}, 3},
		{"modules", recorded{file: file.name, sum: sum(file.data)}, 3}, // which the history has not
	} {
		s := serve(t, wheels)
		i := s.index(t, func(o *Options) { o.History = c.history })
		on := linux
		on.Modules = c.name == "modules"
		r, err := i.Release(ctx, "demo", "1.0", on)
		if err != nil || (len(r.Libraries) == 1) != (c.asked == 1) {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
		if got := s.takeRequests(); len(got) != c.asked {
			t.Errorf("%s: asked %v", c.name, got)
		}
		if got := i.Cost().Recorded; got != map[bool]int64{true: 1}[c.asked == 1] {
			t.Errorf("%s: %d releases from the history", c.name, got)
		}
		if told := strings.Contains(i.Cost().String(),
			fmt.Sprintf("whose %.1f MB were not read",
				float64(len(file.data))/1e6)); told != (c.asked == 1) {
			t.Errorf("%s: it cost %s", c.name, i.Cost())
		}
	}
}

// A wheel of the history with only libraries that need no other package is not opened.
func TestRecordedIsNotOpened(t *testing.T) {
	wheels := large(t)
	file := wheels["demo"][0]
	module := wheel{name: "demo-1.0-cp312-cp312-manylinux2014_x86_64.whl", data: file.data}
	for _, c := range []struct {
		name   string
		wheel  wheel
		needed []string
		want   bool
	}{
		{"alone", file, []string{"libc.so.6", "libpthread.so.0", "lib.so", "libstdc++.so.6"}, true},
		{"needs another package", file, []string{"libc.so.6", "libother.so.1"}, false},
		{"has modules", module, nil, false},
	} {
		s := serve(t, map[string][]wheel{"demo": {c.wheel}})
		i := s.index(t, func(o *Options) {
			o.History = recorded{file: c.wheel.name, sum: sum(c.wheel.data), needed: c.needed}
		})
		w, err := i.Open(ctx, "demo", "1.0", linux, 1<<30)
		if err != nil || w.Recorded != c.want || (w.ReaderAt == nil) != c.want ||
			w.SHA256 != sum(c.wheel.data) {
			t.Errorf("%s: %+v, %v", c.name, w, err)
			continue
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if got := s.takeRequests(); (len(got) <= 1) != c.want { // a page at most
			t.Errorf("%s: requests %q", c.name, got)
		}
	}
}

// A wheel that the history lists as one that needs no other package is not opened, and its
// libraries are not looked for, unless other packages may load them or it is loaded after others.
func TestStandsAlone(t *testing.T) {
	lib := string(object(t, "libdemo.so.1", "demo_run", "DEMO_1"))
	module := build(t, "demo-1.0-cp312-cp312-manylinux2014_x86_64.whl", "", "demo/lib.so", lib)
	line := module.name + " " + sum(module.data)
	lock := func(s *server) *Locked {
		return &Locked{Complete: true, Files: map[packages.ID][]lockfile.File{
			{Name: "demo", Version: "1.0"}: {{
				Name: module.name, SHA256: sum(module.data), URL: s.URL + "/files/" + module.name,
			}},
		}}
	}
	pinned := func(pins string) func(*server) *Locked {
		return func(s *server) *Locked {
			l := lock(s)
			l.Pins = map[string][]string{"core": strings.Fields(pins)}
			return l
		}
	}
	none := func(*server) *Locked { return nil }
	alone := packages.Listed{Alone: true}
	withCore := packages.Listed{Alone: true, With: []packages.ID{{Name: "core", Version: "2.0"}}}
	for _, c := range []struct {
		name      string
		line      string
		listed    packages.Listed
		lock      func(*server) *Locked
		want      bool
		libraries int
	}{
		{"listed", line, alone, lock, true, 0},
		{"listed, without a lock file", line, alone, none, true, 0},
		{"has libraries for others", line, packages.Listed{Alone: true, Shares: true}, lock, true, 1},
		{"needs others", line, packages.Listed{}, lock, false, 1},
		{"another digest", module.name + " 00", alone, lock, false, 1},
		{"needs the pinned version", line, withCore, pinned("2.0"), true, 0},
		{"needs another version", line, withCore, pinned("2.1"), false, 1},
		{"one of two lock files has another version", line, withCore, pinned("2.0 2.1"), false, 1},
		{"the needed package is not pinned", line, withCore, lock, false, 1},
		{"needs others, without a lock file", line, withCore, none, false, 1},
		{"everything is read", line, alone, func(s *server) *Locked {
			l := lock(s)
			l.ReadAll = true
			return l
		}, false, 1},
	} {
		s := serve(t, map[string][]wheel{"demo": {module}})
		i := s.index(t, func(o *Options) {
			o.History = recorded{listed: map[string]packages.Listed{c.line: c.listed}}
		}).WithLock(c.lock(s))
		w, err := i.Open(ctx, "demo", "1.0", linux, 1<<30)
		if err != nil || w.Recorded != c.want || (w.ReaderAt == nil) != c.want ||
			w.Shares != (c.want && c.libraries > 0) || w.Together != (c.want && c.listed.With != nil) || w.SHA256 != sum(module.data) {
			t.Errorf("%s: %+v, %v", c.name, w, err)
			continue
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if got := s.takeRequests(); (len(got) <= 1) != c.want { // a page at most
			t.Errorf("%s: requests %q", c.name, got)
		}
		r, err := i.Release(ctx, "demo", "1.0", linux)
		if err != nil || !r.Known || len(r.Libraries) != c.libraries {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
}

// Local versions are published on other indexes. The history is used for those that no index has,
// and for no other versions.
func TestLocalVersionsByTheHistory(t *testing.T) {
	s := serve(t, large(t))
	i := s.index(t, func(o *Options) { o.History = recorded{} })
	without := s.index(t, func(*Options) {})
	for name, source := range map[string]packages.Reader{"one": i, "two": Several{i, without}} {
		r, err := source.Release(ctx, "demo", "1.0+rocm6.3", linux)
		if err != nil || len(r.Libraries) != 1 {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		r.Libraries[0].Unread = true
		if read, err := source.Read(ctx, r, linux, func(string) int64 { return 1 << 30 }); err != nil ||
			len(read.Libraries) != 1 {
			t.Errorf("%s: read %+v, %v", name, read, err)
		}
		for _, version := range []string{"9.0", "9.0.post1"} {
			if r, err := source.Release(ctx, "demo", version, linux); !errors.Is(err, packages.ErrUnknown) {
				t.Errorf("%s: %s is %+v, %v", name, version, r, err)
			}
		}
	}
	if r, err := without.Release(ctx, "demo", "1.0+rocm6.3", linux); !errors.Is(
		err,
		packages.ErrUnknown,
	) {
		t.Errorf("without a history: %+v, %v", r, err)
	}
}

// The cost contains the bytes not downloaded, if the index reports sizes.
func TestCostReportsSavings(t *testing.T) {
	for want, c := range map[string]Cost{
		"no requests":                          {},
		"no requests, 1 answer from the cache": {Cached: 1},
		"1 request, 0.5 MB received":           {Requests: 1, Bytes: 500_000},
		"2 requests, 0.5 MB received, 2 releases known from the built-in " +
			"package history, whose 900.0 MB were not read": {Requests: 2, Bytes: 500_000, Recorded: 2, Sized: 2,
			Spared: 900_000_000},
		"2 requests, 0.5 MB received, 2 releases known from the built-in " +
			"package history, whose files were not read": {Requests: 2, Bytes: 500_000, Recorded: 2},
		"2 requests, 0.5 MB received, 2 releases known from the built-in " +
			"package history, whose files were not read (865.0 MB, and files whose size the index does not " +
			"report)": {Requests: 2, Bytes: 500_000, Recorded: 2, Sized: 1, Spared: 865_000_000},
	} {
		if c.String() != want {
			t.Errorf("%+v is %q, want %q", c, c.String(), want)
		}
	}
}

// An index that serves another file, changing sizes or other ranges than requested.
func TestServerWithWrongContents(t *testing.T) {
	other := build(t, "other-1.0-py3-none-manylinux2014_x86_64.whl", "", "a.bin", noise(1, 300<<10))
	older := build(t, "demo-0.9-py3-none-manylinux2014_x86_64.whl", "", "a.bin", noise(1, 300<<10))
	for _, c := range []struct {
		name string
		file wheel
		want string
	}{
		{"another project", other, `has METADATA of "other" "1.0", so it is not the requested file`},
		{"another version", older, `has METADATA of "demo" "0.9", so it is not the requested file`},
		{"no zip", wheel{data: []byte(noise(1, 300<<10))},
			"demo-1.0-py3-none-manylinux2014_x86_64.whl: "},
	} {
		c.file.name = "demo-1.0-py3-none-manylinux2014_x86_64.whl"
		s := serve(t, map[string][]wheel{"demo": {c.file}})
		s.metadata = false
		if _, err := s.index(t, nil).Release(ctx, "demo", "1.0", linux); !errors.Is(
			err,
			packages.ErrUnavailable,
		) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	s := serve(t, large(t))
	i := s.index(t, nil)
	r, err := i.Release(ctx, "demo", "1.0", linux)
	if err != nil {
		t.Fatal(err)
	}
	s.wheels["demo"][0].data = build(
		t,
		"demo-1.0-py3-none-manylinux2014_x86_64.whl",
		"",
		"b.bin",
		noise(1, 500<<10),
	).data
	if _, err := i.Read(ctx, r, linux, only("liba.so.1")); !errors.Is(err, packages.ErrUnavailable) ||
		!strings.Contains(err.Error(), "bytes, but now it has") {
		t.Errorf("another file behind the same name: %v", err)
	}
}

// A member that is larger than any library when uncompressed is known only by its name.
func TestBomb(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range [][2]string{{"demo/libbomb.so", strings.Repeat("\x00", 64<<20)},
		{"demo/a.bin", noise(1, 300<<10)}, {"demo-1.0.dist-info/METADATA",
			"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"}} {
		w, err := z.Create(m[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	s := serve(
		t,
		map[string][]wheel{
			"demo": {{name: "demo-1.0-py3-none-manylinux2014_x86_64.whl", data: b.Bytes()}},
		},
	)
	s.metadata = false
	r, err := described(s.index(t, nil), "demo", "1.0")
	if err != nil || len(r.Libraries) != 1 || r.Libraries[0].Known || r.Libraries[0].Unread {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "facts")
	s := serve(t, large(t))
	with := func(o *Options) {
		d, err := NewDisk(dir)
		if err != nil {
			t.Fatal(err)
		}
		o.Cache = d
	}
	if _, err := described(s.index(t, with), "demo", "1.0"); err != nil {
		t.Fatal(err)
	}
	s.takeRequests()
	i := s.index(t, with) // like another process
	if r, err := described(i, "demo", "1.0"); err != nil || !r.Libraries[0].Known ||
		len(s.takeRequests()) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if c := i.Cost(); c.Requests != 0 || c.Bytes != 0 ||
		!strings.HasPrefix(c.String(), "no requests, ") {
		t.Errorf("a warm cache costs %s", c)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
	// Damaged entries are computed again.
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Fatal(entries, err)
	}
	for n, e := range entries {
		if err := os.WriteFile(filepath.Join(dir, e.Name()), []byte(strings.Repeat("?", n)),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := described(s.index(t, with), "demo", "1.0"); err != nil || !r.Libraries[0].Known {
		t.Errorf("%+v, %v", r, err)
	}
}

// A wheel that was opened is not downloaded again by another process if it is small, and of one of
// any size nothing is, once it was read completely.
func TestOpenedWheelIsCached(t *testing.T) {
	w := build(t, "demo-1.0-py3-none-manylinux2014_x86_64.whl", "", "demo/a.bin",
		noise(1, 300<<10), "demo/liba.so.1", string(object(t, "liba.so.1", "run", "V1")))
	for _, kept := range []int64{keptWheel, 10 << 10} {
		dir := t.TempDir()
		s := serve(t, map[string][]wheel{"demo": {w}})
		open := func() *Wheel {
			i := s.index(t, func(o *Options) {
				d, err := NewDisk(dir)
				if err != nil {
					t.Fatal(err)
				}
				o.Cache = d
			})
			i.kept = kept
			w, err := i.Open(ctx, "demo", "1.0", linux, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		read := func(w *Wheel) []*analyzer.Facts {
			r, err := analyzer.Read(ctx, []analyzer.Input{w.Input()}, analyzer.Options{})
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			return r.Artifacts()
		}
		contents := func(w *Wheel) []byte {
			data := make([]byte, w.Size)
			if _, err := w.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return data
		}
		first := open()
		whole := contents(first)
		s.takeRequests()
		if again := open(); kept == keptWheel && (len(s.takeRequests()) > 0 ||
			!bytes.Equal(contents(again), whole)) {
			t.Error("a small wheel is requested again")
		}
		want := read(first)
		s.takeRequests()
		last := open()
		if got := read(last); !last.Stored || len(s.takeRequests()) > 0 ||
			got[0].Objects[0].SONAME != want[0].Objects[0].SONAME {
			t.Errorf("up to %d bytes in memory: what was read is read again", kept)
		}
	}
}

// Members of an opened wheel are read by several goroutines. Those that are next to each other are
// downloaded together, and once.
func TestOpenedWheelIsReadConcurrently(t *testing.T) {
	wheels := large(t)
	s := serve(t, wheels)
	i := s.index(t, nil)
	data := wheels["demo"][0].data
	members, err := unpack.Directory(bytes.NewReader(data), int64(len(data)), maxMembers)
	if err != nil {
		t.Fatal(err)
	}
	f := file{name: wheels["demo"][0].name}
	if f.url, err = url.Parse(s.URL + "/files/" + f.name); err != nil {
		t.Fatal(err)
	}
	w, err := i.sparse(ctx, f, int64(len(data)), members, nil, maxFar)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	z, err := zip.NewReader(w, w.size)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, f := range z.File {
		for range 4 {
			wg.Go(func() {
				r, err := f.Open()
				if err != nil {
					t.Error(err)
				} else if n, err := io.Copy(io.Discard, r); err != nil || n != int64(f.UncompressedSize64) {
					t.Errorf("%s: %d bytes, %v", f.Name, n, err)
				}
			})
		}
	}
	wg.Wait()
	if got := s.takeRequests(); len(z.File) < 6 || len(got) != 1 {
		t.Errorf("%d members, asked %v", len(z.File), got)
	}
}

func TestDiskIsBoundedAndShared(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			d, err := NewDisk(dir)
			if err != nil {
				t.Error(err)
				return
			}
			d.most = 100_000
			for k := range 100 {
				key := fmt.Sprint(n%2, "/", k)
				if err := d.Put(ctx, key, []byte(strings.Repeat(key, 300)), time.Hour); err != nil &&
					!errors.Is(err, os.ErrNotExist) { // deleted by another goroutine
					t.Error(err)
				}
				if v, err := d.Get(ctx, key); err != nil ||
					v != nil && string(v) != strings.Repeat(key, 300) {
					t.Errorf("%s: %.20q, %v", key, v, err)
				}
			}
		})
	}
	wg.Wait()
	size := int64(0)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
	}
	if size == 0 || size > 150_000 { // each of the four caches trims when it has added a tenth
		t.Errorf("%d bytes in %d entries", size, len(entries))
	}
	d, err := NewDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Put(ctx, "gone", []byte("x"), -time.Minute); err != nil {
		t.Fatal(err)
	}
	if v, err := d.Get(ctx, "gone"); v != nil || err != nil {
		t.Errorf("an entry that has expired: %q, %v", v, err)
	}
}

// The export table is the same after caching.
func TestExportsThroughTheCache(t *testing.T) {
	s := serve(t, large(t))
	shared := newMemoryCache(1 << 20)
	with := func(o *Options) { o.Cache = shared }
	var got [2]*packages.Release
	for n := range got {
		var err error
		if got[n], err = described(s.index(t, with), "demo", "1.0"); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := got[0].Libraries[0], got[1].Libraries[0]; a.Exports.Len() == 0 ||
		!a.Exports.Equal(b.Exports) {
		t.Errorf("%+v\n%+v", a, b)
	}
}
