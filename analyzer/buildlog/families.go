package buildlog

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// Naming conventions of libraries.
var (
	framework = lazyregexp.New(
		`^_?_Z(?:T[IVST]S?|GV|NK?|T[hv][\dn_]*_NK?|L?NK?)?N?K?(?:2at|3c10|5torch|6caffe2|10tensorflow|6tflite|3tsl|3xla|5torio)\d*|^_Z(?:N?K?St|T[IVS]St?).*(?:2at[0-9NE]|3c10|5torch[0-9NE]|10tensorflow)|^(?:at|c10|torch|caffe2|tensorflow|tflite|tsl|xla)::|(?:for|to) (?:at|c10|torch|caffe2|tensorflow)::|^_?THP|^torch_library_impl|^aoti_torch_|^TF_[A-Z]|^TfLite[A-Z]|^torch_`,
	)
	gpuName = lazyregexp.New(
		`^_{0,2}(?:p?nccl|rccl)[A-Z_]|^_{0,2}(?:cuda|cublas|cublasLt|cublasXt|cudnn|cusparse|cusparseLt|cusolver\w{0,2}|cufft\w{0,2}|curand|cupti|cuFile|cufile|cutensor|cutensorMg|custatevec|nvrtc|nvJitLink|nvml|nvvm|nvtx|nvPTXCompiler|nvFatbin|nvshmem|nvshmemi|nvjpeg|nvperf|nvJPEG|nvcomp|cusparseSp)[A-Z_]|^_{0,2}nvshmem|^npp[a-z]|^cu[A-Z][a-z]|^_{0,2}hip[A-Z_]|^(?:hipblas|hipblasLt|hipsparse|hipsparseLt|hipfft|hiprand|hipsolver|hiprtc|hiptensor)[A-Z_]|^(?:rocblas|rocsolver|rocsparse|rocfft|rocrand|rocalution|rocprofiler|roctracer|rsmi|amdsmi|hsa|hsaKmt|amd_comgr|rocm)_|^roctx[A-Z]|^(?:miopen|migraphx)[A-Z_]|^_ZN?K?(?:\d+hip_impl|2ck|8nvinfer1|6miopen|7rocblas|5cudnn|9Tensile|3hip|8rocwmma)|^createInfer(?:Builder|Runtime)|^getPluginRegistry`,
	)
	gpuFile = lazyregexp.New(
		`^lib(?:cuda|cudart\w*|cudadevrt|cublas\w*|cufft\w*|curand|cusolver\w*|cusparse\w*|cudnn\w*|nccl(?:-net)?|nvrtc[\w\-]*|nvJitLink|nvjitlink|cupti|nvToolsExt|nvinfer\w*|nvonnxparser|nvparsers|cufile\w*|nvjpeg\w*|npp\w+|nvidia-\w+|nvml|nvvm|nvshmem\w*|cutensor\w*|custatevec|cutensornet|nvperf_\w+|nvfatbin|nvptxcompiler|accinj64|nvblas|nvcuvid|cuinj64|cudla|nvcomp\w*|amdhip64|hip\w+|hiprtc[\w\-]*|roc(?:blas|solver|sparse|fft|rand|alution|tracer64|tx64|m_smi64|profiler[\w\-]*|profiler64|m-core|m_sysdeps\w*|shmem|prim|al|decode)|rocprofiler[\w\-]*|rccl|MIOpen\w*|hsa-\w+|hsakmt|amd_comgr\w*|amdocl64|amd_smi|migraphx\w*|ze_loader)(?:-[0-9a-f]{8})?\.(?:so|a)\b`,
	)
	vendorLib = lazyregexp.New(`^lib(?:c10|torch)_(?:cuda|hip)\w*\.so`)
	hostName  = lazyregexp.New(
		`^_?Py[A-Z_]|^_?napi_|^node_(?:api|module)_|^_ZNK?(?:2v8|4node)\d*|^_ZT[IV]N(?:2v8|4node)|^(?:v8|node)::|^PyInit_|^Py(?:_|Unicode|Object)`,
	)
	ownedName = lazyregexp.New(
		`^(?:dl(?:open|sym|close|error|vsym|mopen|addr1?|info|iterate_phdr)|shm_(?:open|unlink)|pthread_\w+|__pthread_\w+|sem_\w+|timer_(?:create|delete|settime|gettime|getoverrun)|mq_\w+|aio_\w+|lio_listio|cblas_\w+|_gfortran\w*|_ZGV[a-f]\w+|__atomic_\w+|crypt(?:_r|_gensalt\w*)?)$`,
	)
	newGlibc = lazyregexp.New(
		`^(?:__isoc23_\w+|arc4random(?:_buf|_uniform)?|strlcpy|strlcat|wcslcpy|wcslcat|__str(?:lcpy|lcat)_chk|closefrom|_dl_find_object|__libc_single_threaded|gettid|getentropy|getrandom|reallocarray|explicit_bzero|mallinfo2|memfd_create|pidfd_\w+|close_range|statx|copy_file_range|fcntl64|__cxa_thread_atexit_impl|strtof(?:32|64|128)x?|rseq|__rseq_\w+|timespec_getres|process_madvise|execveat|renameat2|__inet_(?:pton|ntop)_chk)$`,
	)
	cxxName = lazyregexp.New(
		`^_?_Z(?:NK?St|St|NK?S[abdios]|T[ISVT]N?St|TVN10__cxxabiv1|NK?10__cxxabiv1|NK?9__gnu_cxx|N?KSt|GVN?St)|(?:^|for |to )std::|^__cxa_|^__gxx_personality|^_Zn[aw][jm]|^_Zd[al]P|^__gnu_cxx::|operator (?:new|delete)`,
	)
	// notInMusl matches symbols of glibc that musl lacks. musl 1.2.4 removed the names for large
	// files.
	notInMusl = lazyregexp.New(
		`^(?:__\w+_chk|__fdelt_warn|__(?:isoc23|isoc99)_\w+|__res_\w+|res_n\w+|__?gnu_get_libc_\w+|gnu_get_libc_\w+|gnu_dev_\w+|backtrace\w*|__register_atfork|__fork|fe(?:enable|disable|get)except|__\w+_finite|mallinfo2?|mallopt|malloc_trim|malloc_info|__libc_(?:malloc|free|calloc|realloc|memalign|single_threaded|enable_secure|alloca_cutoff)|__malloc_hook|__free_hook|__realloc_hook|__cxa_thread_atexit_impl|canonicalize_file_name|error(?:_at_line|_print_progname|_message_count)?|(?:get|set|make|swap)context|rawmemchr|__rawmemchr|__strtok_r|__strdup|__strndup|_?obstack_\w+|argp_\w+|__argp_\w+|fts_\w+|dlvsym|dlmopen|dlinfo|(?:random|srandom|initstate|setstate|drand48|lrand48|mrand48|srand48)_r|mcheck\w*|mtrace|muntrace|innetgr|[sg]etnetgrent|pvalloc|_dl_\w+|_rtld_\w+|__tls_get_addr_slow|arc4random\w*|sys_errlist|_sys_errlist|_sys_nerr|__(?:new|use|dup|free)locale|__str(?:xfrm|coll|ftime|tod|tof|told|casecmp)_l|__wcs(?:xfrm|coll|ftime)_l|__(?:is|to)?w?ctype_l|__nl_langinfo_l|__towlower_l|__towupper_l|__iswctype_l|__wctype_l|strto(?:u?ll?|u?q)_l|__strto(?:u?ll?|d|f|ld)_internal|__uflow|__overflow_chk|__underflow|_IO_\w+|__secure_getenv|__sched_\w+|__rpc_\w+|xdr_\w+|svc_\w+|clnt_\w+|getwd_chk|cuserid|qsort_r|reallocf|strfry|memfrob|parse_printf_format|register_printf_\w+|rcmd\w*|rresvport\w*|ruserok\w*|ttyslot|pthread_(?:yield|timedjoin_np_64|attr_setaffinity_np|attr_getaffinity_np|rwlockattr_setkind_np|mutexattr_setkind_np|getattr_default_np|setattr_default_np|cond_clockwait|mutex_clocklock)|(?:open|openat|creat|fopen|freopen|fseeko|ftello|lseek|pread|pwrite|preadv2?|pwritev2?|f?stat|lstat|fstatat|f?statv?fs|mmap|f?truncate|readdir|readdir_r|scandir|alphasort|versionsort|getdirentries|mko?stemps?|n?ftw|glob|globfree|posix_f\w+|fallocate|sendfile|tmpfile|f[gs]etpos|[gs]etrlimit|prlimit|fcntl|lockf|aio_\w+|lio_listio)64(?:_r)?)$`,
	)
)

