package impact

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/rules"
)

// wheel returns a wheel with members, of which all but Python files are in the text form of elftest.
func wheel(t *testing.T, name, version string, requires []string, members map[string]string,
) analyzer.Input {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name string, content []byte) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for at, text := range members {
		if strings.HasSuffix(at, ".py") {
			add(at, []byte(text))
			continue
		}
		content := elftest.File(t, text)
		add(at, content)
	}
	meta := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version)
	for _, r := range requires {
		meta += "Requires-Dist: " + r + "\n"
	}
	add(name+"-"+version+".dist-info/METADATA", []byte(meta))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return analyzer.Input{
		Name:    name + "-" + version + "-py3-none-manylinux_2_28_x86_64.whl",
		Content: bytes.NewReader(b.Bytes()), Size: int64(b.Len()),
	}
}

// store is a source and a shelf of wheels, by NAME==VERSION.
type store struct {
	t      *testing.T
	wheels map[string]analyzer.Input
}

func (s *store) Versions(_ context.Context, name string, _ packages.Target) ([]string, error) {
	var out []string
	for id := range s.wheels {
		if n, version, _ := strings.Cut(id, "=="); n == name {
			out = append(out, version)
		}
	}
	if out == nil {
		return nil, fmt.Errorf("%s: %w", name, packages.ErrUnknown)
	}
	return out, nil
}

func (s *store) Release(ctx context.Context, id packages.ID) (*Release, error) {
	in, ok := s.wheels[id.String()]
	if !ok {
		return nil, fmt.Errorf("%s: %w", id, packages.ErrUnknown)
	}
	return Read(ctx, in, analyzer.Options{})
}

func (s *store) Dependent(ctx context.Context, id packages.ID) (Dependent, error) {
	in := s.wheels[id.String()]
	r, err := s.Release(ctx, id)
	d := Dependent{Name: id.Name, Version: id.Version, Content: &in}
	if err == nil {
		d.Requires = r.Contents.Requires
	}
	return d, nil
}

// source is the store as a packages.Source, whose Release has another form.
type source struct{ *store }

func (s source) Release(
	ctx context.Context, name, version string, _ packages.Target,
) (*packages.Release, error) {
	r, err := s.store.Release(ctx, packages.ID{Name: name, Version: version})
	if err != nil {
		return nil, err
	}
	return r.Contents, nil
}

func question(s *store) Question {
	return Question{
		On:       packages.Target{Python: "3.11", Arch: "x86_64", Libc: "glibc", LibcVersion: "2.36"},
		Platform: "debian12", Source: source{s}, Analyzer: analyzer.New(rules.All()),
	}
}

// judged judges mill 2.0 with two releases of gear.
func judged(t *testing.T, s *store, before, after string) (Entry, error) {
	t.Helper()
	q := question(s)
	var err error
	if q.Old, err = s.Release(t.Context(), packages.ID{Name: "gear", Version: before}); err != nil {
		t.Fatal(err)
	}
	if q.New, err = s.Release(t.Context(), packages.ID{Name: "gear", Version: after}); err != nil {
		t.Fatal(err)
	}
	d, err := s.Dependent(t.Context(), packages.ID{Name: "mill", Version: "2.0"})
	if err != nil {
		t.Fatal(err)
	}
	return q.Judge(t.Context(), d)
}

const user = "elf x86_64\nneeded libgear.so.1\nneeded libc.so.6\nrunpath $ORIGIN/../gear\nimport spin\n"

func gear(exports ...string) map[string]string {
	text := "elf x86_64\nsoname libgear.so.1\nneeded libc.so.6\n"
	for _, e := range exports {
		text += "export " + e + "\n"
	}
	return map[string]string{"gear/libgear.so.1": text}
}

