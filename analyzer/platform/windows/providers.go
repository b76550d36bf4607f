package windows

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// providers are the DLLs that Python packages install and make loadable: importing them adds their
// folder to the search path or loads the DLLs. The first name is the package to declare as a
// dependency. The list is kept by hand, and the origin of an entry is not recorded. It has neither
// versions nor exports: any release of a package is assumed to have each DLL whose name matches. A
// package that is missing here is not known to have a DLL, unless its name resembles that of the
// DLL (package rules).
var providers = []struct {
	name     *lazyregexp.Regexp
	packages []string
	// requiring are packages that require one of those, and may have had the DLLs themselves.
	requiring []string
}{
	{lazyregexp.New(`^(c10(_cuda|_hip|_xpu)?|torch(_.*)?|caffe2.*|fbgemm|asmjit|shm)\.dll$`),
		[]string{"torch"}, nil},
	{lazyregexp.New(`^(arrow|parquet|gandiva)(_.*)?\.dll$`), []string{"pyarrow"}, nil},
	{lazyregexp.New(`^(pywintypes|pythoncom)\d+\.dll$`), []string{"pywin32"}, nil},
	{lazyregexp.New(`^(pyside[26]|shiboken[26])(qml)?(\..*)?\.dll$`),
		[]string{"shiboken6", "pyside6-essentials", "shiboken2", "pyside2"}, []string{"pyside6"}},
	{
		lazyregexp.New(`^qt63d.*\.dll$`),
		[]string{"pyqt6-3d-qt6", "pyside6-addons"}, []string{"pyqt6-3d", "pyside6"},
	},
	{
		lazyregexp.New(`^qt6(webengine|webchannel).*\.dll$`),
		[]string{"pyqt6-webengine-qt6", "pyside6-addons"}, []string{"pyqt6-webengine", "pyside6"},
	},
	{
		lazyregexp.New(`^qt6(charts|datavis|networkauth).*\.dll$`),
		[]string{"pyqt6-charts-qt6", "pyside6-addons"}, []string{"pyqt6-charts", "pyside6"},
	},
	{lazyregexp.New(`^qt6.*\.dll$`),
		[]string{"pyqt6-qt6", "pyside6-essentials", "pyside6-addons"}, []string{"pyqt6", "pyside6"}},
	{lazyregexp.New(`^qt5.*\.dll$`), []string{"pyqt5-qt5", "pyside2"}, []string{"pyqt5"}},
	{lazyregexp.New(`^libiomp5md\.dll$`), []string{"intel-openmp", "mkl", "torch"}, nil},
	{lazyregexp.New(`^mkl_.*\.dll$`), []string{"mkl"}, nil},
	{lazyregexp.New(`^tbb(12|bind.*|malloc.*)?\.dll$`), []string{"tbb", "mkl"}, nil},
	{lazyregexp.New(`^(libmmd|svml_dispmd|libifcoremd|libifportmd|sycl\d*|pi_.*|ur_.*)\.dll$`),
		[]string{"intel-cmplr-lib-rt", "dpcpp-cpp-rt", "intel-fortran-rt"}, nil},
	{lazyregexp.New(`^openvino.*\.dll$`), []string{"openvino"}, nil},
	{lazyregexp.New(`^onnxruntime(_.*)?\.dll$`), []string{"onnxruntime", "onnxruntime-gpu"}, nil},
	{lazyregexp.New(`^(_pywrap_tensorflow.*|tensorflow_(framework|cc)(\.2)?)\.(dll|pyd)$`),
		[]string{"tensorflow", "tensorflow-intel"}, nil},
	{lazyregexp.New(`^cudart64_.*\.dll$`), []string{"nvidia-cuda-runtime-cu12"}, nil},
	{lazyregexp.New(`^cublas(lt)?64_.*\.dll$`), []string{"nvidia-cublas-cu12"}, nil},
	{lazyregexp.New(`^cudnn.*64_.*\.dll$`), []string{"nvidia-cudnn-cu12"}, nil},
	{lazyregexp.New(`^cufftw?64_.*\.dll$`), []string{"nvidia-cufft-cu12"}, nil},
	{lazyregexp.New(`^curand64_.*\.dll$`), []string{"nvidia-curand-cu12"}, nil},
	{lazyregexp.New(`^cusolver(mg)?64_.*\.dll$`), []string{"nvidia-cusolver-cu12"}, nil},
	{lazyregexp.New(`^cusparse64_.*\.dll$`), []string{"nvidia-cusparse-cu12"}, nil},
	{lazyregexp.New(`^nvrtc(64_|-builtins).*\.dll$`), []string{"nvidia-cuda-nvrtc-cu12"}, nil},
	{lazyregexp.New(`^nvjitlink_.*\.dll$`), []string{"nvidia-nvjitlink-cu12"}, nil},
	{lazyregexp.New(`^(cupti64_|nvjpeg64_|npp[a-z]+64_|nvtoolsext64_).*\.dll$`),
		[]string{
			"nvidia-cuda-cupti-cu12",
			"nvidia-nvjpeg-cu12",
			"nvidia-npp-cu12",
			"nvidia-nvtx-cu12",
		}, nil},
	{lazyregexp.New(`^nvinfer.*\.dll$`), []string{"tensorrt-cu12-libs", "tensorrt"}, nil},
	{lazyregexp.New(`^(msvcp140.*|vcruntime140.*|concrt140|vcomp140|vccorlib140)\.dll$`),
		[]string{"msvc-runtime"}, nil},
}

// Providers lists the normalised names of packages that are known to contain a DLL, and of those
// that require one of them; nil if none is known.
func Providers(name string) (packages, requiring []string) {
	name = strings.ToLower(name)
	for _, p := range providers {
		if p.name.MatchString(name) {
			return p.packages, p.requiring
		}
	}
	return nil, nil
}
