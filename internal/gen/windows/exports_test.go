package main

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/symboltable"
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
	text, err := exports(files, []string{"k"}, "a test")
	if err != nil {
		t.Fatal(err)
	}
	table := symboltable.Open(text)
	const everywhere = "- amd64 arm arm64 x86"
	for name, want := range map[string]string{
		"only64": "- amd64", "new": "6.3 x86", "newer": "10.0.15063 x86", "__other": everywhere,
		"f_a": everywhere, "f_t": everywhere, "gone": everywhere, "included": everywhere,
		"real": everywhere, "new@8": "", "F_X64": "",
	} {
		if got := strings.Join(table.Find("k.dll!"+name), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
