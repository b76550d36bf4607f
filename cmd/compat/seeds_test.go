package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

var seedsFrom = flag.String(
	"seeds",
	"",
	"folder with the real wheels of TestSeedsThroughAnIndex: reduce them again, and write them to "+
		"testdata/seeds",
)

// seeds are typical cases with published wheels: each is checked with the packages of a user,
// from an index that serves the other wheels, without the built-in history.
var seeds = []struct {
	wheel     string // in testdata/seeds
	platforms []string
	with      []string
	// OBJECT SYMBOL VERSION LIBRARY of expected errors, "-" for empty; none = the wheel is
	// compatible
	wants []string
	fixes []string // each is part of a fix of one of these errors
}{
	{
		wheel: "warp_lang-1.6.2-py3-none-manylinux2014_x86_64.whl",
		fixes: []string{"manylinux_2_31"},
		wants: []string{
			"warp/bin/warp.so pow GLIBC_2.29 libm.so.6", "warp/bin/warp.so expf GLIBC_2.27 libm.so.6",
			"warp/bin/warp.so _ZSt24__throw_out_of_range_fmtPKcz GLIBCXX_3.4.20 libstdc++.so.6",
			"warp/bin/warp.so _ZdlPvm CXXABI_1.3.9 libstdc++.so.6", "warp/bin/warp-clang.so " +
				"_ZNSt19_Sp_make_shared_tag5_S_eqERKSt9type_info GLIBCXX_3.4.26 libstdc++.so.6"},
	},
	{wheel: "warp_lang-1.6.2-py3-none-manylinux2014_x86_64.whl", platforms: []string{"debian11"}},
	{wheel: "warp_lang-1.4.2-py3-none-manylinux2014_x86_64.whl"},
	{wheel: "warp_lang-1.7.2-py3-none-manylinux_2_28_x86_64.whl"},
	{
		wheel: "cuda_cccl-0.1.3.1.0.dev1486-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
		with:  []string{"nvidia-nvjitlink-cu12==12.2.140", "nvidia-cuda-nvrtc-cu12==12.8.93"},
		wants: []string{
			"libcccl.c.parallel.so nvJitLinkCreate libnvJitLink.so.12 libnvJitLink.so.12",
			"libcccl.c.parallel.so nvJitLinkDestroy libnvJitLink.so.12 libnvJitLink.so.12",
		},
		fixes: []string{"nvidia-nvjitlink-cu12>=12.3"},
	},
	{
		wheel: "cuda_cccl-0.1.3.1.0.dev1486-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
		with:  []string{"nvidia-nvjitlink-cu12==12.8.93", "nvidia-cuda-nvrtc-cu12==12.8.93"},
	},
	{
		wheel: "nvidia_cusparse_cu12-12.1.0.106-py3-none-manylinux1_x86_64.whl",
		with:  []string{"nvidia-nvjitlink-cu12==12.0.140"},
		fixes: []string{"nvidia-nvjitlink-cu12>=12.1"},
		wants: []string{
			"libcusparse.so.12 __nvJitLinkAddData_12_1 libnvJitLink.so.12 libnvJitLink.so.12",
			"libcusparse.so.12 __nvJitLinkGetErrorLogSize_12_1 libnvJitLink.so.12 libnvJitLink.so.12",
		},
	},
	{
		wheel: "nvidia_cusparse_cu12-12.1.0.106-py3-none-manylinux1_x86_64.whl",
		with:  []string{"nvidia-nvjitlink-cu12==12.9.86"},
	},
	{
		wheel: "torchaudio-2.7.0-cp312-cp312-manylinux_2_28_x86_64.whl",
		with:  []string{"torch==2.7.0+rocm6.3"},
		fixes: []string{"ROCm", "rebuild"},
		wants: []string{
			"torchaudio/lib/libtorchaudio.so - - libtorch_cuda.so",
			"torchaudio/lib/libtorchaudio.so - - libc10_cuda.so",
			"torchaudio/lib/libctc_prefix_decoder.so - - libc10_cuda.so",
			"torchaudio/lib/pybind11_prefixctc.so - - libc10_cuda.so",
			"torio/lib/_torio_ffmpeg6.so - - libtorch_cuda.so"},
	},
	{
		wheel: "torchaudio-2.7.0-cp312-cp312-manylinux_2_28_x86_64.whl",
		with:  []string{"torch==2.7.0"},
	},
	{
		wheel:     "nvidia_cufile_cu12-1.11.1.6-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
		platforms: []string{"debian11"},
		fixes:     []string{"-Wl,--no-as-needed -ldl"},
		wants: []string{
			"nvidia/cufile/lib/libcufile.so.0 dlopen - libdl.so.2",
			"nvidia/cufile/lib/libcufile.so.0 dlvsym - libdl.so.2",
			"nvidia/cufile/lib/libcufile_rdma.so.1 dlsym - libdl.so.2"},
	},
	{
		wheel:     "nvidia_cufile_cu12-1.11.1.6-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
		platforms: []string{"debian12"},
	},
}