// gpuLibrary matches libraries of CUDA, TensorRT, NCCL, cuDNN and ROCm.
func gpuLibrary(name string) bool { return gpuFile.MatchString(base(name)) }

// classify returns the class if the pattern has none. GPU and framework names take precedence
// over versions, and versions over plain names.
func classify(d *Diagnosis, s stage) string {
	switch {
	case s == linking:
		return "link-undefined-symbol"
	case d.Symbol != "":
		return symbolClass(d, s)
	case d.Version != "":
		return versionClass(d.Version, d.Library)
	default:
		return libraryClass(d.Library)
	}
}

func symbolClass(d *Diagnosis, s stage) string {
	n := d.Symbol
	switch {
	case framework.MatchString(n):
		return "framework-abi"
	case gpuName.MatchString(n):
		return "gpu-library-skew"
	case d.Version != "":
		return versionClass(d.Version, d.Library)
	case (s == bionic || s == darwin || s == wasm) && !hostName.MatchString(n):
		return "undefined-symbol" // the other names are of Linux
	case s == musl && notInMusl.MatchString(n):
		return "musl-glibc-mix"
	case hostName.MatchString(n):
		return "host-abi"
	case newGlibc.MatchString(n):
		return "glibc-too-old"
	case ownedName.MatchString(n):
		return "underlinked"
	case cxxName.MatchString(n):
		return "libstdcxx-too-old"
	case gpuLibrary(d.Object):
		return "gpu-library-skew"
	}
	return "undefined-symbol"
}

// versionClass returns the class for a missing version of a library.
func versionClass(v, library string) string {
	switch {
	case v == "GLIBC_ABI_DT_RELR":
		return "dt-relr"
	case v == "GLIBC_PRIVATE":
		return "glibc-mixed"
	case strings.HasPrefix(v, "GLIBC_"):
		return "glibc-too-old"
	case strings.HasPrefix(v, "GLIBCXX_"),
		strings.HasPrefix(v, "CXXABI_"),
		strings.HasPrefix(v, "GCC_"):
		return "libstdcxx-too-old"
	case gpuLibrary(v), gpuLibrary(library):
		return "gpu-library-skew"
	}
	return "version-missing"
}

// libraryClass returns the class for a missing library.
func libraryClass(library string) string {
	b := base(library)
	switch {
	case vendorLib.MatchString(b):
		return "gpu-vendor-mismatch"
	case gpuLibrary(b):
		return "gpu-library-missing"
	case strings.HasPrefix(b, "ld-linux") || strings.HasPrefix(b, "ld64.so") || strings.HasPrefix(b,
		"libc.musl-") || strings.HasPrefix(b, "ld-musl"):
		return "musl-glibc-mix"
	}
	return "library-not-found"
}
