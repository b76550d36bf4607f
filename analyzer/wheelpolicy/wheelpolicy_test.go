package wheelpolicy

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the verdicts into the want files")

// Each story is a wheel: a line "tags PLATFORM..." in the comment, and its members. Objects are in
// elfobj's text form. RECORD lists every member, unless there is a file of that name; lines "unread
// PATH" and "folder PATH" add other members. want is the result of auditwheel 6.8.2.
func TestStories(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d stories: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := show(Judge(wheel(t, a)))
			i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
			if *update {
				if i < 0 {
					i = len(a.Files)
					a.Files = append(a.Files, txtar.File{Name: "want"})
				}
				a.Files[i].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if i < 0 {
				t.Fatal("there is no want; write it with -update")
			}
			if want := string(a.Files[i].Data); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func wheel(t *testing.T, a *txtar.Archive) *Wheel {
	w := &Wheel{Objects: map[string]*elfobj.Object{}, Unread: map[string]string{}}
	var record strings.Builder
	for line := range strings.Lines(string(a.Comment)) {
		switch words := strings.Fields(line); {
		case len(words) > 1 && words[0] == "tags":
			w.Platforms = words[1:]
		case len(words) == 2 && words[0] == "unread":
			w.Unread[words[1]] = "it is cut off"
			w.Members = append(w.Members, words[1])
			record.WriteString(words[1] + ",,\n")
		case len(words) == 2 && words[0] == "folder":
			w.Members = append(w.Members, words[1]+"/")
		}
	}
	info := true
	for _, f := range a.Files {
		switch {
		case f.Name == "want":
			continue
		case f.Name == "RECORD":
			w.Record = f.Data
			continue
		case strings.Contains(f.Name, ".dist-info/"):
			info = false
		case strings.HasPrefix(string(f.Data), "elf "):
			o, err := elftest.Parse(string(f.Data))
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			w.Objects[f.Name] = o
		}
		w.Members = append(w.Members, f.Name)
		record.WriteString(f.Name + ",,\n")
	}
	if info {
		w.Members = append(w.Members, "t-1.0.dist-info/RECORD")
	}
	if w.Record == nil {
		w.Record = []byte(record.String())
	}
	return w
}

// show formats a result: overall, the fields that differ from it, and the lists.
func show(p *Policy) string {
	if p.Error != nil {
		return "error " + *p.Error + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"overall %s\nsym %s\nref %s\nblacklist %s\nmachine %s\npyfpe %s\nucs %s\n",
		p.Overall,
		p.Sym,
		p.Ref,
		p.Blacklist,
		p.Machine,
		p.PyFPE,
		p.UCS,
	)
	for _, l := range p.ExternalLibs {
		fmt.Fprintf(&b, "external %s\n", l)
	}
	var libraries []string
	for l := range p.VersionedSymbols {
		libraries = append(libraries, l)
	}
	slices.Sort(libraries)
	for _, l := range libraries {
		fmt.Fprintf(&b, "versions %s %s\n", l, strings.Join(p.VersionedSymbols[l], " "))
	}
	return b.String()
}

func TestMissingVerdictIsEmpty(t *testing.T) {
	p := Judge(&Wheel{Damaged: "the file is cut off"})
	if p.Error == nil || *p.Error != "crash: the file is cut off" || p.ExternalLibs == nil ||
		p.VersionedSymbols == nil ||
		p.Overall+p.Sym+p.Ref != "" {
		t.Errorf("%+v", p)
	}
	if p := Judge(&Wheel{Members: []string{"t-1.0.dist-info/METADATA"}}); p.Error == nil ||
		*p.Error != "crash: there is no RECORD" {
		t.Errorf("%+v", p)
	}
}

// A chain of objects longer than Python's recursion limit, and objects that all need each other,
// give a crash and do not take unbounded time.
func TestDependenciesHaveALimit(t *testing.T) {
	build := func(n int, needs func(i int) []string) *Wheel {
		w := &Wheel{
			Platforms: []string{"linux_x86_64"},
			Members:   []string{"t.dist-info/RECORD"},
			Objects:   map[string]*elfobj.Object{},
		}
		for i := range n {
			name := fmt.Sprintf("l%d.so", i)
			w.Objects[name] = &elfobj.Object{
				Class:     64,
				ByteOrder: "little",
				Machine:   62,
				Type:      "ET_DYN",
				Dynamic:   true,
				RPath:     "$ORIGIN",
				Needed:    needs(i),
			}
			w.Members = append(w.Members, name)
			w.Record = append(w.Record, name+",,\n"...)
		}
		return w
	}
	long := Judge(build(2000, func(i int) []string { return []string{fmt.Sprintf("l%d.so", i+1)} }))
	if long.Error == nil || !strings.HasPrefix(*long.Error, "crash: ") {
		t.Errorf("a chain of 2,000: %+v", long)
	}
	var all []string
	for i := range 800 {
		all = append(all, fmt.Sprintf("l%d.so", i))
	}
	dense := Judge(build(800, func(int) []string { return all }))
	if dense.Error == nil || !strings.HasPrefix(*dense.Error, "crash: ") {
		t.Errorf("800 objects that need each other: %+v", dense)
	}
	short := Judge(
		build(300, func(i int) []string { return []string{fmt.Sprintf("l%d.so", (i+1)%300)} }),
	)
	if short.Error != nil || short.Overall != "manylinux_2_5_x86_64" {
		t.Errorf("a ring of 300: %+v", short)
	}
}
