package buildlog

import (
	"cmp"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

// glibcReleases are the first systems with a glibc version, for manylinux images and long-term
// releases.
var glibcReleases = []struct {
	minor   int
	systems string
}{
	{
		17,
		"RHEL 7",
	}, {28, "Debian 10, RHEL 8"}, {31, "Debian 11, Ubuntu 20.04"}, {34, "RHEL 9"},
	{35, "Ubuntu 22.04"}, {36, "Debian 12"}, {39, "Ubuntu 24.04, RHEL 10"}, {41, "Debian 13"},
}

// glibcSince returns the first systems with a GLIBC_2.x version.
func glibcSince(version string) string {
	minor := glibcMinor(version)
	for _, r := range glibcReleases {
		if minor >= 0 && r.minor >= minor {
			return r.systems + " and later"
		}
	}
	return "a newer distribution"
}

// glibcMinor returns 29 for GLIBC_2.29, and -1 for another form.
func glibcMinor(version string) int {
	m := glibcNode.FindStringSubmatch(version)
	if m == nil {
		return -1
	}
	n := 0
	for _, c := range m[1] {
		n = n*10 + int(c-'0')
	}
	return n
}

var glibcNode = lazyregexp.New(`^GLIBC_2\.(\d{1,4})(?:\.\d+)?$`)

func glibcFixes(d *Diagnosis) []fix.Fix {
	out := []fix.Fix{
		newFix(
			fix.KindRebuild,
			"Build it on the oldest system that it has to run on, such as a manylinux image",
			buildIn("manylinux_2_28", d.at.arch),
		),
		newFix(fix.KindImage, "Run it on a newer glibc: "+glibcSince(d.Version), ""),
	}
	switch {
	case d.Symbol != "" && !strings.HasPrefix(d.Symbol, "__isoc23_") && d.Version != "":
		return append(out, olderVersion(d))
	case d.at.is(python, conda):
		return append(out, newFix(
			fix.KindPlatformTag,
			"Tag the wheel for the platform that it needs; pip then skips it on older systems",
			platformTag(d.Version, d.at.arch),
		))
	}
	return append(out, newFix(fix.KindPin, "Use a release that was built for an older system", ""))
}

// baselines are the oldest versions of glibc's symbols, by architecture.
var baselines = map[string]string{"x86_64": "GLIBC_2.2.5", "aarch64": "GLIBC_2.17",
	"i686": "GLIBC_2.0"}

// olderVersion returns the fix that binds to an older version of a symbol.
func olderVersion(d *Diagnosis) fix.Fix {
	version := cmp.Or(baselines[d.at.arch], "GLIBC_2.OLDEST")
	return newFix(
		fix.KindSymver,
		"If an older version of "+shorten(d.Symbol)+" exists, bind to it with .symver in a header "+
			"that every "+
			"source file includes (readelf --dyn-syms libc.so.6 lists the versions)",
		shellword.Bare(`__asm__(".symver %s,%s@%s");`, d.Symbol, d.Symbol, version),
	)
}

// platformTag returns the command that gives a wheel the first tag in auditwheel's list that has a
// version of glibc, or "".
func platformTag(version, arch string) shellword.Line {
	if !strings.HasPrefix(version, "GLIBC_2.") {
		return ""
	}
	for _, p := range platform.WithVersions(cmp.Or(arch, "x86_64"), version) {
		if p.Kind != platform.Policy {
			continue
		}
		switch name, ok := strings.CutSuffix(p.Name, "_x86_64"); {
		case arch == "" && ok:
			return "auditwheel repair --plat " + shellword.Quote(name) + "_$(uname -m) dist/*.whl"
		default:
			return shellword.Bare("auditwheel repair --plat %s dist/*.whl", p.Name)
		}
	}
	return ""
}

func cxxFixes(d *Diagnosis) []fix.Fix {
	release := platform.GCCRelease(d.Version)
	newer := "a newer GCC"
	need := "libstdcxx"
	if release != "" {
		newer = "GCC " + release + " or later"
		need += ">=" + release
	}
	title := "Use the libstdc++ of " + newer
	if shadowed(d.Library) {
		title = "Update " + d.Library + " to that of " + newer +
			", or remove it from LD_LIBRARY_PATH so that the system's copy is found"
	}
	systems := "Run it on a distribution with " + newer
	if first := platform.First(cmp.Or(d.at.arch, "x86_64"), "libstdc++.so.6",
		d.Version); first != nil {
		systems += " (" + strings.Join(first, ", ") + ")"
	}
	return []fix.Fix{
		newFix(fix.KindEnvironment, title, "conda install -c conda-forge "+shellword.Quote(need)),
		newFix(
			fix.KindRebuild,
			"Build it in a manylinux image, whose compiler links newer parts of libstdc++ statically",
			buildIn("manylinux_2_28", d.at.arch),
		),
		newFix(fix.KindImage, systems, ""),
	}
}

func hardwareFixes(d *Diagnosis) []fix.Fix {
	if d.Rule == "nvcc-unsupported-architecture" {
		return []fix.Fix{
			newFix(fix.KindImage, "Build with a CUDA toolkit that supports this architecture", ""),
			newFix(
				fix.KindRebuild,
				"Remove it from the list of architectures; such a GPU then runs the code only if PTX of an "+
					"older architecture is embedded",
				`TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"`,
			),
		}
	}
	if strings.HasPrefix(d.Rule, "gpu-") {
		return []fix.Fix{
			newFix(
				fix.KindRebuild,
				"Build for this GPU, or with PTX that the driver can compile",
				`TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"  CUDAARCHS=all-major  PYTORCH_ROCM_ARCH="gfx90a;gfx1100"`,
			),
			newFix(fix.KindPin, "Install a version or variant of the package with code for this GPU", ""),
			newFix(
				fix.KindEnvironment,
				"On ROCm, code for a similar GPU may run",
				"HSA_OVERRIDE_GFX_VERSION=10.3.0",
			),
		}
	}
	return []fix.Fix{
		newFix(
			fix.KindRebuild,
			"Build for the baseline processor: without -march=native, -march=x86-64-v3 and -Wl,-z,x86-64-v3",
			`CFLAGS="-march=x86-64"`,
		),
		newFix(
			fix.KindImage,
			"Use an image built for this processor (RHEL 9 and its images need x86-64-v2, RHEL "+
				"10 x86-64-v3)",
			"",
		),
		newFix(fix.KindEnvironment, "Expose the host's processor in the virtual machine", "-cpu host"),
	}
}

func hostFixes(d *Diagnosis) []fix.Fix {
	switch {
	case d.Rule == "numpy-abi":
		return []fix.Fix{
			install(fix.KindPin, "Use NumPy 1 until the extension is rebuilt; compat env --venv VENV "+
				"reports the packages that need it", "numpy<2"),
			newFix(
				fix.KindRebuild,
				"Build the extension against NumPy 2. "+fix.NumPy1,
				"",
			),
			newFix(fix.KindDependency, "Declare the range of NumPy that the build supports", ""),
		}
	case d.Rule == cythonAPI:
		return cythonFixes(d)
	case d.Rule == libxml2Mismatch:
		return []fix.Fix{
			newFix(fix.KindRebuild, "Build both against the libxml2 of the system",
				"pip install --force-reinstall --no-binary lxml --no-binary xmlsec lxml xmlsec"),
			newFix(fix.KindPin, "Use releases of lxml and xmlsec whose wheels bundle the same libxml2",
				`python -c "import lxml.etree as e; print(e.LIBXML_VERSION)"`),
		}
	case d.Rule == "numpy-not-available":
		return []fix.Fix{
			install(fix.KindPin, "Use NumPy 1 if torch is older than 2.3, which is the first release for "+
				"NumPy 2", "numpy<2"),
			newFix(fix.KindPin, "Use a newer torch", "pip install --upgrade torch"),
			newFix(fix.KindEnvironment, "Install NumPy with the Python that runs torch, if it has none. A "+
				"warning about NumPy, earlier in the log, has the reason",
				"python -c 'import numpy; print(numpy.__version__)'"),
		}
	case d.Rule == "numpy-api": // versions: numpy/_core/code_generators/cversions.txt
		return []fix.Fix{
			newFix(
				fix.KindPin,
				"Use a newer NumPy, at least the one that the extension was built with: API version "+
					"0xf is NumPy 1.22, 0x10 1.23, 0x11 1.25, 0x12 2.0, 0x13 2.1, 0x14 2.3",
				"pip install --upgrade numpy",
			),
			newFix(fix.KindRebuild, "Build the extension against the oldest NumPy that it supports", ""),
			newFix(fix.KindDependency, "Declare the oldest NumPy that the build supports", ""),
		}
	case d.Rule == moduleName:
		return moduleFixes(d.named)
	case strings.HasPrefix(d.Rule, "node-"),
		strings.HasPrefix(d.Symbol, "napi_"),
		strings.Contains(d.Symbol, "2v8"),
		strings.Contains(d.Symbol, "4node"),
		strings.HasSuffix(d.Object, ".node"):
		return []fix.Fix{
			newFix(
				fix.KindRebuild,
				"Build the addon for the Node.js that runs it, or use Node-API, which is stable",
				"npm rebuild",
			),
			newFix(fix.KindPin, "Use the version of Node.js that the addon was built for", ""),
			newFix(fix.KindEnvironment, "Install dependencies with the same Node.js that runs "+
				"them", ""),
		}
	}
	return []fix.Fix{
		newFix(fix.KindRebuild, "Build the extension for the version of the program that loads it", ""),
		newFix(fix.KindPin, "Use matching versions of the program and the extension", ""),
		newFix(fix.KindEnvironment, "Install it with the same program that loads it", ""),
	}
}

// cythonFixes returns the fixes for a module of Cython that was built for another release of the
// package that defines Diagnosis.Symbol. The names of packages are those of their modules.
func cythonFixes(d *Diagnosis) []fix.Fix {
	used, _, _ := strings.Cut(d.Symbol, ".")
	user := cmp.Or(d.named, "the extension")
	name := cmp.Or(d.named, "NAME")
	return []fix.Fix{
		newFix(fix.KindPin, "Use a newer release of "+user+", which was built against the "+used+
			" that is installed, or an older "+used, shellword.Bare("pip install --upgrade %s", name)),
		newFix(fix.KindRebuild, "Build "+user+" from source again, against a current "+used+", without "+
			"pip's cache of wheels", shellword.Bare("pip install --force-reinstall --no-cache-dir "+
			"--no-binary %s %s", name, name)),
		newFix(fix.KindDependency, "Declare the range of "+used+" that the build of "+user+
			" supports", ""),
	}
}

// moduleFixes returns the fixes for a module without the function that Python calls ("PyInit_spam",
// "initspam" of Python 2; "" if the text does not name it).
func moduleFixes(function string) []fix.Fix {
	name, found := strings.CutPrefix(function, "PyInit_")
	if !found {
		name = strings.TrimPrefix(function, "init")
	}
	name = cmp.Or(name, "NAME")
	list := shellword.Bare("nm -D --defined-only %s*.so | grep -i init", name)
	other := "Build it for Python 3 if it defines only init" + name + ", the function of Python 2"
	if function != "" && !found {
		other = "Build it for Python 2 if it defines only PyInit_" + name + ", the function of Python 3"
	}
	return []fix.Fix{
		newFix(
			fix.KindSource,
			"Give the file and the module in it one name: "+cmp.Or(function, "PyInit_NAME")+
				" is defined by PyMODINIT_FUNC "+cmp.Or(function, "PyInit_NAME")+", PYBIND11_MODULE("+name+
				", m) or Cython's "+name+".pyx",
			list,
		),
		newFix(
			fix.KindRebuild,
			"Name the extension "+name+" in the build too: Extension(\"PACKAGE."+name+"\"), "+
				"pybind11_add_module("+name+"), [lib] name = \""+name+"\" in Cargo.toml",
			"",
		),
		newFix(fix.KindRebuild, other, ""),
	}
}

// libraryFixes returns the fixes for missing libraries, and for GPU libraries with a wrong
// version.
func libraryFixes(d *Diagnosis) []fix.Fix {
	lib := cmp.Or(base(d.Library), "the library")
	if d.Rule == "qt-platform-plugin" {
		return pluginFixes(d)
	}
	if d.Rule == "ld-cannot-find-library" && d.named != "" {
		return multilibFixes(lib, d.named)
	}
	switch d.Class {
	case "gpu-library-skew":
		name, requirement := gpuPackage(cmp.Or(d.Version, d.Library), d.Symbol)
		pin := newFix(
			fix.KindPin,
			"Use the release that "+cmp.Or(base(d.Object), "it")+" was built with",
			"",
		)
		if requirement != "" {
			pin = install(fix.KindPin, "Pin "+name, requirement)
		}
		return []fix.Fix{
			pin,
			newFix(
				fix.KindEnvironment,
				"Remove other copies from LD_LIBRARY_PATH (a CUDA or ROCm toolkit, conda), which are found "+
					"first",
				"env -u LD_LIBRARY_PATH",
			),
			newFix(fix.KindRebuild, "Build it against the installed release", ""),
		}
	case "gpu-library-missing":
		if strings.HasPrefix(lib, "libcuda.so") || strings.HasPrefix(lib, "libnvidia-") {
			return []fix.Fix{
				newFix(
					fix.KindEnvironment,
					"It is part of the NVIDIA driver: run on a machine with the driver, and give the container "+
						"access to it",
					"docker run --gpus all",
				),
				newFix(
					fix.KindDependency,
					"For a build without a GPU, link against the stub of the toolkit; do not ship the stub",
					`LDFLAGS="-L$CUDA_HOME/lib64/stubs -lcuda"`,
				),
				newFix(
					fix.KindSource,
					"Open it with dlopen, so that the program also works without a driver",
					"",
				),
			}
		}
		dependency := newFix(fix.KindDependency, "Install the package that has "+lib, "")
		if name, _ := gpuPackage(lib, ""); name != "" {
			dependency = installHolder(name, lib)
		}
		path := newFix(
			fix.KindEnvironment,
			"Add the folder that has "+lib+" to the search path; another major version does not help",
			gpuFolder(lib, d.at),
		)
		if c := string(dependency.Command); strings.Contains(c, "<") && !strings.Contains(c, ">") {
			dependency.Cost = []string{"torch and others fail with it if they require a newer release; " +
				"compat env --venv VENV reports them"}
			return []fix.Fix{
				newFix(fix.KindPin, "Use a newer release of the package that needs "+lib+
					"; newer releases of CUDA's packages do not have it", ""),
				path, dependency,
			}
		}
		return []fix.Fix{
			dependency,
			path,
			newFix(fix.KindPin, "Install the variant for the installed CUDA or ROCm version", ""),
		}
	case "gpu-vendor-mismatch":
		return []fix.Fix{
			newFix(
				fix.KindRebuild,
				"Rebuild against the installed torch, without build isolation ("+vendor(lib)+")",
				"",
			),
			torchWith(lib),
			newFix(fix.KindPin, "Install the build of the extension for this torch", ""),
		}
	}
	if causeOf(d) == CauseBuild {
		return []fix.Fix{
			newFix(
				fix.KindDependency,
				"Install the development package that has "+lib,
				shellword.Bare("apt-file search %s", lib),
			),
			newFix(fix.KindLinkFlag, "If it is installed, add its folder with -L", ""),
			newFix(fix.KindImage, "Build in an image that has it", ""),
		}
	}
	if ownCopy(d.Library) {
		return []fix.Fix{
			newFix(
				fix.KindPatchelf,
				"The wheel should contain it: set a RUNPATH to the NAME.libs folder of the wheel, relative "+
					"to $ORIGIN (such as $ORIGIN/../NAME.libs)",
				"",
			),
			newFix(fix.KindRebuild, "Build and repair the wheel again", "auditwheel repair dist/*.whl"),
		}
	}
	if d.named != "" && lib != d.Library { // opened by its path
		return []fix.Fix{newFix(
			fix.KindRebuild,
			"Put "+lib+" into the wheel of "+d.named+" as a file of the package: the wheel lacks it, or "+
				"has one for another architecture",
			"",
		)}
	}
	return missingFixes(lib, d.named, d.at)
}

// gpuFolder returns the setting of the search path for the folder that usually has a GPU library:
// that of ROCm, those of
// CUDA's packages for pip, or that of the toolkit.
func gpuFolder(lib string, at setting) shellword.Line {
	switch {
	case rocmFile.MatchString(lib):
		return "LD_LIBRARY_PATH=/opt/rocm/lib"
	case at.is(python, conda):
		return `LD_LIBRARY_PATH=$(echo "$VIRTUAL_ENV"/lib/python*/site-packages/nvidia/*/lib | tr ' ' :)`
	}
	return "LD_LIBRARY_PATH=$CUDA_HOME/lib64"
}

// rocmFile matches libraries of ROCm.
var rocmFile = lazyregexp.New(
	`^lib(?:amdhip64|hip|roc|rccl|MIOpen|hsa-|hsakmt|amd_comgr|amd_smi|migraphx)`,
)

// missingFixes returns the fixes for a library that the loader does not find. from is the Python
// package that needs it, by its name in imports; "" if the log does not name one.
func missingFixes(lib, from string, at setting) []fix.Fix {
	path := newFix(fix.KindEnvironment, "Add its folder to LD_LIBRARY_PATH if it is installed", "")
	rebuild := newFix(
		fix.KindRebuild,
		"Rebuild on the system that it runs on; the number after .so changes between releases",
		"",
	)
	p, known := platform.ProviderOf(lib)
	if !known {
		if names := packages.History().Holders(lib); names != nil {
			return []fix.Fix{installHolder(current(names, lib), lib), path, rebuild}
		}
		install := newFix(fix.KindDependency, "Install the package that contains "+lib, search(lib, at))
		if p, ok := platform.InDebian(lib, ""); ok && !at.on(alpine, fedora, macos, windows) {
			install = installation(p, at)
		}
		switch {
		case from != "":
			return []fix.Fix{bundle(lib, from), install, path}
		case !numbered.MatchString(lib):
			return []fix.Fix{install, path}
		}
		return []fix.Fix{install, path, rebuild}
	}
	var out []fix.Fix
	if from != "" && p.Kind == platform.BundleProvider {
		out = append(out, bundle(lib, from))
	}
	if list := p.Packages(platform.PyPI); list != nil {
		out = append(out, install(
			fix.KindDependency,
			"Install "+p.Project+", which contains the library",
			cmp.Or(packages.History().Holding(list[0], lib), list[0]),
		))
	}
	if p.After != "" {
		out = append(out, newFix(fix.KindRebuild, "Rebuild against "+p.After+"; current "+
			"distributions do not have "+p.Project, ""))
	}
	if install := installation(p, at); install.Kind != "" {
		out = append(out, install)
	}
	if from == "" || len(out) == 0 { // a wheel is not built where it runs
		out = append(out, rebuild)
	}
	return out[:min(len(out), 3)]
}

// search returns the command that finds or installs the package of a library on a system; "" if it
// is not known.
func search(lib string, at setting) shellword.Line {
	switch {
	case at.on(alpine):
		return shellword.Bare("apk add so:%s", lib)
	case at.on(fedora):
		return shellword.Bare("dnf provides '*/%s'", lib)
	case at.on(macos, windows):
		return ""
	}
	return shellword.Bare("apt-file search %s", lib)
}

// numbered matches a library whose name has the number of its ABI.
var numbered = lazyregexp.New(`\.so\.[0-9]`)

// bundle returns the fix for a library that the wheel of a package should have.
func bundle(lib, name string) fix.Fix {
	return newFix(
		fix.KindRebuild,
		"Put "+lib+" into the wheel of "+name+", which probably lacks it, or has it where the loader "+
			"does not find it (compat check FILE.whl reports which): with auditwheel repair, or as a "+
			"file of the package (CMake: install(TARGETS), INSTALL_RPATH $ORIGIN)",
		"auditwheel repair dist/*.whl",
	)
}

// installation returns the fix that installs system packages, by their names in each
// distribution.
func installation(p platform.Provider, at setting) fix.Fix {
	var names []string
	for _, x := range []struct{ ecosystem, name string }{
		{platform.Debian, "Debian, Ubuntu"},
		{platform.Fedora, "Fedora, RHEL"},
		{platform.Alpine, "Alpine"},
		{platform.Conda, "conda-forge"},
	} {
		if list := p.Packages(x.ecosystem); list != nil {
			names = append(names, x.name+": "+strings.Join(list, " "))
		}
	}
	title := "Install " + p.Project
	if len(names) > 0 {
		title += " (" + strings.Join(names, "; ") + ")"
	}
	var install shellword.Line
	if list := p.Packages(platform.Alpine); list != nil && at.on(alpine) {
		install = "apk add " + shellword.Quoted(list)
	} else if list := p.Packages(platform.Fedora); list != nil && at.on(fedora) {
		install = "dnf install " + shellword.Quoted(list)
	} else if list := p.Packages(platform.Debian); list != nil {
		install = "apt-get install " + shellword.Quoted(list)
	} else if list := p.Packages(platform.Conda); list != nil {
		install = "conda install -c conda-forge " + shellword.Quote(list[0])
	} else if p.Kind != platform.DriverProvider && p.Kind != platform.ToolkitProvider {
		return fix.Fix{}
	}
	return newFix(fix.KindDependency, title, install)
}

// installHolder returns the fix that installs the releases of a package that have a library.
func installHolder(name, lib string) fix.Fix {
	requirement := cmp.Or(packages.History().Holding(name, lib), name)
	title := "Install " + name + ", which has " + lib
	if requirement != name {
		title = "Install a release of " + name + " that has " + lib
	}
	return install(fix.KindDependency, title, requirement)
}

// current returns the first of some packages whose newest release has a library, or the first one.
func current(names []string, lib string) string {
	for _, name := range names {
		if r := packages.History().Holding(name, lib); r != "" && !strings.Contains(r, "<") {
			return name
		}
	}
	return names[0]
}

// torchWith returns the fix that installs a torch that has a library.
func torchWith(lib string) fix.Fix {
	const title = "Install the build of torch that it was built for"
	requirement := packages.History().Holding("torch", lib)
	if requirement == "" || requirement == "torch" {
		return newFix(fix.KindEnvironment, title, "")
	}
	return install(fix.KindEnvironment, title+"; other releases do not have "+lib, requirement)
}

// compilerLibrary matches libraries of GCC and glibc, by -l name.
var compilerLibrary = lazyregexp.New(`^(?:gcc|gcc_s|gcc_eh|stdc\+\+|supc\+\+|gomp|atomic|c|m|` +
	`pthread)$`)

// multilibFixes returns the fixes for a library that the linker found only for another
// architecture, in the file skipped.
func multilibFixes(lib, skipped string) []fix.Fix {
	flag := newFix(fix.KindLinkFlag, "Remove -m32 or -m64 if it is not intended, or give -L the "+
		"folder with the libraries of the target; "+base(skipped)+" is for another one", "")
	switch {
	case strings.Contains(skipped, "mingw32"):
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Use the compiler for the target, which has its own libraries",
				"i686-w64-mingw32-gcc"),
			flag,
		}
	case compilerLibrary.MatchString(stem(lib)):
		return []fix.Fix{
			newFix(
				fix.KindDependency,
				"The compiler's own libraries are installed for another architecture only. For -m32, install "+
					"the 32-bit ones (Debian, Ubuntu: gcc-multilib g++-multilib; Fedora, RHEL: "+
					"glibc-devel.i686 libgcc.i686 libstdc++-devel.i686)",
				"apt-get install gcc-multilib g++-multilib",
			),
			flag,
		}
	}
	return []fix.Fix{
		newFix(
			fix.KindDependency,
			lib+" was found for another architecture only. Install its development package for the "+
				"target (Debian, Ubuntu, for -m32: dpkg --add-architecture i386, and the package with :i386)",
			shellword.Bare("apt-file search %s", lib),
		),
		flag,
	}
}

// vendor describes the torch build that a missing library belongs to.
func vendor(lib string) string {
	if strings.Contains(lib, "hip") {
		return "it was built for ROCm, the installed torch is not"
	}
	return "it was built for CUDA; the installed torch is for ROCm or CPU"
}

// hashed matches the names that auditwheel gives bundled libraries.
var hashed = lazyregexp.New(`-[0-9a-f]{8}\.so`)

func ownCopy(library string) bool { return hashed.MatchString(base(library)) }
