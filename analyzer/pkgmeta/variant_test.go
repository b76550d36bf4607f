package pkgmeta

import (
	"strings"
	"testing"
)

func TestParseVariantName(t *testing.T) {
	for in, want := range map[string]string{
		"numpy-2.3.2-cp313-cp313t-musllinux_1_2_x86_64.whl":           "numpy 2.3.2 ",
		"numpy-2.3.2-cp313-cp313t-musllinux_1_2_x86_64-x86_64_v3.whl": "numpy 2.3.2 x86_64_v3",
		"numpy-2.3.2-1-cp313-cp313t-musllinux_1_2_x86_64-null.whl":    "numpy 2.3.2 null",
		"numpy-2.3.2-1-cp313-cp313t-musllinux_1_2_x86_64.whl":         "numpy 2.3.2 ",
		"torch-2.9.0-py2.py3-none-any-cu12.8.whl":                     "torch 2.9.0 cu12.8",
		"numpy-2.3.2-cp313-cp313t-musllinux_1_2_x86_64-V3.whl":        "error", // capital letter
		"numpy-2.3.2-cp313-cp313t-musllinux_1_2_x86_64-.whl":          "error",
		"numpy-2.3.2-b1-py3-none-any.whl":                             "error", // a build number
		"numpy-2.3.2-cp313-cp313t.whl":                                "error",
		"numpy-2.3.2-1-2-cp313-cp313t-any-null.whl":                   "error",
		"numpy-2.3.2-cp313-cp313t-any-null.zip":                       "error",
	} {
		w, label, err := ParseVariantName(in)
		got := w.Name + " " + w.Version + " " + label
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q (%v)", in, got, want, err)
		}
	}
}

func TestParseVariant(t *testing.T) {
	const start = `{"$schema": "https://schema.example/v0.1.1.json", `
	const ofX = start + `"default-priorities": {"namespace": ["x"]}, "variants": `
	v, err := ParseVariant([]byte(start + `"default-priorities": {"namespace": ["x86_64", "blas"]},
		"variants": {"x86_64_v3": {"x86_64": {"level": ["v3"]}, "blas": {"library": ["openblas",
		"mkl"]}}}, "providers": {}}`))
	if err != nil || len(v.Properties) != 2 ||
		v.Properties[0].String() != "blas :: library :: mkl, openblas" ||
		v.Property("x86_64", "level")[0] != "v3" || v.Property("x86_64", "avx2") != nil {
		t.Errorf("%+v, %v", v, err)
	}
	for text, want := range map[string]string{
		`{`:                              "cannot be decoded",
		`[]`:                             "cannot be decoded",
		start + `"variants": {}} {}`:     "something follows",
		`{"variants": {"a": {}}}`:        "no $schema",
		start + `"variants": {"a": {}}}`: "no namespace",
		start + `"default-priorities": {"namespace": ["x"]}}`: "no variant",
		ofX + `{"A": {}}}`: "not a valid label",
		start + `"default-priorities": {"namespace": ["X"]},
			"variants": {"a": {}}}`: "not a valid namespace",
		ofX + `{"a": {"y": {"b": ["c"]}}}}`:      "not listed",
		ofX + `{"a": {"x": {"b": []}}}}`:         "no value",
		ofX + `{"a": {"x": {"b c": ["1"]}}}}`:    "feature",
		ofX + `{"a": {"x": {"b": ["1,2"]}}}}`:    "not a valid value",
		strings.Repeat(" ", MaxVariant+1):        "more than",
		ofX + `{"a": {"x": {"b": {"c": "1"}}}}}`: "cannot be decoded",
	} {
		if _, err := ParseVariant([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", text, err, want)
		}
	}
}

// FuzzParseVariant: what is parsed has only names and values that PEP 825 allows.
func FuzzParseVariant(f *testing.F) {
	f.Add([]byte(`{"$schema": "s", "default-priorities": {"namespace": ["x"]}, "variants": {"a": ` +
		`{"x": {"b": ["1"]}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := ParseVariant(data)
		if err != nil {
			return
		}
		for _, p := range v.Properties {
			if !variantName.MatchString(p.Namespace) || !variantName.MatchString(p.Feature) ||
				len(p.Values) == 0 || !variantLabel.MatchString(strings.Join(p.Values, "")) {
				t.Errorf("%+v", p)
			}
		}
	})
}

func TestExternalName(t *testing.T) {
	for in, want := range map[string]string{
		"dep:generic/libffi@>=3; os_name == 'posix'": "libffi",
		"dep:virtual/compiler/c":                     "c",
		"dep:github/apache/arrow":                    "arrow",
		"libpng (>=1.5)":                             "libpng",
		"C":                                          "c",
		"":                                           "",
		"dep:generic/":                               "",
	} {
		if got := ExternalName(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	m, err := ParseMetadata([]byte("Name: a\nVersion: 1\nRequires-External: C\n" +
		"Requires-External-Dep: dep:generic/libffi\n"))
	if err != nil || len(m.External) != 2 || m.External[1] != "dep:generic/libffi" {
		t.Errorf("%+v, %v", m, err)
	}
}
