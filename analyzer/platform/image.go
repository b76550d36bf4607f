package platform

// images are the build images of the manylinux project by their C library, newest first
// (README of pypa/manylinux).
var images = []struct{ libc, version, name string }{
	{"glibc", "2.39", "manylinux_2_39"},
	{"glibc", "2.34", "manylinux_2_34"},
	{"glibc", "2.28", "manylinux_2_28"},
	{"glibc", "2.17", "manylinux2014"},
	{"musl", "1.2", "musllinux_1_2"},
}

// BuildImage returns the newest image of the manylinux project that is not newer than a platform,
// without its architecture, or "".
func BuildImage(p *Platform) string {
	for _, i := range images {
		if p.Libc == i.libc && !Older(p.LibcVersion, i.version) {
			return i.name
		}
	}
	return ""
}
