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
