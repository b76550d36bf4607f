package elfobj_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// compare checks dependencies, symbols, versions and hidden bits against debug/elf.
func compare(t testing.TB, f *elf.File, o *elfobj.Object) {
	t.Helper()
	libs, err := f.ImportedLibraries()
	if err != nil {
		t.Errorf("debug/elf: %v", err)
		return
	}
	if !slices.Equal(libs, o.Needed) && len(libs)+len(o.Needed) > 0 {
		t.Errorf("DT_NEEDED is %q, debug/elf has %q", o.Needed, libs)
	}
	for tag, own := range map[elf.DynTag]string{elf.DT_SONAME: o.SONAME, elf.DT_RPATH: o.RPath,
		elf.DT_RUNPATH: o.RunPath} {
		if s, err := f.DynString(tag); err != nil || strings.Join(s, "") != own {
			t.Errorf("%v is %q, debug/elf has %q, %v", tag, own, s, err)
		}
	}
	compareSymbols(t, f, o)
	var needs []string
	if ns, err := f.DynamicVersionNeeds(); err == nil {
		for _, n := range ns {
			for _, v := range n.Needs {
				needs = append(needs, fmt.Sprint(n.Name, " ", v.Dep, " ", v.Flags&elf.VER_FLG_WEAK != 0))
			}
		}
	}
	var own []string
	for _, n := range o.VersionNeeds {
		for _, v := range n.Versions {
			own = append(own, fmt.Sprint(n.Library, " ", v.Name, " ", v.Weak))
		}
	}
	if !slices.Equal(own, needs) {
		t.Errorf("version needs are %q, debug/elf has %q", own, needs)
	}
	needs, own = nil, nil
	if ds, err := f.DynamicVersions(); err == nil {
		for _, d := range ds {
			needs = append(
				needs,
				fmt.Sprint(
					d.Name,
					" ",
					d.Flags&elf.VER_FLG_BASE != 0,
					" ",
					d.Flags&elf.VER_FLG_WEAK != 0,
					" ",
					len(d.Deps),
				),
			)
		}
	}
	for _, d := range o.VersionDefs {
		own = append(own, fmt.Sprint(d.Name, " ", d.Base, " ", d.Weak, " ", len(d.Parents)))
	}
	if !slices.Equal(own, needs) {
		t.Errorf("version definitions are %q, debug/elf has %q", own, needs)
	}
}

// compareSymbols checks Imports and Exports, in order, against the corresponding symbols of
// debug/elf.
func compareSymbols(t testing.TB, f *elf.File, o *elfobj.Object) {
	t.Helper()
	syms, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		t.Errorf("debug/elf: %v", err)
		return
	}
	imports, exports := 0, 0
	for _, s := range syms {
		bind := elf.ST_BIND(s.Info)
		if vis := elf.ST_VISIBILITY(s.Other); bind == elf.STB_LOCAL || bind > elfobj.BindUnique ||
			vis == elf.STV_HIDDEN ||
			vis == elf.STV_INTERNAL {
			continue
		}
		kind, weak := elfobj.Kinds[elf.ST_TYPE(s.Info)], bind == elf.STB_WEAK
		if s.Section == elf.SHN_UNDEF {
			var own elfobj.Import
			if imports < o.Imports.Len() {
				own = o.Imports.At(imports)
			}
			own.Relocs = 0
			if want := (elfobj.Import{Name: s.Name, Version: s.Version, Library: s.Library, Weak: weak,
				Kind: kind}); own != want {
				t.Errorf("import %d is %+v, debug/elf has %+v", imports, own, want)
				return
			}
			imports++
			continue
		}
		var own elfobj.Export
		if exports < o.Exports.Len() {
			own = o.Exports.At(exports)
		}
		own.Relocs = 0
		if want := (elfobj.Export{Name: s.Name, Version: s.Version, Hidden: s.HasVersion &&
			s.VersionIndex.IsHidden(), Weak: weak, Unique: bind == elfobj.BindUnique, Kind: kind,
			Size: s.Size}); own != want {
			t.Errorf("export %d is %+v, debug/elf has %+v", exports, own, want)
			return
		}
		exports++
	}
	if imports != o.Imports.Len() || exports != o.Exports.Len() {
		t.Errorf(
			"%d imports and %d exports, debug/elf has %d and %d",
			o.Imports.Len(),
			o.Exports.Len(),
			imports,
			exports,
		)
	}
}

// systemLibraries returns at most limit distinct shared libraries of this machine.
func systemLibraries(t testing.TB, limit int) []string {
	t.Helper()
	seen := map[string]bool{}
	var files []string
	for _, dir := range []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64",
		"/usr/lib64", "/lib", "/usr/lib"} {
		found, err := filepath.Glob(dir + "/*.so*")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			real, err := filepath.EvalSymlinks(f)
			if err != nil || seen[real] {
				continue
			}
			seen[real] = true
			if b := make([]byte, 4); readHead(real, b) && string(b) == elfobj.Magic {
				files = append(files, real)
			}
		}
	}
	if len(files) == 0 {
		t.Fatal("this machine has no shared library to compare the two readers on")
	}
	return files[:min(len(files), limit)]
}

func readHead(file string, b []byte) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	n, err := f.ReadAt(b, 0)
	return err == nil && n == len(b)
}

func TestAgainstDebugELF(t *testing.T) {
	for _, file := range systemLibraries(t, 150) {
		t.Run(strings.TrimPrefix(file, "/"), func(t *testing.T) {
			r, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			st, err := r.Stat()
			if err != nil {
				t.Fatal(err)
			}
			o, err := elfobj.Read(r, st.Size())
			if err != nil {
				t.Fatal(err)
			}
			f, err := elf.NewFile(r)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, f, o)
			compareRelocs(t, f, o)
			roundTrip(t, o)
		})
	}
}

// roundTrip converts an object to the text form and to a file, and back.
func roundTrip(t *testing.T, o *elfobj.Object) {
	t.Helper()
	same(t, elftest.Object(t, elftest.Text(o)), o)
	b, err := elftest.Write(o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := elfobj.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, again, o)
}
