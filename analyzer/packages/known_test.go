package packages

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Each entry is complete, its releases are in its ranges, and the list is sorted.
func TestKnownBadFile(t *testing.T) {
	list := History().KnownBad()
	if len(list) < 10 {
		t.Errorf("%d pairs", len(list))
	}
	ids := []string{}
	for i := range list {
		k := &list[i]
		ids = append(ids, k.ID())
		bad, err := pkgmeta.ParseSpec(k.Bad)
		works, err2 := pkgmeta.ParseSpec(k.Works)
		avoids, err3 := pkgmeta.ParseSpec(k.Avoids())
		if strings.ContainsAny(k.Bad, ",~") || strings.Contains(k.Bad, "===") || err3 != nil {
			t.Errorf("%s: %q has to be one clause without ~= and ===", k.ID(), k.Bad)
		}
		if err != nil || err2 != nil || k.Module == "" || k.Error == "" || len(k.Tried) == 0 {
			t.Fatalf("%+v: %v %v", k, err, err2)
		}
		if _, err := time.Parse(time.RFC3339, k.Added); err != nil {
			t.Error(err)
		}
		for _, version := range append([]string{k.Good}, k.Tried...) {
			v, err := pkgmeta.ParseVersion(version)
			if err != nil || bad.Admits(v) != (version != k.Good) || works.Admits(v) != (version == k.Good) {
				t.Errorf("%s: %s: %v", k.ID(), version, err)
			}
			if avoids.Admits(v) == bad.Admits(v) {
				t.Errorf("%s: %q and %q admit %s", k.ID(), k.Avoids(), k.Bad, version)
			}
			got := History().KnownBadPair(ID{k.Package, k.Version}, ID{k.With, version})
			if (got != nil) != (version != k.Good) {
				t.Errorf("%s with %s: %v", k.ID(), version, got)
			}
		}
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Error(ids)
	}
	if History().KnownBadPair(ID{"absent", "1"}, ID{"numpy", "2.0.2"}) != nil {
		t.Error("a package that is in no pair")
	}
}

// What the history has of the other package confirms the pairs: the library or symbol is in the
// release that works, and in none of those that do not.
func TestKnownBadInHistory(t *testing.T) {
	on := Target{Python: "3.11", Arch: "x86_64", Libc: "glibc", LibcVersion: "2.36"}
	confirmed := 0
	for _, k := range History().KnownBad() {
		if k.Library == "" && k.Symbol == "" {
			if k.With == "numpy" && History().BuiltForNumPy1(ID{k.Package, k.Version}) != "" {
				confirmed++
			}
			continue
		}
		for _, version := range append([]string{k.Good}, k.Tried...) {
			r, err := History().Release(context.Background(), k.With, version, on)
			if err != nil || !r.Known {
				t.Logf("%s: the history has no %s %s", k.ID(), k.With, version)
				continue
			}
			has := slices.ContainsFunc(r.Libraries, func(l Library) bool {
				return k.Library != "" && (l.SONAME == k.Library || path.Base(l.Path) == k.Library) ||
					k.Symbol != "" && len(l.Exports.Named(k.Symbol)) > 0
			})
			if version == k.Good && !has {
				t.Errorf("%s: %s %s has no %s%s", k.ID(), k.With, version, k.Library, k.Symbol)
			}
			if version != k.Good && has && !moved(r, k.Symbol, "Qt_6") {
				t.Errorf("%s: %s %s has %s%s", k.ID(), k.With, version, k.Library, k.Symbol)
			}
			confirmed++
		}
	}
	if confirmed < 10 {
		t.Errorf("only %d are confirmed", confirmed)
	}
}

// moved reports whether no library exports a symbol with a version.
func moved(r *Release, symbol, version string) bool {
	return !slices.ContainsFunc(r.Libraries, func(l Library) bool {
		return slices.ContainsFunc(l.Exports.Named(symbol), func(n int32) bool {
			return l.Exports.At(int(n)).Version == version
		})
	})
}

// An advisory has what OSV's schema requires: an id with the prefix of a database that is not
// registered, times, and for each range an event that
// introduces it and no second end.
func TestAdvisory(t *testing.T) {
	for _, k := range History().KnownBad() {
		text, err := json.Marshal(k.Advisory())
		if err != nil {
			t.Fatal(err)
		}
		var a struct {
			SchemaVersion string `json:"schema_version"`
			ID, Modified  string
			Affected      []struct {
				Package struct{ Ecosystem, Name, PURL string }
				Ranges  []struct {
					Type   string
					Events []map[string]string
				}
				Versions         []string
				DatabaseSpecific map[string]any `json:"database_specific"`
			}
		}
		if err := json.Unmarshal(text, &a); err != nil {
			t.Fatal(err)
		}
		at := a.Affected[0]
		if _, err := time.Parse(time.RFC3339, a.Modified); err != nil || a.ID != k.ID() ||
			!strings.HasPrefix(a.ID, "x_") ||
			a.SchemaVersion != "1.7.0" || at.Package.Ecosystem != "PyPI" || at.Package.Name != k.Package ||
			at.Package.PURL != "pkg:pypi/"+k.Package || at.Ranges[0].Type != "ECOSYSTEM" ||
			len(at.Ranges[0].Events) != 2 || at.Ranges[0].Events[0]["introduced"] != k.Version ||
			at.Ranges[0].Events[1]["last_affected"] != k.Version {
			t.Errorf("%s", text)
		}
		for _, e := range at.Ranges[0].Events {
			if len(e) != 1 {
				t.Errorf("an event has %d fields: %v", len(e), e)
			}
		}
		if check, _ := at.DatabaseSpecific["check"].(string); !strings.HasPrefix(check,
			"compat impact pypi:"+k.With+"==") {
			t.Error(check)
		}
	}
}
