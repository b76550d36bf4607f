package index

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
)

// TestHashes opens the wheel of a release of which a lock file lists hashes: pip chooses among the
// files that have one, and refuses the others.
func TestHashes(t *testing.T) {
	const platform = "-manylinux2014_x86_64.whl"
	lib := string(object(t, "libdemo.so.1", "demo_run", "DEMO_1"))
	native := func(tags string) wheel {
		return build(t, "demo-1.0-"+tags+platform, "", "demo/"+tags+".so", lib)
	}
	best, stable, older := native("cp312-cp312"), native("cp38-abi3"), native("cp311-cp311")
	source := wheel{name: "demo-1.0.tar.gz", data: []byte("source")}
	files := []wheel{best, stable, older, source}
	none := strings.Repeat("0", 64)
	for _, c := range []struct {
		name    string
		files   []wheel
		digests []string
		digest  string // on the page, instead of the right one
		any     bool   // Locked.AnyPython
		want    string // the wheel, or the listed files of the error, or another error
	}{
		{"no hash", files, nil, "", false, best.name},
		{"the hash of the best wheel", files, []string{none, sum(best.data)}, "", false, best.name},
		{"the hash of another wheel", files, []string{sum(stable.data)}, "", false, stable.name},
		{"another wheel and the source", files, []string{sum(source.data), sum(stable.data)}, "", false,
			stable.name},
		{"no such file", files, []string{none}, "", false, "refused"},
		{"the source", files, []string{sum(source.data)}, "", false, "built: demo-1.0.tar.gz"},
		{"another Python", files[2:], []string{none}, "", false, "no wheel, built: false"},
		{"a wheel for another Python", []wheel{best, older}, []string{sum(older.data)}, "", false,
			"refused: " + older.name + " for Python 3.12"},
		{"the Python is not known", []wheel{best, older}, []string{sum(older.data)}, "", true, best.name},
		{"the Python is not known, and no such file", files, []string{none}, "", true, "refused"},
		{"no digest on the page", files, []string{sum(stable.data)}, "none", false, best.name},
		{"another digest on the page", files, []string{sum(best.data)}, none, false, "refused"},
	} {
		for _, asJSON := range []bool{true, false} {
			s := serve(t, map[string][]wheel{"demo": c.files})
			s.json, s.digest = asJSON, c.digest
			l := &Locked{AnyPython: c.any}
			if c.digests != nil {
				l.Digests = map[packages.ID][]string{{Name: "demo", Version: "1.0"}: c.digests}
			}
			i := s.index(t, nil).WithLock(l)
			w, err := i.Open(ctx, "demo", "1.0", linux, 1<<20)
			var got string
			var hash *packages.HashError
			var no *NoWheelError
			switch {
			case errors.As(err, &hash):
				if got = "refused"; hash.Source {
					got = "built"
				}
				if hash.Listed != nil {
					got += ": " + strings.Join(hash.Listed, " ")
				}
				if hash.Misfit.Lacks != "" {
					got += " for " + hash.Misfit.Lacks
				}
				if !errors.Is(err, packages.ErrUnknown) || hash.Name != "demo" || hash.Version != "1.0" ||
					hash.File == "" || len(hash.SHA256) != 64 {
					t.Errorf("%s: %+v", c.name, hash)
				}
			case errors.As(err, &no):
				if got = "no wheel, built: false"; no.Source {
					got = "no wheel, built: true"
				}
			case err != nil:
				got = err.Error()
			default:
				got = w.File
				w.Close()
			}
			if got != c.want {
				t.Errorf("%s, json %v: %s, want %s", c.name, asJSON, got, c.want)
			}
			// The requirements of the release are known whatever the hashes.
			if r, err := i.Release(ctx, "demo", "1.0", linux); c.digest != none &&
				(err != nil || r.Name != "demo") {
				t.Errorf("%s: release %+v, error %v", c.name, r, err)
			}
			for _, q := range s.takeRequests() {
				if strings.HasPrefix(q, "/simple/") && q != "/simple/demo/" {
					t.Errorf("%s: request %s", c.name, q)
				}
			}
		}
	}
}

