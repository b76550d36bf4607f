package main

import (
	"slices"
	"testing"
)

// Packages without libraries are listed if they are on a path from one with libraries to another.
func TestRelevant(t *testing.T) {
	has, depends := map[string]set{}, map[string]set{}
	add(has, "libuser1", "libuser.so.1")
	add(has, "libdeep1", "libdeep.so.1")
	for _, edge := range [][2]string{
		{"libuser1", "common"},
		{"common", "virtual"},
		{"virtual", "libdeep1"},
		{"libuser1", "texts"}, // leads to no library
		{"program", "libuser1"},
		{"common", "common"},
	} {
		add(depends, edge[0], edge[1])
	}
	want := []string{"common", "libdeep1", "libuser1", "virtual"}
	if got := relevant(has, depends).sorted(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Libraries in private folders are distinguished from those that the loader finds.
func TestLibrary(t *testing.T) {
	for file, want := range map[string]string{
		"usr/lib/x86_64-linux-gnu/libz.so.1": "loader",
		"lib/libc.so.6":                      "loader",
		"usr/lib/x86_64-linux-gnu/pulseaudio/libpulsecommon-16.1.so": "private",
		"usr/lib/python3/dist-packages/numpy/core/_multiarray.so":    "",
		"usr/share/doc/libz.so.1":                                    "",
	} {
		got := ""
		if m := library.FindStringSubmatch(file); m != nil {
			if got = "private"; m[1] != "" {
				got = "loader"
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
