package analyzer_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/test/analyzertest"
)

// environment is a wheel and the other files and requirements of an environment, which a user
// can change.
type environment struct {
	tag      string
	objects  map[string]string     // path in the wheel -> text form
	requires []string              // Requires-Dist
	with     []string              // what is installed with it
	packages analyzertest.Packages // every release that there is
	path     []string              // folders of LD_LIBRARY_PATH
	files    map[string]string     // in these, text form
}

// invent returns a random environment in which problems are likely.
func invent(r *rand.Rand) *environment {
	e := &environment{
		tag:      []string{"manylinux_2_17", "manylinux_2_28"}[r.IntN(2)],
		objects:  map[string]string{},
		packages: analyzertest.Packages{},
	}
	n := 2 + r.IntN(2)
	for p := range n {
		name := fmt.Sprintf("p%d", p)
		for v := range 1 + r.IntN(5) {
			l := packages.Library{
				Path:     name + "/lib" + name + ".so.1",
				SONAME:   "lib" + name + ".so.1",
				Known:    true,
				Versions: []string{"lib" + name + ".so.1", "V"},
			}
			var exports []elfobj.Export
			for s := range 5 {
				if s == 0 || s <= v && r.IntN(6) > 0 || r.IntN(5) == 0 {
					exports = append(
						exports,
						elfobj.Export{
							Name:    fmt.Sprintf("%s_s%d", name, s),
							Version: "V",
							Kind:    "func",
						},
					)
				}
			}
			l.Exports = elfobj.NewExports(exports...)
			if r.IntN(8) == 0 {
				l.Path, l.SONAME = name+"/lib"+name+".so.2", "lib"+name+".so.2"
			}
			rel := &packages.Release{
				Name:      name,
				Version:   fmt.Sprintf("%d.%d", 1+v/3, v%3),
				Known:     true,
				Libraries: []packages.Library{l},
			}
			if below := fmt.Sprintf("p%d", p-1); p > 0 && len(e.packages[below]) > 0 &&
				r.IntN(2) == 0 {
				pin := e.packages[below][r.IntN(len(e.packages[below]))].Version
				q, err := pkgmeta.ParseRequirement(below + []string{"==", ">=", "<="}[r.IntN(3)] + pin)
				if err != nil {
					panic(err)
				}
				rel.Requires = append(rel.Requires, q)
				rel.Libraries[0].Needed = []string{"lib" + below + ".so.1"}
			}
			e.packages[name] = append(e.packages[name], &analyzertest.Published{Release: *rel})
		}
		all := e.packages[name]
		switch v := all[r.IntN(len(all))].Version; r.IntN(4) {
		case 0:
			e.requires = append(e.requires, name+">="+v)
		case 1:
			e.requires = append(e.requires, name)
			e.with = append(e.with, name+"=="+v)
		case 2:
			e.with = append(e.with, name+"=="+v)
		}
	}
	for o := range 1 + r.IntN(3) {
		text := []string{"elf x86_64", fmt.Sprintf("export PyInit__m%d", o)}
		add := func(line string) {
			if !slices.Contains(text, line) {
				text = append(text, line)
			}
		}
		for range r.IntN(4) {
			p := r.IntN(n)
			add(fmt.Sprintf("needed libp%d.so.1", p))
			if r.IntN(3) == 0 {
				add(fmt.Sprintf("import p%d_s%d", p, r.IntN(5)))
			} else {
				add(fmt.Sprintf("import p%d_s%d@V libp%d.so.1", p, r.IntN(5), p))
			}
		}
		add("needed libc.so.6")
		for _, line := range []string{"import pow@GLIBC_2.29 libm.so.6",
			"import exp@GLIBC_2.29 libm.so.6", "import fcntl64@GLIBC_2.28 libc.so.6", "import shm_open",
			"import own_helper", "import memcpy@GLIBC_2.14 libc.so.6"} {
			if r.IntN(4) == 0 {
				add(line)
			}
		}
		if slices.ContainsFunc(text, func(l string) bool { return strings.HasSuffix(l, "libm.so.6") }) {
			add("needed libm.so.6")
		}
		if r.IntN(8) == 0 {
			add("needed libcublas.so.12")
		}
		e.objects[fmt.Sprintf("pkg/_m%d.cpython-312-x86_64-linux-gnu.so", o)] = strings.Join(
			text,
			"\n",
		) + "\n"
	}
	if r.IntN(2) == 0 {
		e.objects["pkg/libhelper.so"] = "elf x86_64\nsoname libhelper.so\nexport own_helper\nneeded " +
			"libc.so.6\n"
	}
	if r.IntN(2) == 0 { // somebody else's libraries, which come first
		e.files = map[string]string{}
		for _, dir := range []string{"/opt/a", "/opt/b"}[:1+r.IntN(2)] {
			e.path = append(e.path, dir)
			p := r.IntN(n)
			text := fmt.Sprintf("elf x86_64\nsoname libp%d.so.1\nneeded libc.so.6\nexport p%d_s0@@V\n", p, p)
			if r.IntN(2) == 0 {
				text += fmt.Sprintf("export p%d_s%d@@V\n", p, 1+r.IntN(4))
			}
			e.files[fmt.Sprintf("%s/libp%d.so.1", dir, p)] = text
		}
	}
	e.packages["nvidia-cublas-cu12"] = []*analyzertest.Published{
		{Release: packages.Release{
			Name:    "nvidia-cublas-cu12",
			Version: "12.1",
			Known:   true,
			Libraries: []packages.Library{
				{Path: "nvidia/libcublas.so.12", SONAME: "libcublas.so.12", Known: true},
			},
		}},
	}
	return e
}