// TestConstrain has a provider with twenty releases, of which those from 1.14 on lack a symbol.
func TestConstrain(t *testing.T) {
	s := &store{t: t, wheels: map[string]analyzer.Input{
		"mill==2.0": wheel(t, "mill", "2.0", []string{"gear"}, map[string]string{"mill/_m.so": user}),
		"barn==1.0": wheel(t, "barn", "1.0", nil, map[string]string{
			"barn/_b.so": "elf x86_64\nneeded libc.so.6\n"}),
		// it lacks a library whatever the gear is
		"ruin==1.0": wheel(t, "ruin", "1.0", []string{"gear"}, map[string]string{
			"ruin/_r.so": user + "needed libgone.so.4\nimport absent\n"}),
	}}
	for n := range 20 {
		exports := []string{"stop", "spin"}
		if n >= 14 {
			exports = exports[:1]
		}
		v := fmt.Sprintf("1.%d", n)
		s.wheels["gear=="+v] = wheel(t, "gear", v, nil, gear(exports...))
	}
	s.wheels["gear==1.15rc1"] = wheel(t, "gear", "1.15rc1", nil, gear("stop"))
	for _, c := range []struct{ wanted, want string }{
		{"mill gear", "gear<1.14"},
		{"gear mill", "gear<1.14"},
		{"mill", "gear<1.14"},
		{"mill gear<1.14", ""},
		{"mill gear>=1.14", ""}, // none works
		{"barn gear", ""},
		{"ruin gear", ""},
	} {
		var wanted []pkgmeta.Requirement
		for _, text := range strings.Fields(c.wanted) {
			r, err := pkgmeta.ParseRequirement(text)
			if err != nil {
				t.Fatal(err)
			}
			wanted = append(wanted, r)
		}
		found, err := question(s).Constrain(t.Context(), wanted, s)
		var got []string
		for _, f := range found {
			got = append(got, f.Requirement)
			if !strings.Contains(f.Because, "mill 2.0 does not work with gear") {
				t.Errorf("%s: %s", c.wanted, f.Because)
			}
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, %v; want %q", c.wanted, got, err, c.want)
		}
	}
}

// TestConstrainKnownPairs resolves each pair that is known not to work, with a constraint and
// without. Here its releases use nothing of each other, so nothing else than the list knows
// that they do not work.
func TestConstrainKnownPairs(t *testing.T) {
	for _, k := range packages.History().KnownBad() {
		s := &store{t: t, wheels: map[string]analyzer.Input{}}
		add := func(name, version string) {
			file := strings.ReplaceAll(name, "-", "_")
			s.wheels[name+"=="+version] = wheel(t, file, version, nil, map[string]string{
				"m/_m.so": "elf x86_64\nneeded libc.so.6\n"})
		}
		for _, version := range append([]string{k.Good}, k.Tried...) {
			add(k.With, version)
		}
		add(k.Package, k.Version)
		add(k.Package, "0.0.1")
		wanted := func(specs ...string) (out []pkgmeta.Requirement) {
			for _, text := range specs {
				r, err := pkgmeta.ParseRequirement(text)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, r)
			}
			return out
		}
		chosen := func(with []pkgmeta.Requirement) string {
			set, err := packages.Resolve(t.Context(), source{s}, packages.Request{
				On: question(s).On, With: with, End: packages.Highest,
			})
			if err != nil || set.Release(k.With) == nil {
				t.Fatalf("%s: %v", k.ID(), err)
			}
			return set.Release(k.With).Version
		}
		this := k.Package + "==" + k.Version
		plain := chosen(wanted(this, k.With))
		fails := packages.History().KnownBadPair(
			packages.ID{Name: k.Package, Version: k.Version}, packages.ID{Name: k.With, Version: plain},
		) != nil
		found, err := question(s).Constrain(t.Context(), wanted(this, k.With), s)
		if err != nil || (len(found) == 1) != fails {
			t.Errorf("%s with %s: %v, %v", k.ID(), plain, found, err)
			continue
		}
		if fails {
			got := chosen(wanted(this, found[0].Requirement))
			if got != k.Good || !strings.Contains(found[0].Because, k.Error) {
				t.Errorf("%s: with %+v, %s is chosen, want %s", k.ID(), found[0], got, k.Good)
			}
		}
		// Another release, and a bad one that is demanded, get none.
		for _, with := range [][]pkgmeta.Requirement{
			wanted(k.Package+"==0.0.1", k.With), wanted(this, k.With+"=="+k.Tried[0]),
		} {
			if found, err := question(s).Constrain(t.Context(), with, s); err != nil || found != nil {
				t.Errorf("%s: %v: %v, %v", k.ID(), with, found, err)
			}
		}
	}
}

