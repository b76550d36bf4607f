package analyzer_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/test/analyzertest"
)

// TestRemovedIsMissed removes a symbol or a library that an object needs from random environments
// that work: none of the results may be that they still work. In each of them, what was found,
// missing and undecided are all imports.
func TestRemovedIsMissed(t *testing.T) {
	removed := map[string]int{}
	for seed := range uint64(1500) {
		e := invent(rand.New(rand.NewPCG(seed, 1)))
		e.distinct()
		before := e.check(t)
		addsUp(t, seed, before)
		if fails(before) {
			continue
		}
		for _, text := range e.objects {
			for line := range strings.SplitSeq(text, "\n") {
				word := strings.Fields(line)
				switch {
				case len(word) == 3 && word[0] == "import" && strings.HasPrefix(word[2], "libp"):
					symbol, _, _ := strings.Cut(word[1], "@")
					name, _, _ := strings.Cut(symbol, "_")
					after := e.without(name, func(x *analyzertest.Published) {
						l := &x.Release.Libraries[0]
						l.Exports = elfobj.NewExports(slices.DeleteFunc(l.Exports.List(),
							func(y elfobj.Export) bool { return y.Name == symbol })...)
					})
					for file, text := range after.files {
						after.files[file] = strings.ReplaceAll(text, "export "+symbol+"@@V\n", "")
					}
					removed["symbol"]++
					missed(t, seed, symbol, after.check(t))
				case len(word) == 2 && word[0] == "needed" && strings.HasPrefix(word[1], "libp"):
					name, _, _ := strings.Cut(strings.TrimPrefix(word[1], "lib"), ".")
					after := e.without(name, func(x *analyzertest.Published) {
						x.Release.Libraries = nil
					})
					for file := range after.files {
						if strings.HasSuffix(file, word[1]) {
							delete(after.files, file)
						}
					}
					removed["library"]++
					missed(t, seed, word[1], after.check(t))
				}
			}
		}
	}
	t.Logf("removed: %v", removed)
	if removed["symbol"] < 20 || removed["library"] < 20 {
		t.Errorf("too few environments work: %v", removed)
	}
}

// without changes all releases of a package in a copy of the environment.
func (e *environment) without(name string, change func(*analyzertest.Published)) *environment {
	c := *e
	c.packages = analyzertest.Packages{}
	for other, releases := range e.packages {
		for _, x := range releases {
			copied := *x
			copied.Release.Libraries = slices.Clone(x.Release.Libraries)
			if other == name {
				change(&copied)
			}
			c.packages[other] = append(c.packages[other], &copied)
		}
	}
	c.files = map[string]string{}
	for file, text := range e.files {
		c.files[file] = text
	}
	return &c
}

func missed(t *testing.T, seed uint64, what string, r *analyzer.Report) {
	t.Helper()
	addsUp(t, seed, r)
	if !fails(r) {
		t.Errorf("seed %d: %s was removed, and nothing fails: %d findings", seed, what, len(r.Findings))
	}
}

// fails reports whether something other than the metadata, which the wheels lack, is an error or
// could not be decided.
func fails(r *analyzer.Report) bool {
	return len(r.Unread) > 0 || slices.ContainsFunc(r.Findings, func(f analyzer.Finding) bool {
		return f.Severity == analyzer.Error && f.Rule != "metadata-mismatch"
	})
}

// distinct gives the modules names that are not those of variants, and search paths that lead to
// the libraries of all packages.
func (e *environment) distinct() {
	names := strings.NewReplacer("_m0", "_draw", "_m1", "_read", "_m2", "_sort")
	objects := map[string]string{}
	for file, text := range e.objects {
		if strings.Contains(file, "/_m") {
			text = names.Replace(text) + "runpath $ORIGIN/../p0:$ORIGIN/../p1:$ORIGIN/../p2:$ORIGIN\n"
		}
		objects[names.Replace(file)] = text
	}
	e.objects = objects
}

func addsUp(t *testing.T, seed uint64, r *analyzer.Report) {
	t.Helper()
	for _, a := range r.Artifacts {
		if x := a.Accounting; x != nil && x.Found+x.Missing+x.Undecided != x.Imports {
			t.Errorf("seed %d: %+v does not add up", seed, *x)
		}
	}
	for _, target := range r.Targets {
		if x := target.Accounting; x != nil && x.Found+x.Missing+x.Undecided != x.Imports {
			t.Errorf("seed %d: %s: %+v does not add up", seed, target.Name, *x)
		}
	}
}
