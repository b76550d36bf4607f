package inflate

import "golang.org/x/sys/cpu"

// accelerated is set if decodeFast can be used: all processors since 2015 have its instructions.
// Tests change it.
var accelerated = cpu.X86.HasBMI2

// decodeFast decodes symbols of a block as decode does, as long as no more than enough bytes of in
// are used and no more than full bytes of out. It stops earlier before the end of the block, and
// before an invalid code of a literal or length. corrupt is set for an invalid distance. The
// processor must have BMI2.
//
//go:noescape
func decodeFast(r *Reader, enough, full int) (corrupt bool)
