package android

import "testing"

func TestSymbol(t *testing.T) {
	for _, c := range []struct {
		library, symbol, arch string
		since                 int // 0 = no level has it
	}{
		{"libc.so", "printf", "aarch64", 21},
		{"libc.so", "preadv2", "x86_64", 33},
		{"libc.so", "getrandom", "armv7l", 28},
		{"libm.so", "cabsl", "aarch64", 23},
		{"libm.so", "cabsl", "armv7l", 21},
		{"libc.so", "__aeabi_d2f", "armv7l", 21},
		{"libc.so", "__aeabi_d2f", "aarch64", 0},
		{"libdl.so", "dlopen", "i686", 21},
		{"libc.so", "dlopen", "i686", 0},
		{"libz.so", "inflate", "x86_64", 21},
		{"liblog.so", "__android_log_print", "aarch64", 21},
		{"libc.so", "no_such_function", "aarch64", 0},
		{"libEGL.so", "eglInitialize", "aarch64", 0},
	} {
		l, ok := Lookup(c.library)
		since, has := l.Symbol(c.symbol, c.arch)
		if !ok || since != c.since || has != (c.since > 0) {
			t.Errorf("%s of %s on %s: %d, %v, want %d", c.symbol, c.library, c.arch, since, has, c.since)
		}
	}
	if _, ok := Lookup("libssl.so"); ok {
		t.Error("libssl.so is not a library that apps can load")
	}
}

// Every row of the table has levels for each architecture.
func TestTable(t *testing.T) {
	n := 0
	for name, fields := range symbols.Get().All() {
		if n++; len(fields)%(1+len(architectures)) != 0 {
			t.Errorf("%s: %q", name, fields)
		}
		if l, ok := Lookup(fields[0]); !ok || l.Until == 0 {
			t.Errorf("%s of %s, whose symbols count as not known", name, fields[0])
		}
	}
	if n < 2000 {
		t.Errorf("%d symbols", n)
	}
}

func TestNames(t *testing.T) {
	for _, c := range [][2]string{{"arm64_v8a", "aarch64"}, {"x86", "i686"}, {"riscv64", ""}} {
		if Arch(c[0]) != c[1] || c[1] != "" && ABI(c[1]) != c[0] {
			t.Errorf("%s: %q", c[0], Arch(c[0]))
		}
	}
	for level, want := range map[int]string{
		21: "Android 5.0", 24: "Android 7.0", 36: "Android 16", 60: "API level 60",
	} {
		if got := Release(level); got != want {
			t.Errorf("%d: %q, want %q", level, got, want)
		}
	}
}
