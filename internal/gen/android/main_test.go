package main

import "testing"

func TestParse(t *testing.T) {
	got, err := parse([]byte(`# a comment
LIBC {
  global:
    abort;
    bsd_signal; # arm x86 versioned=26
    getrandom; # introduced=28
    cabsl; # introduced-arm=21 introduced-arm64=23 introduced-x86=21 introduced-x86_64=23
    stderr; # var introduced=23
    extern "C++" {
      std::*;
    };
  local:
    hidden; # var
    *;
};

LIBC_N { # introduced=24
  global:
    preadv;
    lockf; # introduced=25
} LIBC;
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]levels{
		"abort": {"21", "21", "21", "21"}, "bsd_signal": {"-", "21", "21", "-"},
		"getrandom": {"28", "28", "28", "28"}, "cabsl": {"23", "21", "21", "23"},
		"stderr": {"23", "23", "23", "23"}, "hidden": {"21", "21", "21", "21"},
		"preadv": {"24", "24", "24", "24"}, "lockf": {"25", "25", "25", "25"},
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	for name, l := range want {
		if got[name] != l {
			t.Errorf("%s: %v, want %v", name, got[name], l)
		}
	}
	if _, err := parse([]byte("LIBC {\n  global:\n    f; # introduced=Tiramisu\n};")); err == nil {
		t.Error("a release without a number is no API level")
	}
}
