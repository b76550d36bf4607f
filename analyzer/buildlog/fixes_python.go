package buildlog

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

// install returns a fix that installs packages with pip.
func install(kind fix.Kind, title string, requirement string) fix.Fix {
	return fix.Fix{
		Kind:        kind,
		Title:       fix.Text(title),
		Command:     "pip install " + shellword.Quote(requirement),
		Requirement: requirement,
		Cost:        []string{},
	}
}

// pythonFixes returns the fixes for messages of pythonPatterns, of pip, and of CUDA in Python; nil
// for other messages.
func pythonFixes(d *Diagnosis) []fix.Fix {
	switch d.Rule {
	case noDistribution:
		return distributionFixes(d)
	case "pip-wheel-not-supported":
		return wheelFixes(base(d.Object))
	case "uv-no-wheel":
		title := "Use a Python, an architecture and a C library that it has wheels for"
		if d.named != "" {
			title += ": " + shorten(d.named)
		}
		return []fix.Fix{
			newFix(fix.KindEnvironment, title, ""),
			newFix(fix.KindPin, "Use a version of "+cmp.Or(projectOf(d.Object), "the package")+
				" that has wheels for this Python and platform", ""),
			newFix(fix.KindEnvironment, "If a lock file was made for another system, name this one in "+
				"tool.uv.required-environments and update the lock file", "uv lock"),
		}
	case "python-extension-missing":
		return []fix.Fix{
			newFix(
				fix.KindEnvironment,
				"Install "+d.named+" again with the Python that runs it and on its architecture",
				"python -m pip install --force-reinstall --no-cache-dir "+shellword.Quote(d.named),
			),
			newFix(
				fix.KindEnvironment,
				"If the packages are collected elsewhere (AWS Lambda, a container image), name the Python "+
					"and the platform of the target; the command is for Python 3.12 on x86-64",
				"pip install --only-binary=:all: --platform manylinux2014_x86_64 --python-version 3.12 "+
					"--target package "+shellword.Quote(d.named),
			),
		}
	case "openmp-duplicate":
		return openmpFixes(d)
	case "gpu-driver-too-old":
		return driverFixes(d)
	case "gpu-driver-mixed":
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Restart the machine: the driver was updated while its old "+
				"kernel module is still loaded", "sudo reboot"),
			newFix(fix.KindEnvironment, "In a container, remove libcuda.so and libnvidia-* of the image; "+
				"the container runtime adds those of the host's driver", "docker run --gpus all"),
		}
	case "gpu-cuda-differs":
		release := "the CUDA release of torch"
		if d.named != "" {
			release = "CUDA " + d.named + ", as torch is"
		}
		return []fix.Fix{
			newFix(fix.KindPin, "Install the build of "+d.Object+" for "+release+
				", from the index that torch is from",
				shellword.Bare("pip install --force-reinstall torch %s", d.Object)),
			newFix(fix.KindRebuild, "Rebuild "+d.Object+" against the installed torch",
				shellword.Bare("pip install --force-reinstall --no-deps --no-build-isolation --no-binary "+
					"%s %s", d.Object, d.Object)),
		}
	case "torch-operator-missing":
		return operatorFixes(d.named)
	case "illegal-instruction", "cpu-features-missing":
		return processorFixes(d)
	case "loader-other-architecture":
		return []fix.Fix{
			newFix(
				fix.KindEnvironment,
				"Install the package again with the interpreter that runs it, on its architecture; do not "+
					"copy site-packages or node_modules from another machine",
				shellword.Bare("file %s", d.Object),
			),
			newFix(fix.KindImage, "Use an image for the architecture of the package (docker run "+
				"--platform linux/amd64 or linux/arm64)", ""),
			newFix(fix.KindRebuild, "If the package for this architecture contains the file, build that "+
				"package again: it has a file for another one", ""),
		}
	}
	return nil
}

