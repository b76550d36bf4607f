package main

import "cmp"

// pkg is a package of the history.
type pkg struct {
	name string
	from string // oldest version of interest, "" = all
	// largest compressed size of a library that is read completely; 0 = mostRead. Of a larger one
	// only the beginning is read, for its name and needed libraries
	upTo uint64
	list bool // nothing outside links against its libraries: their names are enough
}

// mostRead is the largest compressed size of a library that is read completely: most have less
// than a tenth of it.
const mostRead = 24 << 20

func (p pkg) most() uint64 { return cmp.Or(p.upTo, mostRead) }

// whole means that every library of a package is read completely.
const whole = 1 << 40

// packages are those that compiled Python packages load into their process and pin to exact
// versions. The names without a suffix are CUDA 13's; before 13 they were empty placeholders
// without a Linux wheel, so they are skipped.
var packages = []pkg{
	{name: "nvidia-nvjitlink-cu12", upTo: whole},
	{name: "nvidia-nvjitlink", upTo: whole},
	{name: "nvidia-cuda-nvrtc-cu11", upTo: whole},
	{name: "nvidia-cuda-nvrtc-cu12", upTo: whole},
	{name: "nvidia-cuda-nvrtc", upTo: whole},
	{name: "nvidia-cuda-runtime-cu11"},
	{name: "nvidia-cuda-runtime-cu12"},
	{name: "nvidia-cuda-runtime"},
	{name: "nvidia-cuda-cupti-cu11"},
	{name: "nvidia-cuda-cupti-cu12"},
	{name: "nvidia-cuda-cupti"},
	{name: "nvidia-cufile-cu12"},
	{name: "nvidia-cufile"},
	{name: "nvidia-nvtx-cu11"},
	{name: "nvidia-nvtx-cu12"},
	{name: "nvidia-nvtx"},
	{name: "nvidia-cublas-cu11"},
	{name: "nvidia-cublas-cu12", upTo: whole},
	{name: "nvidia-cublas"},
	{name: "nvidia-cudnn-cu11"},
	{name: "nvidia-cudnn-cu12", upTo: whole}, // patchelf moved its tables to the end, too
	{name: "nvidia-cudnn-cu13"},
	{name: "nvidia-cufft-cu11"},
	{name: "nvidia-cufft-cu12", upTo: whole},
	{name: "nvidia-cufft"},
	{name: "nvidia-curand-cu11"},
	{name: "nvidia-curand-cu12", upTo: whole},
	{name: "nvidia-curand"},
	{name: "nvidia-cusolver-cu11"},
	{name: "nvidia-cusolver-cu12", upTo: whole},
	{name: "nvidia-cusolver"},
	{name: "nvidia-cusparse-cu11"},
	{
		name: "nvidia-cusparse-cu12",
		upTo: whole,
	}, // it imports nvJitLink, and patchelf moved its tables to the end
	{name: "nvidia-cusparse"},
	{name: "nvidia-cusparselt-cu12", upTo: whole},
	{name: "nvidia-cusparselt-cu13"},
	{name: "nvidia-nccl-cu11"},
	{name: "nvidia-nccl-cu12", upTo: whole},
	{name: "nvidia-nccl-cu13"},
	{name: "nvidia-nvshmem-cu12"},
	{name: "nvidia-nvshmem-cu13"},
	{name: "nvidia-npp-cu12"},
	{name: "nvidia-npp"},
	{name: "nvidia-nvjpeg-cu12"},
	{name: "nvidia-nvjpeg"},
	{name: "cuda-toolkit"},
	{name: "intel-openmp"},
	{name: "tbb"},
	{name: "numpy", from: "1.17", list: true},
	{name: "protobuf", from: "3.20", list: true},
	{name: "triton", from: "2.0"},
	{name: "torch", from: "2.0", upTo: whole},
	{name: "torchvision", from: "0.15"},
	{name: "torchaudio", from: "2.0"},
}
