package wasmobj

import (
	"fmt"
	"slices"
	"strings"
)

// Parse reads the text form of an object, for tests. A line is a keyword and its arguments:
//
//	wasm [static]                    the first line; static means no section dylink.0
//	needed libfoo.so                 once for each
//	runpath $ORIGIN/../lib
//	import [weak] MODULE KIND NAME [TYPE]   as in: import env func PyList_New i>i; the TYPE of a
//	                                        memory may be shared
//	export KIND NAME [TYPE]
//	tool clang 22.0.0
func Parse(text string) (*Object, error) {
	var o Object
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if err := o.line(f, n == 0); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return &o, nil
}

func (o *Object) line(f []string, first bool) error {
	arg := func(n int) string {
		if n < len(f) {
			return f[n]
		}
		return ""
	}
	kind := func(name string) (Kind, error) {
		k := slices.Index(kindNames, name)
		if k < 0 {
			return 0, fmt.Errorf("%q is no kind of a symbol", name)
		}
		return Kind(k), nil
	}
	var err error
	switch {
	case first && f[0] == "wasm":
		o.Dynamic = arg(1) != "static"
	case first:
		return fmt.Errorf("the first line is not wasm")
	case f[0] == "needed":
		o.Needed = append(o.Needed, arg(1))
	case f[0] == "runpath":
		o.RunPaths = append(o.RunPaths, arg(1))
	case f[0] == "tool":
		o.Tools = append(o.Tools, strings.Join(f[1:], " "))
	case f[0] == "import":
		i := Import{Weak: arg(1) == "weak"}
		if i.Weak {
			f = f[1:]
		}
		i.Module, i.Name, i.Type = arg(1), arg(3), arg(4)
		i.Kind, err = kind(arg(2))
		if i.Kind == Memory {
			i.Type, i.Shared = "", i.Type == "shared"
		}
		o.Imports = append(o.Imports, i)
	case f[0] == "export":
		e := Export{Name: arg(2), Type: arg(3)}
		e.Kind, err = kind(arg(1))
		o.Exports = append(o.Exports, e)
	default:
		return fmt.Errorf("%q is no keyword", f[0])
	}
	return err
}