// distributionFixes returns the fixes for a requirement for which pip finds no file.
func distributionFixes(d *Diagnosis) []fix.Fix {
	project := projectOf(d.Object)
	title := "Use a Python, an architecture and a C library that " + shorten(d.Object) +
		" has wheels for; the command lists the tags that this pip accepts"
	if d.python != "" {
		title = "Use a Python that " + shorten(d.Object) + " allows: " + d.python
	}
	environment := newFix(fix.KindEnvironment, title, "pip debug --verbose")
	image := newFix(fix.KindImage, "In a container, use an image for the architecture of the wheels "+
		"(docker run --platform linux/amd64), with glibc (not Alpine) if there is no musllinux wheel", "")
	offered := strings.FieldsFunc(d.named, func(r rune) bool { return r == ',' || r == ' ' })
	version := nearest(pinnedVersion(d.Object), offered)
	if version == "" {
		return []fix.Fix{environment, image}
	}
	pin := install(fix.KindPin, "Use a version that pip found for this Python and platform; "+version+
		" is the nearest", project+"=="+version)
	if d.python != "" {
		return []fix.Fix{environment, pin}
	}
	return []fix.Fix{pin, environment, image}
}

// nearest returns the next later version, or the newest one if there is none or want is "".
// Pre-releases are used only if there is nothing else.
func nearest(want string, offered []string) string {
	var final, all []pkgmeta.Version
	for _, text := range offered {
		if v, err := pkgmeta.ParseVersion(text); err == nil {
			all = append(all, v)
			if !v.IsPreRelease() {
				final = append(final, v)
			}
		}
	}
	if len(final) > 0 {
		all = final
	}
	w, err := pkgmeta.ParseVersion(want)
	var next, newest pkgmeta.Version
	for _, v := range all {
		if newest.String() == "" || v.Compare(newest) > 0 {
			newest = v
		}
		if err == nil && v.Compare(w) > 0 && (next.String() == "" || v.Compare(next) < 0) {
			next = v
		}
	}
	return cmp.Or(next.String(), newest.String())
}

var cpython = lazyregexp.New(`^cp(\d)(\d+)$`)

// oldPips are the first releases of pip that know a family of tags (release notes of pip).
var oldPips = map[string]string{
	"manylinux2010": "19.0", "manylinux2014": "19.3", "manylinux": "20.3",
}

// wheelFixes returns the fixes for a wheel that pip does not accept, "" if it is not named.
func wheelFixes(file string) []fix.Fix {
	const list = "pip debug --verbose"
	title := "Install the wheel for this Python, architecture and C library"
	var update []fix.Fix
	if name, err := pkgmeta.ParseWheelName(file); err == nil {
		title = "The wheel is for " + describeTag(name.Tags[0]) + ": run pip with such a Python on " +
			"such a system, or install the wheel for this one"
		tag := platform.ParseTag(name.Tags[0].Platform)
		if first := oldPips[tag.Family]; first != "" {
			form := strings.TrimSuffix(tag.String(), "_"+tag.Arch)
			update = append(update, newFix(fix.KindEnvironment, "Update pip if it is older than "+first+
				", which is the first to know "+form, "python -m pip install --upgrade pip"))
		}
	}
	out := append([]fix.Fix{newFix(
		fix.KindEnvironment,
		title+". The command lists the tags that pip accepts",
		list,
	)}, update...)
	return append(out, newFix(
		fix.KindRebuild,
		"If you build the wheel, build it for the Python, architecture and C library of the target",
		"",
	))
}

// describeTag returns a tag in words: "CPython 3.11 on Linux x86_64 with glibc 2.28 or later".
func describeTag(t pkgmeta.Tag) string {
	python := "Python " + t.Python
	if m := cpython.FindStringSubmatch(t.Python); m != nil {
		python = fmt.Sprintf("CPython %s.%s", m[1], m[2])
		if t.ABI == "abi3" {
			python += " or later"
		}
	} else if strings.HasPrefix(t.Python, "py3") || strings.HasPrefix(t.Python, "py2.py3") {
		python = "any Python 3"
	}
	tag := platform.ParseTag(t.Platform)
	switch on := " on Linux " + tag.Arch; tag.System {
	case platform.TagLinux:
		switch {
		case tag.Libc == "":
			return python + on
		case !strings.HasSuffix(tag.Family, "linux"): // PEP 513, 571 and 599
			return python + on + " with " + tag.Libc
		}
		return python + on + " with " + tag.Libc + " " + tag.Release() + " or later"
	case platform.TagMacOS:
		return python + " on macOS " + tag.Release() + " or later, " + tag.Arch
	case platform.TagWindows:
		return python + " on Windows (" + t.Platform + ")"
	}
	return python
}

