package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

var gpuStackMismatch = &analyzer.Rule{
	ID:       "gpu-stack-mismatch",
	Title:    "A build for CUDA or ROCm is used with a torch that was built for something else",
	Severity: analyzer.Error,
	Doc: `An object needs libraries of one GPU stack (libc10_cuda.so, libtorch_cuda.so,
libcudart.so.12), but the installed torch is built for the other and has libc10_hip.so and
libtorch_hip.so instead. The import fails with "libc10_cuda.so: cannot open shared object file",
or with the library of that stack that comes first in DT_NEEDED. A CPU build of torch
(torch==2.7.0+cpu) has neither. torchvision from the package index is built for CUDA; if the import
of its library fails, it reports "operator torchvision::nms does not exist".

Fix: an extension uses the GPU stack of the torch that it is built against. Install a build of it
for the same stack (torchvision==0.22.0+cpu, from the index that has that torch), rebuild it against
the installed torch, without build isolation, or install a torch of the other stack.

Not detected: objects that open a GPU library with dlopen, and environments whose torch build is
not known.`,
	Cause: cause.Rule{
		Kind:   cause.Choose("choose packages for one GPU platform", "torch"),
		Claims: true,
	},
	References: []string{"gABI, DT_NEEDED", "PyTorch: torch.utils.cpp_extension, hipify"},
	Check:      checkGPUStack,
}

// gpuStack is CUDA, ROCm, or neither.
type gpuStack struct {
	name    string
	use     string             // where it runs
	library *lazyregexp.Regexp // matches its libraries in DT_NEEDED
	core    string             // the library of torch that only this build has; "" for CPU
}

var (
	cuda = gpuStack{
		"CUDA", "NVIDIA GPUs",
		lazyregexp.New(
			`^lib(c10_cuda|torch_cuda(_linalg|_cu|_cpp)?)\.so|` +
				`^lib(cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|cudnn|nvrtc|nccl|` +
				`nvToolsExt|nvJitLink|cupti)[A-Za-z0-9_-]*\.so`,
		),
		"libc10_cuda.so",
	}
	rocm = gpuStack{
		"ROCm", "AMD GPUs",
		lazyregexp.New(
			`^lib(c10_hip|torch_hip)\.so|` +
				`^lib(amdhip64|hipblas|hipblaslt|hipfft|hiprand|hipsolver|hipsparse|hiprtc|` +
				`rocblas|rocfft|rocrand|rocsolver|rocsparse|MIOpen|rccl|roctx64|hsa-runtime64|` +
				`amd_comgr)\.so`,
		),
		"libc10_hip.so",
	}
	cpu = gpuStack{name: "CPU", use: "CPUs"}
)

// ofTorch matches the libraries of torch that only one of its builds has.
var ofTorch = lazyregexp.New(`^lib(c10|torch)_`)

// torchStack returns the installed torch and the GPU stack that it is built for. The stack is nil
// if it is not known.
func torchStack(s *packages.Set) (*packages.Release, *gpuStack) {
	torch := s.Release("torch")
	if torch == nil {
		return nil, nil
	}
	has := func(file string) bool {
		return slices.ContainsFunc(torch.Libraries, func(l packages.Library) bool {
			return strings.HasSuffix(l.Path, "/"+file)
		})
	}
	switch {
	case has(cuda.core):
		return torch, &cuda
	case has(rocm.core):
		return torch, &rocm
	case torch.Known && has("libtorch_cpu.so"):
		return torch, &cpu
	}
	return torch, nil
}

// declaredStack returns the stack of the configuration, and the other one.
func declaredStack(p *analyzer.Pass) (has, other gpuStack) {
	if p.GPU.Stack == "rocm" {
		return rocm, cuda
	}
	return cuda, rocm
}

