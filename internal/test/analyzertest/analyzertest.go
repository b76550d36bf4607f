// Package analyzertest runs an analysis that a txtar file describes, and compares the report.
//
// The archive's comment is prose; one line of it may contain settings:
//
//	check --platform debian11 --with torch==2.7.0 --first torch --link --gpu-stack rocm --gpu-arch gfx90a
//
// Its files are
//
//	in/WHEEL.whl/PATH          a member of a wheel: an object in the text form of elftest or machoobj; METADATA, WHEEL and RECORD are those of its dist-info folder;
//	                           they are generated if they are missing, and left out if their content is the line "absent"
//	in/NAME.jar/PATH           a member of a jar (or .deb, .tgz, .apk): an object in text form, or text; of a deb, DEBIAN/control too
//	                           "symlink TARGET" is a symbolic link in a .deb or .tgz
//	in/PATH                    a loose object in text form: of elftest ("elf …"), peobj ("pe …"), or wasmobj ("wasm"), or its bytes ("gzip …", base64)
//	base/…                     the same for the base
//	baseline/NAME              an earlier build that a file describes
//	library-path/DIR/NAME      a library in a folder of LD_LIBRARY_PATH
//	conda/PATH                 a library in a conda environment at /opt/conda with Python 3.12, or METADATA and RECORD of a package there, or its Python sources; "conda/owners" has the package of each file: lines PATH NAME VERSION
//	package/NAME==VERSION/PATH a library of this release, in the text form of its system; after a line "unread" it is one whose symbols are not known, and its exports are those of the nearest releases; lines "type NAME SIZE" before it are types of a module; a file "requires" has its requirements, one on each line, and "requires-python" its Requires-Python; a file PATH.py is a Python source; a file "abridged" makes it one of the built-in history
//	environment                an analyzer.Environment in JSON, in which the wheels are installed together: its pins, packages without a wheel, installed files
//	want                       the report, as Format writes it
//
// Run with -update to write want, and review the difference like code.
package analyzertest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cython"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/wasmobj"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what the analysis says into the want files")

// Run runs all .txtar files of a directory.
func Run(t *testing.T, dir string, rules []*analyzer.Rule) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no .txtar file in %s: %v", dir, err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) { Analyze(t, f, rules) })
	}
}

