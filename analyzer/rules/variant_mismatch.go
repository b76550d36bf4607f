package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

var variantMismatch = &analyzer.Rule{
	ID:        "variant-mismatch",
	Title:     "A variant wheel does not match its properties",
	Severity:  analyzer.Warning,
	Packaging: true,
	Doc: `PEP 825 is a draft for wheels of which a release has several, for different
processors or GPUs. The file name ends in a label, and ` + "`variant.json`" + ` in the dist-info
folder maps it to properties: x86_64 :: level :: v3. pip and other installers that do not know
variants refuse such names. The check follows the draft of August 2026, which may change.

A note: the wheel is a variant wheel, or a property is of a namespace for which no package that
detects it is known.

A warning: ` + "`variant.json`" + ` is missing, is not valid, or is for another label; the label
null has properties, or the file name has no label. The properties contradict the files:

- x86_64 or aarch64, but the tag is for another architecture
- nvidia, but an object needs libraries of ROCm, or the reverse for amd
- nvidia :: cuda_version_lower_bound, but an object needs libraries of a newer CUDA
- nvidia :: sm_arch or amd :: gfx_arch, but no object has code for that GPU, while some have code
  for others

What an object requires beyond x86_64 :: level is reported by isa-level.

Fix: build the wheel for its properties, or correct them.

Not detected: properties of other namespaces, objects in wheels for macOS and Windows, and whether
the wheels of a release agree.`,
	Cause: cause.Rule{
		Kind:  cause.Build("correct the properties of the variant"),
		Warns: "only installers that know wheel variants read these properties",
	},
	References: []string{
		"PEP 825 (draft): variant wheel, variant metadata",
		"PEP 817 (draft): variant properties",
		"provider-variant-x86-64, provider-variant-aarch64: properties",
	},
	Check:   checkVariant,
	Windows: checkVariant,
	MacOS:   checkVariant,
	Android: checkVariant,
	IOS:     checkVariant,
	Pyodide: checkVariant,
}

// variantProviders are the namespaces for which a package that detects the properties is known, or
// which the drafts use.
var variantProviders = []string{
	"x86_64", "aarch64", "nvidia", "amd", "intel", "ascend", "blas_lapack", "abi_dependency",
}

func checkVariant(p *analyzer.Pass) {
	if p.Facts.Wheel == nil || p.Facts.Inside == nil {
		return
	}
	label := p.Facts.VariantLabel
	file := p.Facts.Inside.VariantFile
	switch {
	case label == "" && file == nil:
		return
	case label == "":
		reportVariant(p, file.Path, "The file name has no variant label, but the wheel has %s", file.Path)
		return
	}
	p.Report(analyzer.Finding{Severity: analyzer.Note, Shown: true, Object: p.Facts.Path,
		Message: fmt.Sprintf("This is a variant wheel (label %s; PEP 825, a draft). pip and other "+
			"installers that do not support variants reject its name", label)})
	switch {
	case file == nil:
		reportVariant(p, p.Facts.Path, "%s has the variant label %s, but no variant.json in its "+
			"dist-info folder", p.Facts.Path, label)
	case file.Content == nil:
		reportVariant(p, file.Path, "%s is not valid: %s", file.Path, file.Error)
	case len(file.Content.Labels) > 1 || file.Content.Labels[0] != label:
		reportVariant(p, file.Path, "%s is for %s, but the label in the file name is %s", file.Path,
			analyzer.And(file.Content.Labels), label)
	case label == pkgmeta.NullVariant && len(file.Content.Properties) > 0:
		reportVariant(p, file.Path, "The label null is for a variant without properties, but %s "+
			"has %s", file.Path, file.Content.Properties[0])
	default:
		checkProperties(p, file.Path, file.Content)
	}
}

func reportVariant(p *analyzer.Pass, object, format string, a ...any) {
	p.Report(analyzer.Finding{Object: object, Message: fmt.Sprintf(format, a...)},
		fix.Candidate{Fix: fix.Fix{Kind: fix.KindRebuild,
			Title: fix.Titled("Correct the properties of the variant, or build the wheel for them")}})
}