// checkDeclaredStack reports objects of the stack that the configuration does not name: they need
// its libraries, or have code only for it. Variants are skipped, since one is selected at run time.
func checkDeclaredStack(p *analyzer.Pass) {
	has, other := declaredStack(p)
	for _, v := range p.Views {
		if v.Alternative {
			continue
		}
		f := analyzer.Finding{
			Object: v.Path, Chain: []string{v.Path},
			Reason: fmt.Sprintf("built for %s, but the configuration declares %s", other.name, has.name),
		}
		theirs, ours := v.GPU.ROCm, len(v.GPU.CUDA)+len(v.GPU.PTX)
		if other.name == cuda.name {
			theirs, ours = append(slices.Clone(v.GPU.CUDA), v.GPU.PTX...), len(v.GPU.ROCm)
		}
		at := slices.IndexFunc(v.Needed, other.library.MatchString)
		switch {
		case at >= 0:
			f.Library, f.Chain = v.Needed[at], append(f.Chain, v.Needed[at])
			f.Message = fmt.Sprintf(
				"%s needs %s of %s, but the configuration declares the artifact for %s%s",
				v.Path,
				f.Library,
				other.name,
				has.name,
				archsOf(v),
			)
		case len(theirs) > 0 && ours == 0:
			f.Message = fmt.Sprintf(
				"%s has GPU code only for %s (%s), but the configuration declares the artifact for %s",
				v.Path,
				other.name,
				strings.Join(theirs, " "),
				has.name,
			)
		default:
			continue
		}
		p.Report(
			f,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindRebuild,
					Title:   fix.Titled("Build for %s", has.name),
					Command: rebuildFor(p, has),
				},
			},
		)
	}
}

// wrongStack reports whether a missing library belongs to the GPU stack that the installed torch is
// not built for.
func wrongStack(p *analyzer.Pass, needed string) (*packages.Release, gpuStack, gpuStack, bool) {
	if p.GPU.Stack != "" {
		_, other := declaredStack(p)
		return nil, gpuStack{}, other, other.library.MatchString(needed)
	}
	torch, has := torchStack(p.Packages)
	if has == nil {
		return nil, gpuStack{}, gpuStack{}, false
	}
	other := cuda
	if has.name == cuda.name || has.name == cpu.name && rocm.library.MatchString(needed) {
		other = rocm
	}
	wrong := other.library.MatchString(needed)
	if has.name == cpu.name { // the libraries of CUDA itself may be installed without torch
		wrong = wrong && ofTorch.MatchString(needed)
	}
	return torch, *has, other, wrong
}

func checkGPUStack(p *analyzer.Pass) {
	if p.GPU.Stack != "" {
		checkDeclaredStack(p)
		return
	}
	for _, v := range p.Views {
		for _, needed := range v.Missing {
			torch, has, built, wrong := wrongStack(p, needed)
			if !wrong || v.Alternative && !everyAlternativeLacks(p, v, needed) {
				continue
			}
			f := analyzer.Finding{
				Object: v.Path, Library: needed, Chain: []string{v.Path, needed},
				Reason: fmt.Sprintf("built for %s, but %s %s is a %s build", built.name, torch.Name,
					torch.Version, has.name),
				Message: fmt.Sprintf("%s needs %s of %s, but %s is a %s build%s", v.Path, needed, built.name,
					torch.ID(), has.name, archsOf(v)),
			}
			p.Report(f, stackFixes(p, torch, has, built)...)
		}
	}
}

// archsOf lists the GPUs that an object has code for.
func archsOf(v *analyzer.View) string {
	var has []string
	has = append(append(has, v.GPU.CUDA...), v.GPU.ROCm...)
	if len(has) == 0 {
		return ""
	}
	return " (it has code for " + strings.Join(has, " ") + ")"
}

