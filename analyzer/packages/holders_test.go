package packages

import (
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

func TestHolding(t *testing.T) {
	for _, c := range []struct{ name, library, want string }{
		{"nvidia-cudnn-cu12", "libcudnn.so.8", "nvidia-cudnn-cu12<9"},
		{"nvidia-cudnn-cu12", "libcudnn_ops_infer.so.8", "nvidia-cudnn-cu12<9"},
		{"nvidia-cudnn-cu12", "libcudnn.so.9", "nvidia-cudnn-cu12>=9"},
		{"nvidia-cudnn-cu12", "libcudnn.so.7", ""},
		{"NVIDIA_cublas.cu12", "libcublas.so.12", "nvidia-cublas-cu12"},
		{"nvidia-cuda-nvrtc-cu12", "libnvrtc-builtins.so.12.1", "nvidia-cuda-nvrtc-cu12>=12.1,<12.2"},
		{"pyarrow", "libarrow.so.1601", "pyarrow>=16.1,<17"},
		{"requests", "libarrow.so.1601", ""},
	} {
		if got := History().Holding(c.name, c.library); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.library, c.name, got, c.want)
		}
	}
}

func TestFolder(t *testing.T) {
	for _, c := range []struct{ name, library, want string }{
		{"nvidia-nvtx-cu12", "libnvToolsExt.so.1", "nvidia/nvtx/lib"},
		{"NVIDIA_cublas.cu12", "libcublasLt.so.12", "nvidia/cublas/lib"},
		{"nvidia-cublas", "libcublas.so.13", "nvidia/cu13/lib"},
		{"nvidia-cudnn-cu12", "libcudnn.so.7", ""},
		{"requests", "libarrow.so.1601", ""},
	} {
		if got := History().Folder(c.name, c.library); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.library, c.name, got, c.want)
		}
	}
}

// TestHoldingOfEveryLibrary checks that the newest release which a requirement allows has the
// library, for all libraries of NVIDIA's packages for CUDA 12; all packages take too long.
func TestHoldingOfEveryLibrary(t *testing.T) {
	for library, names := range holders() {
		for _, name := range names {
			if !strings.HasPrefix(name, "nvidia-") || !strings.HasSuffix(name, "-cu12") {
				continue
			}
			text := History().Holding(name, library)
			if text == "" {
				continue // only yanked releases or pre-releases have it
			}
			q, err := pkgmeta.ParseRequirement(text)
			if err != nil {
				t.Fatal(err)
			}
			spec, err := pkgmeta.ParseSpec(q.Spec)
			if err != nil {
				t.Fatal(err)
			}
			f := historyPackage(name)
			var newest pkgmeta.Version
			found := false
			for i := range f.Releases {
				r := &f.Releases[i]
				v, err := pkgmeta.ParseVersion(r.Version)
				if err != nil || r.Yanked || v.IsPreRelease() || !spec.Contains(v) {
					continue
				}
				if d := v.Compare(newest); d > 0 || newest.String() == "" {
					newest, found = v, libraryIn(r, library) != nil
				} else if d == 0 {
					found = found || libraryIn(r, library) != nil
				}
			}
			if !found {
				t.Errorf("%s: %s allows %s, which does not have it", library, text, newest)
			}
		}
	}
}

func TestHolders(t *testing.T) {
	if got := History().Holders("libarrow.so.1601"); !slices.Equal(got, []string{"pyarrow"}) {
		t.Error(got)
	}
	if got := History().Holders("libfoo.so.1"); got != nil {
		t.Error(got)
	}
}

func TestCompiled(t *testing.T) {
	var got []string
	for _, name := range []string{"torch", "faiss_cpu", "onnxruntime", "requests", "nothing-like-it"} {
		if History().Compiled(name) {
			got = append(got, name)
		}
	}
	if want := "torch faiss_cpu onnxruntime"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}
