//go:build linux && !amd64 && !arm64

package sandbox

// auditArchitecture is 0: analyses have no filter on other architectures.
const auditArchitecture = 0

var allowedHere []uint32
