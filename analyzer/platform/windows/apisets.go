package windows

import (
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// IsAPISet reports whether a name is one that the loader maps to a DLL of Windows.
func IsAPISet(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "api-ms-") || strings.HasPrefix(name, "ext-ms-")
}

var contract = lazyregexp.New(`^((?:api|ext)-ms-[a-z0-9-]+-l\d+-\d+)-(\d+)\.dll$`)

// apiSet reports whether Windows 10 or 11 knows an API set: it is in the table, or a later revision
// of it is, which a system that has it accepts for the earlier ones. Absent is a name of the wrong
// form. Every other name is Unknown: the table is not whole.
func apiSet(name string) Presence {
	m := contract.FindStringSubmatch(name)
	if m == nil {
		return Absent
	}
	revision, err := strconv.Atoi(m[2])
	if err != nil {
		return Absent
	}
	const newest = 16 // revisions that any contract of the table has
	for r := revision; r <= newest; r++ {
		if data().machines[m[1]+"-"+strconv.Itoa(r)+".dll"] != nil {
			return Present
		}
	}
	return Unknown
}
