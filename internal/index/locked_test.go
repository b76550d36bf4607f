package index

import (
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
)

// TestLocked looks up releases whose files a lock file lists.
func TestLocked(t *testing.T) {
	wheels := demo(t)
	wheels["other"] = []wheel{build(t, "other-1.0-py3-none-any.whl", "demo")}
	s := serve(t, wheels)
	// locked returns the index with a lock of demo, whose wheel is at host, and of other.
	locked := func(host string, complete bool) *Index {
		var files []lockfile.File
		for _, w := range wheels["demo"][:2] {
			files = append(files, lockfile.File{
				Name: w.name, SHA256: sum(w.data), URL: host + "/files/" + w.name,
			})
		}
		s.takeRequests()
		return s.index(t, nil).WithLock(&Locked{
			Complete: complete,
			Files: map[packages.ID][]lockfile.File{
				{Name: "demo", Version: "1.0"}: files,
				{Name: "other", Version: "1.0"}: {
					{Name: "other-1.0-py3-none-any.whl", SHA256: sum(wheels["other"][0].data)},
				},
			},
		})
	}

	// A wheel for any platform needs no request.
	i := locked(s.URL, true)
	w, err := i.Open(ctx, "Other", "1.0", linux, 1<<20)
	if err != nil || !w.Pure || w.SHA256 != sum(wheels["other"][0].data) {
		t.Fatalf("wheel %+v, error %v", w, err)
	}
	r, err := i.Release(ctx, "other", "1.0", linux)
	if err != nil || !r.Known || len(r.Requires) != 0 {
		t.Errorf("release %+v, error %v", r, err)
	}
	if got := s.takeRequests(); len(got) != 0 {
		t.Errorf("requests %q", got)
	}

	// The page of the smallest package shows where the files of the index are.
	w, err = i.Open(ctx, "demo", "1.0", linux, 1<<20)
	if err != nil || w.File != wheels["demo"][0].name || w.ReaderAt == nil {
		t.Fatalf("wheel %+v, error %v", w, err)
	}
	defer w.Close()
	if r, err = described(i, "demo", "1.0"); err != nil || len(r.Libraries) != 3 ||
		r.Libraries[0].SONAME != "libdemo.so.1" || len(r.Requires) != 1 {
		t.Errorf("release %+v, error %v", r, err)
	}
	want := []string{
		"/simple/other/", "/files/" + wheels["demo"][0].name + " bytes=-131072",
	}
	if got := s.takeRequests(); !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}

	// No other host gets a request, whatever the lock file lists.
	i = locked("http://127.0.0.1:9", true)
	if w, err = i.Open(ctx, "demo", "1.0", linux, 1<<20); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if got := s.takeRequests(); !slices.Contains(got, "/simple/demo/") {
		t.Errorf("requests %q", got)
	}

	// Without a complete lock the requirements are read.
	i = locked(s.URL, false)
	if r, err = i.Release(ctx, "other", "1.0", linux); err != nil || len(r.Requires) != 1 {
		t.Errorf("release %+v, error %v", r, err)
	}

	// A lock without a wheel for the platform is no reason for an error without the page's wheels.
	i = s.index(t, nil).WithLock(&Locked{Files: map[packages.ID][]lockfile.File{
		{Name: "demo", Version: "4.0"}: {{Name: "demo-4.0-py3-none-win_amd64.whl", URL: s.URL}},
	}})
	if _, err = i.Open(ctx, "demo", "4.0", linux, 1<<20); err == nil ||
		!strings.Contains(err.Error(), "no wheel for Linux; there are wheels for Windows") {
		t.Errorf("error %v", err)
	}
}

// The history describes a release by the wheel for one interpreter, which the lock file need not
// list: the page of the index shows that it is of the same release as the locked wheel.
func TestLockedForOtherInterpreter(t *testing.T) {
	lib := string(object(t, "libdemo.so.1", "demo_run", "DEMO_1"))
	known := build(t, "demo-1.0-cp311-cp311-manylinux2014_x86_64.whl", "", "demo/lib.so", lib)
	here := build(t, "demo-1.0-cp312-cp312-manylinux2014_x86_64.whl", "", "demo/lib.so", lib)
	s := serve(t, map[string][]wheel{"demo": {known, here}})
	unknown, listed := strings.Repeat("0", 64), strings.Repeat("1", 64)
	for digest, want := range map[string]int64{sum(here.data): 1, unknown: 0, listed: 1} {
		i := s.index(t, func(o *Options) {
			o.History = recorded{file: known.name, sum: sum(known.data),
				listed: map[string]packages.Listed{here.name + " " + listed: {}}}
		}).WithLock(&Locked{Files: map[packages.ID][]lockfile.File{
			{Name: "demo", Version: "1.0"}: {
				{Name: here.name, SHA256: digest, URL: s.URL + "/files/" + here.name},
			},
		}})
		_, _ = i.Release(ctx, "demo", "1.0", linux) // only where it is from matters
		if got := i.Cost().Recorded; got != want {
			t.Errorf("digest %.4s: %d releases from the history, want %d", digest, got, want)
		}
	}
}

// A wheel that the history lists needs no page of the index. Lock files without addresses need it
// for others.
func TestListedWithoutAddress(t *testing.T) {
	module := build(t, "demo-1.0-cp312-cp312-manylinux2014_x86_64.whl", "", "demo/lib.so",
		string(object(t, "libdemo.so.1", "demo_run", "DEMO_1")))
	s := serve(t, map[string][]wheel{"demo": {module}})
	digest := sum(module.data)
	for listed, want := range map[string]int{digest: 0, strings.Repeat("0", 64): 2} {
		i := s.index(t, func(o *Options) {
			o.History = recorded{listed: map[string]packages.Listed{
				module.name + " " + listed: {Alone: true, Shares: true},
			}}
		}).WithLock(&Locked{Complete: true, Files: map[packages.ID][]lockfile.File{
			{Name: "demo", Version: "1.0"}: {
				{Name: "demo-1.0-cp311-cp311-manylinux2014_x86_64.whl", SHA256: digest},
				{Name: module.name, SHA256: digest},
			},
		}})
		s.takeRequests()
		w, err := i.Open(ctx, "demo", "1.0", linux, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		if w.Recorded != (want == 0) || w.Shares != w.Recorded || w.File != module.name ||
			w.SHA256 != digest {
			t.Errorf("listed %.4s: wheel %+v", listed, w)
		}
		if got := s.takeRequests(); len(got) != want {
			t.Errorf("listed %.4s: requests %q", listed, got)
		}
	}
}