// openmpFixes returns the fixes for two copies of the OpenMP runtime.
func openmpFixes(d *Diagnosis) []fix.Fix {
	if d.named == "mkl" {
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Let MKL use the OpenMP runtime that is loaded already",
				"export MKL_THREADING_LAYER=GNU"),
			newFix(fix.KindSource, "Import numpy before the package that loads "+base(d.Library), ""),
		}
	}
	return []fix.Fix{
		newFix(
			fix.KindEnvironment,
			"Install the packages that load it from one source (only conda-forge, or only pip), so that "+
				"they share one copy. With conda, nomkl replaces MKL and its libiomp5",
			"conda install nomkl",
		),
		newFix(
			fix.KindRebuild,
			"Build the package that contains the second copy against the one that is installed, and do not "+
				"bundle it",
			"",
		),
		{
			Kind:    fix.KindEnvironment,
			Title:   fix.Titled("As a last resort, let both copies run"),
			Command: "export KMP_DUPLICATE_LIB_OK=TRUE",
			Cost:    []string{"the program may crash or compute wrong results"},
		},
	}
}

// driverFixes returns the fixes for an NVIDIA driver that is too old. d.named is the CUDA release
// of the driver as cuDriverGetVersion returns it (11040), d.Version the one that is required.
func driverFixes(d *Diagnosis) []fix.Fix {
	title := "Update the NVIDIA driver of the host"
	if d.Version != "" {
		title += " to one that supports CUDA " + d.Version
	}
	title += "; the command shows which release of CUDA the driver supports"
	build := "Install a build of the package for the CUDA release that the driver supports"
	if n := len(d.named); n > 3 {
		build = "Install a build of the package for CUDA " + d.named[:n-3] + "." + d.named[n-2:n-1] +
			" or earlier, which this driver supports"
	}
	return []fix.Fix{
		newFix(fix.KindEnvironment, title, "nvidia-smi"),
		newFix(fix.KindPin, build, ""),
		newFix(fix.KindImage, "In a container, use an image with an earlier CUDA release", ""),
	}
}

// operatorFixes returns the fixes for an operator that no library registered in torch.
func operatorFixes(namespace string) []fix.Fix {
	name := "the package that registers it"
	var command shellword.Line
	if namespace == "image" {
		namespace = "torchvision" // the other namespace of its operators
	}
	if strings.HasPrefix(namespace, "torch") && namespace != "torch" {
		name = namespace
		command = shellword.Bare("pip install --upgrade --force-reinstall torch %s", name)
	}
	return []fix.Fix{
		newFix(
			fix.KindPin,
			"Install releases of torch and "+name+" that belong together. If one command installs both, "+
				"pip chooses them",
			command,
		),
		newFix(fix.KindEnvironment, "Take both from one index: a CPU build and a CUDA build do not "+
			"work together", ""),
		newFix(fix.KindRebuild, "Rebuild "+name+" against the installed torch", ""),
	}
}

// processorFixes returns the fixes for machine code that the processor does not have.
func processorFixes(d *Diagnosis) []fix.Fix {
	pin := newFix(fix.KindPin, "Install a build of the package for older processors (such as "+
		"polars[rtcompat]) or an older release; faulthandler shows which module it is",
		"python -X faulthandler -c 'import NAME'")
	if d.named == "NumPy" { // release notes of NumPy 2.4: the baseline is x86-64-v2
		pin = install(fix.KindPin, "Use NumPy before 2.4, which requires x86-64-v2", "numpy<2.4")
	}
	return []fix.Fix{
		pin,
		newFix(
			fix.KindEnvironment,
			"In a virtual machine, expose the host's processor (QEMU, Proxmox: CPU type host)",
			"-cpu host",
		),
		newFix(
			fix.KindRebuild,
			"Build for the baseline processor: without -march=native",
			`CFLAGS="-march=x86-64"`,
		),
	}
}
