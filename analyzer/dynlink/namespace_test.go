package dynlink

import (
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/packages"
)

func TestNamespace(t *testing.T) {
	for symbol, want := range map[string]string{
		"_ZN5torch7LibraryC1Ev":               "5torch",
		"_ZNR5torch7Library4_defEv":           "5torch",
		"_ZNK3rmm16cuda_stream_view5valueEv":  "3rmm",
		"_ZTIN3rmm9bad_allocE":                "3rmm",
		"_ZTVN3c1010TensorImplE":              "3c10",
		"_ZGVN2at4dataE":                      "2at",
		"_ZNSt6vectorIiE4sizeEv":              "",
		"_Z3addii":                            "",
		"_ZN99x":                              "",
		"_ZN99999999999999999999999999999x1y": "",
		"_ZN":                                 "",
		"PyInit__m":                           "",
	} {
		if got := namespace(symbol); got != want {
			t.Errorf("%s: got %q, want %q", symbol, got, want)
		}
	}
}

// TestNamespaceOfAnotherPackage checks that a library whose exports are not known is not taken to
// have what belongs to a package that was read.
func TestNamespaceOfAnotherPackage(t *testing.T) {
	read := func(name, library string, exports ...elfobj.Export) *Library {
		r := &packages.Release{Name: name, Version: "1.0"}
		l := packages.Library{Path: name + "/" + library, SONAME: library, Known: exports != nil}
		if exports != nil {
			l.Exports = elfobj.NewExports(exports...)
		}
		return OfPackage(r, &l)
	}
	strong := elfobj.Export{Name: "_ZN5torch7LibraryC1Ev", Kind: "func"}
	weak := strong
	weak.Weak = true
	for name, c := range map[string]struct {
		libraries []*Library
		want      Outcome
	}{
		"another package": {
			[]*Library{read("torch", "libtorch.so", strong), read("cusparse", "libcusparse.so")}, NoSymbol,
		},
		"the same package": {
			[]*Library{read("torch", "libtorch.so", strong), read("torch", "libtorch_python.so")},
			Undecided,
		},
		"an inline function": {
			[]*Library{read("user", "libuser.so", weak), read("torch", "libtorch.so")}, Undecided,
		},
		"nobody": {[]*Library{read("cusparse", "libcusparse.so")}, Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			o := &elfobj.Object{Exports: elfobj.NewExports(), Imports: elfobj.NewImports(
				elfobj.Import{Name: "_ZNR5torch7Library4_defEv", Kind: "func"})}
			for _, l := range c.libraries {
				o.Needed = append(o.Needed, l.SONAME)
			}
			root := FromObject("_m.so", o)
			e := NewEnvironment("glibc", append([]*Library{root}, c.libraries...), nil, nil)
			got := e.Bind(o.Imports, e.Load(root).Scope(), nil).At(0)
			if got.Outcome != c.want {
				t.Errorf("got %s, want %s", got.Outcome, c.want)
			}
		})
	}
}
