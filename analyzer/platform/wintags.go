package platform

// winTags are the platforms of Windows by machine, named after sysconfig.get_platform of CPython.
// Each exists once, since they are compared by address. Other tags, such as win_arm32, are not
// known: a wheel with such a tag is checked for the machines of its files.
var winTags = map[string]*Platform{
	"x86":   {Name: "win32", Arch: "x86", Kind: Policy, OS: Windows},
	"amd64": {Name: "win_amd64", Arch: "amd64", Kind: Policy, OS: Windows},
	"arm64": {Name: "win_arm64", Arch: "arm64", Kind: Policy, OS: Windows},
}

// ForWindows returns the platform of a Windows wheel tag for a machine: "x86", "amd64" or "arm64";
// nil for another machine. Package platform/windows describes its libraries.
func ForWindows(machine string) *Platform { return winTags[machine] }

// windowsTag returns the platform of a Windows tag such as "win_amd64"; nil for other names.
func windowsTag(name string) *Platform {
	for _, p := range winTags {
		if p.Name == name {
			return p
		}
	}
	return nil
}
