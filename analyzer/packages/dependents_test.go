package packages

import (
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// The rows are sorted by package, normalized, and each is once.
func TestDependentsFile(t *testing.T) {
	seen := map[string]bool{}
	last := ""
	for line := range strings.Lines(dependentsFile) {
		words := strings.Fields(line)
		if len(words) < 4 || len(words) > 5 {
			t.Fatalf("%q", line)
		}
		for _, name := range words[:2] {
			if pkgmeta.Normalize(name) != name {
				t.Errorf("%s is not normalized", name)
			}
		}
		if _, err := pkgmeta.ParseVersion(words[2]); err != nil || words[0] == words[1] {
			t.Errorf("%q: %v", line, err)
		}
		key := words[0] + " " + words[1]
		if seen[key] || words[1] < last {
			t.Errorf("%q is out of order, or there twice", line)
		}
		seen[key], last = true, words[1]
	}
}

func TestDependents(t *testing.T) {
	for name, want := range map[string]string{
		"librmm-cu13": "faiss-gpu-cuvs librmm", "pyarrow": "palletjack libarrow",
		"pyqt6-qt6": "pyqt6 libQt6Core", "torch": "torchvision libtorch", "numpy": "h5py ",
	} {
		user, library, _ := strings.Cut(want, " ")
		if !slices.ContainsFunc(History().Dependents(name), func(d Dependent) bool {
			return d.Name == user && (library == "" || slices.Contains(d.Libraries, library))
		}) {
			t.Errorf("%s: no %s in %+v", name, want, History().Dependents(name))
		}
	}
	if d := History().Dependents("absent"); d != nil {
		t.Error(d)
	}
}
