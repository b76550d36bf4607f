// Package lazy computes the value of a package variable when it is first used.
//
//	var names = lazy.Value[map[string]bool]{New: func() map[string]bool { return read(embedded) }}
//	…
//	if names.Get()[name] {
//
// sync.OnceValue does the same, but runs code for each variable when the program starts. The
// compiler initializes a Value statically: a command does not load the pages of a package that it
// does not use.
package lazy

import "sync"

// Value is computed once, by New, which must be set. It is safe for concurrent use and must not be
// copied.
type Value[T any] struct {
	New   func() T
	once  sync.Once
	value T
}

// Get returns the value. The caller must not change what it refers to.
func (v *Value[T]) Get() T {
	v.once.Do(func() { v.value = v.New() })
	return v.value
}