// checkProperties compares properties with the tag and the objects.
func checkProperties(p *analyzer.Pass, file string, v *pkgmeta.Variant) {
	for _, x := range v.Properties {
		if !slices.Contains(variantProviders, x.Namespace) {
			p.Report(analyzer.Finding{Severity: analyzer.Note, Object: file, Symbol: x.Namespace,
				Message: fmt.Sprintf("%s has %s. No package that detects properties of %s is known, and "+
					"installers use no variant with a property that they cannot detect", file, x,
					x.Namespace)})
			continue
		}
		if x.Namespace == "x86_64" || x.Namespace == "aarch64" {
			for _, t := range p.Facts.Wheel.Tags {
				if arch := tagArch(t.Platform); arch != "" && arch != x.Namespace {
					reportVariant(p, file, "%s has %s, but the wheel's tag %s is for %s", file, x,
						t.Platform, arch)
				}
			}
		}
	}
	for _, s := range []struct {
		namespace string
		other     gpuStack
	}{{"nvidia", rocm}, {"amd", cuda}} {
		if !slices.ContainsFunc(v.Properties, func(x pkgmeta.Property) bool {
			return x.Namespace == s.namespace
		}) {
			continue
		}
		for _, view := range p.Views {
			if lib := firstOf(view.Needed, s.other.library.MatchString); lib != "" && !view.Alternative {
				reportVariant(p, view.Path, "%s needs %s of %s, but the wheel is a variant for %s",
					view.Path, lib, s.other.name, s.namespace)
			}
		}
	}
	checkCUDABound(p, v)
	var all gpu.Archs
	for _, view := range p.Views {
		all.CUDA, all.PTX = append(all.CUDA, view.GPU.CUDA...), append(all.PTX, view.GPU.PTX...)
		all.ROCm = append(all.ROCm, view.GPU.ROCm...)
	}
	if all.CUDA != nil || all.PTX != nil {
		for _, value := range v.Property("nvidia", "sm_arch") {
			arch, kind, _ := strings.Cut(value, "_")
			has := all.CUDA
			if kind == "virtual" {
				has = all.PTX
			} else if kind == "" {
				has = slices.Concat(all.CUDA, all.PTX)
			}
			if !slices.Contains(has, "sm_"+arch) {
				lacksCode(p, file, "nvidia :: sm_arch :: "+value, slices.Concat(all.CUDA, all.PTX))
			}
		}
	}
	if all.ROCm != nil {
		for _, value := range v.Property("amd", "gfx_arch") {
			if !slices.Contains(all.ROCm, value) {
				lacksCode(p, file, "amd :: gfx_arch :: "+value, all.ROCm)
			}
		}
	}
}

// lacksCode reports a GPU for which no object has code.
func lacksCode(p *analyzer.Pass, file, property string, has []string) {
	has = slices.Clone(has)
	slices.SortFunc(has, gpu.Compare)
	reportVariant(p, file, "%s has %s, but no object has code for it. There is code for %s", file,
		property, analyzer.And(slices.Compact(has)))
}

// checkCUDABound reports objects that need a newer CUDA than the variant accepts. A driver runs the
// libraries of its own major version of CUDA, and of older ones.
func checkCUDABound(p *analyzer.Pass, v *pkgmeta.Variant) {
	bounds := v.Property("nvidia", "cuda_version_lower_bound")
	if len(bounds) == 0 {
		return
	}
	// A system needs one of the values, so the oldest one decides.
	lowest := slices.MinFunc(bounds, func(a, b string) int {
		x, errX := pkgmeta.ParseVersion(a)
		y, errY := pkgmeta.ParseVersion(b)
		if errX != nil || errY != nil {
			return strings.Compare(a, b)
		}
		return x.Compare(y)
	})
	major, _, _ := strings.Cut(lowest, ".")
	for _, view := range p.Views {
		if view.Alternative {
			continue
		}
		lib := firstOf(view.Needed, func(n string) bool {
			m := gpu.Major(n)
			return len(m) > len(major) || len(m) == len(major) && m > major
		})
		if lib != "" {
			reportVariant(p, view.Path, "%s needs %s of CUDA %s, but the variant accepts systems with "+
				"CUDA %s", view.Path, lib, gpu.Major(lib), lowest)
		}
	}
}

// firstOf returns the first name that matches; "" if none does.
func firstOf(names []string, match func(string) bool) string {
	if i := slices.IndexFunc(names, match); i >= 0 {
		return names[i]
	}
	return ""
}

// tagArch returns the architecture of a platform tag as in the namespaces of variants; "" if it has
// none or several.
func tagArch(tag string) string {
	arch := platform.ParseTag(tag).Arch
	switch {
	case arch == "amd64", strings.HasPrefix(arch, "x86_64"): // also of iOS, and x86_64_v3
		return "x86_64"
	case strings.HasPrefix(arch, "arm64"), arch == "aarch64":
		return "aarch64"
	case slices.Contains(platform.Architectures(), arch), arch == "x86":
		return arch
	}
	return ""
}

// variantLevel returns the level of x86-64 that a variant wheel guarantees, as "x86-64-v3"; "" if
// it has none. If it lists several, it is the lowest.
func variantLevel(f *analyzer.Facts) string {
	if f.Inside == nil || f.VariantLabel == "" || f.Inside.VariantFile == nil {
		return ""
	}
	v := f.Inside.VariantFile.Content
	if levels := v.Property("x86_64", "level"); len(levels) > 0 {
		return "x86-64-" + slices.Min(levels)
	}
	level := ""
	for i, features := range levelFeatures {
		for _, f := range features {
			if !slices.Equal(v.Property("x86_64", f), []string{"on"}) {
				return level
			}
		}
		level = fmt.Sprintf("x86-64-v%d", i+3)
	}
	return level
}

// levelFeatures are the features of x86-64-v3, and those that v4 adds, as the provider names them.
var levelFeatures = [2][]string{
	{"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"},
	{"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"},
}
