package machoobj

import (
	"fmt"

	"github.com/compat-app/compat/internal/lazy"
)

// CPU types of mach/machine.h; the high byte is the width of pointers.
const (
	cpuX86     = 7
	cpuARM     = 12
	cpuPowerPC = 18
	cpu64      = 0x01000000
	cpu64in32  = 0x02000000

	subtypeMask = 0x00ffffff // the high byte has capability bits
)

// archName returns the name of a CPU type, as lipo prints it. Subtypes that are not listed have the
// name of their CPU type, and other types a number.
func archName(cpu, sub uint32) string {
	sub &= subtypeMask
	switch {
	case cpu == cpuX86|cpu64 && sub == 8:
		return "x86_64h"
	case cpu == cpuX86|cpu64:
		return "x86_64"
	case cpu == cpuX86:
		return "i386"
	case cpu == cpuARM|cpu64 && sub == 2:
		return "arm64e"
	case cpu == cpuARM|cpu64:
		return "arm64"
	case cpu == cpuARM|cpu64in32:
		return "arm64_32"
	case cpu == cpuARM:
		return "arm"
	case cpu == cpuPowerPC:
		return "ppc"
	case cpu == cpuPowerPC|cpu64:
		return "ppc64"
	}
	return fmt.Sprintf("cpu %d", cpu)
}

// archNumbers are the CPU types and subtypes of the text form.
var archNumbers = lazy.Value[map[string][2]uint32]{New: func() map[string][2]uint32 {
	return map[string][2]uint32{
		"x86_64": {cpuX86 | cpu64, 3}, "x86_64h": {cpuX86 | cpu64, 8}, "i386": {cpuX86, 3},
		"arm64": {cpuARM | cpu64, 0}, "arm64e": {cpuARM | cpu64, 2},
	}
}}

// fileTypes maps values of filetype (MH_OBJECT, … of mach-o/loader.h).
var fileTypes = lazy.Value[map[uint32]Type]{New: func() map[uint32]Type {
	return map[uint32]Type{1: Relocs, 2: Executable, 6: Dylib, 8: Bundle, 10: Symbols}
}}

// lastFileType is the largest file type of mach-o/loader.h (MH_GPU_DYLIB). A larger one is an
// error.
const lastFileType = 14

// platforms are the numbers of LC_BUILD_VERSION (PLATFORM_… of mach-o/loader.h). Others, such as 5
// (bridgeOS), are "unknown"; only files for macOS are checked.
var platforms = lazy.Value[map[uint32]Platform]{New: func() map[uint32]Platform {
	return map[uint32]Platform{1: MacOS, 2: IOS, 3: "tvos", 4: "watchos", 6: "maccatalyst",
		7: IOSSimulator, 8: "tvossimulator", 9: "watchossimulator", 10: "driverkit", 11: "visionos",
		12: "visionossimulator"}
}}