// The oldest cog that mill allows lacks what it imports. pip installs the newest, so that is not
// why mill breaks or not.
func TestJudgeWithTheNewestOfOthers(t *testing.T) {
	cog := func(exports string) map[string]string {
		return map[string]string{
			"cog/libcog.so.1": "elf x86_64\nsoname libcog.so.1\nneeded libc.so.6\n" + exports,
		}
	}
	s := &store{t: t, wheels: map[string]analyzer.Input{
		"cog==1.0": wheel(t, "cog", "1.0", nil, cog("export idle\n")),
		"cog==2.0": wheel(t, "cog", "2.0", nil, cog("export idle\nexport turn\n")),
		"mill==2.0": wheel(t, "mill", "2.0", []string{"gear", "cog"}, map[string]string{
			"mill/_m.so": "elf x86_64\nneeded libgear.so.1\nneeded libcog.so.1\nneeded libc.so.6\n" +
				"runpath $ORIGIN/../gear:$ORIGIN/../cog\nimport spin\nimport turn\n"}),
		"gear==1.0": wheel(t, "gear", "1.0", nil, gear("spin", "stop")),
		"gear==1.1": wheel(t, "gear", "1.1", nil, gear("spin")),
		"gear==1.2": wheel(t, "gear", "1.2", nil, gear("stop")),
	}}
	for new, want := range map[string]Verdict{"1.1": Works, "1.2": Breaks} {
		e, err := judged(t, s, "1.0", new)
		if err != nil || e.Verdict != want ||
			want == Breaks && !slices.Equal(e.Symbols, []string{"spin"}) {
			t.Errorf("gear %s: %+v, %v; want %s", new, e, err, want)
		}
	}
}

// A library of the release itself does not load with what pip chooses for it, so the dependent does
// not load either.
func TestJudgeWithAReleaseThatDoesNotLoad(t *testing.T) {
	library := func(needs string) map[string]string {
		return map[string]string{
			"gear/libgear.so.1": "elf x86_64\nsoname libgear.so.1\nneeded libcog.so.1\nneeded libc.so.6\n" +
				"runpath $ORIGIN/../cog\nexport spin\nimport " + needs + "\n",
		}
	}
	s := &store{t: t, wheels: map[string]analyzer.Input{
		"cog==1.0": wheel(t, "cog", "1.0", nil, map[string]string{
			"cog/libcog.so.1": "elf x86_64\nsoname libcog.so.1\nneeded libc.so.6\nexport idle\n"}),
		"mill==2.0": wheel(t, "mill", "2.0", []string{"gear"}, map[string]string{
			"mill/_m.so": "elf x86_64\nneeded libgear.so.1\nneeded libc.so.6\n" +
				"runpath $ORIGIN/../gear\nimport spin\n"}),
		"gear==1.0": wheel(t, "gear", "1.0", []string{"cog"}, library("turn")),
		"gear==1.1": wheel(t, "gear", "1.1", []string{"cog"}, library("turn")),
		"gear==1.2": wheel(t, "gear", "1.2", []string{"cog"}, library("idle")),
	}}
	for old, want := range map[string]string{
		"1.0": "it does not load with gear 1.0 either",
		"1.2": "mill/_m.so loads with gear 1.2 and not with",
	} {
		e, err := judged(t, s, old, "1.1")
		if err != nil || e.Verdict != Undecided || e.Object != "mill/_m.so" ||
			!strings.HasPrefix(e.Reason, want) {
			t.Errorf("compared with gear %s: %+v, %v; want %s", old, e, err, want)
		}
	}
}

