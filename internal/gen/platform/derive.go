package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/platform/table"
)

// Columns for releases that no Debian suite has. A symbol keeps its node from release to release,
// so cutting a later table down to the nodes of an earlier release gives that release, but for
// symbols that changed their library without changing their node: glibc 2.31 and 2.34 moved some.
const (
	before231 = "glibc2.30" // from debian11: glibc 2.30 and earlier
	after231  = "debian11"
)

// movedIn231 are symbols whose place changed in glibc 2.31 (NEWS of 2.31 and the commits "nptl:
// Remove …", "rt: Move clock_…"): librt had the clock functions at their first version, and
// libpthread had copies of the others, in addition to libc.
var movedIn231 = map[string]string{
	"clock_getcpuclockid": "librt.so.1", "clock_getres": "librt.so.1", "clock_gettime": "librt.so.1",
	"clock_nanosleep": "librt.so.1", "clock_settime": "librt.so.1",
	"nanosleep": "libpthread.so.0", "__nanosleep": "libpthread.so.0", "wait": "libpthread.so.0",
	"__wait": "libpthread.so.0", "waitpid": "libpthread.so.0",
	"vfork": "libpthread.so.0", "__vfork": "libpthread.so.0",
	"pthread_attr_destroy": "libpthread.so.0", "pthread_attr_getdetachstate": "libpthread.so.0",
	"pthread_attr_getinheritsched": "libpthread.so.0",
	"pthread_attr_getschedparam":   "libpthread.so.0", "pthread_attr_init": "libpthread.so.0",
	"pthread_attr_setdetachstate":  "libpthread.so.0",
	"pthread_attr_setinheritsched": "libpthread.so.0",
	"pthread_attr_setschedparam":   "libpthread.so.0", "pthread_equal": "libpthread.so.0",
	"pthread_self": "libpthread.so.0",
}

// derive adds the columns. Where Debian 11 was not read, glibc 2.31's division into libraries is
// taken from aarch64's.
func derive(sets []*table.Set) error {
	model := sets[slices.IndexFunc(sets, func(s *table.Set) bool { return s.Arch == "aarch64" })]
	for _, s := range sets {
		has := func(glibc string) bool {
			return slices.ContainsFunc(s.Columns, func(c table.Column) bool { return c.Glibc == glibc })
		}
		switch {
		case has("2.31"):
		case has("2.41"):
			if err := addMerged(s, model); err != nil {
				return fmt.Errorf("%s: %w", s.Arch, err)
			}
		default: // added to glibc after 2.34
			if err := addBefore243(s); err != nil {
				return fmt.Errorf("%s: %w", s.Arch, err)
			}
			continue
		}
		if err := addBefore231(s); err != nil {
			return fmt.Errorf("%s: %w", s.Arch, err)
		}
	}
	return nil
}

// addBefore243 adds glibc 2.41 for an architecture of which only 2.43 was read, without the nodes
// that came after it. The other libraries are those of 2.43: platforms that have earlier ones leave
// out their nodes.
func addBefore243(s *table.Set) error {
	from := slices.IndexFunc(s.Columns, func(c table.Column) bool { return c.Glibc == "2.43" })
	if from < 0 {
		return fmt.Errorf("has no column to derive glibc 2.41 from")
	}
	later := func(node string) bool {
		return strings.HasPrefix(node, "GLIBC_2.") && table.CompareNodes(node, "GLIBC_2.41") > 0
	}
	b, to := extend(s, "glibc2.41", "2.41")
	for _, l := range s.Libraries {
		l.In[to] = l.In[from]
		l.In[to].Nodes = slices.DeleteFunc(slices.Clone(l.In[from].Nodes), later)
		for _, r := range l.Rows {
			if r.Present>>from&1 == 1 && !later(r.Node) {
				b.row(l.SONAME, to, r.Name, r.Node, r.Kind, r.Hidden>>from&1 == 1)
			}
		}
	}
	b.finish()
	return nil
}

