//go:build linux

package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
)

// hostCode is a program that runs steps and prints the result of each:
//
//	MODE=NAME      dlopen; MODE consists of "now", "lazy", "global", "deep" and "noload", joined by ","
//	MODE=NAME@BY   the same, called by a library made with "caller"
//	who=F@LIBRARY  prints whose f the function at_f of a library returns
const hostCode = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int n, char **v) {
	for (int i = 1; i < n; i++) {
		char *how = v[i], *name = strchr(how, '='), *by;
		*name++ = 0;
		if ((by = strchr(name, '@'))) *by++ = 0;
		if (!strcmp(how, "who")) {
			char at[99];
			Dl_info d;
			sprintf(at, "at_%s", name);
			void *l = dlopen(by, RTLD_NOW | RTLD_NOLOAD), *(*f)(void) = l ? (void *(*)(void))dlsym(l, at) : 0;
			puts(f && dladdr(f(), &d) ? d.dli_fname : "nobody");
			continue;
		}
		int mode = (strstr(how, "lazy") ? RTLD_LAZY : RTLD_NOW) | (strstr(how, "global") ? RTLD_GLOBAL : 0) | (strstr(how, "noload") ? RTLD_NOLOAD : 0);
#ifdef RTLD_DEEPBIND
		if (strstr(how, "deep")) mode |= RTLD_DEEPBIND;
#endif
		void *(*open)(const char *, int) = by ? (void *(*)(const char *, int))dlsym(dlopen(by, RTLD_NOW | RTLD_NOLOAD), "call_dlopen") : dlopen;
		char *said;
		puts(open(name, mode) ? "ok" : (said = dlerror()) ? said : "not loaded");
	}
}
`

const callerCode = `void *dlopen(const char *, int); void *call_dlopen(const char *name, int mode) { return dlopen(name, mode); }
`

// open compares the results of steps in a real process with those of compat.
func (m *loaderRoot) open(args []string) {
	m.t.Helper()
	s, env, args := m.settings(args)
	c := m.command(env, args...)
	text, err := c.Output()
	if err != nil {
		m.t.Fatalf("run %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	root, err := openRoot(m.dir)
	m.check(err)
	p, a := dynlink.NewLinker(root).Start(args[0], s)
	if len(want) != len(args)-1 {
		m.t.Fatalf("run %s: it said %q; compat says of the start %+v", strings.Join(args, " "), want, a)
	}
	e := &imagined{
		libc:      m.cases.libc,
		libraries: map[string]*dynlink.Library{},
		objects:   map[*dynlink.Library]*elfobj.Object{},
		local:     map[*dynlink.Library]bool{},
	}
	m.check(e.read(m.dir, args[0], a))
	for i, step := range args[1:] {
		m.asked++
		if got, asked := e.says(step, want[i]); asked && got != want[i] {
			m.t.Errorf(
				"run %s %s\n%s: the process says\n%s\nan environment of these libraries says\n%s",
				strings.Join(env, " "),
				strings.Join(args, " "),
				step,
				want[i],
				got,
			)
		}
		if got, new := stepSays(p, step); got != want[i] {
			m.t.Errorf(
				"run %s %s\n%s: the process says\n%s\ncompat says\n%s",
				strings.Join(env, " "),
				strings.Join(args, " "),
				step,
				want[i],
				got,
			)
		} else {
			e.happened(step, got, new)
		}
	}
}

// stepSays returns compat's result for a step, and the newly loaded objects.
func stepSays(p *dynlink.Process, step string) (says string, new []dynlink.LoadedObject) {
	how, name, _ := strings.Cut(step, "=")
	name, by, _ := strings.Cut(name, "@")
	if how == "who" {
		for _, r := range p.Why(name) {
			if r.Object == by {
				return r.Provider, nil
			}
		}
		if p.Open(by, dynlink.Mode{NoLoad: true}, "").Error != "" {
			return "nobody", nil
		}
		return by, nil // bound by the linker
	}
	has := func(word string) bool { return strings.Contains(how, word) }
	a := p.Open(
		name,
		dynlink.Mode{
			Lazy:     has("lazy"),
			Global:   has("global"),
			DeepBind: has("deep"),
			NoLoad:   has("noload"),
		},
		by,
	)
	if a.Error == "" {
		return "ok", a.Objects
	}
	return a.Error, nil
}

// imagined is the same process in an Environment, as used by compat check: it only knows paths in
// the artifact, and what was loaded before.
type imagined struct {
	libc      string
	libraries map[string]*dynlink.Library // by path in the root
	objects   map[*dynlink.Library]*elfobj.Object
	process   []*dynlink.Library
	local     map[*dynlink.Library]bool
}

// read reads the libraries of a root and the start of a program.
func (e *imagined) read(dir, program string, start *dynlink.Answer) error {
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), "libc.so") ||
			strings.HasPrefix(d.Name(), "ld-") {
			return err
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if o, err := elfobj.Read(f, info.Size()); err == nil {
			path := strings.TrimPrefix(p, dir)
			l := dynlink.FromObject(path[1:], o)
			e.libraries[path], e.objects[l] = l, o
		}
		return nil
	})
	e.process = append(e.process, e.libraries[program])
	e.add(start.Objects)
	return err
}

func (e *imagined) add(new []dynlink.LoadedObject) (added []*dynlink.Library) {
	for _, o := range new {
		if l := e.libraries[o.Path]; l != nil && !slices.Contains(e.process, l) {
			e.process, added = append(e.process, l), append(added, l)
		}
	}
	return added
}

func (e *imagined) environment() *dynlink.Environment {
	var all []*dynlink.Library
	for _, path := range slices.Sorted(maps.Keys(e.libraries)) {
		all = append(all, e.libraries[path])
	}
	env := dynlink.NewEnvironment(e.libc, all, e.process, nil)
	env.Local = e.local
	return env
}

// aboutSymbols matches error messages about symbols and versions.
var aboutSymbols = regexp.MustCompile("undefined symbol|symbol not found|version `")

