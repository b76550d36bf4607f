// Package pkgmeta reads what Python packages say about themselves: names, versions and ranges,
// wheel file names, METADATA and WHEEL, and the requirements in it.
//
//	r, err := pkgmeta.ParseRequirement(`nvidia-nvjitlink-cu12==12.6.85; platform_system == "Linux"`)
//	ok, err := r.Applies(pkgmeta.DefaultMarkerEnv("3.12", "x86_64"))
//	spec, err := pkgmeta.ParseSpec(r.Spec)
//	spec.Contains(v)
//
// It decides as packaging 26 does, the library inside pip: versions and ranges by PEP 440, names by
// PEP 503, wheel names by PEP 427 and 425, requirements by PEP 508; testdata holds tables that
// packaging itself wrote. Ready-made parsers were measured and are not used: deps.dev/util/semver
// denies that 2.6.0+cu124 is ==2.6.0, which every CUDA wheel meets (and deps.dev/util/pypi
// multiplies tag sets without a bound and logs on its own), and aquasecurity/go-pep440-version
// differs from 142 of the 7,625 answers in testdata/specs.txt (`==1.0.*` for 1, `<1.0` for 1.0rc1
// where pre-releases are let in, `>1.0rc1` for 1.0.post1) and takes ">=1.0 || <2" and ">=1.0 <2".
//
// All input is attacker data: names, versions, requirements and files have an upper length,
// compressed tag sets are multiplied out up to 4,096 tags, parentheses in a marker go 32 deep.
// Nothing here opens a file or a URL that it reads about.
package pkgmeta