// TestJudgeWhatAnotherPackageKeeps has an old release of gear with which mill does not load,
// because of cog: its newest version, which pip installs, has another version of a library that
// mill, or the old gear, needs. So the new gear, which no longer has libgear.so.1, is not why mill
// does not load.
func TestJudgeWhatAnotherPackageKeeps(t *testing.T) {
	library := func(soname, rest string) map[string]string {
		return map[string]string{
			"lib/" + soname: "elf x86_64\nsoname " + soname + "\nneeded libc.so.6\nrunpath $ORIGIN\n" + rest,
		}
	}
	for name, c := range map[string]struct{ mill, gear, cog, old, reason string }{
		"mill needs the earlier cog": {
			"needed libcog.so.1\n", "", "cog", "libcog.so.1", "libcog.so.1",
		},
		// Debian has a libtbb.so.12, but the installed package decides.
		"mill needs the earlier tbb": {
			"needed libtbb.so.2\n", "", "tbb", "libtbb.so.2", "libtbb.so.2",
		},
		"gear needs the earlier cog": {
			"", "needed libcog.so.1\n", "cog", "libcog.so.1", "libcog.so.1",
		},
		"nothing needs the earlier cog": {"", "", "cog", "libcog.so.1", ""},
	} {
		newer := strings.NewReplacer(".so.1", ".so.2", ".so.2", ".so.12").Replace(c.old)
		s := &store{t: t, wheels: map[string]analyzer.Input{
			"mill==2.0": wheel(t, "mill", "2.0", []string{"gear", c.cog}, map[string]string{
				"mill/_m.so": "elf x86_64\nneeded libgear.so.1\nneeded libc.so.6\n" +
					"runpath $ORIGIN/../lib\n" + c.mill,
			}),
			"gear==1.0":     wheel(t, "gear", "1.0", []string{c.cog}, library("libgear.so.1", c.gear)),
			"gear==2.0":     wheel(t, "gear", "2.0", []string{c.cog}, library("libgear.so.2", "")),
			c.cog + "==1.0": wheel(t, c.cog, "1.0", nil, library(c.old, "")),
			c.cog + "==2.0": wheel(t, c.cog, "2.0", nil, library(newer, "")),
		}}
		e, err := judged(t, s, "1.0", "2.0")
		want := Undecided
		if c.reason == "" {
			want = Breaks
		}
		if err != nil || e.Verdict != want || e.Symbols == nil || want == Undecided &&
			(!strings.HasPrefix(e.Reason, "it does not load with gear 1.0 either: ") ||
				!strings.Contains(e.Reason, c.reason)) {
			t.Errorf("%s: %+v, %v; want %s", name, e, err, want)
		}
	}
}

// TestJudgeWhatNothingIsKnownToLoad has a module that finds the library of gear only if something
// has loaded it before. If the sources do not show that, it is not known that the new gear, which
// has another version of the library, is why the module does not load.
func TestJudgeWhatNothingIsKnownToLoad(t *testing.T) {
	library := func(soname string) map[string]string {
		return map[string]string{
			"gear/" + soname:   "elf x86_64\nsoname " + soname + "\nneeded libc.so.6\n",
			"gear/__init__.py": "",
		}
	}
	for init, want := range map[string]Verdict{
		"import ctypes, gear, os\nctypes.CDLL(os.path.join(gear.__path__[0], 'libgear.so.1'))\n" +
			"from . import _m\n": Breaks,
		"import ctypes, find\nctypes.CDLL(find.it())\nfrom . import _m\n": Undecided,
	} {
		s := &store{t: t, wheels: map[string]analyzer.Input{
			"mill==2.0": wheel(t, "mill", "2.0", []string{"gear"}, map[string]string{
				"mill/__init__.py": init,
				"mill/_m.so":       "elf x86_64\nneeded libgear.so.1\nneeded libc.so.6\nexport PyInit__m\n",
			}),
			"gear==1.0": wheel(t, "gear", "1.0", nil, library("libgear.so.1")),
			"gear==2.0": wheel(t, "gear", "2.0", nil, library("libgear.so.2")),
		}}
		e, err := judged(t, s, "1.0", "2.0")
		if err != nil || e.Verdict != want || want == Undecided &&
			!strings.HasPrefix(e.Reason, "compat could not determine whether it loads with gear 1.0: mill/_m.so needs") {
			t.Errorf("%s: %+v, %v; want %s", init, e, err, want)
		}
	}
}

