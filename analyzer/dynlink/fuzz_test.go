package dynlink

import (
	"reflect"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// FuzzResolve checks an invalid library in a root with both loaders: as program, dependency,
// preload and with dlopen. The names in the answer must be those of the root, a second answer
// must be equal, and the size of an answer must be limited by the size of the library.
func FuzzResolve(f *testing.F) {
	for _, text := range []string{
		"soname libx.so\nneeded liby.so\nrpath $ORIGIN:/r\nimport f@V1 liby.so\nimport weak w\nexport " +
			"g@@V2\nexport g@V1",
		"needed libx.so\nrunpath $ORIGIN/../lib:${LIB}\nimport malloc\nexport object v size=8",
		"needed /lib/liby.so\nneeded libc.so\nimport __libc_start_main\nexport " +
			"__libc_start_main\nexport stdin",
	} {
		b := elftest.File(f, "elf x86_64\n"+text)
		f.Add(b)
		f.Add(b[:len(b)*3/4])
	}
	const program, ldso = "/a\nneeded libx.so\nimport g@V1 libx.so\nimport v",
		"/lib/ld-musl-x86_64.so.1\nsoname libc.so\nexport malloc\nexport stdin"
	roots := []memory{
		rootOf(f, program, "/host\nexport w", "/lib/liby.so\nexport f@@V1"),
		rootOf(f, program, "/host\nexport w", "/lib/liby.so\nexport f@@V1", ldso),
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, root := range roots {
			root["/lib/libx.so"] = b
			l := NewLinker(root)
			for _, q := range []struct {
				file string
				s    Settings
			}{{"/lib/libx.so", Settings{}}, {"/a", Settings{}},
				{"/lib/liby.so", Settings{Preload: []string{"/lib/libx.so"}}}} {
				a := l.Resolve(q.file, q.s)
				if again := l.Resolve(q.file, q.s); !reflect.DeepEqual(a, again) {
					t.Errorf("%s: first %s, then %s", q.file, format(a), format(again))
				}
				for _, o := range a.Objects {
					if !inRoot(root, o.Path) {
						t.Errorf("%s: %q is no file of the root", q.file, o.Path)
					}
				}
				if n := len(a.Undefined) + len(a.NotFound) + len(a.MissingVersions); n > 16*(len(b)+64) {
					t.Errorf("%s: %d lines for a library of %d bytes", q.file, n, len(b))
				}
				l.Why("g")
			}
			opens(t, l)
		}
	})
}

// opens checks that opening the library again has the same result or that it is already loaded,
// and that a library that could not be opened is not loaded.
func opens(t *testing.T, l *Linker) {
	p, start := l.Start("/host", Settings{})
	if p.run == nil {
		t.Fatalf("/host: %s", format(start))
	}
	for _, how := range []Mode{{Lazy: true}, {}, {Global: true}, {DeepBind: true}} {
		a := p.Open("/lib/libx.so", how, "")
		there := p.Open("/lib/libx.so", Mode{NoLoad: true}, "")
		if (a.Error == "") != (there.Error == "") {
			t.Errorf("opened (%+v): %s; then requested: %s", how, format(a), format(there))
		}
		if again := p.Open("/lib/libx.so", how, ""); again.Error != a.Error ||
			a.Error == "" && len(again.Objects) > 0 {
			t.Errorf("opened (%+v): %s, then %s", how, format(a), format(again))
		}
		p.Why("g")
	}
}

func inRoot(root memory, path string) bool {
	f, err := root.Open((&store{}).rooted(path))
	if err != nil {
		return false
	}
	f.Close()
	return true
}