// addBefore231 adds the column for glibc 2.30 and earlier.
func addBefore231(s *table.Set) error {
	from := slices.IndexFunc(s.Columns, func(c table.Column) bool { return c.Glibc == "2.31" })
	b, to := extend(s, before231, "2.30")
	for _, l := range s.Libraries {
		if l.Package != "libc6" || !l.In[from].Present {
			continue
		}
		l.In[to] = l.In[from]
		for _, r := range l.Rows {
			if r.Present>>from&1 == 0 || placeholder(r.Name) {
				continue
			}
			home := movedIn231[r.Name]
			old := l.SONAME == "libc.so.6" && home != "" && earlier(r.Node)
			// The clock functions of libc are those of 2.17; an older node came from librt. Where 2.17 is
			// the architecture's first release libc had them from the start.
			if old && home == "librt.so.1" {
				b.row(home, to, r.Name, r.Node, r.Kind, false)
				continue
			}
			b.row(l.SONAME, to, r.Name, r.Node, r.Kind, r.Hidden>>from&1 == 1)
			if old || l.SONAME == "libc.so.6" && home == "libpthread.so.0" {
				b.row(home, to, r.Name, r.Node, r.Kind, false)
			}
		}
	}
	b.finish()
	return nil
}

// earlier reports whether a node is older than GLIBC_2.17.
func earlier(node string) bool {
	return strings.HasPrefix(node, "GLIBC_2.") && table.CompareNodes(node, "GLIBC_2.17") < 0
}

// addMerged adds glibc 2.31 for an architecture of which only a glibc after 2.34 was read: a symbol
// that libc exports now goes to the libraries that had it on the model.
func addMerged(s, model *table.Set) error {
	from := slices.IndexFunc(s.Columns, func(c table.Column) bool { return c.Glibc == "2.41" })
	modelColumn := slices.IndexFunc(
		model.Columns,
		func(c table.Column) bool { return c.Name == after231 },
	)
	if from < 0 || modelColumn < 0 {
		return fmt.Errorf("has no column to derive glibc 2.31 from")
	}
	here := strings.NewReplacer(loaderOf(model), loaderOf(s))
	homes := map[string][]string{}
	needed := map[string][]string{}
	for _, l := range model.Libraries {
		if l.Package != "libc6" || !l.In[modelColumn].Present {
			continue
		}
		soname := here.Replace(l.SONAME)
		for _, n := range l.In[modelColumn].Needed {
			needed[soname] = append(needed[soname], here.Replace(n))
		}
		for _, r := range l.Rows {
			if r.Present>>modelColumn&1 == 1 && r.Node != "GLIBC_PRIVATE" {
				homes[r.Name] = append(homes[r.Name], soname)
			}
		}
	}
	b, to := extend(s, "glibc2.31", "2.31")
	for _, l := range s.Libraries {
		if l.Package != "libc6" || !l.In[from].Present {
			continue
		}
		l.In[to] = table.Facts{
			Present: true,
			Needed:  needed[l.SONAME],
			Nodes: slices.DeleteFunc(
				slices.Clone(l.In[from].Nodes),
				func(node string) bool { return !upTo231(node) },
			),
		}
		for _, r := range l.Rows {
			if r.Present>>from&1 == 0 || !upTo231(r.Node) || placeholder(r.Name) {
				continue
			}
			at := homes[r.Name]
			if len(at) == 0 || l.SONAME != "libc.so.6" {
				at = []string{l.SONAME}
			}
			for _, soname := range slices.Compact(slices.Clone(at)) {
				if b.libs[soname] != nil { // no libnsl or libmvec on a new architecture
					b.row(soname, to, r.Name, r.Node, r.Kind, r.Hidden>>from&1 == 1)
				}
			}
		}
	}
	b.finish()
	return nil
}

func upTo231(node string) bool {
	return strings.HasPrefix(node, "GLIBC_2.") && table.CompareNodes(node, "GLIBC_2.31") <= 0
}

// placeholder reports whether a symbol only keeps a version node in a library whose own symbols
// moved to libc.
func placeholder(name string) bool { return strings.HasSuffix(name, "_version_placeholder") }

func loaderOf(s *table.Set) string {
	for _, l := range s.Libraries {
		if strings.HasPrefix(l.SONAME, "ld-linux") || strings.HasPrefix(l.SONAME, "ld64.so") {
			return l.SONAME
		}
	}
	return ""
}

// extend opens a set for one more column.
func extend(s *table.Set, name, glibc string) (*builder, int) {
	b := newBuilder(s)
	to := b.column(name, glibc)
	for _, l := range s.Libraries {
		l.In = append(l.In, table.Facts{})
		b.libs[l.SONAME] = l
		b.rows[l.SONAME] = map[[3]string]*table.Row{}
		for _, r := range l.Rows {
			b.rows[l.SONAME][[3]string{r.Name, r.Node, r.Kind}] = &r
		}
	}
	return b, to
}
