package packages

import (
	"testing"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

func TestBuiltForNumPy1(t *testing.T) {
	for id, want := range map[ID]string{
		{Name: "pandas", Version: "2.0.3"}:       "pandas",
		{Name: "pandas", Version: "1.5"}:         "pandas",
		{Name: "pandas", Version: "2.2.2"}:       "",
		{Name: "scikit-learn", Version: "1.2.2"}: "sklearn",
		{Name: "requests", Version: "1.0"}:       "",
		{Name: "pandas", Version: "odd"}:         "",
	} {
		if got := History().BuiltForNumPy1(id); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	for text, want := range map[string]bool{
		"pandas<2": true, "Pandas==2.0.3": true, "pandas==2.2.2": false, "pandas>=1": false, "pandas": false,
		"requests<3": false,
	} {
		q, err := pkgmeta.ParseRequirement(text)
		if err != nil || History().MayBeForNumPy1(q) != want {
			t.Errorf("%s: want %v; %v", text, want, err)
		}
	}
}
