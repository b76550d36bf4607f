package index

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/compat-app/compat/analyzer"
)

// Of a large object only the parts are downloaded that the analyzer reads, and of the rest of a
// wheel what it would read of the whole one.
func TestOpenInParts(t *testing.T) {
	big := string(object(t, "libbig.so.1", "run", "V1")) + noise(1, 9<<20)
	wheels := map[string][]wheel{"demo": {build(t, "demo-1.0-py3-none-manylinux2014_x86_64.whl", "",
		"demo/__init__.py", "import ctypes\nctypes.CDLL('libbig.so.1')\n",
		"demo/data.bin", noise(2, 300<<10),
		"demo/include/demo.h", "int run(void);\n",
		"demo/include/more.h", "int stop(void);\n",
		"demo/libbig.so", big, // a copy, which is not downloaded
		"demo/libbig.so.1", big,
		"demo/libsmall.so.1", string(object(t, "libsmall.so.1", "walk", "V1")),
	)}}
	s := serve(t, wheels)
	i := s.index(t, nil)
	open := func(i *Index) *Wheel {
		t.Helper()
		w, err := i.Open(ctx, "demo", "1.0", linux, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	read := func(w *Wheel, o analyzer.Options) *analyzer.Reading {
		t.Helper()
		r, err := analyzer.Read(ctx, []analyzer.Input{w.Input()}, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := open(i)
	defer first.Close()
	a := read(first, analyzer.Options{}).Artifacts()[0]
	if len(a.Objects) != 3 || a.Objects[0].SONAME != "libbig.so.1" ||
		a.Objects[1].SONAME != "libbig.so.1" || !a.Headers || !a.Sources ||
		!a.MayPreload("demo/libsmall.so.1", "libbig.so.1") {
		t.Errorf("read %+v", a)
	}
	if got := i.Cost().Bytes; got > 700<<10 {
		t.Errorf("%d bytes were downloaded of a wheel of %d: %v", got, len(wheels["demo"][0].data),
			s.takeRequests())
	}

	if again := open(i); !again.Stored {
		t.Error("what was read is read again")
	}
	gpus := i.WithLock(&Locked{ReadAll: true})
	if again := open(gpus); again.Stored {
		t.Error("facts without GPUs are used for a check of GPUs")
	} else if o := (analyzer.Options{GPU: analyzer.GPU{Archs: []string{"sm_90"}}}); len(
		read(again, o).Unread()) > 0 {
		t.Error("it cannot be read again")
	}
	if again := open(gpus); !again.Stored {
		t.Error("all facts are not stored")
	}

	i = s.index(t, nil)
	limited := open(i)
	defer limited.Close()
	limited.Charge(new(atomic.Int64))
	if u := read(limited, analyzer.Options{}).Unread(); len(u) == 0 ||
		!slices.ContainsFunc(u, func(u analyzer.Unread) bool {
			return strings.HasSuffix(u.Reason, ErrLimit.Error())
		}) {
		t.Errorf("without any bytes left, unread are %v", u)
	}

	// A copy has all of it.
	i = s.index(t, nil)
	copied := open(i)
	if err := copied.Spool(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	s.takeRequests()
	if o := read(copied, analyzer.Options{}).Artifacts()[0].Objects; len(o) != 3 ||
		len(s.takeRequests()) > 0 {
		t.Error("the copy is not complete")
	}
}
