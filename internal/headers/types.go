package headers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// Export is an export of a library.
type Export struct {
	Name string // in the symbol table
	// Readable is the name as in the source code, of a C++ function with its parameters.
	Readable string
	Variable bool
}

var (
	identifier = lazyregexp.New(`^[A-Za-z_]\w*$`)
	// names of functions, with namespaces and without template arguments, and what follows them
	signature = lazyregexp.New(`^((?:[A-Za-z_]\w*::)*[A-Za-z_]\w*)\((.*)\)$`)
	scoped    = lazyregexp.New(`^(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*$`)
)

// overload gives the function with certain parameters among those of a name, whatever it returns.
const overload = "template<class... A> struct compat_with { template<class R> static constexpr " +
	"auto of(R (*f)(A...)) { return f; } };"

// Types returns object files that refer to the exports that the headers declare, so that their
// debug information (DWARF) has the types of these, and the classes of the headers. What the
// headers do not declare is left out. Clang does not describe functions of C. Source must be called
// first.
func (h *Headers) Types(
	ctx context.Context, c Compiler, exports []Export,
) (objects [][]byte, err error) {
	dir, err := os.MkdirTemp("", "compat-headers-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	head, debug := "", []string{"-g", "-O0", "-fno-eliminate-unused-debug-types"}
	if h.cxx {
		head = overload
	}
	if version, _, err := c.run(ctx, dir, "--version"); err != nil {
		return nil, fmt.Errorf("%s --version: %w", c[0], err)
	} else if strings.Contains(string(version), "clang") {
		debug = append(debug, "-fstandalone-debug")
	} else if h.cxx { // also classes whose virtual functions are defined elsewhere
		debug = append(debug, "-femit-class-debug-always")
	}
	for _, g := range h.groups {
		s := &source{headers: slices.Clone(g), cxx: h.cxx}
		for i, e := range exports {
			if line := s.reference(i, e); line != "" {
				s.lines = append(s.lines, line)
			}
		}
		if _, err := s.compiles(ctx, c, dir, head, h.arguments()); err != nil {
			return nil, err
		}
		args := slices.Concat(h.arguments(), debug, []string{"-c", s.name(), "-o", "probe.o"})
		if _, errs, err := c.run(ctx, dir, args...); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", c[0], err, firstError(errs))
		}
		object, err := os.ReadFile(filepath.Join(dir, "probe.o"))
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// reference returns a line that refers to an export; "" if none can, as for an operator. Members of
// classes are described with their class.
func (s *source) reference(i int, e Export) string {
	switch {
	case strings.HasPrefix(e.Name, "_Z") && e.Variable:
		if scoped.MatchString(e.Readable) {
			return fmt.Sprintf("const volatile void *compat_%d = &%s;", i, e.Readable)
		}
	case strings.HasPrefix(e.Name, "_Z"):
		if m := signature.FindStringSubmatch(e.Readable); m != nil {
			return fmt.Sprintf("auto compat_%d = compat_with<%s>::of(%s);", i, m[2], m[1])
		}
	case identifier.MatchString(e.Name):
		return fmt.Sprintf("const void *compat_%d = (const void *)&%s;", i, e.Name)
	}
	return ""
}
