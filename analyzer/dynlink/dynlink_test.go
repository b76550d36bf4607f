package dynlink_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// libraries returns a library for each text, which starts with its path.
func libraries(t *testing.T, texts ...string) (out []*dynlink.Library) {
	for _, text := range texts {
		path, body, _ := strings.Cut(strings.TrimSpace(text), "\n")
		o := elftest.Object(t, "elf x86_64\n"+body)
		out = append(out, dynlink.FromObject(path, o))
	}
	return out
}

func load(e *dynlink.Environment, root *dynlink.Library) string {
	var b strings.Builder
	l := e.Load(root)
	for _, f := range l.Found[1:] {
		fmt.Fprintf(&b, "%s (%s, for %s)\n", f.Library.Path, f.By, f.NeededBy.Path)
	}
	for _, m := range l.Missing {
		fmt.Fprintf(&b, "%s missing for %s\n", m.Name, m.NeededBy.Path)
	}
	return b.String()
}

func TestLoad(t *testing.T) {
	const app = "pkg/_app.so\nneeded liba.so.1\nneeded libgone.so\nrunpath $ORIGIN/lib"
	for _, c := range []struct {
		name  string
		texts []string
		first int // how many of the texts after the root are in the process already
		want  string
	}{
		{"runpath leads to the artifact's copy, breadth first", []string{app,
			"other/liba.so.1\nsoname liba.so.1", "pkg/lib/liba.so.1\nsoname liba.so.1\nneeded libb.so",
			"pkg/lib/libb.so\nsoname libb.so"}, 0,
			"pkg/lib/liba.so.1 (runpath, for pkg/_app.so)\npkg/lib/libb.so (loaded first, for " +
				"pkg/lib/liba.so.1)\nlibgone.so missing for pkg/_app.so\n"},
		{"a SONAME that is loaded already wins over any path", []string{app,
			"other/liba.so.1\nsoname liba.so.1", "pkg/lib/liba.so.1\nsoname liba.so.1"}, 1,
			"other/liba.so.1 (already loaded, for pkg/_app.so)\nlibgone.so missing for pkg/_app.so\n"},
		{"RUNPATH is not inherited", []string{"a.so\nneeded libx.so\nrunpath $ORIGIN/d",
			"d/libx.so\nsoname libx.so\nneeded liby.so\nrunpath $ORIGIN/nowhere",
			"d/liby.so\nsoname liby.so"}, 0,
			"d/libx.so (runpath, for a.so)\nd/liby.so (loaded first, for d/libx.so)\n"},
		{"RPATH counts where there is no RUNPATH", []string{"a.so\nneeded libx.so\nrpath " +
			"/build/lib:$ORIGIN/d", "d/libx.so\nsoname libx.so"}, 0, "d/libx.so (rpath, for a.so)\n"},
		{"${ORIGIN} and .. are followed", []string{"p/q/a.so\nneeded libx.so\nrunpath ${ORIGIN}/../../d",
			"d/libx.so\nsoname libx.so"}, 0, "d/libx.so (runpath, for p/q/a.so)\n"},
		{"a circle ends", []string{"a.so\nsoname a.so\nneeded b.so", "b.so\nsoname b.so\nneeded a.so"},
			0, "b.so (loaded first, for a.so)\n"},
		{"a library without SONAME is found by its file name", []string{"a.so\nneeded libx.so",
			"d/libx.so\n"}, 0, "d/libx.so (loaded first, for a.so)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ls := libraries(t, c.texts...)
			if got := load(dynlink.NewEnvironment("glibc", ls, ls[1:1+c.first], nil), ls[0]); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestBind(t *testing.T) {
	provider := "libv.so.1\nsoname libv.so.1\nexport old@V1\nexport old@@V2\nexport hid@V2\nverdef " +
		"libv.so.1 base\nverdef V1\nverdef V2\nexport new@@V2"
	plain := "libp.so\nsoname libp.so\nexport plain\nexport new"
	for _, c := range []struct {
		name, imported, libc string
		want                 dynlink.Outcome
		by                   string
	}{
		{"exact version", "old@V1 libv.so.1", "glibc", dynlink.Bound, "libv.so.1"},
		{"a hidden version, requested by name", "hid@V2 libv.so.1", "glibc", dynlink.Bound, "libv.so.1"},
		{"unversioned takes the default or the oldest", "old", "glibc", dynlink.Bound, "libv.so.1"},
		{"unversioned does not take a hidden newer one", "hid", "glibc", dynlink.NoSymbol, ""},
		{"a node that is not defined: the loader refuses at once", "old@V9 libv.so.1", "glibc",
			dynlink.NoVersion, "libv.so.1"},
		{"the same weakly: the node is checked all the same", "weak old@V9 libv.so.1", "glibc",
			dynlink.NoVersion, "libv.so.1"},
		{"the node is there and the symbol is not", "gone@V1 libv.so.1", "glibc", dynlink.NoSymbol,
			"libv.so.1"},
		{"any library of the scope may bring a versioned symbol without a version", "new@V1 libv.so.1",
			"glibc", dynlink.Bound, "libp.so"},
		{"nowhere", "nowhere", "glibc", dynlink.NoSymbol, ""},
		{"weak and nowhere", "weak nowhere", "glibc", dynlink.WeakUndefined, ""},
		{"musl knows no versions", "old@V9 libv.so.1", "musl", dynlink.Bound, "libv.so.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ls := libraries(
				t,
				"app.so\nneeded libv.so.1\nneeded libp.so\nimport "+c.imported,
				provider,
				plain,
			)
			o := elftest.Object(t, "elf x86_64\nimport "+c.imported)
			env := dynlink.NewEnvironment(c.libc, ls, nil, nil)
			b := env.Bind(o.Imports, env.Load(ls[0]).Scope(), nil).At(0)
			by := ""
			if b.Provider != nil {
				by = b.Provider.Path
			}
			if b.Outcome != c.want || by != c.by {
				t.Errorf("%s by %q, want %s by %q", b.Outcome, by, c.want, c.by)
			}
		})
	}
}

// TestLoadAgain checks that a load does not depend on earlier loads of the environment.
func TestLoadAgain(t *testing.T) {
	texts := []string{
		"p/a.so\nneeded libx.so.1\nneeded libgone.so\nrunpath $ORIGIN/d",
		"q/b.so\nneeded libx.so.1\nneeded liby.so\nrpath $ORIGIN/../p/d",
		"p/d/libx.so.1\nsoname libx.so.1\nneeded liby.so\nrunpath $ORIGIN",
		"p/d/liby.so\nneeded libx.so.1\nneeded libz.so",
		"q/libx.so.1\nsoname libx.so.1",
		"libz.so\nsoname libz.so\nneeded libgone.so",
	}
	for _, libc := range []string{"glibc", "musl"} {
		ls := libraries(t, texts...)
		shared := dynlink.NewEnvironment(libc, ls, nil, nil)
		for n := range 3 * len(ls) {
			root := ls[n*n%len(ls)]
			if got, want := load(shared, root), load(dynlink.NewEnvironment(libc, ls, nil, nil),
				root); got != want {
				t.Errorf("%s, %s after %d others: got\n%swant\n%s", libc, root.Path, n, got, want)
			}
		}
	}
}

// TestBindManyLibraries checks that the library of a version is found among many, and that a
// missing one is not found.
func TestBindManyLibraries(t *testing.T) {
	app := "app.so"
	var texts []string
	for n := range 40 {
		app += fmt.Sprintf(
			"\nneeded lib%d.so\nimport f%d@V lib%d.so\nimport g%d@W none%d.so",
			n,
			n,
			n,
			n,
			n,
		)
		texts = append(texts, fmt.Sprintf("lib%d.so\nsoname lib%d.so\nexport f%d@@V\nverdef V", n, n, n))
	}
	ls := libraries(t, append([]string{app}, texts...)...)
	o := elftest.Object(t, "elf x86_64\n"+strings.TrimPrefix(app, "app.so\n"))
	env := dynlink.NewEnvironment("glibc", ls, nil, nil)
	for b := range env.Bind(o.Imports, env.Load(ls[0]).Scope(), nil).All() {
		switch {
		case strings.HasPrefix(b.Import.Library, "none"):
			if b.Outcome != dynlink.NoSymbol || b.Provider != nil {
				t.Errorf(
					"%s of %s: %s by %v, want %s by nobody",
					b.Import.Name,
					b.Import.Library,
					b.Outcome,
					b.Provider,
					dynlink.NoSymbol,
				)
			}
		case b.Outcome != dynlink.Bound || b.Provider.Path != b.Import.Library:
			t.Errorf("%s of %s: %s by %v", b.Import.Name, b.Import.Library, b.Outcome, b.Provider)
		}
	}
}
