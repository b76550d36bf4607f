package dynlink_test

import (
	"testing"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/packages"
)

// A library with unknown exports may define everything. If its nearest releases are known, it
// may define their symbols and symbols with the same prefix.
func TestBindToNearestExports(t *testing.T) {
	r := &packages.Release{Name: "torch", Version: "2.5.0", Known: true}
	like := elfobj.NewExports(
		elfobj.Export{Name: "_ZN2at4cuda17getCurrentStreamEi"},
		elfobj.Export{Name: "cublasCreate_v2"},
	)
	for _, c := range []struct {
		symbol string
		like   *elfobj.Exports
		want   dynlink.Outcome
	}{
		{"_ZN5torch8autograd12VariableInfoC1ERKN2at6TensorE", nil, dynlink.Undecided},
		{"_ZN5torch8autograd12VariableInfoC1ERKN2at6TensorE", like, dynlink.NoSymbol},
		{"_ZN2at4cuda17getCurrentStreamEi", like, dynlink.Undecided},
		{"_ZN2at4cuda17getCurrentDeviceEv", like, dynlink.Undecided},
		{"_ZN2at4_ops3addE", like, dynlink.NoSymbol},
		{"cublasLogger", like, dynlink.Undecided},
		{"ncclSend", like, dynlink.NoSymbol},
	} {
		l := dynlink.OfPackage(
			r,
			&packages.Library{
				Path:           "torch/lib/libtorch_cuda.so",
				SONAME:         "libtorch_cuda.so",
				NearestExports: c.like,
			},
		)
		e := dynlink.NewEnvironment("glibc", []*dynlink.Library{l}, nil, nil)
		if got := e.Bind(elfobj.NewImports(elfobj.Import{Name: c.symbol}),
			[]*dynlink.Library{l}, nil).At(0).Outcome; got != c.want {
			t.Errorf("%s, like %d: %s, want %s", c.symbol, c.like.Len(), got, c.want)
		}
	}
}