// TestHashesOfSeveral finds the wheel with the hash on another index.
func TestHashesOfSeveral(t *testing.T) {
	const name = "demo-1.0-cp312-cp312-manylinux2014_x86_64.whl"
	lib := string(object(t, "libdemo.so.1", "demo_run", "DEMO_1"))
	first, second := build(t, name, "", "demo/a.so", lib), build(t, name, "", "demo/b.so", lib)
	for digest, want := range map[string]bool{
		sum(first.data): true, sum(second.data): true, strings.Repeat("0", 64): false,
	} {
		s := Several{
			serve(t, map[string][]wheel{"demo": {first}}).index(t, nil),
			serve(t, map[string][]wheel{"demo": {second}}).index(t, nil),
		}.WithLock(&Locked{Digests: map[packages.ID][]string{
			{Name: "demo", Version: "1.0"}: {digest},
		}})
		w, err := s.Open(ctx, "demo", "1.0", linux, 1<<20)
		var hash *packages.HashError
		if (err == nil) != want || err == nil && w.SHA256 != digest || err != nil && !errors.As(err, &hash) {
			t.Errorf("%.4s: wheel %+v, error %v", digest, w, err)
		}
		if err == nil {
			w.Close()
		}
		r, err := s.Release(ctx, "demo", "1.0", linux)
		if err != nil || !r.Known || (r.Refused == nil) != want {
			t.Errorf("%.4s: release %+v, error %v", digest, r, err)
		}
	}
}

// TestRefusedRelease compares the hashes of a release for one interpreter and for several.
func TestRefusedRelease(t *testing.T) {
	lib := string(object(t, "libdemo.so.1", "demo_run", "DEMO_1"))
	old := build(t, "demo-1.0-cp311-cp311-manylinux2014_x86_64.whl", "", "demo/a.so", lib)
	s := serve(t, map[string][]wheel{"demo": {
		old, build(t, "demo-1.0-cp312-cp312-manylinux2014_x86_64.whl", "", "demo/b.so", lib),
	}})
	for _, c := range []struct {
		digest, python, pythons string
		refused                 bool
	}{
		{sum(old.data), "3.11", "", false},
		{sum(old.data), "3.12", "", true},
		{sum(old.data), "3.12", ">=3.8", false},
		{sum(old.data), "3.8", ">=3.8", false},
		{strings.Repeat("0", 64), "3.8", ">=3.8", true},
		{strings.Repeat("0", 64), "3.8", "", false}, // it has no wheel
	} {
		i := s.index(t, nil).WithLock(&Locked{Digests: map[packages.ID][]string{
			{Name: "demo", Version: "1.0"}: {c.digest},
		}})
		on := packages.Target{Python: c.python, Pythons: c.pythons, Arch: "x86_64"}
		r, err := i.Release(ctx, "demo", "1.0", on)
		if err != nil || (r.Refused != nil) != c.refused {
			t.Errorf("%+v: %+v, error %v", c, r, err)
		}
	}
}

// TestHashOfAddress downloads a wheel whose address and hash a lock file has. The page of the index
// is not read for it, and a file with another digest is not used.
func TestHashOfAddress(t *testing.T) {
	w := build(t, "demo-1.0-cp312-cp312-manylinux2014_x86_64.whl", "", "demo/lib.so",
		string(object(t, "libdemo.so.1", "demo_run", "DEMO_1")))
	s := serve(t, map[string][]wheel{
		"demo": {w}, "other": {build(t, "other-1.0-py3-none-any.whl", "")},
	})
	for _, size := range []int64{0, int64(len(w.data))} {
		i := s.index(t, nil).WithLock(&Locked{Files: map[packages.ID][]lockfile.File{
			{Name: "demo", Version: "1.0"}: {
				{Name: w.name, SHA256: strings.Repeat("0", 64), URL: s.URL + "/files/" + w.name, Size: size},
				{Name: "demo-1.0.tar.gz"},
			},
			{Name: "other", Version: "1.0"}: {{Name: "other-1.0-py3-none-any.whl"}},
		}})
		_, err := i.Open(ctx, "demo", "1.0", linux, 1<<20)
		var hash *packages.HashError
		if !errors.As(err, &hash) || hash.SHA256 != sum(w.data) || hash.File != w.name {
			t.Errorf("size %d: error %v", size, err)
		}
		if slices.Contains(s.takeRequests(), "/simple/demo/") {
			t.Errorf("size %d: the page was read", size)
		}
	}
}
