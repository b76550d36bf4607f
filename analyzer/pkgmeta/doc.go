// Package pkgmeta reads what Python packages say about themselves: names, versions and ranges, wheel file names, METADATA and
// WHEEL, and the requirements in it.
//
//	r, err := pkgmeta.ParseRequirement(`nvidia-nvjitlink-cu12==12.6.85; platform_system == "Linux"`)
//	ok, err := r.Applies(pkgmeta.DefaultMarkerEnv("3.12", "x86_64"))
//	spec, err := pkgmeta.ParseSpec(r.Spec)
//	spec.Contains(v)
//
// It decides as packaging 26 does, the library inside pip: versions and ranges by PEP 440, names by PEP 503, wheel names by PEP
// 427 and 425, requirements by PEP 508; testdata holds tables that packaging itself wrote. Ready-made parsers were measured
// against those tables and are not used: deps.dev/util/semver gets `==2.6.0` for 2.6.0+cu124 wrong, which every CUDA wheel
// meets, aquasecurity/go-pep440-version takes "1.0 || 2.0" and commas left out, and its wildcards compare epochs and
// pre-releases by their spelling.
//
// All input is attacker data: names, versions, requirements and files have an upper length, compressed tag sets are multiplied
// out up to 4,096 tags, parentheses in a marker go 32 deep. Nothing here opens a file or a URL that it reads about.
package pkgmeta