// rocmTorch returns a build that is on no public index, with the names that the project
// documents.
func rocmTorch(t *testing.T) (name string, data []byte) {
	var files []string
	for _, lib := range []string{"libc10.so", "libshm.so", "libtorch.so", "libtorch_cpu.so",
		"libtorch_global_deps.so", "libtorch_python.so", "libc10_hip.so", "libcaffe2_nvrtc.so",
		"libtorch_hip.so"} {
		files = append(files, "torch/lib/"+lib, "elf x86_64\nsoname "+lib+"\nneeded libc.so.6\n")
	}
	return "torch-2.7.0+rocm6.3-cp312-cp312-manylinux_2_28_x86_64.whl", madeWheel(
		t,
		"torch",
		"2.7.0+rocm6.3",
		nil,
		files...)
}

func TestSeedsThroughAnIndex(t *testing.T) {
	const folder = "testdata/seeds"
	if *seedsFrom != "" {
		reduceWheels(t, *seedsFrom, folder)
	}
	s := &packageIndex{files: map[string]map[string][]byte{}}
	put := func(name string, data []byte) {
		project := strings.ReplaceAll(strings.SplitN(name, "-", 2)[0], "_", "-")
		if s.files[project] == nil {
			s.files[project] = map[string][]byte{}
		}
		s.files[project][name] = data
	}
	wheels, err := filepath.Glob(folder + "/*.whl")
	if err != nil || len(wheels) == 0 {
		t.Fatalf("no wheel in %s: %v", folder, err)
	}
	for _, w := range wheels {
		data, err := os.ReadFile(w)
		if err != nil {
			t.Fatal(err)
		}
		put(filepath.Base(w), data)
	}
	put(rocmTorch(t))
	server := httptest.NewServer(s)
	defer server.Close()
	data := t.TempDir()
	for _, c := range seeds {
		name := strings.Join(append(append([]string{c.wheel}, c.with...), c.platforms...), " ")
		args := []string{
			"check",
			"--no-history",
			"--verbose",
			"--format",
			"json",
			"--fail-on",
			"never",
			"--index-url",
			server.URL + "/simple",
		}
		for _, w := range c.with {
			args = append(args, "--with", w)
		}
		for _, p := range c.platforms {
			args = append(args, "--platform", p)
		}
		var out, errs bytes.Buffer
		env := environment{Getenv: func(n string) (string, bool) {
			v, ok := map[string]string{"COMPAT_DATA": data, "PIP_CONFIG_FILE": os.DevNull}[n]
			return v, ok
		}, In: strings.NewReader(""), Out: &out, Err: &errs}
		code := run(context.Background(), append(args, filepath.Join(folder, c.wheel)), env)
		var r analyzer.Report
		if err := json.Unmarshal(out.Bytes(), &r); err != nil || code != 0 {
			t.Errorf("%s: exit %d, %v, %s", name, code, err, errs.String())
			continue
		}
		verdict := analyzer.Compatible
		if len(c.wants) > 0 {
			verdict = analyzer.Incompatible
		}
		if r.Verdict != verdict {
			t.Errorf("%s: verdict %s, want %s: %v", name, r.Verdict, verdict, r.Unread)
		}
		var found []*analyzer.Finding
		for _, want := range c.wants {
			i := slices.IndexFunc(
				r.Findings,
				func(f analyzer.Finding) bool { return f.Severity == analyzer.Error && isSeed(&f, want) },
			)
			if i < 0 {
				t.Errorf("%s: no error for %s", name, want)
				continue
			}
			found = append(found, &r.Findings[i])
		}
		for _, f := range r.Findings {
			if f.Severity == analyzer.Error && len(c.wants) == 0 {
				t.Errorf("%s: %s", name, f.Message)
			}
		}
		for _, text := range c.fixes {
			if !slices.ContainsFunc(found, func(f *analyzer.Finding) bool {
				for _, x := range f.Fixes {
					if strings.Contains(
						strings.ToLower(x.Title.String()+"\n"+string(x.Command)+"\n"+x.Requirement),
						strings.ToLower(text),
					) {
						return true
					}
				}
				return false
			}) {
				t.Errorf("%s: no fix says %s", name, text)
			}
		}
		asked := regexp.MustCompile(`packages of \S+: (no|\d+) requests?`)
		if cost := errs.String(); !asked.MatchString(cost) ||
			strings.Contains(cost, "built-in package history") {
			t.Errorf("%s: it cost %s", name, errs.String())
		}
	}
	if s.requests.Load() == 0 {
		t.Error("the index was not asked")
	}
}

