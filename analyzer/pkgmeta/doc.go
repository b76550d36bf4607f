// Package pkgmeta parses the metadata of Python packages: names, versions and version specifiers,
// wheel file names, METADATA, WHEEL and RECORD, and requirements.
//
//	r, err := pkgmeta.ParseRequirement(`nvidia-nvjitlink-cu12==12.6.85; platform_system == "Linux"`)
//	ok, err := r.Applies(pkgmeta.DefaultMarkerEnv("3.12", "x86_64"))
//	spec, err := pkgmeta.ParseSpec(r.Spec)
//	spec.Contains(v)
//
// It gives the same results as packaging 26, the library inside pip: versions and specifiers by PEP
// 440, names by PEP 503, wheel names by PEP 427 and 425, requirements by PEP 508. The tables in
// testdata were written with packaging. Existing Go libraries were tested and are not used:
// deps.dev/util/semver says that 2.6.0+cu124 does not match ==2.6.0, on which every CUDA wheel
// depends; deps.dev/util/pypi expands tag sets without a bound and writes to the log;
// aquasecurity/go-pep440-version differs in 142 of the 7,625 cases of testdata/specs.txt (`==1.0.*`
// for 1, `<1.0` for 1.0rc1 with pre-releases, `>1.0rc1` for 1.0.post1) and accepts ">=1.0 || <2"
// and ">=1.0 <2".
//
// All input is untrusted. Names, versions, requirements and files have a maximum length, compressed
// tag sets expand to at most 4,096 tags, and parentheses in a marker may be nested 32 deep. Files
// and URLs that appear in the metadata are never opened.
package pkgmeta
