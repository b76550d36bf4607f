package machoobj

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
)

// Load commands of mach-o/loader.h, without the highest bit (LC_REQ_DYLD), which makes an old dyld
// reject a file with a command that it does not know.
const (
	cmdSymtab        = 0x2
	cmdLoad          = 0xc
	cmdID            = 0xd
	cmdLoadWeak      = 0x18
	cmdSegment64     = 0x19
	cmdUUID          = 0x1b
	cmdRunPath       = 0x1c
	cmdSignature     = 0x1d
	cmdReexport      = 0x1f
	cmdLoadLazy      = 0x20
	cmdDyldInfo      = 0x22
	cmdLoadUpward    = 0x23
	cmdMinMacOS      = 0x24
	cmdMinIOS        = 0x25
	cmdMinTVOS       = 0x2f
	cmdMinWatchOS    = 0x30
	cmdBuildVersion  = 0x32
	cmdExportsTrie   = 0x33
	cmdChainedFixups = 0x34

	requiredByDyld = 0x80000000
)

// leastCommand returns the size of the fixed part of a command in bytes, including its number and
// length; 0 if any size is accepted.
func leastCommand(command uint32) int {
	switch command {
	case cmdSymtab, cmdLoad, cmdID, cmdLoadWeak, cmdUUID, cmdReexport, cmdLoadLazy,
		cmdLoadUpward, cmdBuildVersion:
		return 24
	case cmdRunPath:
		return 12
	case cmdSignature, cmdMinMacOS, cmdMinIOS, cmdMinTVOS, cmdMinWatchOS, cmdExportsTrie,
		cmdChainedFixups:
		return 16
	case cmdDyldInfo:
		return 48
	}
	return 0
}

func (i *image) commands(b []byte, n uint32) error {
	i.tables = map[uint32][]byte{}
	le := binary.LittleEndian
	for c := range n {
		if len(b) < 8 {
			return truncated("load command %d of %d is past the end of their list", c+1, n)
		}
		cmd, length := le.Uint32(b)&^requiredByDyld, le.Uint32(b[4:])
		if length < 8 || uint64(length) > uint64(len(b)) {
			return damaged("load command %d has a size of %d, %d bytes are left", c+1, length, len(b))
		}
		if int(length) < leastCommand(cmd) {
			return damaged("load command %d (%#x) has %d bytes, too few", c+1, cmd, length)
		}
		if err := i.command(cmd, b[:length]); err != nil {
			return err
		}
		b = b[length:]
	}
	return nil
}

func (i *image) command(cmd uint32, b []byte) error {
	le := binary.LittleEndian
	switch cmd {
	case cmdLoad, cmdLoadWeak, cmdReexport, cmdLoadLazy, cmdLoadUpward:
		return i.needs(cmd, b)
	case cmdID:
		path, err := text(b, le.Uint32(b[8:]), sizeDylib, "LC_ID_DYLIB")
		if err != nil {
			return err
		}
		i.o.InstallName = path
		i.o.Current, i.o.Compatibility = Version(le.Uint32(b[16:])), Version(le.Uint32(b[20:]))
	case cmdRunPath:
		path, err := text(b, le.Uint32(b[8:]), sizeRunPath, "LC_RPATH")
		if err != nil {
			return err
		}
		if len(i.o.RunPaths) == maxRunPaths {
			return tooLarge("the number of rpaths", maxRunPaths+1, maxRunPaths)
		}
		i.o.RunPaths = append(i.o.RunPaths, path)
	case cmdUUID:
		i.o.UUID = hex.EncodeToString(b[8:24])
	case cmdMinMacOS:
		i.addPlatform(MacOS, le.Uint32(b[8:]), le.Uint32(b[12:]))
	case cmdMinIOS:
		i.addPlatform(IOS, le.Uint32(b[8:]), le.Uint32(b[12:]))
	case cmdMinTVOS:
		i.addPlatform("tvos", le.Uint32(b[8:]), le.Uint32(b[12:]))
	case cmdMinWatchOS:
		i.addPlatform("watchos", le.Uint32(b[8:]), le.Uint32(b[12:]))
	case cmdBuildVersion:
		p, ok := platforms.Get()[le.Uint32(b[8:])]
		if !ok {
			p = "unknown"
		}
		i.addPlatform(p, le.Uint32(b[12:]), le.Uint32(b[16:]))
	case cmdSymtab, cmdSignature, cmdExportsTrie, cmdChainedFixups, cmdDyldInfo:
		if i.tables[cmd] != nil {
			return damaged("duplicate load command %#x", cmd)
		}
		i.tables[cmd] = b[8:]
	}
	return nil
}

// addPlatform records a platform. If a file has several, macOS takes precedence, then the first.
func (i *image) addPlatform(p Platform, minOS, sdk uint32) {
	if i.o.Platform == "" || p == MacOS && i.o.Platform != MacOS {
		i.o.Platform, i.o.MinOS, i.o.SDK = p, Version(minOS), Version(sdk)
	}
}

// Since macOS 15 a command for a library may have flags, which a marker in the former time stamp
// field announces (struct dylib_use_command).
const (
	markerUse   = 0x1a741800
	useWeak     = 1
	useReexport = 2
	useUpward   = 4
	useDelayed  = 8
)

func (i *image) needs(cmd uint32, b []byte) error {
	le := binary.LittleEndian
	path, err := text(b, le.Uint32(b[8:]), sizeDylib, "a load command for a library")
	if err != nil {
		return err
	}
	if len(i.o.Needed) == maxNeeded {
		return tooLarge("the number of needed libraries", maxNeeded+1, maxNeeded)
	}
	n := Needed{Path: path, Weak: cmd == cmdLoadWeak, Reexport: cmd == cmdReexport,
		Upward: cmd == cmdLoadUpward, Lazy: cmd == cmdLoadLazy,
		Current: Version(le.Uint32(b[16:])), Compatibility: Version(le.Uint32(b[20:]))}
	if le.Uint32(b[12:]) == markerUse && le.Uint32(b[8:]) >= 28 && len(b) >= 28 {
		flags := le.Uint32(b[24:])
		n.Weak = n.Weak || flags&useWeak != 0
		n.Reexport = n.Reexport || flags&useReexport != 0
		n.Upward = n.Upward || flags&useUpward != 0
		n.Lazy = n.Lazy || flags&useDelayed != 0
	}
	i.o.Needed = append(i.o.Needed, n)
	return nil
}

// Sizes of dylib_command and rpath_command; a string follows them.
const (
	sizeDylib   = 24
	sizeRunPath = 12
)

// text returns the string at an offset of a load command, which must be after the first size bytes.
// As in dyld, it has to end inside the command.
func text(b []byte, off, size uint32, what string) (string, error) {
	if off < size || uint64(off) >= uint64(len(b)) {
		return "", damaged("%s has its text at %d of %d bytes", what, off, len(b))
	}
	if bytes.IndexByte(b[off:], 0) < 0 {
		return "", damaged("the text of %s does not end", what)
	}
	s := fixed(b[off:])
	if len(s) > maxPath {
		return "", tooLarge("the length of a path", uint64(len(s)), maxPath)
	}
	return s, nil
}

// fixed returns the text of a field that is padded with NUL bytes.
func fixed(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}
