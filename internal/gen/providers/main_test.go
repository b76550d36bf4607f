package main

import (
	"fmt"
	"testing"
)

func TestEntries(t *testing.T) {
	got := entries(`# comment|x|y|debian=no
libGL.so.1 libGL|system|Mesa|debian=libgl1 fedora=mesa
libX*|system|X11|debian=libx11-6
libtinfo.so.5|bundle|ncurses 5|debian13=- debian=libtinfo5
libssl.so.3 libcrypto.so.3|library|OpenSSL|debian=libssl3 debian13=libssl3t64
`)
	want := "[{libgl1 [libGL.so.1]} {libtinfo5 [libtinfo.so.5]} " +
		"{libssl3 [libssl.so.3 libcrypto.so.3]} {libssl3t64 [libssl.so.3 libcrypto.so.3]}]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v", got)
	}
	if !contains([]string{"./usr/lib/x86_64-linux-gnu/libGL.so.1"}, "libGL.so.1") {
		t.Error("libGL.so.1 is not found")
	}
}
