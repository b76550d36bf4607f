package pinned

import (
	archive "archive/zip"
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/internal/index"
)

// built is a fake index: the names of the members by NAME==VERSION; a package without members is
// for any platform, and one with the only member "recorded" or "shares" is not opened.
type built map[string][]string

func (b built) Open(
	_ context.Context,
	name, version string,
	_ packages.Target,
	_ int64,
) (*index.Wheel, error) {
	members := b[name+"=="+version]
	if members == nil {
		return &index.Wheel{Pure: true, Portable: true}, nil
	}
	if members[0] == "recorded" || members[0] == "shares" {
		return &index.Wheel{Recorded: true, Shares: members[0] == "shares"}, nil
	}
	var data bytes.Buffer
	z := archive.NewWriter(&data)
	for _, m := range members {
		if _, err := z.Create(m); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return &index.Wheel{
		ReaderAt: bytes.NewReader(data.Bytes()), Size: int64(data.Len()),
	}, nil
}

func TestUnreached(t *testing.T) {
	// lock returns a lock in which app depends on web and plot, and web on ext.
	lock := func(versions string) []*Pinned {
		var text strings.Builder
		needs := map[string]string{"app": "web", "web": "ext", "plot": "lib"}
		for pin := range strings.FieldsSeq(versions) {
			name, version, _ := strings.Cut(pin, "==")
			text.WriteString("[[package]]\nname = \"" + name + "\"\nversion = \"" + version + "\"\n")
			if needs[name] != "" {
				text.WriteString("[package.dependencies]\n" + needs[name] + " = \"*\"\n")
			}
		}
		p, err := inFiles(map[string]string{"poetry.lock": text.String()}, "poetry.lock").
			Pinned(packages.Target{Python: "3.12", Arch: "x86_64"})
		if err != nil {
			t.Fatal(err)
		}
		return []*Pinned{p}
	}
	from := built{
		"ext==1": {"ext/_c.abi3.so", "ext.libs/libz-0123abcd.so.1"},
		"ext==2": {"ext/_c.cpython-312-x86_64-linux-gnu.so", "ext/lib.cpython-312.so"},
		"ext==3": {"recorded"}, "ext==4": {"shares"},
		"lib==1": {"lib/liblib.so.1"}, "lib==2": {"lib/liblib.abi3.so"},
	}
	base := "app==1 web==1 ext==1 plot==1 lib==1 py==1"
	for _, c := range []struct{ head, want string }{
		{base, "app ext lib plot py web"},
		{"app==1 web==2 ext==1 plot==1 lib==1 py==2", "app ext lib plot py web"},
		{"app==1 web==1 ext==2 plot==1 lib==1 py==1", "lib plot py"},
		{"app==1 web==2 ext==2 plot==1 lib==1 py==1", "lib plot py"},
		{"app==1 web==1 ext==3 plot==1 lib==1 py==1", "lib plot py"},
		{"app==1 web==1 ext==4 plot==1 lib==1 py==1", ""},
		{"app==1 web==1 plot==1 lib==1 py==1", "lib plot py"},
		{"app==1 web==1 ext==1 plot==1 lib==2 py==1", ""},
		{base + " numpy==2", ""},
	} {
		ids, err := Unreached(t.Context(), lock(c.head), lock(base), from)
		var got []string
		for id := range ids {
			got = append(got, id.Name)
		}
		slices.Sort(got)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, error %v", c.head, got, err)
		}
	}

	// The hashes of a release are other ones, or fewer.
	one, two := strings.Repeat("1", 64), strings.Repeat("2", 64)
	for _, c := range []struct{ head, base, want string }{
		{one, one, "ext lib"}, {one + " " + two, one, "ext lib"}, {"", one, "ext lib"},
		{two, one, "lib"}, {one, one + " " + two, "lib"}, {one, "", "lib"},
	} {
		hashed := func(hashes string) []*Pinned {
			text := "[[package]]\nname = \"lib\"\nversion = \"1\"\n[[package]]\nname = \"ext\"\n" +
				"version = \"1\"\nfiles = ["
			for h := range strings.FieldsSeq(hashes) {
				text += "{file = \"ext-1.tar.gz\", hash = \"sha256:" + h + "\"},"
			}
			p, err := inFiles(map[string]string{"poetry.lock": text + "]\n"}, "poetry.lock").
				Pinned(packages.Target{Python: "3.12", Arch: "x86_64"})
			if err != nil {
				t.Fatal(err)
			}
			return []*Pinned{p}
		}
		ids, err := Unreached(t.Context(), hashed(c.head), hashed(c.base), from)
		var got []string
		for id := range ids {
			got = append(got, id.Name)
		}
		slices.Sort(got)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("hashes %s, before %s: %q, error %v", c.head, c.base, got, err)
		}
	}

	// Requirements files do not show what depends on what.
	p, err := inFiles(map[string]string{"r.txt": "web==1\n"}, "r.txt").
		Pinned(packages.Target{Python: "3.12", Arch: "x86_64"})
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := Unreached(t.Context(), []*Pinned{p}, []*Pinned{p}, from); ids != nil || err != nil {
		t.Errorf("%v, error %v", ids, err)
	}
}

// TestNotRead checks that the notes of an environment name what was not read.
func TestNotRead(t *testing.T) {
	p, err := inFiles(map[string]string{"r.txt": "ext==3\next==4; python_version < '3'\npy==1\nlib==1\n"},
		"r.txt").Pinned(packages.Target{Python: "3.12", Arch: "x86_64"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.Open(t.Context(), built{"ext==3": {"recorded"}, "lib==1": {"lib/liblib.so.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	notes := strings.Join(w.Notes, "\n")
	if !strings.Contains(notes, "not read: ext==3") ||
		!strings.Contains(notes, "1 of 3 packages have a wheel for any platform") {
		t.Errorf("notes:\n%s", notes)
	}
	if !slices.Equal(w.Recorded, []string{"ext==3"}) || len(w.Wheels) != 1 {
		t.Errorf("recorded %q, %d wheels", w.Recorded, len(w.Wheels))
	}
}
