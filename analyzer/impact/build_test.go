package impact

import (
	"archive/zip"
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/rules"
)

// archive returns an archive of wheels, as a workflow uploads them.
func archive(t *testing.T, wheels ...analyzer.Input) analyzer.Input {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, in := range wheels {
		w, err := z.Create(in.Name)
		if err == nil {
			_, err = io.Copy(w, io.NewSectionReader(in.Content, 0, in.Size))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return analyzer.Input{
		Name: "wheels.zip", Content: bytes.NewReader(b.Bytes()), Size: int64(b.Len()),
	}
}

// tagged returns a wheel with other tags.
func tagged(in analyzer.Input, tags string) analyzer.Input {
	in.Name = strings.Replace(in.Name, "py3-none-manylinux_2_28_x86_64", tags, 1)
	return in
}

// kept returns what is stored of the wheels in an archive, as inputs.
func kept(t *testing.T, in analyzer.Input) (uses []Uses, inputs []analyzer.Input) {
	t.Helper()
	uses, err := ReadUses(t.Context(), []analyzer.Input{in}, analyzer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range uses {
		inputs = append(inputs, analyzer.Input{
			Name: u.Wheel, Content: bytes.NewReader(u.Facts), Size: int64(len(u.Facts)),
			SHA256: u.SHA256, Stored: true,
		})
	}
	return uses, inputs
}

func TestReadUses(t *testing.T) {
	mill := wheel(t, "mill", "1.0", []string{"gear>=1", "Num_Py"}, map[string]string{
		"mill/_m.so":                       user,
		"mill.libs/libcog-0123abcd.so.1.2": "elf x86_64\nsoname libcog-0123abcd.so.1.2\n",
		"mill/_own.so":                     "elf x86_64\nneeded libcog-0123abcd.so.1.2\nexport turn\n",
	})
	pure := wheel(t, "pure", "1.0", nil, nil)
	uses, _ := kept(t, archive(t, tagged(mill, "cp39-cp39-manylinux_2_28_x86_64"),
		tagged(mill, "cp311-cp311-manylinux_2_28_x86_64"), tagged(mill, "cp313-cp313-manylinux_2_28_aarch64"),
		pure))
	if len(uses) != 1 {
		t.Fatalf("%d wheels", len(uses))
	}
	u := uses[0]
	if u.Name != "mill" || u.Version != "1.0" || u.Wheel != "mill-1.0-cp311-cp311-manylinux_2_28_x86_64.whl" ||
		!slices.Equal(u.Requires, []string{"gear", "num-py"}) ||
		!slices.Equal(u.Libraries, []string{"libc.so.6", "libgear.so.1"}) ||
		!slices.Equal(u.Bundled, []string{"libcog"}) ||
		!slices.Equal(u.Exports, []string{"libcog-0123abcd.so.1.2", "turn"}) || len(u.SHA256) != 64 {
		u.Facts = nil
		t.Errorf("%+v", u)
	}
}

// TestBuild compares the builds of a commit and its base, for the wheels that others have stored.
func TestBuild(t *testing.T) {
	mill := wheel(t, "mill", "2.0", []string{"gear"}, map[string]string{"mill/_m.so": user})
	_, stored := kept(t, archive(t, mill,
		wheel(t, "barn", "1.0", nil, map[string]string{"barn/_b.so": "elf x86_64\nneeded libc.so.6\n"}),
		wheel(t, "calm", "1.0", []string{"gear"}, map[string]string{
			"calm/_c.so": strings.Replace(user, "spin", "stop", 1)}),
		wheel(t, "pack", "1.0", nil, map[string]string{
			"pack/_p.so":                        "elf x86_64\nneeded libgear-0123abcd.so.1.2\n",
			"pack.libs/libgear-0123abcd.so.1.2": "elf x86_64\nsoname libgear-0123abcd.so.1.2\n"}),
		wheel(t, "late", "1.0", []string{"gear<2"}, map[string]string{"late/_l.so": user}),
		tagged(mill, "cp39-cp39-manylinux_2_28_aarch64")))
	stored = append(stored, analyzer.Input{ // of an earlier version
		Name: "old-1.0-py3-none-any.whl", Content: bytes.NewReader([]byte("x")), Size: 1, Stored: true,
	})
	b := &Build{
		New:        []analyzer.Input{archive(t, wheel(t, "gear", "2.0", nil, gear("stop")))},
		Old:        []analyzer.Input{archive(t, wheel(t, "gear", "1.0", nil, gear("stop", "spin")))},
		Dependents: stored, Source: packages.History(), Analyzer: analyzer.New(rules.All()),
		Options: analyzer.Options{NoIndex: true},
	}
	answers, err := b.Judge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range answers {
		got = append(got, a.Name+" "+string(a.Verdict)+" "+strings.Join(a.Symbols, ","))
		if a.New != (ID{"gear", "2.0"}) || a.Verdict == Breaks && *a.Old != (ID{"gear", "1.0"}) {
			t.Errorf("%+v", a)
		}
	}
	want := []string{"mill breaks spin", "calm works ", "pack works ", "late excluded ", "old undecided "}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	b.Old = nil
	if answers, err = b.Judge(t.Context()); err != nil || answers[0].Old != nil {
		t.Errorf("%+v, %v", answers, err)
	}
	b.New = []analyzer.Input{archive(t, tagged(wheel(t, "gear", "2.0", nil, gear("stop")),
		"cp311-cp311-manylinux_2_28_aarch64"))}
	if answers, err = b.Judge(t.Context()); err != nil || answers[0].Verdict != Undecided {
		t.Errorf("%+v, %v", answers, err)
	}
}