func isSeed(f *analyzer.Finding, want string) bool {
	w := strings.Fields(want)
	is := func(have, want string) bool { return want == "-" || have == want }
	return strings.HasSuffix(f.Object, w[0]) && is(f.Symbol, w[1]) && is(f.Version, w[2]) &&
		is(f.Library, w[3])
}

// reduceWheels makes wheels of testdata from real ones, with their metadata and the parts of
// their objects that elfobj reads. Of a library with more than some thousand exports (torch) it
// keeps those that an object of the cases imports.
func reduceWheels(t *testing.T, from, to string) {
	const many = 5_000
	paths, err := filepath.Glob(from + "/*.whl")
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]map[string]*elfobj.Object{}
	texts := map[string]map[string][]byte{}
	imported := map[string]bool{}
	for _, p := range paths {
		z, err := zip.OpenReader(p)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(p)
		objects[name], texts[name] = map[string]*elfobj.Object{}, map[string][]byte{}
		for _, f := range z.File {
			if strings.HasSuffix(f.Name, ".h") { // programs are linked with its libraries
				texts[name][f.Name] = nil
			}
			if !strings.Contains(f.Name, ".so") && !strings.HasSuffix(f.Name, "/METADATA") &&
				!strings.HasSuffix(f.Name, "/WHEEL") {
				continue
			}
			data := unzipped(t, f)
			o, err := elfobj.Read(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				texts[name][f.Name] = bytes.Join(usedFields.FindAll(data, -1), nil)
				continue
			}
			o.Sections = nil
			objects[name][f.Name] = o
			if o.Exports.Len() <= many {
				for _, i := range o.Imports.All() {
					imported[i.Name] = true
				}
			}
		}
		z.Close()
	}
	for name := range objects {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		add := func(member string, data []byte) {
			w, err := z.Create(member)
			if err == nil {
				_, err = w.Write(data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, member := range slices.Sorted(maps.Keys(texts[name])) {
			add(member, texts[name][member])
		}
		for _, member := range slices.Sorted(maps.Keys(objects[name])) {
			o := objects[name][member]
			if o.Exports.Len() > many {
				o.Exports = elfobj.NewExports(
					slices.DeleteFunc(
						o.Exports.List(),
						func(e elfobj.Export) bool { return !imported[e.Name] },
					)...)
				o.Imports = nil
			}
			data, err := elftest.Write(o)
			if err != nil {
				t.Fatalf("%s of %s: %v", member, name, err)
			}
			add(member, data)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", name, b.Len())
	}
}

// usedFields matches the lines of METADATA and WHEEL that installers use.
var usedFields = regexp.MustCompile(
	`(?m)^(Metadata-Version|Name|Version|Requires-Dist|Requires-Python|Provides-Extra|Wheel-Version|Root-Is-Purelib|Tag): .*\n`,
)

func unzipped(t *testing.T, f *zip.File) []byte {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
