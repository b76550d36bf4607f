package index

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	stored "github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
)

// known has the facts of some wheels by digest.
type known map[string][]byte

func (k known) Get(_ context.Context, sha256 string) []byte { return k[sha256] }

// factsOf returns what a store has of a wheel.
func factsOf(t *testing.T, w wheel) []byte {
	t.Helper()
	part, size, err := Part(w.name, bytes.NewReader(w.data), int64(len(w.data)))
	if err != nil {
		t.Fatal(err)
	}
	names := elfobj.NewNames()
	in := stored.Input{Name: w.name, Content: part, Size: size, SHA256: sum(w.data)}
	set, err := stored.Read(ctx, []stored.Input{in}, stored.Options{}, names)
	if err != nil {
		t.Fatal(err)
	}
	data, err := stored.Encode(set, names)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Of a wheel whose facts are in a store nothing is requested, and what is known of it is the same.
func TestStored(t *testing.T) {
	w := build(t, "demo-1.0-py3-none-manylinux2014_x86_64.whl", "", "demo/liba.so.1",
		string(object(t, "liba.so.1", "run", "V1")), "demo/libb.so.1",
		string(object(t, "libb.so.1", "stop", "V1")))
	s := serve(t, map[string][]wheel{"demo": {w}})
	read := func(i *Index) *packages.Release {
		r, err := i.Release(ctx, "demo", "1.0", linux)
		if err == nil {
			r, err = i.Read(ctx, r, linux, func(string) int64 { return 1 << 20 })
		}
		if err != nil {
			t.Fatal(err)
		}
		for n := range r.Libraries { // of the cache, in JSON
			l := &r.Libraries[n]
			if !l.Known || l.Unread {
				t.Fatalf("%+v", l)
			}
			l.Exports, l.Imports = elfobj.NewExports(l.Exports.List()...), elfobj.NewImports(
				l.Imports.List()...)
		}
		return r
	}
	want := read(s.index(t, nil))
	i := s.index(t, nil)
	i.store = known{sum(w.data): factsOf(t, w)}
	s.takeRequests()
	got := read(i)
	for n := range got.Libraries {
		if !got.Libraries[n].Exports.Equal(want.Libraries[n].Exports) {
			t.Errorf("%s has other exports", got.Libraries[n].Path)
		}
		got.Libraries[n].Exports, want.Libraries[n].Exports = nil, nil
		got.Libraries[n].Imports, want.Libraries[n].Imports = nil, nil
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("from the store\n%+v\nfrom the wheel\n%+v", got, want)
	}
	opened, err := i.Open(ctx, "demo", "1.0", linux, 1) // the limit is for wheels
	if err != nil || !opened.Stored || opened.Input().SHA256 != sum(w.data) {
		t.Fatalf("%+v, %v", opened, err)
	}
	if files, err := opened.Files(); err != nil || len(files) != 2 {
		t.Errorf("files %q, %v", files, err)
	}
	for _, r := range s.takeRequests() {
		if strings.Contains(r, ".whl") {
			t.Errorf("the wheel is requested: %s", r)
		}
	}
	whole, err := i.WithLock(&Locked{Bytes: true}).Open(ctx, "demo", "1.0", linux, 1<<20)
	if err != nil || whole.Stored {
		t.Errorf("the bytes are needed: %+v, %v", whole, err)
	}
}
