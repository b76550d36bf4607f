package dynlink

import (
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// versions is _dl_check_all_versions (glibc, elf/dl-version.c): every version node that some
// objects need of a library must be one that it defines.
func (g *glibc) versions(r *run, of []*loaded) error {
	cut := false
	for _, l := range of {
		if l.fake || l.object == nil {
			continue
		}
		m := l.object.m
		libc, relr, missing := false, false, false
		for _, n := range m.Needs {
			if n.Record != 1 {
				return g.fatal(
					r,
					l.shown+": unsupported version "+strconv.Itoa(
						int(n.Record),
					)+" of Verneed record",
				)
			}
			p := r.asked[n.Library]
			if p == nil {
				return g.fatal(
					r,
					"Inconsistency detected by ld.so: dl-version.c: _dl_check_map_versions: Assertion `needed != NULL' failed! ("+
						l.shown+" needs versions of "+n.Library+", which it does not need)",
				)
			}
			libc = libc || strings.HasPrefix(n.Library, "libc.so.")
			for _, v := range n.Versions {
				relr = relr || v.Name == "GLIBC_ABI_DT_RELR"
			}
			if p.fake {
				missing = true
				continue
			}
			if !p.object.m.HasVersym {
				r.bare = true
			}
			if !p.object.m.HasVerdef {
				continue // "no version information available": a warning
			}
			for _, v := range n.Versions {
				if !v.Weak && !definesVersion(p.object.m, v) {
					r.answer.MissingVersions = append(
						r.answer.MissingVersions,
						MissingVersion{v.Name, p.shown, l.shown},
					)
				}
			}
		}
		if missing {
			l.cut, cut = r.tableSize(m), true
		}
		if m.RelR && libc && !relr && g.minor >= 36 {
			return g.fatal(r, l.shown+": DT_RELR without GLIBC_ABI_DT_RELR dependency")
		}
	}
	if cut {
		r.overreads()
	}
	r.answer.MissingVersions = distinct(r.answer.MissingVersions)
	return nil
}

// definesVersion is match_symbol: the hash that stands in the file and the name must both agree. The base node counts.
func definesVersion(m *elfobj.Mapping, v elfobj.MappedVersion) bool {
	for i := range m.Defs {
		if d := &m.Defs[i]; d.Hash == v.Hash && d.Name == v.Name {
			return true
		}
	}
	return false
}

// tableSize is the size of the loader's table of versions (l_nversions), which leaves out what is needed of libraries that were not found.
func (r *run) tableSize(m *elfobj.Mapping) uint16 {
	var top uint16
	for i, v := range m.Versions {
		if v.Hash == 0 {
			continue
		}
		if p := r.asked[v.Library]; v.Library == "" || p != nil && !p.fake {
			top = max(top, uint16(i))
		}
	}
	return top + 1
}

// versionTable is the loader's table of versions of one object (l_versions) in its memory.
type versionTable struct {
	l       *loaded // nil: the vdso
	at      int     // address, in bytes from the first table
	entries []elfobj.IndexedVersion
}

// Layout of struct r_found_version with 64-bit addresses: name, hash, hidden, filename. The
// loader's own malloc puts tables one after the other.
const (
	versionSize, versionHash = 24, 8
	mallocAlign              = 16
)

// overreads fills in what the loader reads for versions that are beyond its table: it sizes the
// table without the needs of libraries that were not found (glibc 2.31 to 2.41,
// _dl_check_map_versions), and finds there the tables of the objects that follow. A symbol whose
// version happens to read as none binds to any definition, so this decides which symbols ldd -r
// reports.
func (r *run) overreads() {
	var tables []versionTable
	end := 0
	put := func(l *loaded, entries []elfobj.IndexedVersion) {
		if len(entries) > 1 {
			tables = append(tables, versionTable{l, end, entries})
			end = (end + versionSize*len(entries) + mallocAlign - 1) &^ (mallocAlign - 1)
		}
	}
	for _, l := range r.all {
		if l.object == nil || l.fake {
			continue
		}
		n := len(l.object.m.Versions)
		if l.cut > 0 {
			n = min(n, int(l.cut))
		}
		put(l, l.object.m.Versions[:n])
		if l == r.main {
			put(nil, []elfobj.IndexedVersion{{}, {}, {Name: "LINUX_2.6", Hash: 0x3ae75f6}})
		}
	}
	for _, t := range tables {
		if t.l == nil || t.l.cut == 0 {
			continue
		}
		t.l.beyond = map[uint16]elfobj.IndexedVersion{}
		for i := int(t.l.cut); i < len(t.l.object.m.Versions); i++ {
			t.l.beyond[uint16(i)] = readVersion(tables, t.at+versionSize*i)
		}
	}
}

// readVersion is the struct that begins at an address.
func readVersion(tables []versionTable, at int) elfobj.IndexedVersion {
	for _, t := range tables {
		in := at + versionHash - t.at
		if in < 0 || in >= versionSize*len(t.entries) {
			continue
		}
		v := t.entries[in/versionSize]
		switch in % versionSize {
		case versionHash:
			return v
		case 0: // the address of the name, read as a hash
			if v.Hash != 0 {
				return noVersionHasIt
			}
		default: // the address of the library's name
			if v.Library != "" {
				return noVersionHasIt
			}
		}
	}
	return elfobj.IndexedVersion{}
}

// noVersionHasIt is an address taken for a hash: only a definition without a version serves.
var noVersionHasIt = elfobj.IndexedVersion{Name: "\x00", Hash: 1}