func stackFixes(p *analyzer.Pass, torch *packages.Release, has, built gpuStack) []fix.Candidate {
	plain, local, _ := strings.Cut(torch.Version, "+")
	want := "torch==" + plain
	var fixes []fix.Candidate
	name := pkgmeta.Normalize(projectName(p))
	backend := backendLocal.FindString(local)
	if has.name == cpu.name {
		backend = "cpu"
	}
	if backend != "" && slices.Contains(ofPyTorch, name) && p.Facts.Wheel != nil {
		version, _, _ := strings.Cut(p.Facts.Wheel.Version, "+")
		fixes = append(fixes, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindEnvironment,
			Title: fix.Titled("Install the %s build of %s, %s==%s+%s",
				has.name, name, name, version, backend),
			Command: "uv pip install --reinstall-package " + shellword.Quote(name) + " --torch-backend " +
				shellword.Quote(backend) + " " + quoted(name+"=="+version),
			Cost: []string{"another download, which is for " + has.use + " only"},
		}})
	}
	compilers := "compilers for " + has.name
	title := fix.Titled("Rebuild against the %s build of torch (%s==%s)",
		has.name, torch.Name, torch.Version)
	if has.core == "" {
		compilers = "a C++ compiler"
	} else {
		title = title.Append(", which has %s in place of %s", has.core, fix.Library(built.core))
	}
	fixes = append(fixes, fix.Candidate{Fix: fix.Fix{
		Kind:    fix.KindRebuild,
		Title:   title,
		Command: rebuildFor(p, has),
		Cost:    []string{"needs " + compilers + "; other packages stay as they are"},
	}})
	if built.name == cuda.name {
		fixes = append(fixes, fix.Candidate{
			Fix: fix.Fix{
				Kind:        fix.KindEnvironment,
				Title:       fix.Titled("Install the CUDA build of torch instead"),
				Command:     cudaTorch(p, plain),
				Requirement: want,
				Cost:        []string{"needs an NVIDIA GPU"},
				Last:        true, // a ROCm build was chosen for an AMD GPU, a CPU build for its size
			},
			Change: fix.Pin{Requirement: want},
		})
	}
	return fixes
}

// backendLocal matches a local version that is also a name for uv's --torch-backend.
var backendLocal = lazyregexp.New(`^rocm\d+(?:\.\d+)+$`)

// ofPyTorch are the packages that --torch-backend applies to (docs.astral.sh/uv, "Using uv with
// PyTorch"), whose builds for ROCm and CPU are in PyTorch's index.
var ofPyTorch = []string{"torchvision", "torchaudio"}

// cudaTorch returns the command that replaces the installed build of torch with the CUDA build of a
// release. pip keeps torch 2.7.0+rocm6.3 if torch==2.7.0 is requested, and does not know which
// index has which build; uv selects the index of PyTorch by the name of the build.
func cudaTorch(p *analyzer.Pass, version string) shellword.Line {
	return "uv pip install --reinstall-package torch --torch-backend " +
		shellword.Quote(cmp.Or(packages.TorchCUDA(version, p.Platform.Arch), "auto")) + " " +
		shellword.Quote("torch=="+version)
}

// rebuildFor returns the command that builds the artifact for a GPU stack.
func rebuildFor(p *analyzer.Pass, has gpuStack) shellword.Line {
	name := projectName(p)
	if command := gpu.BuildCommand(pkgmeta.Normalize(name), has.name); command != "" {
		return command
	}
	return fromSource(p)
}

// fromSource returns the command that builds the project against the installed packages.
func fromSource(p *analyzer.Pass) shellword.Line {
	if p.Facts.Wheel == nil {
		return ""
	}
	name := quoted(projectName(p))
	return "pip install --force-reinstall --no-deps --no-cache-dir --no-build-isolation " +
		"--no-binary " + name + " " +
		quoted(projectName(p)+"=="+p.Facts.Wheel.Version)
}

// projectName returns the name of the artifact's project, or of its file if it is not a wheel.
func projectName(p *analyzer.Pass) string {
	switch {
	case p.Facts.Metadata != nil:
		return p.Facts.Metadata.Name
	case p.Facts.Wheel != nil:
		return p.Facts.Wheel.Name
	}
	return p.Facts.Path
}

// everyAlternativeLacks reports whether all variants of v lack the same library, so that no program
// can load one of them.
func everyAlternativeLacks(p *analyzer.Pass, v *analyzer.View, needed string) bool {
	for _, u := range p.Views {
		if analyzer.Alternatives(v, u) && !slices.Contains(u.Missing, needed) {
			return false
		}
	}
	return true
}
