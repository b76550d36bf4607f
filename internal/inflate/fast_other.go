//go:build !amd64

package inflate

// accelerated is set if decodeFast can be used.
var accelerated = false

func decodeFast(*Reader, int, int) bool { panic("there is none for this processor") }
