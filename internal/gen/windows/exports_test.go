package main

import (
	"slices"
	"testing"
)

// TestExports holds that macros, decorations, aliases and the sections by release are read.
func TestExports(t *testing.T) {
	filler := ""
	for _, c := range "abcdefghijklmnopqrst" {
		filler += "f_" + string(c) + "\n"
	}
	files := []definition{
		{"lib-common", "k", "LIBRARY \"K.dll\"\nEXPORTS\n#include \"more.def.in\"\n" + filler +
			"F_X64(only64)\n__other DATA == real ; a wrapper\n; gone ; replaced by a wrapper\n"},
		{"lib-common", "more", "included\n"},
		{"lib32", "k", "; This is list of symbols added in Windows 8.1\nnew@8\n" +
			"; This is list of symbols added in Windows 10 Creators Update (Redstone 2 / 1703)\nnewer\n"},
	}
	lines, err := exports(files, "k")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"amd64 - only64", "x86 6.3 new", "x86 10.0.15063 newer",
		"amd64,arm,arm64,x86 - __other f_a f_b f_c f_d f_e f_f f_g f_h f_i f_j f_k f_l f_m f_n " +
			"f_o f_p f_q f_r f_s f_t gone included real",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("%q is not in %q", want, lines)
		}
	}
}
