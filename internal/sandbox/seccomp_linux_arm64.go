package sandbox

import "golang.org/x/sys/unix"

const auditArchitecture = unix.AUDIT_ARCH_AARCH64

// allowedHere are system calls of this architecture only: none.
var allowedHere []uint32
