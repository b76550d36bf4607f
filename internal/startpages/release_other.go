//go:build !linux || !(amd64 || arm64)

package startpages

// Release does nothing on this system.
func Release() {}