// texts is a source that has the Python sources of its releases.
type texts struct {
	source
	files map[string]string
}

func (s texts) Texts(
	_ context.Context, r *packages.Release, _ packages.Target, top string, _ []string,
) (packages.Sources, error) {
	out := packages.Sources{Texts: map[string]string{}}
	for at, text := range s.files {
		if strings.HasPrefix(at, r.Name+" "+top+"/") {
			out.Texts[strings.TrimPrefix(at, r.Name+" ")] = text
		}
	}
	return out, nil
}

// TestJudgeALibraryThatMoves has a module in the folder of gear that searches a folder there, from
// which the new gear moves the library to another package. What gear imports before decides; if
// gear is a file, its sources are not known.
func TestJudgeALibraryThatMoves(t *testing.T) {
	const library = "elf x86_64\nsoname libgear.so.1\nneeded libc.so.6\n"
	s := &store{t: t, wheels: map[string]analyzer.Input{
		"mill==2.0": wheel(t, "mill", "2.0", []string{"gear"}, map[string]string{
			"gear/mill.so": "elf x86_64\nneeded libgear.so.1\nneeded libc.so.6\nrunpath $ORIGIN/lib\n" +
				"export PyInit_mill\n",
		}),
		"gear==1.0": wheel(t, "gear", "1.0", nil, map[string]string{"gear/lib/libgear.so.1": library}),
		"gear==2.0": wheel(t, "gear", "2.0", []string{"wheels"}, map[string]string{
			"gear/cog.so": "elf x86_64\nneeded libgear.so.1\nneeded libc.so.6\nrunpath $ORIGIN/new\n" +
				"export PyInit_cog\n",
		}),
		"wheels==1.0": wheel(t, "wheels", "1.0", nil, map[string]string{
			"gear/new/libgear.so.1": library}),
	}}
	for _, c := range []struct {
		init    string
		indexed bool
		want    Verdict
	}{
		{"version = 2\n", true, Breaks}, {"from . import cog\n", true, Works},
		{"version = 2\n", false, Undecided},
	} {
		q := question(s)
		q.Source = texts{source{s}, map[string]string{"gear gear/__init__.py": c.init}}
		q.Old, _ = s.Release(t.Context(), packages.ID{Name: "gear", Version: "1.0"})
		q.New, _ = s.Release(t.Context(), packages.ID{Name: "gear", Version: "2.0"})
		q.Old.Indexed, q.New.Indexed = c.indexed, c.indexed
		d, _ := s.Dependent(t.Context(), packages.ID{Name: "mill", Version: "2.0"})
		if e, err := q.Judge(t.Context(), d); err != nil || e.Verdict != c.want {
			t.Errorf("%q: %+v, %v; want %s", c.init, e, err, c.want)
		}
	}
}

