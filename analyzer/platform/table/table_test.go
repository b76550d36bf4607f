package table

import (
	"cmp"
	"reflect"
	"slices"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	want := &Set{
		Arch: "x86_64",
		Columns: []Column{
			{Name: "debian11", Glibc: "2.31", From: []string{"libc6=2.31-13"}},
			{Name: "debian12", Glibc: "2.36", From: []string{"libc6=2.36-9"}},
		},
		Libraries: []*Library{
			{SONAME: "libdl.so.2", Package: "libc6",
				In: []Facts{
					{Present: true, Needed: []string{"libc.so.6"}, Nodes: []string{"GLIBC_2.2.5"}},
					{Present: true, Base: true, Nodes: []string{"GLIBC_2.2.5"}},
				},
				Rows: []Row{
					{Name: "dlopen", Node: "GLIBC_2.2.5", Kind: "func", Present: 1},
					{Name: "dlsym", Node: "GLIBC_2.2.5", Kind: "func", Present: 1, Hidden: 1},
				}},
			{
				SONAME:  "libempty.so.1",
				Package: "libempty1",
				In:      []Facts{{}, {Present: true}},
				Rows:    []Row{},
			},
			{
				SONAME:  "libz.so.1",
				Package: "zlib1g",
				In:      []Facts{{}, {Present: true, Needed: []string{"libc.so.6"}}},
				Rows: []Row{
					{Name: "adler32", Kind: "func", Present: 2},
					{Name: "dlsym", Kind: "func", Present: 2}, // listed with libdl.so.2
					{Name: "zzz", Kind: "object", Present: 2},
				},
			},
		},
	}
	names, byArch, err := Encode([]string{"made by a test"}, []*Set{want})
	if err != nil {
		t.Fatal(err)
	}
	if want := "# made by a test\ndlopen\ndlsym\nadler32\nzzz\n"; string(names) != want {
		t.Fatalf("names\n%swant\n%s", names, want)
	}
	got, err := Decode(string(names), byArch["x86_64"])
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range slices.Concat(got.Libraries, want.Libraries) {
		if _, err := l.Read(); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{
		"rows 0.0", "in 0 base needed nodes", "code a func 1 0", "nonsense here",
		"arch a\nlibrary l p\nin 3 base needed nodes", "arch a\nlibrary l p\nrows 0.0",
		"arch a\nlibrary l p\ncode a func 1 0\nrows 0.0",
		"arch a\nlibrary l p\ncode a func 1 0\nrows @2.0",
		"arch a\nlibrary l p\ncode a func 1 0\nrows @0.0 1.0",
		"arch a\nlibrary l p\ncode a func 1 0\nrows @0.1",
		"arch a\nlibrary l p\ncode a func 1 0\nrows x",
	} {
		data, err := compress(text)
		if err != nil {
			t.Fatal(err)
		}
		set, err := Decode("a\n", data)
		if err == nil {
			_, err = set.Libraries[0].Read()
		}
		if err == nil {
			t.Errorf("%q was read without an error", text)
		}
	}
	if _, err := Decode("", []byte("not gzip")); err == nil {
		t.Error("bytes that are no gzip were read without an error")
	}
}

func TestPolicies(t *testing.T) {
	old := &Policy{
		Name:      "manylinux_2_5",
		Priority:  100,
		Aliases:   []string{"manylinux1"},
		Whitelist: []string{"libc.so.6", "libm.so.6"},
		Blacklist: map[string][]string{"libz.so.1": {"_dist_code", "bi_windup"}},
		Versions: map[string]map[string][]string{
			"i686":   {"GLIBC": {"2.0"}},
			"x86_64": {"GLIBC": {"2.2.5", "2.3"}, "GCC": {}},
		},
	}
	musl := &Policy{
		Name:      "musllinux_1_2",
		Priority:  90,
		Aliases:   []string{},
		Whitelist: []string{"libc.so"},
		Blacklist: map[string][]string{},
		Versions:  map[string]map[string][]string{"x86_64": {}},
	}
	text := string(EncodePolicies([]*Policy{old, musl}))
	if got := PolicyArchitectures(text); !slices.Equal(got, []string{"i686", "x86_64"}) {
		t.Errorf("architectures %q", got)
	}
	only := *old
	only.Versions = map[string]map[string][]string{"x86_64": old.Versions["x86_64"]}
	for arch, want := range map[string][]*Policy{"x86_64": {&only, musl}, "s390x": {}} {
		got, err := DecodePolicies(text, arch)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n%s\ngot  %+v\nwant %+v", arch, err, text, got, want)
		}
	}
	for _, text := range []string{"libraries a", "policy a", "policy a b",
		"policy a 1\nversions x86_64 GLIBC 2.0", "policy a 1\nwhat"} {
		if got, err := DecodePolicies(text, "x86_64"); err == nil {
			t.Errorf("%q was read without an error: %+v", text, got)
		}
	}
}

func TestCompareNodes(t *testing.T) {
	order := []string{
		"",
		"CXXABI_1.3",
		"CXXABI_1.3.9",
		"CXXABI_1.3.11",
		"CXXABI_TM_1",
		"GLIBC_2.2.5",
		"GLIBC_2.3",
		"GLIBC_2.3.4",
		"GLIBC_2.17",
		"GLIBC_ABI_DT_RELR",
		"GLIBC_PRIVATE",
		"GLIBCXX_3.4",
		"GLIBCXX_3.4.9",
		"GLIBCXX_3.4.10",
		"OPENSSL_1_1_0",
		"libnvJitLink.so.12",
	}
	for i, a := range order {
		for j, b := range order {
			if got, want := CompareNodes(a, b), cmp.Compare(i, j); got != want {
				t.Errorf("CompareNodes(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}