// says returns the result of a plain step in the format of the process. asked is false for steps
// that an Environment cannot answer: how a name is found, and the other modes.
func (e *imagined) says(step, really string) (text string, asked bool) {
	how, name, _ := strings.Cut(step, "=")
	root := e.libraries[name]
	if root == nil || how != "now" && how != "now,global" ||
		really != "ok" && !aboutSymbols.MatchString(really) {
		return "", false
	}
	env := e.environment()
	loading := env.Load(root)
	for _, f := range slices.Backward(loading.Found) {
		if slices.Contains(e.process, f.Library) {
			continue
		}
		for b := range env.Bind(e.objects[f.Library].Imports, loading.Scope(), nil).All() {
			switch object := "/" + f.Library.Path; {
			case b.Import.Name == "dlopen":
			case b.Outcome == dynlink.NoVersion:
				return "/" + b.Provider.Path + ": version `" + b.Import.Version + "' not found (required by " +
					object + ")", true
			case b.Outcome == dynlink.NoSymbol && e.libc == "musl":
				return "Error relocating " + object + ": " + b.Import.Name + ": symbol not found", true
			case b.Outcome == dynlink.NoSymbol:
				return object + ": undefined symbol: " + b.Import.Name, true
			}
		}
	}
	return "ok", true
}

// happened applies the effect of a step.
func (e *imagined) happened(step, said string, new []dynlink.LoadedObject) {
	how, name, _ := strings.Cut(step, "=")
	if said != "ok" {
		return
	}
	for _, l := range e.add(new) {
		e.local[l] = true
	}
	if i := slices.IndexFunc(e.process, func(l *dynlink.Library) bool {
		return slices.Contains(append(l.Names(), "/"+l.Path), name)
	}); i >= 0 &&
		strings.Contains(how, "global") {
		for _, f := range e.environment().Load(e.process[i]).Found {
			delete(e.local, f.Library)
		}
	}
}