// Analyze runs one file, compares the result with want, and returns the report.
func Analyze(t *testing.T, file string, rules []*analyzer.Rule) *analyzer.Report {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := read(a)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	r, err := c.check(analyzer.New(rules))
	if err != nil {
		t.Fatal(err)
	}
	Accounted(t, r)
	for _, c := range r.Causes {
		if c.Severity == analyzer.Warning && c.Why == "" {
			t.Errorf("%s: the cause %s does not say why it is a warning", file, c.ID)
		}
	}
	got := Format(r)
	if c.environment != nil {
		c.in = Stored(t, c.in)
		again, err := c.check(analyzer.New(rules))
		if err != nil {
			t.Fatal(err)
		}
		if stored := Format(again); stored != got {
			t.Errorf("%s says of stored facts\n%s\nand of the wheels\n%s", file, stored, got)
		}
	}
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
	if *update {
		if i < 0 {
			a.Files = append(a.Files, txtar.File{Name: "want"})
			i = len(a.Files) - 1
		}
		a.Files[i].Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if i < 0 {
		t.Fatalf("%s has no file want; write it with -update", file)
	}
	if want := string(a.Files[i].Data); got != want {
		t.Errorf("%s says\n%s\nwant\n%s", file, got, want)
	}
	return r
}

// Stored returns the inputs with stored facts in place of wheels that can be read completely.
func Stored(t *testing.T, inputs []analyzer.Input) []analyzer.Input {
	t.Helper()
	inputs = slices.Clone(inputs)
	for n, in := range inputs {
		names := elfobj.NewNames()
		set, err := facts.Read(t.Context(), []facts.Input{in}, facts.Options{}, names)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := facts.Encode(set, names); err == nil {
			inputs[n] = analyzer.Input{
				Name: in.Name, Content: bytes.NewReader(data), Size: int64(len(data)),
				SHA256: in.SHA256, Stored: true,
			}
		}
	}
	return inputs
}

// Accounted checks that every import of a report was found, is missing, or is undecided for a reason.
func Accounted(t *testing.T, r *analyzer.Report) {
	t.Helper()
	check := func(what string, a *analyzer.Accounting) {
		if a == nil {
			return
		}
		why := 0
		for _, u := range a.Why {
			why += u.Count
		}
		if a.Found+a.Missing+a.Undecided != a.Imports || why != a.Undecided || a.Found < 0 {
			t.Errorf("%s: the imports do not add up: %+v", what, *a)
		}
	}
	for _, x := range r.Artifacts {
		check(x.Path, x.Accounting)
	}
	for _, x := range r.Targets {
		check(x.Name, x.Accounting)
		if x.Accounting == nil && !r.Environment {
			t.Errorf("%s: its imports are not accounted for", x.Name)
		}
	}
}

// Inputs returns the inputs and options of a case. It returns an error if the archive contains
// other files than those above.
func Inputs(a *txtar.Archive) ([]analyzer.Input, analyzer.Options, error) {
	c, err := read(a)
	if err != nil {
		return nil, analyzer.Options{}, err
	}
	return c.in, c.options, nil
}

// testcase is one analysis.
type testcase struct {
	in          []analyzer.Input
	environment *analyzer.Environment // nil: the artifacts are checked on their own
	options     analyzer.Options
}

func (c *testcase) check(a *analyzer.Analyzer) (*analyzer.Report, error) {
	if c.environment == nil {
		return a.Check(context.Background(), c.in, c.options)
	}
	c.environment.Wheels = c.in
	return a.CheckEnvironment(context.Background(), c.environment, nil, c.options)
}

func read(a *txtar.Archive) (*testcase, error) {
	c := &testcase{}
	if err := c.settings(string(a.Comment)); err != nil {
		return nil, err
	}
	packages := Packages{}
	in, base, folders := newTree(), newTree(), &folders{
		options: &c.options,
		files:   map[string]*elfobj.Object{},
	}
	for _, f := range a.Files {
		var err error
		kind, rest, _ := strings.Cut(f.Name, "/")
		switch kind {
		case "want":
		case "environment":
			d := json.NewDecoder(bytes.NewReader(f.Data))
			d.DisallowUnknownFields()
			err = d.Decode(&c.environment)
		case "in":
			err = in.add(rest, f.Data)
		case "base":
			err = base.add(rest, f.Data)
		case "baseline":
			c.options.Earlier = append(c.options.Earlier, analyzer.Earlier{Name: rest, Baseline: f.Data})
		case "package":
			err = packages.add(rest, f.Data)
		case "library-path", "conda":
			err = folders.add(kind, rest, f.Data)
		default:
			err = fmt.Errorf("a file is environment, or its first folder is in, base, baseline, package, library-path or " +
				"conda")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	var err error
	if c.in, err = in.inputs(); err != nil {
		return nil, err
	}
	if len(base.order) > 0 {
		c.options.Base, err = base.inputs()
	}
	c.options.Source, c.options.NoIndex = packages, true
	return c, err
}

func (c *testcase) settings(comment string) error {
	for _, line := range strings.Split(comment, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "check" {
			continue
		}
		for i := 1; i < len(words); i++ {
			to := map[string]*[]string{"--platform": &c.options.Platforms, "--with": &c.options.With,
				"--first": &c.options.First, "--extra": &c.options.Extras,
				"--gpu-arch": &c.options.GPU.Archs}[words[i]]
			switch {
			case words[i] == "--whole-ranges":
				c.options.WholeRanges = true
			case words[i] == "--link":
				c.options.Link = true
			case words[i] == "--policy" && i+1 < len(words):
				i++
				c.options.ABI.Policy = words[i]
			case words[i] == "--gpu-stack" && i+1 < len(words):
				i++
				c.options.GPU.Stack = words[i]
			case to != nil && i+1 < len(words):
				i++
				*to = append(*to, words[i])
			default:
				return fmt.Errorf("setting %q is not known", words[i])
			}
		}
	}
	return nil
}

// inArchive matches up to the end of the name of the archive that contains a file.
var inArchive = regexp.MustCompile(`\.(whl|jar|deb|tgz|apk)/`)

// tree groups files into archives and single objects.
type tree struct {
	order []string
	// archive or object name -> member ("" for a single object) -> content
	files map[string]map[string][]byte
}

func newTree() *tree { return &tree{files: map[string]map[string][]byte{}} }

func (t *tree) add(name string, data []byte) error {
	top, member := name, ""
	if at := inArchive.FindStringIndex(name); at != nil {
		top, member = name[:at[1]-1], name[at[1]:]
	}
	if member == "METADATA" || member == "WHEEL" || member == "RECORD" {
		w, _, err := pkgmeta.ParseVariantName(path.Base(top))
		if err != nil {
			return err
		}
		member = distInfo(w) + member
		if string(data) == "absent\n" {
			data = nil
		}
	} else if strings.HasPrefix(string(data), "pe ") {
		o, err := peobj.Parse(string(data))
		if err != nil {
			return err
		}
		if data, err = peobj.Write(o); err != nil {
			return err
		}
	} else if strings.HasPrefix(string(data), "elf ") {
		var err error
		if data, err = elftest.Build(string(data)); err != nil {
			return err
		}
	} else if strings.HasPrefix(string(data), "wasm\n") ||
		strings.HasPrefix(string(data), "wasm static\n") {
		o, err := wasmobj.Parse(string(data))
		if err != nil {
			return err
		}
		if data, err = wasmobj.Write(o); err != nil {
			return err
		}
	} else if text, ok := strings.CutPrefix(string(data), "gzip "); ok {
		r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
		if err != nil {
			return err
		}
		if data, err = io.ReadAll(r); err != nil {
			return err
		}
	} else if strings.HasPrefix(string(data), "macho ") {
		objects, err := machoobj.Parse(string(data))
		if err != nil {
			return err
		}
		if data, err = machoobj.Write(objects...); err != nil {
			return err
		}
	}
	if t.files[top] == nil {
		t.order, t.files[top] = append(t.order, top), map[string][]byte{}
	}
	t.files[top][member] = data
	return nil
}

func (t *tree) inputs() ([]analyzer.Input, error) {
	var out []analyzer.Input
	for _, top := range t.order {
		data, loose := t.files[top][""]
		if !loose {
			t.complete(top)
			var err error
			if data, err = archive(path.Ext(top), t.files[top]); err != nil {
				return nil, err
			}
		}
		out = append(
			out,
			analyzer.Input{Name: top, Content: bytes.NewReader(data), Size: int64(len(data))},
		)
	}
	return out, nil
}

// complete adds METADATA, WHEEL and RECORD to a wheel, unless the case has them.
func (t *tree) complete(top string) {
	w, _, err := pkgmeta.ParseVariantName(path.Base(top))
	if err != nil {
		return
	}
	files := t.files[top]
	add := func(name, text string) {
		if _, ok := files[distInfo(w)+name]; !ok {
			files[distInfo(w)+name] = []byte(text)
		}
	}
	add("METADATA", "Metadata-Version: 2.1\nName: "+w.Name+"\nVersion: "+w.Version+"\n")
	wheel := "Wheel-Version: 1.0\nGenerator: analyzertest\nRoot-Is-Purelib: false\n"
	for _, tag := range w.Tags {
		wheel += "Tag: " + tag.String() + "\n"
	}
	add("WHEEL", wheel)
	record := distInfo(w) + "RECORD,,\n"
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name] != nil {
			record += name + ",,\n"
		}
	}
	add("RECORD", record)
	maps.DeleteFunc(files, func(_ string, data []byte) bool { return data == nil })
}

func distInfo(w pkgmeta.WheelName) string {
	return strings.ReplaceAll(w.Name, "-", "_") + "-" + w.Version + ".dist-info/"
}

// Packages is a packages.Source with the releases of a case.
type Packages map[string][]*Published

// Published is a release with its Requires-Python ("" = any) and its Python sources by path, which
// may be too many to read all of them. One with the text "not served" is listed, and cannot be read.
type Published struct {
	packages.Release
	RequiresPython string
	Texts          map[string]string
	Many           bool
}

func (p Packages) add(name string, data []byte) error {
	at, file, _ := strings.Cut(name, "/")
	n, v, ok := strings.Cut(at, "==")
	if !ok {
		return fmt.Errorf("a package is NAME==VERSION")
	}
	i := slices.IndexFunc(p[n], func(r *Published) bool { return r.Version == v })
	if i < 0 {
		i = len(p[n])
		p[n] = append(p[n], &Published{
			Release: packages.Release{Name: n, Version: v, Known: true}, Texts: map[string]string{},
		})
	}
	r := p[n][i]
	if file == "requires" {
		for _, line := range strings.Fields(string(data)) {
			q, err := pkgmeta.ParseRequirement(line)
			if err != nil {
				return err
			}
			r.Requires = append(r.Requires, q)
		}
		return nil
	}
	if file == "requires-python" {
		r.RequiresPython = strings.TrimSpace(string(data))
		return nil
	}
	if strings.HasSuffix(file, ".py") {
		r.Texts[file] = string(data)
		return nil
	}
	if file == "abridged" { // it is one of the history, which has no modules
		r.Abridged = true
		return nil
	}
	if file == "many-sources" {
		r.Many = true
		return nil
	}
	if file == "no-wheel" { // it exists, and what it contains cannot be looked up
		r.Known = false
		return nil
	}
	if objects, err := machoobj.Parse(string(data)); err == nil {
		var f machoobj.File
		for _, o := range objects {
			f.Slices = append(f.Slices, machoobj.Slice{Arch: o.Arch, Object: o})
		}
		r.Libraries = append(r.Libraries, packages.NewMachO(file, &f))
		return nil
	}
	if o, err := peobj.Parse(string(data)); err == nil {
		r.Libraries = append(r.Libraries, packages.NewPE(file, o))
		return nil
	}
	text, unread := strings.CutPrefix(string(data), "unread\n")
	types, text, err := typesOf(text)
	if err != nil {
		return err
	}
	libxml2 := 0
	if n, _ := fmt.Sscanf(text, "libxml2 %d\n", &libxml2); n == 1 {
		_, text, _ = strings.Cut(text, "\n")
	}
	o, err := elftest.Parse(text)
	if err != nil {
		return err
	}
	o.Dynamic, o.Libxml2 = true, libxml2
	l := packages.NewLibrary(file, o, types)
	if unread {
		l.Known, l.NearestExports, l.Exports, l.Imports = false, l.Exports, nil, nil
	}
	r.Libraries = append(r.Libraries, l)
	return nil
}

// typesOf returns the types in the first lines of the text of a module, and the rest.
func typesOf(text string) (types []cython.Type, rest string, err error) {
	for strings.HasPrefix(text, "type ") {
		line, after, _ := strings.Cut(text, "\n")
		var t cython.Type
		if _, err := fmt.Sscanf(line, "type %s %d", &t.Name, &t.Size); err != nil {
			return nil, "", fmt.Errorf("%q is not \"type NAME SIZE\": %w", line, err)
		}
		types, text = append(types, t), after
	}
	return types, text, nil
}

// Versions implements packages.Source.
func (p Packages) Versions(
	_ context.Context,
	name string,
	on packages.Target,
) ([]string, error) {
	if len(p[name]) == 0 {
		return nil, fmt.Errorf("%s: %w", name, packages.ErrUnknown)
	}
	var out []string
	for _, r := range p[name] {
		if on.Installs([]packages.File{{RequiresPython: r.RequiresPython}}) {
			out = append(out, r.Version)
		}
	}
	return out, nil
}

// Release implements packages.Source.
func (p Packages) Release(
	_ context.Context,
	name, version string,
	_ packages.Target,
) (*packages.Release, error) {
	for _, r := range p[name] {
		if r.Version == version {
			return &r.Release, nil
		}
	}
	return nil, fmt.Errorf("%s %s: %w", name, version, packages.ErrUnknown)
}

// Texts implements packages.Texts.
func (p Packages) Texts(
	_ context.Context,
	r *packages.Release,
	_ packages.Target,
	top string,
	files []string,
) (packages.Sources, error) {
	out := packages.Sources{Texts: map[string]string{}}
	for _, x := range p[r.Name] {
		if x.Version != r.Version {
			continue
		}
		for file, text := range x.Texts {
			switch {
			case file != top+".py" && !strings.HasPrefix(file, top+"/"):
			case x.Many && files == nil:
				out.Others = append(out.Others, file)
			case text == "not served\n":
			case !x.Many || slices.Contains(files, file):
				out.Texts[file] = text
			}
		}
	}
	slices.Sort(out.Others)
	return out, nil
}

// Format writes a report in the form of want, with details indented.
func Format(r *analyzer.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "verdict %s\n", r.Verdict)
	for _, t := range r.Targets {
		fmt.Fprintf(&b, "target %s %s", t.Name, t.Verdict)
		if len(t.With) > 0 {
			fmt.Fprintf(&b, " with %s", strings.Join(t.With, " "))
		}
		b.WriteByte('\n')
	}
	for _, a := range r.Artifacts {
		if len(a.Assumed) > 0 {
			fmt.Fprintf(&b, "assumed %s\n", strings.Join(a.Assumed, " "))
		}
	}
	for _, f := range r.Findings {
		state := ""
		if !f.New {
			state = "existing "
		}
		fmt.Fprintf(&b, "%s%s %s %s", state, f.Severity, f.Rule, f.Object)
		if f.Symbol+f.Version != "" {
			fmt.Fprintf(&b, " %s", analyzer.Versioned(f.Symbol, f.Version))
		}
		if f.Library != "" {
			fmt.Fprintf(&b, " of %s", f.Library)
		}
		fmt.Fprintf(&b, "\n  %s\n", f.Message)
		for _, x := range f.Fixes {
			mark := "untried"
			if x.Verified {
				mark = "verified"
			}
			fmt.Fprintf(&b, "  fix %s %s: %s", x.Kind, mark, x.Title)
			if x.Command != "" {
				fmt.Fprintf(&b, " | %s", x.Command)
			}
			if len(x.Cost) > 0 {
				fmt.Fprintf(&b, " | %s", strings.Join(x.Cost, "; "))
			}
			b.WriteByte('\n')
		}
	}
	for _, u := range r.Unread {
		fmt.Fprintf(&b, "unread %s: %s\n", u.Path, u.Reason)
	}
	for _, u := range r.Skipped {
		fmt.Fprintf(&b, "skipped %s: %s\n", u.Path, u.Reason)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note %s\n", n)
	}
	return b.String()
}
