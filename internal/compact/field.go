package compact

import (
	"reflect"
	"unsafe"
)

// field returns a field of an addressable struct, so that it can be set although its name is not
// exported: most of what is known of a file is not for other packages.
func field(s reflect.Value, n int) reflect.Value {
	f := s.Field(n)
	if f.CanSet() {
		return f
	}
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}
