package main

// pkg is a package of the history.
type pkg struct {
	name  string
	whole bool   // small wheels: read whole, exports known. Otherwise libraries are listed by name
	from  string // oldest version of interest, "" all
}

// packages: what compiled Python packages share a process with, and pin against each other. The unsuffixed names are CUDA 13's; before
// 13 they were empty placeholders, which have no Linux wheel and so fall out by themselves.
var packages = []pkg{
	{name: "nvidia-nvjitlink-cu12", whole: true},
	{name: "nvidia-nvjitlink", whole: true},
	{name: "nvidia-cuda-nvrtc-cu12", whole: true},
	{name: "nvidia-cuda-nvrtc", whole: true},
	{name: "nvidia-cuda-runtime-cu12", whole: true},
	{name: "nvidia-cuda-runtime", whole: true},
	{name: "nvidia-cuda-cupti-cu12", whole: true},
	{name: "nvidia-cuda-cupti", whole: true},
	{name: "nvidia-cufile-cu12", whole: true},
	{name: "nvidia-cufile", whole: true},
	{name: "nvidia-nvtx-cu12", whole: true},
	{name: "nvidia-nvtx", whole: true},
	{name: "nvidia-cublas-cu12"},
	{name: "nvidia-cublas"},
	{name: "nvidia-cudnn-cu12"},
	{name: "nvidia-cudnn-cu13"},
	{name: "nvidia-cufft-cu12"},
	{name: "nvidia-cufft"},
	{name: "nvidia-curand-cu12"},
	{name: "nvidia-curand"},
	{name: "nvidia-cusolver-cu12"},
	{name: "nvidia-cusolver"},
	{name: "nvidia-cusparse-cu12", whole: true}, // large, but it imports nvJitLink, and patchelf moved its tables to the end,
	{name: "nvidia-cusparse"},
	{name: "nvidia-cusparselt-cu12"},
	{name: "nvidia-cusparselt-cu13"},
	{name: "nvidia-nccl-cu12"},
	{name: "nvidia-nccl-cu13"},
	{name: "nvidia-nvshmem-cu12"},
	{name: "nvidia-nvshmem-cu13"},
	{name: "cuda-toolkit"},
	{name: "triton", from: "2.0"},
	{name: "torch", from: "2.0"},
	{name: "torchvision", from: "0.15"},
	{name: "torchaudio", from: "2.0"},
}
