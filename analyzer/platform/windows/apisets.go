package windows

import (
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// IsAPISet reports whether a name is that of an API set, which the loader maps to a DLL of Windows.
func IsAPISet(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "api-ms-") || strings.HasPrefix(name, "ext-ms-")
}

var contract = lazyregexp.New(`^((?:api|ext)-ms-[a-z0-9-]+-l\d+-\d+)-(\d+)\.dll$`)

// apiSet reports whether Windows 10 or 11 has an API set: the table has this revision or a later
// one, which the loader accepts instead. It returns Absent for an invalid name and Unknown for
// others, because the table is not complete. The form of names is that of Microsoft's page "Windows
// API sets"; the names are those of the module definition files of mingw-w64, which do not say
// which releases have a set, and contain no set of the ext-ms- family.
func apiSet(name string) Presence {
	m := contract.FindStringSubmatch(name)
	if m == nil {
		return Absent
	}
	revision, err := strconv.Atoi(m[2])
	if err != nil {
		return Absent
	}
	const newest = 16 // no revision in the table is higher
	for r := revision; r <= newest; r++ {
		if dlls.Get().Find(m[1]+"-"+strconv.Itoa(r)+".dll") != nil {
			return Present
		}
	}
	return Unknown
}
