package platform

import (
	"slices"
	"strings"
	"testing"
)

// Each line has four columns, a known kind and known ecosystems, and no pattern occurs twice.
func TestProvidersText(t *testing.T) {
	kinds := []ProviderKind{
		DriverProvider, SystemProvider, LibraryProvider, BundleProvider, ToolkitProvider,
		RuntimeProvider, PackageProvider,
	}
	columns := []string{Debian, Debian13, Fedora, Alpine, Conda, PyPI, "after"}
	seen := map[string]bool{}
	for line := range strings.Lines(providersText) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		c := strings.Split(line, "|")
		if len(c) != 4 || c[2] == "" || !slices.Contains(kinds, ProviderKind(c[1])) {
			t.Errorf("%q is not PATTERNS|KIND|PROJECT|PACKAGES", line)
			continue
		}
		for _, p := range strings.Fields(c[0]) {
			if seen[p] {
				t.Errorf("%s is in two lines", p)
			}
			seen[p] = true
		}
		for _, w := range strings.Fields(c[3]) {
			name, value, ok := strings.Cut(w, "=")
			if !ok || value == "" || !slices.Contains(columns, name) {
				t.Errorf("%s: %q is not ECOSYSTEM=PACKAGE", c[0], w)
			}
		}
	}
}

// The Debian packages agree with those that the platform tables were read from.
func TestProvidersAgreeWithPlatforms(t *testing.T) {
	checked := 0
	for name, ecosystem := range map[string]string{"debian12": Debian, "debian13": Debian13} {
		p, err := Lookup(name, "x86_64")
		if err != nil {
			t.Fatal(err)
		}
		for soname, provider := range providers().full {
			l, list := p.Library(soname), provider.Packages(ecosystem)
			if l == nil || l.Package == "" || list == nil {
				continue
			}
			checked++
			// the tables name the package of the newest release
			if !slices.Contains(append(list, provider.Packages(Debian13)...), l.Package) {
				t.Errorf("%s of %s: %s, want %s", soname, name, list, l.Package)
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d libraries are in both tables", checked)
	}
}

func TestProviderOf(t *testing.T) {
	p, ok := ProviderOf("libasound.so.2")
	if !ok || p.Kind != LibraryProvider || p.Packages(Debian)[0] != "libasound2" ||
		p.Packages(Debian13)[0] != "libasound2t64" || p.Packages(PyPI) != nil {
		t.Errorf("%+v", p)
	}
	if p, _ := ProviderOf("libX11.so.6"); p.Packages(Debian13)[0] != "libx11-6" {
		t.Errorf("Debian 13 did not rename libx11-6: %+v", p)
	}
	if p, ok := ProviderOf("libtinfo.so.5"); !ok || !p.Available(Debian) || p.Available(Debian13) {
		t.Errorf("%+v", p)
	}
	if _, ok := ProviderOf("libfoo.so.1"); ok {
		t.Error("libfoo.so.1 is known")
	}
	for soname, want := range map[string]string{
		"libc.so.6": "glibc", "ld-linux-x86-64.so.2": "glibc", "libc.musl-x86_64.so.1": "musl",
		"libnsl.so.1": "glibc", "libz.so.1": "",
	} {
		if got := LibcOf(soname); got != want {
			t.Errorf("LibcOf(%q) = %q, want %q", soname, got, want)
		}
	}
	for name, want := range map[string]string{
		"libfoo.so.1": "libfoo", "lib/libfoo-1.2.so": "libfoo-1.2", "libfoo": "libfoo",
	} {
		if got := Stem(name); got != want {
			t.Errorf("Stem(%q) = %q, want %q", name, got, want)
		}
	}
}

// numba links the file of libgomp1, not its SONAME.
func TestProviderOfFile(t *testing.T) {
	for name, want := range map[string]bool{"libgomp.so.1.0.0": true, "libgomp.so.1": true,
		"libnone.so.1.0.0": false} {
		if p, ok := ProviderOf(name); ok != want || ok && p.Packages(Debian)[0] != "libgomp1" {
			t.Errorf("%s: %v, %v", name, p.Packages(Debian), ok)
		}
	}
}

// Each pattern is for libraries of a driver.
func TestDriverLibraries(t *testing.T) {
	for _, pattern := range DriverLibraries {
		name := strings.NewReplacer("-*", "-ml", ".so*", ".so.1").Replace(pattern)
		if !OfDriver(name) {
			t.Errorf("%s (%s) is not of a driver", name, pattern)
		}
	}
}
