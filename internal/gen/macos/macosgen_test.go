package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/machoobj"
)

func TestReadStubs(t *testing.T) {
	got, err := readStubs([]byte(`--- !tapi-tbd
tbd-version: 4
exports:
  - targets: [ x86_64-macos, arm64e-macos ]
    symbols: [ _close, '$ld$hide$os10.4$_open', '_open$NOCANCEL' ]
    objc-classes: [ OS_object ]
reexports:
  - targets: [ x86_64-macos ]
    symbols: [ _strnlen ]
...
--- !tapi-tbd
tbd-version: 4
exports:
  - targets: [ arm64e-macos, arm64e-maccatalyst ]
    symbols: [ _strnlen ]
  - targets: [ x86_64-maccatalyst ]
    symbols: [ _catalyst ]
...
`))
	if err != nil {
		t.Fatal(err)
	}
	both := []string{"arm64", "x86_64"}
	for _, name := range []string{"_close", "_open$NOCANCEL", "_OBJC_CLASS_$_OS_object", "_strnlen"} {
		if !slices.Equal(got[name], both) {
			t.Errorf("%s is for %q", name, got[name])
		}
	}
	if len(got) != 5 {
		t.Errorf("the symbols are %q", got)
	}
}

func TestReadTree(t *testing.T) {
	since := map[string]machoobj.Version{}
	readTree(strings.NewReader(`|-FunctionDecl 0x1 <a.h:1:1, b.h:2:3> a.h:1:9 freadlink 'ssize_t (int)'
| |-ParmVarDecl 0x2 <col:19> col:22 'int'
| |-AvailabilityAttr 0x3 <b.h:2:1, col:80> macos 13.0 0 0 "" "" 0
| |-AvailabilityAttr 0x4 <col:39, col:80> ios 16.0 0 0 "" "" 0
|-FunctionDecl 0x5 prev 0x6 <line:2:1> col:6 old 'int (void)'
| |-AvailabilityAttr 0x7 <col:1> macos 10.10 0 0 "" "" 0
| `+"`"+`-AsmLabelAttr 0x8 <c.h:1:1> "_old$UNIX2003" IsLiteralLabel
|-FunctionDecl 0x9 <line:3:1> col:6 new 'int (void)'
| `+"`"+`-AvailabilityAttr 0xa <col:1> Inherited macos 16.0 0 0 "" "" 0
|-VarDecl 0xb <line:3:1> col:6 undated 'int' extern
|-FunctionDecl 0xc <line:4:1> col:6 _tlv_bootstrap 'void (void)'
| `+"`"+`-AvailabilityAttr 0xd <col:1> macos 10.10 0 0 "" "" 0
`), since)
	want := map[string]machoobj.Version{"_freadlink": machoobj.Make(13, 0),
		"_old$UNIX2003": machoobj.Make(10, 10), "_new": machoobj.Make(26, 0)}
	if len(since) != len(want) {
		t.Errorf("the first versions are %v", since)
	}
	for name, v := range want {
		if since[name] != v {
			t.Errorf("%s is of %v, want %v", name, since[name], v)
		}
	}
}

func TestOfDarwin(t *testing.T) {
	for in, want := range map[[2]int]string{
		{17, 0}: "10.13", {20, 0}: "11.0", {21, 4}: "12.3", {23, 4}: "14.4", {25, 0}: "26.0",
	} {
		if v, ok := ofDarwin(in[0], in[1]); !ok || v.String() != want {
			t.Errorf("Darwin %v is macOS %v, want %s", in, v, want)
		}
	}
}