// check writes the environment's files and checks them.
func (e *environment) check(t *testing.T) *analyzer.Report {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	put := func(name string, data []byte) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	meta := "Metadata-Version: 2.1\nName: invented\nVersion: 1.0\n"
	for _, q := range e.requires {
		meta += "Requires-Dist: " + q + "\n"
	}
	put("invented-1.0.dist-info/METADATA", []byte(meta))
	for _, name := range slices.Sorted(maps.Keys(e.objects)) {
		data := elftest.File(t, e.objects[name])
		put(name, data)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	in := analyzer.Input{
		Name:    "invented-1.0-cp312-cp312-" + e.tag + "_x86_64.whl",
		Content: bytes.NewReader(b.Bytes()),
		Size:    int64(b.Len()),
	}
	var folders []analyzer.Folder
	for _, dir := range e.path {
		folders = append(
			folders,
			analyzer.Folder{Path: dir, Open: func(file string) *elfobj.Object {
				o, err := elftest.Parse(e.files[dir+"/"+file])
				if err != nil {
					return nil
				}
				return o
			}},
		)
	}
	r, err := analyzer.New(rules.All()).
		Check(context.Background(), []analyzer.Input{in},
			analyzer.Options{With: e.with, Source: e.packages, LibraryPath: folders})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var (
	symverLine = regexp.MustCompile(`\.symver (\w+),\w+@([\w.]+)`)
	addNeeded  = regexp.MustCompile(`^patchelf --add-needed (\S+) `)
	setPath    = regexp.MustCompile(`^patchelf --set-rpath '([^']+)' `)
	linkOwn    = regexp.MustCompile(` with (\S+) \(CMake: target_link_libraries(?:, .* for the path (\S+))?\)$`)
	packing    = regexp.MustCompile(`^(python -m (wheel|zipfile)|rm -r|mv) `)
	takenOut   = regexp.MustCompile(`^Remove (\S+) from LD_LIBRARY_PATH$`)
	newTag     = regexp.MustCompile(`--platform-tag (\w+)_x86_64 `)
)

// follow applies a fix as a user would: a requirement is written to METADATA or installed, an
// object is edited, the file is renamed. ok is false for a fix that does not change these files
// (link flags).
func (e *environment) follow(f *analyzer.Finding, x *fix.Fix) (after *environment, ok bool) {
	c := *e
	c.objects = maps.Clone(e.objects)
	c.requires = slices.Clone(e.requires)
	c.with = slices.Clone(e.with)
	name := func(requirement string) string {
		return strings.FieldsFunc(requirement, func(r rune) bool {
			return strings.ContainsRune("<>=!~", r)
		})[0]
	}
	of := func(requirement string) func(string) bool {
		return func(have string) bool { return name(have) == name(requirement) }
	}
	install := func(requirement string) {
		c.with = append(slices.DeleteFunc(c.with, of(requirement)), requirement)
	}
	switch x.Kind {
	case fix.KindPin, fix.KindDependency:
		if slices.ContainsFunc(c.with, of(x.Requirement)) {
			install(x.Requirement)
		} else {
			c.requires = append(slices.DeleteFunc(c.requires, of(x.Requirement)), x.Requirement)
		}
	case fix.KindEnvironment:
		if m := takenOut.FindStringSubmatch(x.Title.String()); m != nil {
			c.path = slices.DeleteFunc(slices.Clone(c.path), func(dir string) bool { return dir == m[1] })
			break
		}
		requirements, ok := strings.CutPrefix(string(x.Command), "pip install ")
		if !ok {
			break
		}
		for i, word := range strings.Fields(requirements) {
			requirement := strings.Trim(word, "'")
			if i == 0 && !slices.ContainsFunc(c.with, of(requirement)) {
				c.requires = append(slices.DeleteFunc(c.requires, of(requirement)), requirement)
				continue
			}
			install(requirement)
		}
	case fix.KindPlatformTag:
		c.tag = newTag.FindStringSubmatch(string(x.Command))[1]
	case fix.KindSymver:
		m := symverLine.FindStringSubmatch(string(x.Command))
		c.objects[f.Object] = strings.Replace(
			c.objects[f.Object],
			"import "+m[1]+"@"+f.Version+" ",
			"import "+m[1]+"@"+m[2]+" ",
			1,
		)
	case fix.KindPatchelf:
		for command := range strings.SplitSeq(string(x.Command), " && ") {
			added, path := addNeeded.FindStringSubmatch(command), setPath.FindStringSubmatch(command)
			switch {
			case added != nil:
				c.objects[f.Object] += "needed " + added[1] + "\n"
			case path != nil:
				c.objects[f.Object] += "runpath " + path[1] + "\n"
			case !packing.MatchString(command):
				panic(command)
			}
		}
	case fix.KindLinkFlag:
		if f.Rule != "undefined-symbol" {
			return nil, false
		}
		if own := linkOwn.FindStringSubmatch(x.Title.String()); own != nil {
			c.objects[f.Object] += "needed " + own[1] + "\n"
			if own[2] != "" {
				c.objects[f.Object] += "runpath " + own[2] + "\n"
			}
			break
		}
		c.objects[f.Object] += "needed " + f.Library + "\n"
	default:
		return nil, false
	}
	return &c, true
}

// TestVerifiedFixesHelp checks verified fixes in random environments: if the change is made in
// the files and requirements, and everything is checked again, the finding is gone and there is
// no new one.
func TestVerifiedFixesHelp(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(150) {
		e := invent(rand.New(rand.NewPCG(seed, 6)))
		before := e.check(t)
		had := before.Identities()
		done := map[string]bool{}
		for i := range before.Findings {
			f := &before.Findings[i]
			for j := range f.Fixes {
				x := &f.Fixes[j]
				if !x.Verified {
					continue
				}
				after, ok := e.follow(f, x)
				key := string(x.Kind) + string(x.Command) + f.Identity()
				if !ok || done[key] {
					continue
				}
				done[key] = true
				seen[string(x.Kind)]++
				if takenOut.MatchString(x.Title.String()) {
					seen["LD_LIBRARY_PATH"]++
				}
				for _, g := range after.check(t).Findings {
					switch {
					case g.RevealedBy != "": // it shows only with another fix
					case g.Identity() == f.Identity():
						t.Errorf(
							"seed %d: %s: %q (%s) does not remove %q",
							seed,
							f.Rule,
							x.Title,
							x.Command,
							f.Message,
						)
					case !slices.Contains(had, g.Identity()) && g.Severity != analyzer.Note:
						t.Errorf(
							"seed %d: %s: %q (%s) removes %q and adds %q",
							seed,
							f.Rule,
							x.Title,
							x.Command,
							f.Message,
							g.Message,
						)
					}
				}
			}
		}
	}
	t.Logf("fixes followed: %v", seen)
	for _, kind := range []fix.Kind{fix.KindPin, fix.KindEnvironment, fix.KindPatchelf,
		fix.KindLinkFlag, fix.KindSymver, fix.KindPlatformTag, fix.KindDependency, "LD_LIBRARY_PATH"} {
		if seen[string(kind)] < 3 {
			t.Errorf("only %d fixes of kind %s came up", seen[string(kind)], kind)
		}
	}
}