// TestJudgeWhatIsNotImported has a package of which one module finds no library of a third package,
// and another one imports what the release lacks. If the package imports the first one in any case,
// it works with no release.
func TestJudgeWhatIsNotImported(t *testing.T) {
	module := func(name, rest string) string {
		return "elf x86_64\nneeded libc.so.6\nexport PyInit_" + name + "\n" + rest
	}
	for init, want := range map[string]Verdict{
		"from . import _oily\nfrom . import _geared\n": Undecided,
		"from . import _geared\n":                      Breaks,
	} {
		s := &store{t: t, wheels: map[string]analyzer.Input{
			"oil==1.0": wheel(t, "oil", "1.0", nil, map[string]string{
				"oil/liboil.so.1": "elf x86_64\nsoname liboil.so.1\nneeded libc.so.6\nexport drip\n"}),
			"mill==2.0": wheel(t, "mill", "2.0", []string{"gear", "oil"}, map[string]string{
				"mill/__init__.py":   init,
				"mill/_oily.abi3.so": module("_oily", "needed liboil.so.1\nimport drip\n"),
				"mill/_geared.abi3.so": module("_geared",
					"needed libgear.so.1\nrunpath $ORIGIN/../gear\nimport spin\n"),
			}),
			"gear==1.0": wheel(t, "gear", "1.0", nil, gear("stop", "spin")),
			"gear==1.1": wheel(t, "gear", "1.1", nil, gear("stop")),
		}}
		e, err := judged(t, s, "1.0", "1.1")
		if err != nil || e.Verdict != want || want == Undecided &&
			(e.Object != "mill/_oily.abi3.so" || !strings.Contains(e.Reason, "with gear 1.0 either")) {
			t.Errorf("%q: %+v, %v; want %s", init, e, err, want)
		}
	}
}

