package main

import (
	"slices"
	"testing"
)

func TestDynamicStrings(t *testing.T) {
	head := []byte(
		"\x7fELF\x02\x00\x00\x18\x00\x00\x00\x00\x00\x00\x00\x00cublasCreate_v2\x00libcublasLt.so.12\x00libc.so.6\x00libcublas.so.12\x00$ORIGIN\x00\x00\x02\x00\x00libcuda.so.1\x00",
	)
	want := []string{
		"cublasCreate_v2",
		"libcublasLt.so.12",
		"libc.so.6",
		"libcublas.so.12",
		"$ORIGIN",
		"",
	}
	if got := dynamicStrings(head); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := dynamicStrings([]byte("no table here")); got != nil {
		t.Errorf("got %q of bytes without a table", got)
	}
}