// TestJudgeWithAnEarlierLibrary has a module that needs a version of the library which neither
// release has, and one that needs none.
func TestJudgeWithAnEarlierLibrary(t *testing.T) {
	s := &store{t: t, wheels: map[string]analyzer.Input{
		"mill==2.0": wheel(t, "mill", "2.0", []string{"gear"}, map[string]string{
			"mill/_m.so": strings.Replace(user, "libgear.so.1", "libgear.so.0", 1),
			"mill/_n.so": "elf x86_64\nneeded libc.so.6\n",
		}),
		"gear==1.0": wheel(t, "gear", "1.0", nil, gear("spin")),
		"gear==1.1": wheel(t, "gear", "1.1", nil, gear("spin", "stop")),
	}}
	e, err := judged(t, s, "1.0", "1.1")
	if err != nil || e.Verdict != Undecided || !strings.Contains(e.Reason, "libgear.so.0") {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestFirst(t *testing.T) {
	for n := range 40 {
		for from := range n + 1 {
			asked := 0
			got, err := first(n, func(i int) (bool, error) { asked++; return i >= from, nil })
			want := from
			if from == n {
				want = -1
			}
			if got != want || err != nil || asked > 12 && want >= 0 || asked > maxScan+12 {
				t.Errorf("%d of %d: %d after %d questions, %v", from, n, got, asked, err)
			}
		}
	}
	// only a few in between
	if got, err := first(20, func(i int) (bool, error) { return i == 17, nil }); got != 17 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	broken := errors.New("broken")
	if _, err := first(3, func(int) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// TestRetyped compares what a dependent imports with the types of both releases.
func TestRetyped(t *testing.T) {
	library := func(size uint64) *abi.Library {
		return &abi.Library{
			Name: "libgear.so.1", SONAME: "libgear.so.1", Class: 64, Order: "little",
			Machine: "x86_64", Evidence: abi.EvidenceDWARF, Versions: []string{},
			Symbols: []abi.Symbol{
				{Name: "spin", Kind: "func", Type: 3}, {Name: "stop", Kind: "func", Type: 4},
			},
			Types: []abi.Type{
				{Kind: abi.Void},
				{Kind: abi.Struct, Name: "wheel", Size: size, File: "gear.h",
					Members: []abi.Member{{Name: "teeth", Type: 5, Offset: 8 * (size - 4)}}},
				{Kind: abi.Pointer, Elem: 1, Size: 8},
				{Kind: abi.Function, Params: []abi.Param{{Type: 2}}},
				{Kind: abi.Function},
				{Kind: abi.Base, Name: "int", Size: 4, Encoding: 5},
			},
		}
	}
	s := &store{t: t, wheels: map[string]analyzer.Input{
		"gear==1": wheel(t, "gear", "1", nil, gear("spin", "stop")),
		"gear==2": wheel(t, "gear", "2", nil, gear("spin", "stop")),
	}}
	q := question(s)
	for v, r := range map[string]**Release{"1": &q.Old, "2": &q.New} {
		var err error
		if *r, err = s.Release(t.Context(), packages.ID{Name: "gear", Version: v}); err != nil {
			t.Fatal(err)
		}
	}
	q.Old.ABI = []*abi.Library{library(8)}
	for _, c := range []struct {
		imports string
		size    uint64
		want    Verdict
	}{{"spin", 16, Breaks}, {"stop", 16, Works}, {"spin", 8, Works}} {
		q.New.ABI = []*abi.Library{library(c.size)}
		in := wheel(t, "mill", "1", []string{"gear"}, map[string]string{
			"mill/_m.so": strings.Replace(user, "import spin", "import "+c.imports, 1)})
		e, err := q.Judge(t.Context(), Dependent{Name: "mill", Version: "1", Content: &in})
		if err != nil || e.Verdict != c.want ||
			c.want == Breaks && !slices.Equal(e.Symbols, []string{"spin"}) {
			t.Errorf("%s, %d bytes: %+v, %v", c.imports, c.size, e, err)
		}
	}
}

// TestOtherReason has a dependent of which an object does not load with the new release, because of
// another package that pip chooses with it: that is no break of the release, and does not work.
func TestOtherReason(t *testing.T) {
	axle := func(soname string) map[string]string {
		return map[string]string{"axle/" + soname: "elf x86_64\nsoname " + soname + "\nexport turn\n"}
	}
	s := &store{t: t, wheels: map[string]analyzer.Input{
		"gear==1": wheel(t, "gear", "1", []string{"axle<2"}, gear("spin")),
		"gear==2": wheel(t, "gear", "2", []string{"axle>=2"}, gear("spin")),
		"axle==1": wheel(t, "axle", "1", nil, axle("libaxle.so.1")),
		"axle==2": wheel(t, "axle", "2", nil, axle("libaxle.so.2")),
	}}
	in := wheel(t, "mill", "1", []string{"gear", "axle"}, map[string]string{
		"mill/_m.so": user,
		"mill/_n.so": "elf x86_64\nneeded libaxle.so.1\nrunpath $ORIGIN/../axle\nimport turn\n",
	})
	q := question(s)
	for v, r := range map[string]**Release{"1": &q.Old, "2": &q.New} {
		var err error
		if *r, err = s.Release(t.Context(), packages.ID{Name: "gear", Version: v}); err != nil {
			t.Fatal(err)
		}
	}
	e, err := q.Judge(t.Context(), Dependent{Name: "mill", Version: "1", Content: &in})
	if err != nil || e.Verdict != Undecided || e.Object != "mill/_n.so" ||
		!strings.Contains(e.Reason, "for another reason") {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestBound is about the specifier that admits the old release and not the new one.
func TestBound(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"1.0", "1.1", "<1.1"},
		{"2.0", "1.9", ">1.9"}, // a step back
		{"1.1rc1", "1.1", "<=1.1rc1"},
		{"1.0", "1.1rc1", "<1.1rc1"},
		{"1.0+cu118", "1.0+cu121", "==1.0+cu118"},
		{"", "1.1", "<1.1"},
		{"1.0", "latest", ""},
	} {
		q := &Question{New: &Release{Version: c.new}}
		if c.old != "" {
			q.Old = &Release{Version: c.old}
		}
		if got := (&comparison{Question: q}).bound(); got != c.want {
			t.Errorf("%s to %s: %q, want %q", c.old, c.new, got, c.want)
		}
	}
}
